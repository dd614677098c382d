//! Coupled SOMA at a cost that does not grow with n: a few weights of each chain.

use rand::distr::{Distribution, Uniform};

use super::ensemble::{DARTS, Ensemble};
use super::places::{Choice, Move, Places};
use crate::coupling::pair::Pair;
use crate::coupling::proposals::CoupledProposals;
use crate::kernel::select::accept::{Threshold, by_weighing_all};
use crate::kernel::select::envelope::Envelope;
use crate::numeric::exp::exp;
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::vector::Vector;

/// After this many rounds all weights are computed. Rounds are independent, so a fixed limit does
/// not change the distribution.
const ROUNDS: usize = 16;

/// Uniformly drawn places, several at a time and the same for both chains, under one bound of all
/// weights; see [`Ensemble`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Darts {
    envelopes: [Envelope; 2],
    /// Lower bounds of W / w_0 that hold for all proposals of a batch; 0 if there is none.
    floors: [f64; 2],
    /// The smallest possible cost of the current proposal at any place.
    least: [f64; 2],
}

impl Darts {
    /// Computes the bounding boxes of both chains.
    #[inline(always)]
    pub fn begin<V: Vector, const K: usize>(&mut self, pair: &Pair) {
        for (envelope, records) in self.envelopes.iter_mut().zip(pair.records()) {
            envelope.fit::<V, K>(records);
            envelope.divide_by_widths();
        }
    }
}

impl<S: Cost> Places<S> for &mut Darts {
    /// Extends the boxes by all proposals of the batch, as in the plain kernel.
    #[inline(always)]
    fn prepare<V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        proposals: &CoupledProposals<'_>,
        size: usize,
    ) {
        for side in 0..2 {
            for j in 0..size {
                self.envelopes[side].widen::<V, K>(proposals.proposal(j).statistics[side]);
            }
            self.envelopes[side].divide_by_widths();
            let least = pair.n() as f64 * (1.0 - 1e-9) * exp(-self.envelopes[side].width());
            self.floors[side] = if S::IS_CURVED { 0.0 } else { least };
        }
    }

    /// A place for each chain, drawn with probability w_i / W.
    #[inline(always)]
    fn choose<V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, S>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let Darts { envelopes, least, .. } = &mut **self;
        let both = at.pair.records();
        for side in 0..2 {
            let (residual, statistic) = (both[side].residual(), at.proposal.statistics[side]);
            envelopes[side].propose::<V, K>(residual, statistic);
            least[side] = envelopes[side].least_cost::<S, V, K>();
        }
        let all = Uniform::new(0, at.pair.n() as u32).expect("there is a record");
        let mut chosen = [(0, 0.0); 2];
        let mut open = [true; 2];
        for _ in 0..ROUNDS {
            let mut places = [0; DARTS];
            places.iter_mut().for_each(|place| *place = all.sample(rng) as usize);
            let mut thrown = Ensemble::of(places);
            for side in 0..2 {
                if open[side] {
                    let mut costs = [0.0; DARTS];
                    for j in 0..DARTS {
                        let row = both[side].statistic_known::<K>(places[j]);
                        costs[j] = envelopes[side].cost::<S, V, K>(row);
                    }
                    thrown.weigh(side, costs, least[side], [1.0; DARTS]);
                    *evaluations += DARTS as u64;
                }
            }
            let weight = |side: usize, _, cost| exp(least[side] - cost);
            thrown.keep::<V>((&mut open, &mut chosen), at.pair, weight, rng);
            if open == [false; 2] {
                return chosen;
            }
        }
        for side in 0..2 {
            if open[side] {
                let rows = (0..at.pair.n()).map(|i| both[side].statistic_known::<K>(i));
                chosen[side] = by_weighing_all::<S, K>(&envelopes[side], rows, evaluations, rng);
            }
        }
        chosen
    }

    #[inline(always)]
    fn takes<V: Vector, const K: usize>(
        &self,
        side: usize,
        (place, cost): Choice,
        uniform: f64,
        at: &Move<'_, S>,
        evaluations: &mut u64,
    ) -> bool {
        let test = Threshold::with(uniform, at.currents[side]);
        if test.is_met_by(self.floors[side]) || cost <= at.currents[side] {
            return true;
        }
        let (envelope, records) = (&self.envelopes[side], at.pair.records()[side]);
        let test = test.for_place(cost);
        if test.is_met_by_all(records, envelope.mean_cost::<S, V, K>(records)) {
            return true;
        }
        let places = (place..records.n()).chain(0..place);
        let rows = places.map(|place| records.statistic_known::<K>(place));
        let most = test.weight(self.least[side]);
        test.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, most, evaluations)
    }
}
