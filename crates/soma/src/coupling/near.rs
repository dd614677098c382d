//! How near the cheap couplings of SOMA's places are to the maximal one, and what they cost.

use std::sync::Arc;

use nalgebra::DMatrix;
use rand::RngExt;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::by_bounds::{AllByBounds, Bounds};
use super::by_cells::{AllByCells, CellDarts};
use super::by_darts::Darts;
use super::chains::CoupledChains;
use super::pair::{Offer, Pair};
use super::places::{Places, currents};
use crate::chain::{Chain, Problem};
use crate::kernel::shape::{Absolute, log_density, log_weight};
use crate::kernel::vector::Portable;
use crate::kernel::{KernelChoice, Records, Soma, Strategy};
use crate::model::{NormalInverseGamma, Regression};
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::{Aggregate, Release, query};
use crate::rng::{self, Rng};

const THETAS: [[f64; 4]; 2] = [[-1.79, -2.89, -0.66, 1.13], [-1.6, -2.7, -0.7, 1.3]];

/// The paper's regression with the values released at n = 100, as if of n records.
fn regression(n: usize, epsilon: f64) -> Problem {
    let values = [-0.5120269, -0.1326493, 0.1553842, 0.4520016, 0.0471396];
    let values = [&values[..], &[-0.1216039, 0.0803059, -0.0676178, 0.0018717]].concat();
    let query = Arc::new(query::Gram::with_range(2, (-6.0, 6.0)).unwrap());
    let scale = 13.0 / (n as f64 * epsilon);
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; 9]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Mean, n, values).unwrap();
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0).unwrap();
    let model = Regression::new(vec![0.9, -1.17], None, prior).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

/// The ways to choose places at a cost that does not grow with n, and by bounds of all weights.
const WAYS: [&str; 3] = ["bounds", "darts", "cells"];

/// Two chains that have run for a while and have all but `apart` of their records in common.
struct Frozen {
    pair: Pair,
    offers: [[Vec<f64>; 2]; 2],
    is_common: bool,
}

impl Frozen {
    fn new(problem: &Problem, apart: usize, is_common: bool, rng: &mut Rng) -> Self {
        let release = problem.release();
        let (n, d) = (release.n(), problem.model().record_dim());
        let fixed = problem.clone().with_fixed(THETAS[0].to_vec(), Vec::new()).unwrap();
        let run = |start: Vec<f64>, rng: &mut Rng| {
            let stream = rng::stream(rng.random(), 0);
            let theta = THETAS[0].to_vec();
            let mut chain = Chain::at(&fixed, KernelChoice::Soma, theta, start, stream).unwrap();
            for _ in 0..20 {
                chain.step().unwrap();
            }
            chain.records().all().to_vec()
        };
        let mut start = vec![0.0; n * d];
        problem.model().propose(&THETAS[0], &mut start, rng).unwrap();
        let first = run(start, rng);
        let other = run(first.clone(), rng);
        let mut second = first.clone();
        second[..apart * d].copy_from_slice(&other[..apart * d]);
        let records = |rows| Records::new(release, rows).unwrap();
        let pair = Pair::new(records(first), records(second));
        let offer = |theta: &[f64], rng: &mut Rng| {
            let mut row = vec![0.0; d];
            problem.model().propose(theta, &mut row, rng).unwrap();
            let one = records([&row[..], &pair.records()[0].all()[d..]].concat());
            [row, one.statistic(0).to_vec()]
        };
        let y = offer(&THETAS[0], rng);
        let z = if is_common { y.clone() } else { offer(&THETAS[1], rng) };
        let offers = [[y[0].clone(), z[0].clone()], [y[1].clone(), z[1].clone()]];
        Frozen { pair, offers, is_common }
    }

