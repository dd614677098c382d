//! Places drawn uniformly and kept under one bound of all weights.

use rand::distr::{Distribution, Uniform};

use super::accept::{Choice, OneBox, most_trials};
use super::{Envelope, Selector};
use crate::kernel::Records;
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
    near: bool,
    one: OneBox,
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
        UniformSelector { places, ahead, next: 0, near, one: OneBox::default() }
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
    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        self.one.prepare::<S, V, K>(statistics, envelope, records);
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
        self.one.least = envelope.least_cost::<S, V, K>();
        for _ in 0..most_trials(records.n()) {
            let place = self.place(records, rng);
            let cost = envelope.cost::<S, V, K>(records.statistic_known::<K>(place));
            *evaluations += 1;
            if survives(cost - self.one.least, rng) {
                return Choice::at(place, cost);
            }
        }
        Choice::by_weighing_all::<S, K>(envelope, records, evaluations, rng)
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
        self.one.accepts::<S, V, K>(choice, current, envelope, records, evaluations, rng)
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
