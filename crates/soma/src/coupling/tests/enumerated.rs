//! A problem that can be enumerated: records with three possible values.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::chain::{Problem, Summary};
use crate::coupling::kernel::CoupledKernel;
use crate::coupling::pair::Pair;
use crate::coupling::proposals::CoupledProposals;
use crate::error::Outcome;
use crate::kernel::{Coupling, KernelChoice, Strategy, Subset};
use crate::model::Model;
use crate::records::Records;
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::potential::{Block, Joint, Potential};
use crate::release::{Aggregate, Release, query};
use crate::rng::{self, Rng};

/// A record is 0, 1 or 2 with the probabilities theta.
#[derive(Debug)]
struct Die;

impl Model for Die {
    fn kind(&self) -> &'static str {
        "die"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        ["p0", "p1", "p2"].map(String::from).to_vec()
    }

    fn sample_prior(&self, _: &mut [f64], _: &mut Rng) -> Outcome {
        unreachable!("theta is fixed")
    }

    fn log_prior(&self, _: &[f64]) -> Outcome<f64> {
        unreachable!("theta is fixed")
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        for x in records {
            let u: f64 = rng.random();
            *x = f64::from(u8::from(u >= theta[0]) + u8::from(u >= theta[0] + theta[1]));
        }
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        Ok(theta[record[0] as usize].ln())
    }

    fn update(&self, _: &mut [f64], _: &[f64], _: &mut Rng) -> Outcome {
        unreachable!("theta is fixed")
    }
}

const N: usize = 3;

/// One over the noise scale.
const SHARPNESS: f64 = 1.7;

const RELEASED: f64 = 2.4;

const THETAS: [[f64; 3]; 2] = [[0.2, 0.5, 0.3], [0.35, 0.25, 0.4]];

