//! Fixed pairs of states: the empirical and the exact distribution of the accepted places.

use std::ops::Range;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::coupling::pair::Pair;
use crate::coupling::proposals::CoupledProposals;
use crate::coupling::select::by_bounds::{Bounded, Bounds};
use crate::coupling::select::by_cells::{AllByCells, CellDarts};
use crate::coupling::select::by_darts::Darts;
use crate::coupling::select::by_scan::{Among, Weighed, Weights};
use crate::coupling::select::places::{Move, Places, currents, taken};
use crate::error::Outcome;
use crate::kernel::{Soma, Strategy};
use crate::model::Model;
use crate::records::Records;
use crate::release::Release;
use crate::rng::Rng;
use crate::simd::cost::{Cost, log_density_with, log_weight_with};
use crate::simd::vector::Portable;

/// A method of selecting places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Scan,
    Bounds,
    /// Bounds in one block of sixteen places.
    Block,
    Darts,
    Cells(usize),
}

/// All methods; with one cell the bound is as loose as possible.
pub(super) const WAYS: [Way; 6] =
    [Way::Scan, Way::Bounds, Way::Block, Way::Darts, Way::Cells(32), Way::Cells(1)];

const BLOCK: usize = 16;

impl Way {
    /// The places it selects from.
    fn places(self, n: usize) -> Range<usize> {
        match self {
            Way::Block if n >= 2 * BLOCK => BLOCK..2 * BLOCK,
            Way::Block => 0..n.min(BLOCK),
            _ => 0..n,
        }
    }
}

/// All records equal theta, so that a test can set the proposal.
#[derive(Debug)]
struct Point(usize);

impl Model for Point {
    fn kind(&self) -> &'static str {
        "point"
    }

    fn record_dim(&self) -> usize {
        self.0
    }

    fn parameters(&self) -> Vec<String> {
        vec!["x".into(); self.0]
    }

    fn sample_prior(&self, _: &mut [f64], _: &mut Rng) -> Outcome {
        unreachable!("theta is given")
    }

    fn log_prior(&self, _: &[f64]) -> Outcome<f64> {
        unreachable!("theta is given")
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], _: &mut Rng) -> Outcome {
        records.chunks_exact_mut(self.0).for_each(|record| record.copy_from_slice(theta));
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        Ok(if record == theta { 0.0 } else { f64::NEG_INFINITY })
    }

    fn update(&self, _: &mut [f64], _: &[f64], _: &mut Rng) -> Outcome {
        unreachable!("theta is given")
    }
}

/// Two chains and a proposal to each, equal or not.
pub(super) struct Frozen {
    release: Release,
    pub pair: Pair,
    proposals: [Vec<f64>; 2],
}

impl Frozen {
    pub fn new(release: &Release, rows: [Vec<f64>; 2], proposals: [Vec<f64>; 2]) -> Self {
        let [first, second] = rows.map(|rows| Records::new(release, rows).unwrap());
        Frozen { release: release.clone(), pair: Pair::new(first, second), proposals }
    }

    /// The weights of the proposal at some places of one chain, and w_0, both relative to the
    /// largest.
    pub fn weights<S: Cost>(&self, side: usize, places: Range<usize>) -> (Vec<f64>, f64) {
        let records = self.pair.records()[side];
        let residual = records.residual();
        let d = self.proposals[side].len();
        let with = [&self.proposals[side][..], &records.all()[d..]].concat();
        let new = Records::new(&self.release, with).unwrap().statistic(0).to_vec();
        let log = |i| log_weight_with::<S, Portable, 0>(residual, records.statistic(i), &new);
        let logs: Vec<f64> = places.map(log).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.iter().map(|log| (log - top).exp()).collect();
        (weights, (log_density_with::<S, Portable, 0>(residual) - top).exp())
    }

    /// The distribution of the accepted place of a chain; the last entry is rejection.
    fn law<S: Cost>(&self, way: Way, side: usize) -> Vec<f64> {
        let n = self.pair.n();
        let places = way.places(n);
        let (weights, current) = self.weights::<S>(side, places.clone());
        let total: f64 = weights.iter().sum();
        let mut law = vec![0.0; n + 1];
        for (place, w) in places.zip(weights) {
            law[place] = w / (total + (current - w).max(0.0));
        }
        law[n] = 1.0 - law.iter().sum::<f64>();
        law
    }

