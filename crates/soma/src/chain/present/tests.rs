//! An iteration where n is unknown leaves the joint law of theta, n, the records and the release
//! invariant.
//!
//! theta and n are drawn from their priors, the records from the model and the release from the
//! records. After one iteration, with moves that were chosen in a warm-up on another release, any
//! function of all that has the mean that it had before.

use std::sync::Arc;

use rand::seq::SliceRandom;

use super::super::{Chain, MovesChoice, Problem, Schedule};
use super::*;
use crate::chain::resize::Resize;
use crate::kernel::KernelChoice;
use crate::model::Normal;
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::query::{Count, Mean};
use crate::release::{Aggregate, Part, Release, SizePrior};
use crate::rng::{self, Rng};

const PRIOR: SizePrior = SizePrior::Poisson { mean: 3.0 };
const NOISES: [(Noise, f64); 2] = [(Noise::Laplace, 1.0), (Noise::DiscreteLaplace, 1.5)];
const WARMUP: u64 = 200;

/// A noisy sum of clamped values and a noisy count.
fn problem(values: [f64; 2]) -> Problem {
    let sum = Arc::new(Mean::new(vec![(-2.0, 2.0)]).unwrap());
    let part = |query, k: usize| {
        let (noise, scale) = NOISES[k];
        let mechanism = Mechanism::new(noise, vec![scale]).unwrap();
        Part::new(query, mechanism, Aggregate::Sum, vec![values[k]]).unwrap()
    };
    let parts = vec![part(sum, 0), part(Arc::new(Count::new(1)), 1)];
    let release = Release::of_unknown_size(PRIOR, parts, None).unwrap();
    Problem::new(release, Arc::new(Normal::new(0.0, 1.0, 4.0, 3.0).unwrap())).unwrap()
}

/// A draw of theta, n, the slots and the release from their joint law.
fn draw(rng: &mut Rng) -> (Problem, Vec<f64>, Vec<f64>) {
    let blank = problem([0.0, 3.0]);
    let mut theta = vec![0.0; 2];
    blank.record_model().sample_prior(&mut theta, rng).unwrap();
    let slots = blank.simulate_records(&theta, rng).unwrap();
    let held = || slots.chunks_exact(2).filter(|slot| is_held(slot));
    let sums = [held().map(|slot| slot[1].clamp(-2.0, 2.0)).sum::<f64>(), held().count() as f64];
    let noisy = |k: usize| NOISES[k].0.law().sample(NOISES[k].1, sums[k], rng);
    let values: Vec<f64> = [0, 1].into_iter().map(noisy).collect();
    let problem = problem([values[0], values[1]]);
    // The slots are exchangeable. Their number is that of the prior whatever was published.
    assert_eq!(problem.release().n(), blank.release().n());
    let mut rows: Vec<&[f64]> = slots.chunks_exact(2).collect();
    rows.shuffle(rng);
    let slots = rows.concat();
    (problem, theta, slots)
}

fn functions(chain: &Chain) -> Vec<f64> {
    let (theta, records) = (chain.theta(), chain.records());
    let held = records.all().chunks_exact(2).filter(|slot| is_held(slot));
    let own: Vec<f64> = held.map(|slot| slot[1]).collect();
    let n = own.len() as f64;
    let sum: f64 = own.iter().map(|x| x.clamp(-2.0, 2.0)).sum();
    let beyond = own.iter().filter(|x| x.abs() > 2.0).count() as f64;
    let residual = records.residual()[0];
    let (mu, spread) = (theta[0], theta[1].ln());
    let none = f64::from(u8::from(own.is_empty()));
    let all = [n, n * n, none, sum, sum * sum, beyond, residual.abs(), mu, mu * mu, spread];
    let mixed = [n * sum, n * mu, n * mu * mu, n * spread, mu * sum, spread * sum * sum];
    [&all[..], &mixed, &[mu * residual, n * residual.abs(), none * mu * mu]].concat()
}

/// The moves that a warm-up chooses.
fn warm(kernel: KernelChoice) -> (Schedule, Resize) {
    let problem = problem([2.5, 9.0]);
    let chain = Chain::new(&problem, kernel, 1, 0).unwrap();
    let mut chain = chain.with_moves(MovesChoice::Auto, WARMUP).unwrap();
    for _ in 0..WARMUP {
        chain.step().unwrap();
    }
    let names: Vec<String> = chain.moves().into_iter().map(|made| made.name).collect();
    assert!(names.iter().any(|name| name == "hamiltonian" || name == "independence"), "{names:?}");
    (chain.moves.clone(), chain.resize.clone())
}

#[test]
fn iterations_keep_the_joint_law() {
    const DRAWS: usize = 30_000;
    let [soma, imwg] = [KernelChoice::Soma, KernelChoice::SysImwg];
    for (case, (kernel, sweeps_present)) in
        [(soma, false), (soma, true), (imwg, true)].into_iter().enumerate()
    {
        let (moves, mut resize) = warm(kernel);
        resize.set_sweeps(sweeps_present);
        let mut rng = rng::stream(7, case as u64);
        let mut sums: Vec<[f64; 2]> = Vec::new();
        let mut made = 0;
        for index in 0..DRAWS {
            let (problem, theta, slots) = draw(&mut rng);
            let own = rng::stream(8 + case as u64, index as u64);
            let mut chain = Chain::at(&problem, kernel, theta, slots, own).unwrap();
            (chain.moves, chain.resize) = (moves.clone(), resize.clone());
            chain.iteration = WARMUP;
            let before = functions(&chain);
            chain.step().unwrap();
            made += usize::from(Present::count(&chain.state) as f64 != before[0]);
            sums.resize(before.len(), [0.0; 2]);
            for ((sum, a), b) in sums.iter_mut().zip(functions(&chain)).zip(before) {
                sum[0] += a - b;
                sum[1] += (a - b) * (a - b);
            }
        }
        let draws = DRAWS as f64;
        for (k, [sum, squares]) in sums.into_iter().enumerate() {
            let mean = sum / draws;
            let error = ((squares / draws - mean * mean) / draws).sqrt();
            assert!(
                mean.abs() < 4.5 * error,
                "{kernel:?}, {sweeps_present}, {k}: {mean} +- {error}"
            );
        }
        assert!(made > DRAWS / 4, "n moved in {made}");
    }
}
