//! Shared by the tests of the kernel against the scan.

mod bins;
mod boxes;
mod chains;
mod counts;
mod laws;
mod outliers;

use std::sync::Arc;

use rand::RngExt;
use rand_distr::StandardNormal;

use crate::kernel::Kernel;
use crate::kernel::soma::*;
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::potential::Block;
use crate::release::query::Mean;
use crate::release::{Aggregate, Release};
use crate::rng;
use crate::simd::cost::{L1, L2, log_density_with, log_weight_with};

/// Many selections for one proposal, with the records fixed.
struct Frozen<'a> {
    soma: &'a mut Soma,
    records: &'a Records,
    statistic: &'a [f64],
    draws: usize,
    /// How often each place was accepted, and, last, how often the proposal was rejected.
    taken: Vec<u64>,
    evaluations: u64,
    rng: &'a mut Rng,
}

impl Work for Frozen<'_> {
    type Output = (Vec<u64>, u64);

    #[inline(always)]
    fn run<S: Cost, V: Vector, const K: usize>(self) -> (Vec<u64>, u64) {
        let strategy = self.soma.choose::<S, V, K>(self.records);
        let (mut candidates, mut outliers) = (Candidates::default(), Outliers::eager());
        let Soma { partition, ahead, columns, quantised, cells, bins, envelope, .. } =
            &mut *self.soma;
        match strategy {
            Strategy::Uniform => {
                let selector = UniformSelector::begin::<V, K>(
                    &mut candidates,
                    &mut outliers,
                    envelope,
                    self.records,
                    16,
                    self.rng,
                );
                self.draw::<S, V, K, _>(selector)
            }
            Strategy::Scan if quantised.suit_all::<S, V, K>(self.records) => {
                let mut quantised = std::mem::take(quantised);
                let selector = ScanSelector::new(&mut quantised);
                self.draw::<S, V, K, _>(selector)
            }
            Strategy::Scan => {
                let mut columns = std::mem::take(columns);
                columns.load::<V, K>(self.records, 0..self.records.n());
                let selector = ScanSelector::new(&mut columns);
                self.draw::<S, V, K, _>(selector)
            }
            Strategy::Cells(_) => {
                let (mut cells, mut ahead) = (std::mem::take(cells), std::mem::take(ahead));
                let partition = partition.clone();
                let cells = (&mut cells, &mut ahead);
                let selector = CellSelector::begin::<S, V, K>(
                    cells,
                    &partition,
                    self.records,
                    envelope,
                    self.rng,
                );
                self.draw::<S, V, K, _>(selector)
            }
            Strategy::Bins => {
                let Frozen { records, statistic, draws, rng, .. } = self;
                (bins.frozen::<S, V>(&S::default(), records, statistic, draws, rng), 0)
            }
            Strategy::Boxes | Strategy::Weights => {
                let norm = if S::IS_CURVED { Norm::L2 } else { Norm::L1 };
                let potential = Potential::of_norm(norm, self.records.k());
                let Frozen { records, statistic, draws, rng, .. } = self;
                Separable::default().frozen(&potential, records, statistic, draws, rng)
            }
        }
    }
}

impl Frozen<'_> {
    #[inline(always)]
    fn draw<S: Cost, V: Vector, const K: usize, T: Selector>(
        mut self,
        mut selector: T,
    ) -> (Vec<u64>, u64) {
        let current = -log_density_with::<S, V, K>(self.records.residual());
        let envelope = &mut self.soma.envelope;
        let (count, rng) = (&mut self.evaluations, self.rng);
        selector.prepare::<S, V, K>(self.statistic, envelope, self.records);
        for _ in 0..self.draws {
            let records = self.records;
            let at = Turn { current, records, evaluations: &mut *count, rng: &mut *rng };
            let choice = selector.select::<S, V, K>(self.statistic, envelope, at);
            let at = Turn { current, records, evaluations: &mut *count, rng: &mut *rng };
            let accepts = selector.accepts::<S, V, K>(&choice, envelope, at);
            self.taken[if accepts { choice.place } else { self.records.n() }] += 1;
        }
        (self.taken, self.evaluations)
    }
}

/// The exact probability of each place, and, last, of rejection.
fn law<S: Cost>(records: &Records, statistic: &[f64]) -> Vec<f64> {
    let log = |i: usize| {
        log_weight_with::<S, Portable, 0>(records.residual(), records.statistic(i), statistic)
    };
    let logs: Vec<f64> = (0..records.n()).map(log).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let current = (log_density_with::<S, Portable, 0>(records.residual()) - top).exp();
    let taken = |w: &f64| w / total * (total / (total + (current - w).max(0.0))).min(1.0);
    let mut law: Vec<f64> = weights.iter().map(taken).collect();
    law.push((1.0 - law.iter().sum::<f64>()).max(0.0));
    law
}

