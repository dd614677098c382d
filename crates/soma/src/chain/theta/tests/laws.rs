//! Each update by itself leaves the posterior invariant.
//!
//! theta is drawn from the prior, the records from the model and the release from the records: a
//! draw from the joint distribution of all three. An update that leaves the posterior given the
//! release invariant also leaves the joint distribution invariant, so any function of theta,
//! records and release has the same mean before and after. The draws are independent, so the
//! standard errors are exact.

use super::*;

#[test]
fn centred_and_non_centred_keep_the_joint_law() {
    for (i, case) in cases().iter().enumerate() {
        for redraws_censored in [false, true] {
            let mut centred = Centred::new(redraws_censored);
            let (z, _) = largest_change(case, None, &mut centred, 60_000, i as u64);
            assert!(z < MOST, "centred, case {i}, {redraws_censored}: {z}");
        }
        let (_, _, mut schedule) = case.warm(MovesChoice::Interwoven, i as u64);
        let made = schedule.slots[1].made.as_move();
        let (z, rate) = largest_change(case, None, made, 60_000, 10 + i as u64);
        assert!(z < MOST && rate > 0.1, "non-centred, case {i}: {z}, {rate}");
    }
}

/// Redrawing the censored coordinates alone, with many records beyond the clamps.
#[test]
fn hidden_parts_keep_the_joint_law() {
    struct Hidden;
    impl ThetaMove for Hidden {
        fn step(
            &mut self,
            at: &Setting,
            state: &mut State,
            _: &mut Held,
            _: u64,
            rng: &mut Rng,
        ) -> Outcome<Tally> {
            let before = state.clone();
            let model = at.problem.model().transport().unwrap();
            at.censored.as_ref().unwrap().redraw(model, state, rng)?;
            // The statistics are unchanged, and agree with the current records.
            assert_eq!(before.records.residual(), state.records.residual());
            let again = Records::new(at.problem.release(), state.records.all().to_vec())?;
            assert_eq!(again.statistics(), state.records.statistics());
            let moved = before.records.all() != state.records.all();
            Ok(Tally { proposed: 1, accepted: moved as u64, work: 0 })
        }

        fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
            Ok(())
        }

        fn work(&self, _: &Setting, _: u64) -> u64 {
            0
        }
    }
    for (i, case) in cases().iter().enumerate() {
        let (z, rate) = largest_change(case, None, &mut Hidden, 60_000, 40 + i as u64);
        assert!(z < MOST && rate > 0.2, "case {i}: {z}, {rate}");
    }
}

#[test]
fn block_keeps_the_joint_law() {
    for (i, case) in cases().iter().enumerate() {
        let surrogate = case.surrogate(i as u64);
        for (j, force) in [Force::Surrogate, Force::OwnSlope, Force::Exact].into_iter().enumerate()
        {
            let seed = (10 * i + j) as u64;
            let (z, rate) =
                largest_change(case, Some(&surrogate), &mut Hamiltonian::new(force), 60_000, seed);
            assert!(z < MOST && rate > 0.03, "case {i}, {force:?}: {z}, {rate}");
        }
    }
}

#[test]
fn refresh_keeps_the_joint_law() {
    for (i, case) in cases().iter().enumerate() {
        let surrogate = case.surrogate(i as u64);
        for (j, (own_slope, walks)) in
            [(false, 0.0), (true, 0.0), (false, 1.0), (true, 0.5)].into_iter().enumerate()
        {
            let mut refresh = Independence::new(own_slope);
            refresh.walk(walks);
            let seed = (10 * i + j) as u64;
            let (z, rate) = largest_change(case, Some(&surrogate), &mut refresh, 60_000, seed);
            assert!(z < MOST && rate > 0.03, "case {i}, {own_slope}, {walks}: {z}, {rate}");
        }
    }
}

