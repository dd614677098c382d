//! Places drawn uniformly and kept under one bound of all weights.

use rand::distr::{Distribution, Uniform};

use super::accept::{Choice, Threshold, by_weighing_all, most_trials};
use super::{Envelope, Selector};
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::{Falloff, survives};
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// How many places are drawn ahead, so that their statistics are on the way from memory by the
/// time that they are looked at.
const AHEAD: usize = 32;
/// Statistics of fewer bytes than this are near enough not to be asked for ahead.
const NEAR: usize = 1 << 18;

/// Draws a place uniformly and keeps it with probability w_i / w_up, where w_up is the weight at
/// the point of the box where each coordinate comes nearest to the release: then the place kept
/// has probability w_i / W, whatever W is. The number of trials has mean n w_up / W.
///
/// Places do not depend on the state, so that they are drawn ahead of their use.
#[derive(Debug, Clone)]
pub(super) struct UniformSelector {
    places: Uniform<u32>,
    ahead: [u32; AHEAD],
    next: usize,
    least: f64,
    /// A bound of W / w_0 from below that holds for all offers of the batch; 0 if there is none.
    floor: f64,
    near: bool,
}

impl UniformSelector {
    #[inline(always)]
    pub(super) fn begin(records: &Records, rng: &mut Rng) -> Self {
        let places = Uniform::new(0, records.n() as u32).expect("there is a record");
        let mut ahead = [0; AHEAD];
        for place in &mut ahead {
            *place = places.sample(rng);
            records.prefetch(*place as usize);
        }
        let near = size_of_val(records.statistics()) < NEAR;
        UniformSelector { places, ahead, next: 0, least: 0.0, floor: 0.0, near }
    }

    #[inline(always)]
    fn place(&mut self, records: &Records, rng: &mut Rng) -> usize {
        let next = self.places.sample(rng);
        if !self.near {
            records.prefetch(next as usize);
        }
        let at = self.next % AHEAD;
        self.next += 1;
        std::mem::replace(&mut self.ahead[at], next) as usize
    }
}

impl Selector for UniformSelector {
    /// Widens the box to hold all offers of the batch. A replacement moves the residual, and so,
    /// unless it bends, the cost, by no more than the box is wide.
    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        for offer in statistics.chunks_exact(records.k()) {
            envelope.widen::<V, K>(offer);
        }
        let least = exp(-envelope.width());
        self.floor = if S::BENDS { 0.0 } else { records.n() as f64 * (1.0 - 1e-9) * least };
    }

    #[inline(always)]
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        offer: &[f64],
        _: f64,
        envelope: &mut Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice {
        envelope.offer::<V, K>(records.residual(), offer);
        self.least = envelope.least_cost::<S, V, K>();
        for _ in 0..most_trials(records.n()) {
            let place = self.place(records, rng);
            let cost = envelope.cost::<S, V, K>(records.statistic_known::<K>(place));
            *evaluations += 1;
            if survives(cost - self.least, rng) {
                return Choice { place, cost, cell: 0, slot: 0 };
            }
        }
        let rows = records.statistics().chunks_exact(records.k());
        let (place, cost) = by_weighing_all::<S, K>(envelope, rows, evaluations, rng);
        Choice { place, cost, cell: 0, slot: 0 }
    }

    #[inline(always)]
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        current: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        let threshold = Threshold::draw(current, rng);
        if threshold.is_met_by(self.floor) {
            return true;
        }
        if threshold.is_met_by_all(records, envelope.most_cost::<S, V, K>())
            || choice.cost <= current
        {
            return true;
        }
        let threshold = threshold.for_place(choice.cost);
        if threshold.is_met_by_all(records, envelope.mean_cost::<S>(records)) {
            return true;
        }
        let places = (choice.place..records.n()).chain(0..choice.place);
        let rows = places.map(|place| records.statistic_known::<K>(place));
        let most = threshold.weight(self.least);
        threshold.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, most, evaluations)
    }

    #[inline(always)]
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        _: &Choice,
        _: usize,
        _: &[f64],
        _: &mut Envelope,
        _: &mut Rng,
    ) {
        // The box holds the offer already.
    }
}