    /// The smaller p-value of the two chains: Pearson's test of the accepted places of `count`
    /// moves against their distribution.
    pub fn chance<S: Cost>(&self, way: Way, count: usize, rng: &mut Rng) -> f64 {
        let moves = self.moves::<S>(way, count, 0.0, rng);
        let chances = [0, 1].map(|side| {
            let mut seen = vec![0.0; self.pair.n() + 1];
            moves.iter().for_each(|places| seen[places[side]] += 1.0);
            chi_squared(&seen, &self.law::<S>(way, side), count as f64)
        });
        f64::min(chances[0], chances[1])
    }

    /// The accepted places in `count` moves from this state. `ease` is added to the current cost; a
    /// large value makes the chains accept every proposal.
    pub fn moves<S: Cost>(
        &self,
        way: Way,
        count: usize,
        ease: f64,
        rng: &mut Rng,
    ) -> Vec<[usize; 2]> {
        let pair = &self.pair;
        match way {
            Way::Scan => {
                let weights = &mut Weights::default();
                self.run::<S>(Weighed { among: Among::All, weights }, (way, count, ease), rng)
            }
            Way::Bounds | Way::Block => {
                let size = (way == Way::Block).then_some(BLOCK);
                let places = Bounded { size, bounds: &mut Bounds::default() };
                self.run::<S>(places, (way, count, ease), rng)
            }
            Way::Darts => {
                let mut darts = Darts::default();
                darts.begin::<Portable, 0>(pair);
                self.run::<S>(&mut darts, (way, count, ease), rng)
            }
            Way::Cells(cells) => {
                let mut soma = Soma::with_strategy(Strategy::Cells(cells));
                soma.choose::<S, Portable, 0>(&pair.first);
                let mut darts = CellDarts::default();
                let places =
                    AllByCells::begin::<S, Portable, 0>(&mut darts, soma.partition(), pair);
                self.run::<S>(places, (way, count, ease), rng)
            }
        }
    }

    fn run<S: Cost>(
        &self,
        mut places: impl Places<S>,
        (way, count, ease): (Way, usize, f64),
        rng: &mut Rng,
    ) -> Vec<[usize; 2]> {
        let (pair, n) = (&self.pair, self.pair.n());
        let turn = way.places(n).start;
        let point = Point(self.proposals[0].len());
        let thetas = self.proposals.each_ref().map(|proposal| &proposal[..]);
        let mut proposals = CoupledProposals::new(&point, thetas, &self.release);
        proposals.draw(1, rng).unwrap();
        places.prepare::<Portable, 0>(pair, &proposals, 1);
        let currents =
            currents::<S, Portable, 0>(&S::default(), pair).map(|current| current + ease);
        let at = Move {
            potential: &S::default(),
            pair,
            currents,
            turn,
            proposal: proposals.proposal(0),
        };
        let one = |_| {
            taken::<S, Portable, 0>(&mut places, &at, &mut 0, rng)
                .map(|taken| taken.map_or(n, |(place, _)| place))
        };
        (0..count).map(one).collect()
    }
}

/// The p-value of the Pearson statistic; rare places are pooled.
fn chi_squared(seen: &[f64], law: &[f64], total: f64) -> f64 {
    let (mut cells, mut rare) = (Vec::new(), (0.0, 0.0));
    for (count, p) in seen.iter().zip(law) {
        if p * total < 20.0 {
            rare = (rare.0 + p * total, rare.1 + count);
        } else {
            cells.push((p * total, *count));
        }
    }
    // Events of probability zero must not occur, up to rounding.
    if rare.0 > 1.0 || rare.1 > 5.0 {
        cells.push((rare.0.max(1.0), rare.1));
    }
    let statistic: f64 = cells.iter().map(|(e, count)| (count - e).powi(2) / e).sum();
    1.0 - ChiSquared::new((cells.len() - 1).max(1) as f64).unwrap().cdf(statistic)
}