#[test]
fn ridge_keeps_the_joint_law() {
    let cases = [
        Case::normal(Noise::Laplace, 0.05, 5),
        Case::normal(Noise::Gaussian, 0.2, 4),
        Case::normal(Noise::Laplace, 1.5, 12),
        Case::beta(Noise::Gaussian, 0.05, 4),
    ];
    for (i, case) in cases.iter().enumerate() {
        let surrogate = case.surrogate(i as u64);
        let draws = if i < 3 { 60_000 } else { 10_000 };
        let (z, rate) =
            largest_change(case, Some(&surrogate), &mut Ridge::default(), draws, i as u64);
        assert!(z < MOST && rate > 0.1, "case {i}: {z}, {rate}");
    }
}

/// The sweep, by the same test: a control that should pass.
#[test]
fn sweep_keeps_the_joint_law() {
    struct Sweep;
    impl ThetaMove for Sweep {
        fn step(
            &mut self,
            at: &Setting,
            state: &mut State,
            _: &mut Held,
            _: u64,
            rng: &mut Rng,
        ) -> Outcome<Tally> {
            let release = at.problem.release();
            let mut kernel = KernelChoice::SysImwg.build(release.n())?;
            let mut proposals = ModelProposals::new(at.problem.model(), &state.theta, release);
            let counts = kernel.sweep(
                &mut state.records,
                &mut proposals,
                at.problem.release().potential(),
                rng,
            )?;
            Ok(Tally::from(counts))
        }

        fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
            Ok(())
        }

        fn work(&self, _: &Setting, _: u64) -> u64 {
            0
        }
    }
    let case = Case::regression(Noise::Laplace, 0.4, 4);
    let (z, _) = largest_change(&case, None, &mut Sweep, 60_000, 1);
    assert!(z < MOST, "{z}");
}

/// A Hamiltonian update that is wrong by the Jacobian of the log scale parameter: the test detects
/// it.
#[test]
fn a_wrong_jacobian_is_seen() {
    struct Wrong(Hamiltonian);
    impl ThetaMove for Wrong {
        fn step(
            &mut self,
            at: &Setting,
            state: &mut State,
            held: &mut Held,
            times: u64,
            rng: &mut Rng,
        ) -> Outcome<Tally> {
            let sums = at.sums.as_ref().unwrap();
            let log_scale = |state: &State| {
                let mut noise = vec![0.0; sums.n];
                let model = at.problem.model().transport().unwrap();
                model.inverse(&state.theta, state.records.all(), &mut noise).unwrap();
                let mut factors = coordinates::bartlett::Bartlett::default();
                assert!(factors.measure(&noise, 1));
                factors.factor[0].ln()
            };
            let before = state.clone();
            let tally = self.0.step(at, state, held, times, rng)?;
            held.land(at, state)?;
            let ratio = log_scale(&before) - log_scale(state);
            if !crate::numeric::accept::accepts(ratio, rng) {
                *state = before;
            }
            Ok(tally)
        }

        fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
            Ok(())
        }

        fn work(&self, _: &Setting, _: u64) -> u64 {
            0
        }
    }
    let case = Case::normal(Noise::Gaussian, 1.5, 3);
    let surrogate = case.surrogate(1);
    let mut wrong = Wrong(Hamiltonian::new(Force::OwnSlope));
    let (z, _) = largest_change(&case, Some(&surrogate), &mut wrong, 60_000, 1);
    assert!(z > MOST, "{z}");
}

/// The random walk uses the potential of both states, also if it is neither L1 nor L2.
#[test]
fn the_walk_keeps_the_joint_law_under_curves() {
    use crate::release::query::Histogram;
    let case = Case {
        query: Arc::new(Histogram::with_equal_bins(&[((-2.0, 2.0), 4)]).unwrap()),
        mechanism: Mechanism::new(Noise::RoundedLaplace, vec![1.0; 4]).unwrap(),
        ..Case::normal(Noise::Laplace, 1.0, 4)
    };
    let (_, _, mut schedule) = case.warm(MovesChoice::Interwoven, 0);
    let (z, what) = largest_change(&case, None, schedule.slots[1].made.as_move(), 60_000, 10);
    assert!(z < MOST, "{what}: {z}");
}