/// Pearson's chi-squared statistic of counts and a distribution, as a standard normal quantile.
/// Rare outcomes are pooled.
fn distance(counts: &[u64], law: &[f64]) -> f64 {
    let draws = counts.iter().sum::<u64>() as f64;
    let mut order: Vec<usize> = (0..law.len()).collect();
    order.sort_by(|&a, &b| law[a].total_cmp(&law[b]));
    let (mut statistic, mut groups) = (0.0, 0.0);
    let (mut expected, mut seen) = (0.0, 0.0);
    for (rank, &i) in order.iter().enumerate() {
        expected += law[i] * draws;
        seen += counts[i] as f64;
        let left: f64 = order[rank + 1..].iter().take(1).map(|&j| law[j] * draws).sum();
        if expected >= 10.0 && (left >= 10.0 || rank + 1 == order.len()) {
            statistic += (seen - expected) * (seen - expected) / expected;
            groups += 1.0;
            (expected, seen) = (0.0, 0.0);
        }
    }
    // The remaining outcomes are too rare to be seen often.
    assert!(seen < 60.0 + 10.0 * expected, "{seen} outcomes seen, {expected} expected");
    if groups < 2.0 {
        return 0.0;
    }
    // The cube root of a chi-squared variable is nearly normal (Wilson and Hilferty).
    let spread = 2.0 / (9.0 * (groups - 1.0));
    ((statistic / (groups - 1.0)).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// The configuration of the records of a test.
#[derive(Debug, Clone, Copy)]
enum State {
    Typical,
    AllEqual,
    OneOutlier,
    FarFromRelease,
    /// Two clusters, and a proposal that would best replace a record between them.
    TwoGroups,
}

/// n records with k statistics each in [-1, 1], under noise of the scale that epsilon implies.
fn problem(noise: Noise, n: usize, k: usize, epsilon: f64, state: State) -> (Records, Vec<f64>) {
    let mut rng = rng::stream(77, (n * 100 + k) as u64);
    let mut normal = || (0.4 * rng.sample::<f64, _>(StandardNormal)).clamp(-1.0, 1.0);
    let mut rows: Vec<f64> = (0..n * k).map(|_| normal()).collect();
    match state {
        State::AllEqual => rows.fill(0.25),
        State::OneOutlier => rows[..k].fill(-1.0),
        State::TwoGroups => {
            for (j, x) in rows.iter_mut().enumerate() {
                *x = 0.1 * *x + if (j / k).is_multiple_of(2) { 0.9 } else { -0.9 };
            }
        }
        State::Typical | State::FarFromRelease => {}
    }
    let scale = 2.0 * k as f64 / epsilon;
    let shift = match state {
        State::FarFromRelease => 30.0 * scale,
        State::TwoGroups => 30.0 * scale / k as f64,
        _ => 0.4 * scale,
    };
    let shifted = |c: usize| c.is_multiple_of(2) || matches!(state, State::TwoGroups);
    let sum = |c: usize| rows.iter().skip(c).step_by(k).sum::<f64>();
    let values = (0..k).map(|c| sum(c) + if shifted(c) { shift } else { 0.0 }).collect();
    let query = Arc::new(Mean::new(vec![(-1.0, 1.0); k]).unwrap());
    let mechanism = Mechanism::new(noise, vec![scale; k]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Sum, n, values).unwrap();
    let proposal = match state {
        State::TwoGroups => vec![0.9 / scale - 4.0 / k as f64; k],
        _ => (0..k).map(|_| normal() / scale).collect(),
    };
    (Records::new(&release, rows).unwrap(), proposal)
}

/// SOMA that lists outliers even for few records.
fn eager(strategy: Strategy) -> Kernel {
    let soma = Soma::with_strategy(strategy);
    Kernel::Soma(Soma { outliers: Outliers::eager(), ..soma })
}

fn frozen(
    strategy: Strategy,
    portable: bool,
    norm: Norm,
    records: &Records,
    statistic: &[f64],
    draws: usize,
    rng: &mut Rng,
) -> (Vec<u64>, u64) {
    let mut soma = Soma::with_strategy(strategy);
    let taken = vec![0; records.n() + 1];
    let arch = if portable { Arch::Scalar } else { Arch::new() };
    let k = records.k();
    let work = Frozen { soma: &mut soma, records, statistic, draws, taken, evaluations: 0, rng };
    match norm {
        Norm::L1 => specialised::<_, L1>(work, k, arch),
        Norm::L2 => specialised::<_, L2>(work, k, arch),
    }
}

/// The L1 potential of k coordinates.
fn l1(k: usize) -> Potential {
    Potential::of_norm(Norm::L1, k)
}

fn norm_of(noise: Noise) -> Norm {
    let coordinate = noise.law().coordinate(1.0, 0.0);
    Potential::new(vec![Block::Coordinate(coordinate)]).norm().unwrap()
}

fn potential_of(noise: Noise, k: usize) -> Potential {
    Potential::of_norm(norm_of(noise), k)
}

fn law_of(noise: Noise, records: &Records, statistic: &[f64]) -> Vec<f64> {
    match norm_of(noise) {
        Norm::L1 => law::<L1>(records, statistic),
        Norm::L2 => law::<L2>(records, statistic),
    }
}

/// Proposals with independent coordinates; the statistic is the record.
struct Normals {
    k: usize,
    unit: f64,
}

impl Proposals for Normals {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, self.k, self.k);
        let (records, statistics) = batch.parts_mut();
        for (x, t) in records.iter_mut().zip(statistics) {
            *x = (0.4 * rng.sample::<f64, _>(StandardNormal)).clamp(-1.0, 1.0);
            *t = *x * self.unit;
        }
        Ok(())
    }
}

fn sweep(kernel: &mut Kernel, records: &mut Records, sweeps: usize, seed: u64) -> Counts {
    let mut rng = rng::stream(seed, 0);
    let mut proposals = Normals { k: records.k(), unit: records.unit(0) };
    let mut counts = Counts::default();
    for _ in 0..sweeps {
        counts += kernel.sweep(records, &mut proposals, &l1(records.k()), &mut rng).unwrap();
    }
    counts
}