    fn offer(&self) -> Offer<'_> {
        let [records, statistics] = self.offers.each_ref().map(|[y, z]| [&y[..], &z[..]]);
        Offer { records, statistics, is_common: self.is_common }
    }

    /// The weights of the offer at all places of one chain, and w_0, both relative to the largest.
    fn weights(&self, side: usize) -> (Vec<f64>, f64) {
        let records = self.pair.records()[side];
        let (residual, new) = (records.residual(), self.offer().statistics[side]);
        let log = |i| log_weight::<Absolute>(residual, records.statistic(i), new);
        let logs: Vec<f64> = (0..self.pair.n()).map(log).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.iter().map(|log| (log - top).exp()).collect();
        (weights, (log_density::<Absolute>(residual) - top).exp())
    }

    /// The law of the place where a chain takes its offer; the last entry is for nowhere.
    fn law(&self, side: usize) -> Vec<f64> {
        let (weights, current) = self.weights(side);
        let total: f64 = weights.iter().sum();
        let mut law: Vec<f64> = weights
            .iter()
            .map(|w| w / total * (total / (total + (current - w).max(0.0))))
            .collect();
        law.push(1.0 - law.iter().sum::<f64>());
        law
    }

    /// Where the offer was taken in each of so many moves from here. A chain that has `ease` added
    /// to its cost as it stands takes everything.
    fn moves(&self, way: &str, count: usize, ease: f64, rng: &mut Rng) -> Vec<[usize; 2]> {
        fn run(
            mut places: impl Places,
            frozen: &Frozen,
            (count, ease): (usize, f64),
            rng: &mut Rng,
        ) -> Vec<[usize; 2]> {
            let (pair, n) = (&frozen.pair, frozen.pair.n());
            let now = currents::<Absolute, Portable, 0>(pair).map(|current| current - ease);
            let one = |_| {
                let offer = frozen.offer();
                let taken =
                    places.choose::<Absolute, Portable, 0>(pair, now, 0, &offer, &mut 0, rng);
                taken.map(|taken| taken.map_or(n, |(place, _)| place))
            };
            (0..count).map(one).collect()
        }
        let pair = &self.pair;
        match way {
            "bounds" => {
                let mut bounds = Bounds::default();
                bounds.load::<Portable, 0>(pair, 0..pair.n());
                run(AllByBounds(&mut bounds), self, (count, ease), rng)
            }
            "darts" => {
                let mut darts = Darts::default();
                darts.begin::<Portable, 0>(pair);
                run(&mut darts, self, (count, ease), rng)
            }
            _ => {
                let mut soma = Soma::with_strategy(Strategy::Cells(32));
                soma.choose::<Absolute, Portable, 0>(&pair.first);
                let mut darts = CellDarts::default();
                let partition = soma.partition();
                let places =
                    AllByCells::begin::<Absolute, Portable, 0>(&mut darts, partition, pair);
                run(places, self, (count, ease), rng)
            }
        }
    }
}

/// From frozen pairs of states, each chain alone takes its offer where the plain kernel does, as
/// often as that does.
#[test]
fn places_follow_the_law_of_the_plain_kernel() {
    let mut rng = rng::stream(41, 0);
    for (epsilon, apart, is_common) in
        [(3.0, 6, true), (3.0, 48, false), (30.0, 6, true), (30.0, 48, false)]
    {
        let frozen = Frozen::new(&regression(48, epsilon), apart, is_common, &mut rng);
        for way in WAYS {
            let count = 40_000;
            let moves = frozen.moves(way, count, 0.0, &mut rng);
            for side in 0..2 {
                let mut seen = vec![0.0; 49];
                moves.iter().for_each(|places| seen[places[side]] += 1.0);
                let chance = chi_squared(&seen, &frozen.law(side), count as f64);
                assert!(chance > 1e-6, "{way}, epsilon {epsilon}, chain {side}: {chance}");
            }
        }
    }
}

