//! Each move by itself leaves the posterior invariant.
//!
//! theta is drawn from the prior, the records from the model and the release from the records:
//! a draw of the joint law of all three. A move that leaves the posterior given the release
//! invariant leaves this joint law as it is, so that any function of theta, records and release
//! has the same mean before and after the move. The draws are independent, and so the standard
//! errors are exact.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::*;
use crate::kernel::{KernelChoice, ModelOffers};
use crate::model::{Model, Normal, NormalInverseGamma, Regression};
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::query::{Gram, Mean};
use crate::release::{Aggregate, Query, Release};
use crate::rng;

struct Case {
    query: Arc<dyn Query>,
    model: Arc<dyn Model>,
    mechanism: Mechanism,
    n: usize,
}

impl Case {
    fn normal(noise: Noise, scale: f64, n: usize) -> Case {
        Case {
            query: Arc::new(Mean::new(vec![(-2.0, 2.0)]).unwrap()),
            model: Arc::new(Normal::new(0.0, 1.0, 4.0, 3.0).unwrap()),
            mechanism: Mechanism::new(noise, vec![scale]).unwrap(),
            n,
        }
    }

    fn regression(noise: Noise, scale: f64, n: usize) -> Case {
        let prior =
            NormalInverseGamma::new(vec![0.0; 2], &DMatrix::identity(2, 2), 5.0, 4.0).unwrap();
        Case {
            query: Arc::new(Gram::with_range(1, (-2.0, 2.0)).unwrap()),
            model: Arc::new(Regression::new(vec![0.3], None, prior).unwrap()),
            mechanism: Mechanism::new(noise, vec![scale; 5]).unwrap(),
            n,
        }
    }

    /// A problem and a state from the joint law of theta, records and release.
    fn draw(&self, rng: &mut Rng) -> (Problem, State) {
        let mut theta = vec![0.0; self.model.parameters().len()];
        self.model.sample_prior(&mut theta, rng).unwrap();
        let mut records = vec![0.0; self.n * self.model.record_dim()];
        self.model.propose(&theta, &mut records, rng).unwrap();
        let k = self.query.dim();
        let mut statistics = vec![0.0; self.n * k];
        self.query.statistics(&records, &mut statistics).unwrap();
        let mut values = self.mechanism.sample(rng);
        for row in statistics.chunks_exact(k) {
            values.iter_mut().zip(row).for_each(|(value, t)| *value += t);
        }
        let (query, mechanism) = (self.query.clone(), self.mechanism.clone());
        let release = Release::new(query, mechanism, Aggregate::Sum, self.n, values).unwrap();
        let records = Records::new(&release, records).unwrap();
        (Problem::new(release, self.model.clone()).unwrap(), State { theta, records })
    }

    /// The moves of `choice` as a warm-up on one release leaves them.
    fn warm(&self, choice: MovesChoice, seed: u64) -> (Problem, State, Schedule) {
        let mut rng = rng::stream(seed, 0);
        let (problem, mut state) = self.draw(&mut rng);
        let mut schedule = Schedule::new(&problem, choice, 100, &mut rng).unwrap();
        for iteration in 0..100 {
            schedule.step(&problem, &mut state, iteration, Tally::default(), &mut rng).unwrap();
        }
        (problem, state, schedule)
    }

    fn chart(&self, seed: u64) -> Chart {
        let mut rng = rng::stream(seed, 0);
        let (problem, mut state) = self.draw(&mut rng);
        let sums = Sums::new(&problem).unwrap();
        let shape = self.mechanism.noise().shape();
        Chart::begin(&sums, shape, &mut state, &mut rng).unwrap().unwrap()
    }
}

/// Functions of theta, records and release whose means a move must keep.
fn functions(problem: &Problem, state: &State) -> Vec<f64> {
    let mut free = state.theta.clone();
    problem.model().transport().unwrap().unconstrain(&state.theta, &mut free);
    let records = state.records.all();
    let squares: f64 = records.iter().map(|x| x * x / (1.0 + x * x)).sum();
    let products: f64 = records.windows(2).map(|x| (x[0] * x[1]).tanh()).sum();
    let residual = state.records.residual();
    let distance: f64 = residual.iter().map(|r| r.abs()).sum();
    let apart = (records[0] - records[records.len() - 1]).abs().min(4.0);
    let mut all = vec![squares, products, distance, distance.sqrt(), apart];
    for t in free {
        all.extend([t, t * t, t * squares, t * distance, t * residual[0]]);
    }
    all
}