fn problem() -> Problem {
    let query = Arc::new(query::Mean::new(vec![(0.0, 2.0)]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![1.0 / SHARPNESS]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Sum, N, vec![RELEASED]).unwrap();
    let problem = Problem::new(release, Arc::new(Die)).unwrap();
    problem.with_fixed(THETAS[0].to_vec(), vec![Summary::Mean]).unwrap()
}

type State = [usize; N];
type Law = BTreeMap<State, f64>;

fn weight(state: &State) -> f64 {
    (-SHARPNESS * (RELEASED - state.iter().sum::<usize>() as f64).abs()).exp()
}

fn replaced(mut state: State, place: usize, y: usize) -> State {
    state[place] = y;
    state
}

/// The distribution after a SOMA move on `places`.
fn soma(law: &Law, theta: &[f64], places: &[usize]) -> Law {
    let mut after = Law::new();
    for (state, p) in law {
        for (y, q) in theta.iter().enumerate() {
            let weights: Vec<f64> =
                places.iter().map(|&i| weight(&replaced(*state, i, y))).collect();
            let (total, current) = (weights.iter().sum::<f64>(), weight(state));
            for (&i, w) in places.iter().zip(&weights) {
                let chosen = p * q * w / total;
                let accept = (total / (total + current - w)).min(1.0);
                *after.entry(replaced(*state, i, y)).or_default() += chosen * accept;
                *after.entry(*state).or_default() += chosen * (1.0 - accept);
            }
        }
    }
    after
}

/// The equal mixture of distributions.
fn mixture(laws: impl Iterator<Item = Law>) -> Law {
    let mut sum = Law::new();
    let mut count = 0.0;
    for law in laws {
        count += 1.0;
        law.into_iter().for_each(|(state, p)| *sum.entry(state).or_default() += p);
    }
    sum.values_mut().for_each(|p| *p /= count);
    sum
}

/// The distribution of the multiset after a sweep of the plain kernel from `state`.
fn sweep(kernel: KernelChoice, state: State, theta: &[f64]) -> Law {
    let mut law = Law::from([(state, 1.0)]);
    for turn in 0..N {
        // With one place SOMA is the Metropolis step of the IMwG kernels.
        law = match kernel.build(N).unwrap().coupling() {
            Coupling::AllPlaces => soma(&law, theta, &[0, 1, 2]),
            Coupling::OnePlace { at_random: true } => {
                mixture((0..N).map(|i| soma(&law, theta, &[i])))
            }
            Coupling::OnePlace { at_random: false } => soma(&law, theta, &[turn]),
            Coupling::Blocks { size } => {
                let start = turn - turn % size;
                let end = N.min(start + size);
                soma(&law, theta, &(start..end).collect::<Vec<_>>())
            }
            Coupling::Subset { subset: Subset::Random, .. } => {
                mixture([[0, 1], [0, 2], [1, 2]].iter().map(|places| soma(&law, theta, places)))
            }
            Coupling::Subset { size, subset: Subset::Cyclic } => {
                let places: Vec<usize> = (0..size).map(|i| (size * turn + i) % N).collect();
                soma(&law, theta, &places)
            }
        };
    }
    let mut sorted = Law::new();
    for (mut state, p) in law {
        state.sort_unstable();
        *sorted.entry(state).or_default() += p;
    }
    sorted
}

fn read(records: &Records) -> State {
    let mut state: State = std::array::from_fn(|i| records.all()[i] as usize);
    state.sort_unstable();
    state
}

const KERNELS: [KernelChoice; 7] = [
    KernelChoice::SomaBlocks { size: Some(2) },
    KernelChoice::Soma,
    KernelChoice::RanImwg,
    KernelChoice::SysImwg,
    KernelChoice::SomaSubset { size: 2, subset: Subset::Random },
    KernelChoice::SomaSubset { size: 2, subset: Subset::Cyclic },
    KernelChoice::SomaSubset { size: N, subset: Subset::Cyclic },
];

/// The ways to couple a kernel.
fn ways(kernel: KernelChoice) -> Vec<(&'static str, CoupledKernel)> {
    let usual = CoupledKernel::new(kernel, N).unwrap();
    match kernel {
        KernelChoice::Soma => vec![
            ("maximal", usual.clone()),
            ("bounds", usual.clone().with_strategy(Strategy::Scan)),
            ("darts", usual.clone().with_strategy(Strategy::Uniform)),
            ("cells", usual.with_strategy(Strategy::Cells(2))),
        ],
        _ => vec![("usual", usual)],
    }
}

/// |r|, as a potential without a fast path: only its value is available.
#[derive(Debug)]
struct Distance;

impl Joint for Distance {
    fn cost(&self, residual: &[f64]) -> f64 {
        residual[0].abs()
    }
}

/// Fails unless, from fixed pairs of states, each chain has the marginal distribution of the plain
/// kernel under `potential`, and the cached quantities agree with the records after every sweep.
fn assert_plain_laws(
    kernel: KernelChoice,
    (way, coupled): (&str, &CoupledKernel),
    potential: &Potential,
    stream: u64,
) {
    let problem = problem();
    let release = problem.release();
    let starts: [[State; 2]; 3] =
        [[[0, 0, 2], [2, 1, 1]], [[0, 1, 2], [1, 1, 2]], [[2; 3], [0; 3]]];
    let repetitions = 20_000;
    for thetas in [[0, 0], [0, 1]] {
        let thetas = thetas.map(|t: usize| &THETAS[t][..]);
        let mut rng = rng::stream(21, stream);
        for start in starts {
            let begin = start.map(|s| Records::new(release, s.map(|x| x as f64).to_vec()).unwrap());
            let mut seen = [Law::new(), Law::new()];
            for _ in 0..repetitions {
                let mut pair = Pair::new(begin[0].clone(), begin[1].clone());
                let mut coupled = coupled.clone();
                let mut proposals = CoupledProposals::new(problem.model(), thetas, release);
                coupled.sweep(&mut pair, &mut proposals, potential, &mut rng).unwrap();
                check_bookkeeping(&pair, release);
                for (seen, records) in seen.iter_mut().zip(pair.records()) {
                    *seen.entry(read(records)).or_default() += 1.0;
                }
            }
            for side in 0..2 {
                let law = sweep(kernel, start[side], thetas[side]);
                let chance = chi_squared(&seen[side], &law, repetitions as f64);
                assert!(chance > 1e-6, "{kernel:?}, {way}, {side}: {chance}");
            }
        }
    }
}

/// Each chain has the marginal distribution of the plain kernel, under every coupling.
#[test]
fn each_chain_alone_moves_by_the_plain_kernel() {
    let potential = problem().release().potential().clone();
    for (case, kernel) in KERNELS.into_iter().enumerate() {
        for (way, coupled) in ways(kernel) {
            assert_plain_laws(kernel, (way, &coupled), &potential, case as u64);
        }
    }
}

/// The same under a potential without a fast path.
#[test]
fn each_chain_alone_moves_so_under_any_potential() {
    let potential = Potential::new(vec![Block::Joint(1, Arc::new(Distance))]);
    for (case, kernel) in KERNELS.into_iter().enumerate() {
        let coupled = CoupledKernel::new(kernel, N).unwrap();
        assert_plain_laws(kernel, ("any", &coupled), &potential, 50 + case as u64);
    }
}

/// The p-value of the Pearson statistic; rare states are pooled.
fn chi_squared(seen: &Law, law: &Law, total: f64) -> f64 {
    let mut cells = Vec::new();
    let mut rare = (0.0, 0.0);
    for (state, p) in law {
        let (expected, count) = (p * total, seen.get(state).copied().unwrap_or(0.0));
        if expected < 20.0 {
            rare = (rare.0 + expected, rare.1 + count);
        } else {
            cells.push((expected, count));
        }
    }
    if rare.0 > 0.0 {
        cells.push(rare);
    }
    let statistic: f64 = cells.iter().map(|(e, count)| (count - e).powi(2) / e).sum();
    1.0 - ChiSquared::new((cells.len() - 1) as f64).unwrap().cdf(statistic)
}

/// Statistics, residuals and matches agree with the records.
fn check_bookkeeping(pair: &Pair, release: &Release) {
    for records in pair.records() {
        let fresh = Records::new(release, records.all().to_vec()).unwrap();
        assert_eq!(fresh.statistics(), records.statistics());
        let gaps = fresh.residual().iter().zip(records.residual()).map(|(a, b)| (a - b).abs());
        assert!(gaps.fold(0.0, f64::max) < 1e-9);
    }
    let [x, y] = pair.records();
    let apart = (0..pair.n()).filter(|&i| x.record(i) != y.record(i)).count();
    assert_eq!(pair.distance(), apart);
}

/// Relabelling preserves the multiset of records, and matches all equal records.
#[test]
fn alignment_matches_multisets() {
    let release = problem().release().clone();
    for code in 0..27 * 27 {
        let state = |code: usize| [code % 3, code / 3 % 3, code / 9 % 3].map(|x| x as f64).to_vec();
        let (x, y) = (state(code % 27), state(code / 27));
        let records = |state: &[f64]| Records::new(&release, state.to_vec()).unwrap();
        let mut pair = Pair::new(records(&x), records(&y));
        pair.align();
        check_bookkeeping(&pair, &release);
        assert_eq!(read(pair.records()[1]), read(&records(&y)));
        let count = |state: &[f64], v| state.iter().filter(|x| **x == v).count();
        let common: usize = [0.0, 1.0, 2.0].iter().map(|&v| count(&x, v).min(count(&y, v))).sum();
        assert_eq!(pair.distance(), N - common, "{x:?} {y:?}");
    }
}

/// Two equal chains stay equal when moved jointly.
#[test]
fn equal_chains_stay_equal() {
    let problem = problem();
    let release = problem.release();
    for (case, kernel) in KERNELS.into_iter().enumerate() {
        for (way, mut coupled) in ways(kernel) {
            let begin = Records::new(release, vec![0.0, 1.0, 1.0]).unwrap();
            let mut pair = Pair::new(begin.clone(), begin);
            let mut rng = rng::stream(22, case as u64);
            for _ in 0..2_000 {
                let thetas = [&THETAS[0][..], &THETAS[0][..]];
                let mut proposals = CoupledProposals::new(problem.model(), thetas, release);
                coupled.sweep(&mut pair, &mut proposals, release.potential(), &mut rng).unwrap();
                assert_eq!(pair.distance(), 0, "{kernel:?}, {way}");
            }
        }
    }
}