/// The chance of a Pearson statistic as large as this one; rare places are taken together.
fn chi_squared(seen: &[f64], law: &[f64], total: f64) -> f64 {
    let (mut cells, mut rare) = (Vec::new(), (0.0, 0.0));
    for (count, p) in seen.iter().zip(law) {
        if p * total < 20.0 {
            rare = (rare.0 + p * total, rare.1 + count);
        } else {
            cells.push((p * total, *count));
        }
    }
    if rare.0 > 1.0 {
        cells.push(rare);
    }
    let statistic: f64 = cells.iter().map(|(e, count)| (count - e).powi(2) / e).sum();
    1.0 - ChiSquared::new((cells.len() - 1) as f64).unwrap().cdf(statistic)
}

/// The chains choose the same place nearly as often as they can: by bounds, as often as they can;
/// by eight places at a time always more often than (1 - TV) / (1 + TV), which common candidates
/// one at a time would give (this is for releases that are not sharp), and over all cases nearer to
/// the maximal coupling than to that; by way of cells, for sharp releases, they part less than
/// half as often again as they must.
#[test]
fn places_agree_nearly_as_often_as_they_can() {
    let mut parted = [(0.0, 0.0); 3];
    let mut rng = rng::stream(42, 0);
    for (epsilon, apart) in [(3.0, 10), (3.0, 100), (10.0, 10), (30.0, 10), (30.0, 100)] {
        for _ in 0..4 {
            let frozen = Frozen::new(&regression(100, epsilon), apart, true, &mut rng);
            let shares = [0, 1].map(|side| {
                let weights = frozen.weights(side).0;
                let total: f64 = weights.iter().sum();
                weights.into_iter().map(|w| w / total).collect::<Vec<f64>>()
            });
            let overlap: f64 = shares[0].iter().zip(&shares[1]).map(|(p, q)| p.min(*q)).sum();
            for (way, parted) in WAYS.into_iter().zip(&mut parted) {
                if way == "darts" && epsilon > 3.0 {
                    continue;
                }
                let count = 10_000;
                let moves = frozen.moves(way, count, 40.0, &mut rng);
                let same = moves.iter().filter(|[i, j]| i == j).count() as f64 / count as f64;
                let error = (overlap * (1.0 - overlap) / count as f64).sqrt();
                assert!(same < overlap + 4.5 * error, "{way}: {same}, at most {overlap}");
                let one_at_a_time = overlap / (2.0 - overlap);
                let least = match way {
                    "bounds" => overlap - 2e-3,
                    "darts" => one_at_a_time,
                    _ => 0.65 * one_at_a_time,
                };
                assert!(same > least - 4.5 * error, "{way}: {same}, at least {least}");
                *parted = (parted.0 + 1.0 - same, parted.1 + 1.0 - overlap);
            }
        }
    }
    for ((way, (parted, must)), most) in WAYS.into_iter().zip(parted).zip([1.03, 1.5, 1.5]) {
        println!("{way}: they part {:.3} times as often as they must", parted / must);
        assert!(parted < most * must, "{way}: {parted}, where they must {must}");
    }
}

/// A coupled move costs a handful of weights of each chain, however many records there are.
#[test]
fn a_move_costs_few_weights() {
    for (epsilon, most) in [(1.0, 9.0), (3.0, 11.0), (30.0, 12.0)] {
        for n in [1_000, 4_000] {
            let problem = regression(n, epsilon).with_fixed(THETAS[0].to_vec(), Vec::new());
            let problem = problem.unwrap();
            let mut pair = CoupledChains::new(&problem, KernelChoice::Soma, 1, 5, 0).unwrap();
            (0..2).for_each(|_| pair.step().unwrap());
            let before = pair.counts();
            (0..3).for_each(|_| pair.step().unwrap());
            let made = pair.counts() - before;
            assert_eq!(pair.met(), None, "they are apart");
            let each = made.evaluations as f64 / made.moves as f64;
            println!("epsilon {epsilon}, n = {n}: {each:.2} weights of each chain");
            assert!(each < most, "epsilon {epsilon}, n = {n}: {each} weights of each chain");
        }
    }
}