/// The largest of |mean change| / standard error over all functions, and the acceptance rate.
fn largest_change(
    case: &Case,
    chart: Option<&Chart>,
    made: &mut dyn ThetaMove,
    draws: usize,
    seed: u64,
) -> (f64, f64) {
    let mut rng = rng::stream(seed, 1);
    let mut sums: Vec<[f64; 2]> = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..draws {
        let (problem, mut state) = case.draw(&mut rng);
        let before = functions(&problem, &state);
        let at = Setting { problem: &problem, sums: Sums::new(&problem), chart };
        tally += made.step(&at, &mut state, 1, &mut rng).unwrap();
        sums.resize(before.len(), [0.0; 2]);
        for ((sum, a), b) in sums.iter_mut().zip(functions(&problem, &state)).zip(before) {
            sum[0] += a - b;
            sum[1] += (a - b) * (a - b);
        }
    }
    let n = draws as f64;
    let z = |[sum, squares]: [f64; 2]| {
        (sum / n).abs() / ((squares / n - (sum / n).powi(2)) / n).sqrt().max(1e-300)
    };
    let largest = sums.into_iter().map(z).fold(0.0, f64::max);
    (largest, tally.accepted as f64 / tally.proposed as f64)
}

/// About 4.5 standard errors with twenty or thirty functions: one false alarm in 5000 cases.
const MOST: f64 = 4.5;

fn cases() -> Vec<Case> {
    vec![
        Case::normal(Noise::Laplace, 0.5, 2),
        Case::normal(Noise::Gaussian, 1.5, 4),
        Case::regression(Noise::Laplace, 0.4, 4),
        Case::regression(Noise::Gaussian, 0.3, 6),
    ]
}

#[test]
fn centred_and_non_centred_keep_the_joint_law() {
    for (i, case) in cases().iter().enumerate() {
        let (z, _) = largest_change(case, None, &mut Centred, 60_000, i as u64);
        assert!(z < MOST, "centred, case {i}: {z}");
        let (_, _, mut schedule) = case.warm(MovesChoice::Interwoven, i as u64);
        let made = schedule.slots[1].made.as_move();
        let (z, rate) = largest_change(case, None, made, 60_000, 10 + i as u64);
        assert!(z < MOST && rate > 0.1, "non-centred, case {i}: {z}, {rate}");
    }
}

#[test]
fn block_keeps_the_joint_law() {
    for (i, case) in cases().iter().enumerate() {
        let chart = case.chart(i as u64);
        for (j, force) in [Force::Chart, Force::OwnSlope, Force::Exact].into_iter().enumerate() {
            let seed = (10 * i + j) as u64;
            let (z, rate) =
                largest_change(case, Some(&chart), &mut Block::new(force), 60_000, seed);
            assert!(z < MOST && rate > 0.03, "case {i}, {force:?}: {z}, {rate}");
        }
    }
}

#[test]
fn refresh_keeps_the_joint_law() {
    for (i, case) in cases().iter().enumerate() {
        let chart = case.chart(i as u64);
        for own_slope in [false, true] {
            let seed = (10 * i + own_slope as usize) as u64;
            let (z, rate) =
                largest_change(case, Some(&chart), &mut Refresh::new(own_slope), 60_000, seed);
            assert!(z < MOST && rate > 0.03, "case {i}, {own_slope}: {z}, {rate}");
        }
    }
}

/// The sweep, by the same test: so that the test itself is known to have the power to pass.
#[test]
fn sweep_keeps_the_joint_law() {
    struct Sweep;
    impl ThetaMove for Sweep {
        fn step(
            &mut self,
            at: &Setting,
            state: &mut State,
            _: u64,
            rng: &mut Rng,
        ) -> Outcome<Tally> {
            let release = at.problem.release();
            let mut kernel = KernelChoice::SysImwg.build(release.n())?;
            let mut offers = ModelOffers::new(at.problem.model(), &state.theta, release);
            let counts = kernel.sweep(&mut state.records, &mut offers, at.shape(), rng)?;
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

/// A block that is wrong by the Jacobian of the logarithm in which the scale of the noise is
/// moved: the test above sees it.
#[test]
fn a_wrong_jacobian_is_seen() {
    struct Wrong(Block);
    impl ThetaMove for Wrong {
        fn step(
            &mut self,
            at: &Setting,
            state: &mut State,
            times: u64,
            rng: &mut Rng,
        ) -> Outcome<Tally> {
            let sums = at.sums.as_ref().unwrap();
            let log_scale = |state: &State| {
                let mut noise = vec![0.0; sums.n];
                let model = at.problem.model().transport().unwrap();
                model.inverse(&state.theta, state.records.all(), &mut noise).unwrap();
                frame::Frame::split(&mut noise, 1).unwrap().factor[0].ln()
            };
            let before = state.clone();
            let tally = self.0.step(at, state, times, rng)?;
            let ratio = log_scale(&before) - log_scale(state);
            if rand::RngExt::random::<f64>(rng).ln() >= ratio {
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
    let chart = case.chart(1);
    let mut wrong = Wrong(Block::new(Force::OwnSlope));
    let (z, _) = largest_change(&case, Some(&chart), &mut wrong, 60_000, 1);
    assert!(z > MOST, "{z}");
}

/// What a schedule has learned, as text: all of it but the tallies.
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
            schedule.step(&problem, &mut state, iteration, Tally::default(), &mut rng).unwrap();
        }
        assert_eq!(warm, constants(&schedule));
        // One step that learns after warm-up, and the comparison fails.
        schedule.step_and_learn(&problem, &mut state, 400, Tally::default(), &mut rng).unwrap();
        assert_ne!(warm, constants(&schedule));
    }
}
