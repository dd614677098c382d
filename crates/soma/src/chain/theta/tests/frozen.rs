//! Adapted quantities are fixed after warm-up.

use super::*;

/// The adapted quantities of a schedule as text, without the tallies.
fn constants(schedule: &Schedule) -> String {
    let mut bare = schedule.clone();
    bare.sweeps = Tally::default();
    bare.slots.iter_mut().for_each(|slot| slot.tally = Tally::default());
    serde_json::to_string(&bare).unwrap()
}

#[test]
fn constants_are_frozen_after_warmup() {
    for choice in [MovesChoice::Auto, MovesChoice::Interwoven] {
        let case = Case::regression(Noise::Laplace, 0.4, 12);
        let (problem, mut state, mut schedule) = case.warm(choice, 3);
        let mut rng = rng::stream(4, 0);
        let warm = constants(&schedule);
        for iteration in 100..400 {
            let sweep = Some(Tally::default());
            schedule.step(&problem, &mut state, iteration, sweep, &mut rng).unwrap();
        }
        assert_eq!(warm, constants(&schedule));
        // One adapting step after warm-up, and the comparison fails.
        let sweep = Some(Tally::default());
        schedule.step_and_learn(&problem, &mut state, 400, sweep, &mut rng).unwrap();
        assert_ne!(warm, constants(&schedule));
    }
}
