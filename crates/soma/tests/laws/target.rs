//! SOMA for a general permutation-invariant target, by enumeration.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use soma::Outcome;
use soma::kernel::{Target, TargetChain};
use soma::rng::{Rng, stream};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::discrete::pearson;
use crate::matrices::imbalance;

const POINTS: usize = 3;
const KINDS: usize = 3;
const STATES: usize = KINDS.pow(POINTS as u32);
/// The proposal, which is not part of the target.
const Q: [f64; KINDS] = [0.5, 0.2, 0.3];

/// Three points of three kinds that repel their own kind, kind 2 more than the others; all three of
/// kind 0 is impossible.
#[derive(Default)]
struct Repelling {
    replaced: u64,
}

fn log_pi(points: &[usize]) -> f64 {
    if points == [0, 0, 0] {
        return f64::NEG_INFINITY;
    }
    let mut log = 0.4 * points.iter().filter(|&&p| p == 1).count() as f64;
    for i in 0..POINTS {
        for j in 0..i {
            if points[i] == points[j] {
                log -= 0.7 + 0.5 * points[i] as f64;
            }
        }
    }
    log
}

fn with(points: &[usize], i: usize, proposal: usize) -> Vec<usize> {
    let mut changed = points.to_vec();
    changed[i] = proposal;
    changed
}

impl Target for Repelling {
    type Point = usize;

    fn propose(&mut self, rng: &mut Rng) -> Outcome<usize> {
        let u: f64 = rng.random();
        Ok(if u < Q[0] {
            0
        } else if u < Q[0] + Q[1] {
            1
        } else {
            2
        })
    }

    fn log_weight(&self, points: &[usize], i: usize, proposal: &usize) -> f64 {
        log_pi(&with(points, i, *proposal)) - log_pi(points) + (Q[points[i]] / Q[*proposal]).ln()
    }

    fn replaced(&mut self, points: &[usize], i: usize, old: &usize) {
        assert!(points.len() == POINTS && i < POINTS && *old < KINDS);
        self.replaced += 1;
    }
}

fn decode(state: usize) -> Vec<usize> {
    vec![state % KINDS, state / KINDS % KINDS, state / KINDS / KINDS]
}

fn encode(points: &[usize]) -> usize {
    points[0] + KINDS * (points[1] + KINDS * points[2])
}

/// The proper weight of the Corollary, with c = 1.
fn proper(points: &[usize]) -> f64 {
    log_pi(points).exp() / points.iter().map(|&p| Q[p]).product::<f64>()
}

fn one_move() -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(STATES, STATES);
    for from in 0..STATES {
        let points = decode(from);
        let current = proper(&points);
        for (proposal, chance) in Q.iter().enumerate() {
            let weights: Vec<f64> =
                (0..POINTS).map(|i| proper(&with(&points, i, proposal))).collect();
            let total: f64 = weights.iter().sum();
            for (i, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                let accept = f64::min(1.0, total / (total + current - weight));
                matrix[(from, encode(&with(&points, i, proposal)))] +=
                    chance * weight / total * accept;
            }
        }
        matrix[(from, from)] += 1.0 - matrix.row(from).sum();
    }
    matrix
}

#[test]
fn general_target_follows_the_theory() {
    let pi = DVector::from_fn(STATES, |state, _| log_pi(&decode(state)).exp());
    let pi = &pi / pi.sum();
    let matrix = one_move();
    assert!(imbalance(&matrix, &pi) < 1e-15);
    assert!((matrix.tr_mul(&pi) - &pi).amax() < 1e-14);

    let mut chain = TargetChain::new(Repelling::default(), vec![0, 1, 2]);
    let mut rng = stream(51, 0);
    let mut counts = vec![vec![0.0; STATES]; STATES];
    let (mut taken, mut from) = (0, encode(chain.points()));
    for _ in 0..1_500_000 {
        taken += u64::from(chain.step(&mut rng).unwrap().is_some());
        let to = encode(chain.points());
        counts[from][to] += 1.0;
        from = to;
    }
    assert_eq!(chain.target().replaced, taken);
    let (mut statistic, mut freedom) = (0.0, 0.0);
    for (from, counts) in counts.iter().enumerate().filter(|(_, c)| c.iter().sum::<f64>() > 0.0) {
        let (part, degrees) = pearson(counts, matrix.row(from).iter().copied());
        (statistic, freedom) = (statistic + part, freedom + degrees);
    }
    let p = ChiSquared::new(freedom).unwrap().sf(statistic);
    assert!(p > 1e-6, "chi2 {statistic} on {freedom}");
}

/// Invalid log weights are rejected; far from the mode a move does not overflow.
#[test]
fn extreme_log_weights() {
    struct Flat(f64);
    impl Target for Flat {
        type Point = ();
        fn propose(&mut self, _: &mut Rng) -> Outcome<()> {
            Ok(())
        }
        fn log_weight(&self, _: &[()], i: usize, (): &()) -> f64 {
            self.0 * (1.0 + i as f64)
        }
    }
    let mut rng = stream(52, 0);
    let mut step = |weight: f64| TargetChain::new(Flat(weight), vec![(); 4]).step(&mut rng);
    assert_eq!(step(1e300).unwrap(), Some(3));
    assert_eq!(step(-1e300).unwrap(), None);
    assert_eq!(step(f64::NEG_INFINITY).unwrap(), None);
    assert!(step(f64::NAN).is_err() && step(f64::INFINITY).is_err());
}
