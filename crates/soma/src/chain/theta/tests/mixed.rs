//! Each update leaves the posterior invariant if the noise differs between coordinates.

use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};

use super::*;
use crate::release::potential::{Block, Coordinate, Curve, Joint};

/// Noise of all coordinates in units of their scales, and its potential.
#[derive(Clone, Copy)]
pub(super) struct OtherNoise {
    pub(super) sample: fn(&mut Rng) -> Vec<f64>,
    pub(super) potential: fn() -> Potential,
}

fn laplace(rng: &mut Rng) -> f64 {
    let size: f64 = rng.sample(Exp1);
    if rng.random() { size } else { -size }
}

fn normal(rng: &mut Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// A Gumbel variable: its log density is -z - e^-z, log-concave and skewed, with its mode at 0.
fn gumbel(rng: &mut Rng) -> f64 {
    -rng.sample::<f64, _>(Exp1).ln()
}

#[derive(Debug)]
struct GumbelCost;

impl Curve for GumbelCost {
    fn cost(&self, residual: f64) -> f64 {
        residual + (-residual).exp()
    }
}

/// Two normal variables with correlation 0.8.
fn correlated(rng: &mut Rng) -> [f64; 2] {
    let first = normal(rng);
    [first, 0.8 * first + 0.6 * normal(rng)]
}

#[derive(Debug)]
struct CorrelatedCost;

impl Joint for CorrelatedCost {
    fn cost(&self, r: &[f64]) -> f64 {
        (r[0] * r[0] - 1.6 * r[0] * r[1] + r[1] * r[1]) / (2.0 * 0.36)
    }
}

const L1: Block = Block::Coordinate(Coordinate::L1);
const L2: Block = Block::Coordinate(Coordinate::L2);

fn curve() -> Block {
    Block::Coordinate(Coordinate::Curve(Arc::new(GumbelCost)))
}

fn joint() -> Block {
    Block::Joint(2, Arc::new(CorrelatedCost))
}

/// One coordinate whose noise is neither Laplace nor Gaussian.
pub(super) fn one_curve() -> OtherNoise {
    OtherNoise { sample: |rng| vec![gumbel(rng)], potential: || Potential::new(vec![curve()]) }
}

/// Laplace and Gaussian coordinates in one release; with a curve; and with a joint block first.
fn cases() -> [(&'static str, Case); 3] {
    let of = |noise| Case { other_noise: Some(noise), ..Case::regression(Noise::Laplace, 0.4, 4) };
    let mixed = OtherNoise {
        sample: |rng| vec![laplace(rng), normal(rng), normal(rng), laplace(rng), laplace(rng)],
        potential: || Potential::new(vec![L1, L2, L2, L1, L1]),
    };
    let curved = OtherNoise {
        sample: |rng| vec![gumbel(rng), normal(rng), laplace(rng), gumbel(rng), laplace(rng)],
        potential: || Potential::new(vec![curve(), L2, L1, curve(), L1]),
    };
    let joined = OtherNoise {
        sample: |rng| {
            let [a, b] = correlated(rng);
            vec![a, b, laplace(rng), normal(rng), gumbel(rng)]
        },
        potential: || Potential::new(vec![joint(), L1, L2, curve()]),
    };
    [("L1 and L2", of(mixed)), ("with curves", of(curved)), ("with a joint block", of(joined))]
}

const DRAWS: usize = 40_000;

#[test]
fn hamiltonian_keeps_the_joint_law_under_mixed_noise() {
    for (name, case) in &cases() {
        let surrogate = case.surrogate(1);
        for (seed, force) in (0..).zip([Force::Surrogate, Force::Exact]) {
            let mut made = Hamiltonian::new(force);
            let (z, rate) = largest_change(case, Some(&surrogate), &mut made, DRAWS, seed);
            assert!(z < MOST && rate > 0.03, "{name}, {force:?}: {z}, {rate}");
        }
    }
}

#[test]
fn independence_keeps_the_joint_law_under_mixed_noise() {
    for (name, case) in &cases() {
        let surrogate = case.surrogate(2);
        for (seed, walks) in (0..).zip([0.0, 1.0]) {
            let mut made = Independence::new(true);
            made.walk(walks);
            let (z, rate) = largest_change(case, Some(&surrogate), &mut made, DRAWS, seed);
            assert!(z < MOST && rate > 0.03, "{name}, {walks}: {z}, {rate}");
        }
    }
}

#[test]
fn ridge_keeps_the_joint_law_under_a_curve() {
    let case = Case { other_noise: Some(one_curve()), ..Case::normal(Noise::Laplace, 0.2, 5) };
    let surrogate = case.surrogate(3);
    let mut made = Ridge::default();
    let (z, rate) = largest_change(&case, Some(&surrogate), &mut made, DRAWS, 1);
    assert!(z < MOST && rate > 0.1, "{z}, {rate}");
}

/// A release of mixed noise gets all theta updates, and completes a warm-up.
#[test]
fn mixed_noise_gets_all_updates() {
    for (name, case) in &cases() {
        let case = Case { n: 20, ..case.clone() };
        let (problem, state, _) = case.warm(MovesChoice::Auto, 5);
        let mut rng = rng::stream(6, 0);
        let schedule = Schedule::new(&problem, MovesChoice::Auto, 100, &mut rng).unwrap();
        let names: Vec<String> = schedule.report().into_iter().map(|row| row.name).collect();
        for wanted in ["centred", "hamiltonian", "independence"] {
            assert!(names.iter().any(|name| name == wanted), "{name}: {names:?}");
        }
        assert!(functions(&problem, &state).iter().all(|x| x.is_finite()), "{name}");
    }
}
