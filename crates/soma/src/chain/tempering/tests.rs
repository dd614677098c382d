use std::sync::Arc;

use super::*;
use crate::chain::{MovesChoice, crossing};
use crate::counts::CountMoves;
use crate::diagnostics::Crossing;
use crate::kernel::KernelChoice;
use crate::model::{Normal, Uniform};
use crate::release::mechanism::Noise;
use crate::release::query::Mean;
use crate::release::{Aggregate, Mechanism};

/// Two uniform records whose clamped sum is released sharply: either one lies beyond each clamp, or
/// both lie between them on a thin line.
const RANGE: (f64, f64) = (0.38, 0.62);
const CLAMP: (f64, f64) = (0.4, 0.6);

fn in_pieces(noise: Noise, scale: f64) -> Problem {
    let query = Arc::new(Mean::new(vec![CLAMP]).unwrap());
    let mechanism = Mechanism::new(noise, vec![scale]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Sum, 2, vec![1.0]).unwrap();
    Problem::new(release, Arc::new(Uniform::new(vec![RANGE]).unwrap())).unwrap()
}

fn normal(n: usize, scale: f64) -> Problem {
    let query = Arc::new(Mean::new(vec![(-1.0, 1.0)]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Sum, n, vec![0.4]).unwrap();
    Problem::new(release, Arc::new(Normal::new(0.0, 0.5, 3.0, 3.0).unwrap())).unwrap()
}

/// The probability that one record lies beyond each clamp, by quadrature.
fn share_beyond(problem: &Problem) -> f64 {
    const STEPS: usize = 4000;
    let mechanism = problem.release().parts()[0].mechanism().unwrap();
    let width = (RANGE.1 - RANGE.0) / STEPS as f64;
    let middles: Vec<f64> = (0..STEPS).map(|i| RANGE.0 + (i as f64 + 0.5) * width).collect();
    let (mut beyond, mut all) = (0.0, 0.0);
    for x in &middles {
        for y in &middles {
            let sum = x.clamp(CLAMP.0, CLAMP.1) + y.clamp(CLAMP.0, CLAMP.1);
            let weight = mechanism.log_density(&[1.0], &[sum]).exp();
            all += weight;
            beyond += if is_beyond(&[*x, *y]) { weight } else { 0.0 };
        }
    }
    beyond / all
}

fn is_beyond(records: &[f64]) -> bool {
    let low = records.iter().filter(|x| **x <= CLAMP.0).count();
    let high = records.iter().filter(|x| **x >= CLAMP.1).count();
    low == 1 && high == 1
}

/// Rung 0 samples the posterior of the release, and every other rung that of its own noise: the
/// probability of each piece agrees with quadrature.
#[test]
fn every_rung_keeps_its_law() {
    const BATCHES: usize = 40;
    const LENGTH: usize = 2000;
    for (noise, scale) in [(Noise::Laplace, 0.002), (Noise::Gaussian, 0.002)] {
        let problem = in_pieces(noise, scale);
        let mut chain = Chain::new(&problem, KernelChoice::SysImwg, 3, 0)
            .unwrap()
            .with_moves(MovesChoice::Auto, 100)
            .unwrap();
        for _ in 0..100 {
            chain.step().unwrap();
        }
        let rungs = chain.ladder.as_ref().unwrap().rungs.len();
        assert!(rungs >= 2);
        let mut shares = vec![[0.0; BATCHES]; 1 + rungs];
        for batch in 0..BATCHES {
            for _ in 0..LENGTH {
                chain.step().unwrap();
                let hot = &chain.ladder.as_ref().unwrap().rungs;
                let states = std::iter::once(&chain.state).chain(hot.iter().map(|r| &r.state));
                for (share, state) in shares.iter_mut().zip(states) {
                    let hit = is_beyond(state.records.all());
                    share[batch] += f64::from(hit) / LENGTH as f64;
                }
            }
        }
        let ladder = chain.ladder.as_ref().unwrap();
        let tally = ladder.tally();
        assert!(tally.accepted * 10 > tally.proposed, "{:?}", ladder.swaps);
        let hot = ladder.rungs.iter().map(|rung| &*rung.problem);
        for (share, problem) in shares.iter().zip(std::iter::once(&problem).chain(hot)) {
            let mean = share.iter().sum::<f64>() / BATCHES as f64;
            let scatter: f64 = share.iter().map(|x| (x - mean) * (x - mean)).sum();
            let error = (scatter / (BATCHES * (BATCHES - 1)) as f64).sqrt();
            let exact = share_beyond(problem);
            let z = (mean - exact) / error;
            assert!(z.abs() < 4.5 && error < 0.01, "{noise:?}: {mean} +- {error}, not {exact}");
        }
    }
}

/// The ratio of a swap is that of the four densities of the release.
#[test]
fn swap_ratio_is_that_of_the_densities() {
    for noise in [Noise::Laplace, Noise::Gaussian] {
        let problem = in_pieces(noise, 0.01);
        let factor = 3.0;
        let hot = heated(&problem, factor).unwrap();
        let state = |problem: &Problem, records: [f64; 2]| State {
            theta: Vec::new(),
            records: Records::new(problem.release(), records.to_vec()).unwrap(),
        };
        let (one, other) = ([0.47, 0.52], [0.41, 0.6]);
        let density =
            |problem: &Problem, records| problem.log_density(&state(problem, records).records);
        let right = density(&problem, other) + density(&hot, one)
            - density(&problem, one)
            - density(&hot, other);
        let found = log_ratio(
            &state(&problem, one),
            &state(&hot, other),
            problem.release().potential(),
            1.0 / factor,
        );
        assert!((found - right).abs() < 1e-9, "{noise:?}: {found}, not {right}");
    }
}

/// Soft releases and releases of many records have no ladder; their draws equal those of a chain
/// without one.
#[test]
fn ordinary_problems_have_no_ladder() {
    for (n, scale) in [(2, 1.0), (10, 0.5), (1000, 0.001)] {
        let problem = normal(n, scale);
        assert!(factors(&problem).is_empty());
        let begin = || Chain::new(&problem, KernelChoice::Auto, 1, 0).unwrap();
        let mut with = begin().with_moves(MovesChoice::Auto, 40).unwrap();
        let mut without = begin().alone(MovesChoice::Auto, 40).unwrap();
        for _ in 0..60 {
            with.step().unwrap();
            without.step().unwrap();
        }
        assert_eq!(with.draw(), without.draw());
    }
}

/// The reports tell whether a ladder is missing and, if there is one, how well it swaps.
#[test]
fn a_missing_ladder_is_told() {
    let told = |scale: f64, choice: MovesChoice| {
        let problem = normal(5, scale);
        let chain = Chain::new(&problem, KernelChoice::SysImwg, 1, 0).unwrap();
        let mut chain = chain.with_moves(choice, 40).unwrap();
        for _ in 0..400 {
            chain.step().unwrap();
        }
        crossing(&chain.moves())
    };
    assert_eq!(told(1.0, MovesChoice::Centred), Crossing::NotNeeded);
    assert_eq!(told(1.0, MovesChoice::Auto), Crossing::NotNeeded);
    assert_eq!(told(0.01, MovesChoice::Centred), Crossing::None);
    assert_eq!(told(1e-9, MovesChoice::Auto), Crossing::None);
    let Crossing::Swaps(rate) = told(0.01, MovesChoice::Auto) else { panic!("no ladder") };
    assert!((0.05..0.95).contains(&rate), "{rate}");
    // A chain of counts has no ladder: none of its moves has the name of one.
    let counts = CountMoves::default().named().map(|(name, _)| name);
    assert!(!counts.contains(&crate::chain::SWAP), "{counts:?}");
}

/// The hottest noise is soft, and neighbours are near enough to swap.
#[test]
fn factors_reach_from_sharp_to_soft() {
    let factors = factors(&normal(5, 0.002));
    let sharpness = 2.0 / 0.002;
    assert!((sharpness / factors[factors.len() - 1] - SOFT).abs() < 1e-9);
    let mut below = 1.0;
    for factor in factors {
        assert!(factor / below <= RATIO + 1e-9);
        below = factor;
    }
}

/// A chain with a ladder is stored with all its rungs, in warm-up and after it, and continues bit
/// for bit.
#[test]
fn a_stored_ladder_goes_on_bit_for_bit() {
    let problem = normal(5, 0.01);
    let begin = || {
        let chain = Chain::new(&problem, KernelChoice::Auto, 5, 0).unwrap();
        chain.with_moves(MovesChoice::Auto, 60).unwrap()
    };
    let end = |mut chain: Chain| {
        while chain.iteration() < 100 {
            chain.step().unwrap();
        }
        (chain.draw(), chain.records().all().to_vec(), chain.moves())
    };
    let whole = end(begin());
    let mut chain = begin();
    for iteration in 1..90 {
        chain.step().unwrap();
        let stored = serde_json::to_string(&chain.snapshot()).unwrap();
        let restored = Chain::restore(&problem, serde_json::from_str(&stored).unwrap()).unwrap();
        assert_eq!(end(restored), whole, "stored after iteration {iteration}");
    }
    let other = normal(5, 0.5);
    assert!(Chain::restore(&other, chain.snapshot()).is_err());
}
