//! Places drawn uniformly and kept under one bound of all weights.

use super::accept::{Choice, OneBox, most_trials};
use super::candidates::{Candidates, LEFT};
use super::{Envelope, Selector};
use crate::kernel::Records;
use crate::kernel::shape::{Falloff, costs_with, outlasts};
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// Statistics of fewer bytes than this are near enough not to be asked for ahead.
const NEAR: usize = 1 << 18;
/// How many candidates are looked at together.
const FOUR: usize = 4;

/// Draws a place uniformly and keeps it with probability w_i / w_up, where w_up is the weight at
/// the point of the box where each coordinate comes nearest to the release: then the place kept
/// has probability w_i / W, whatever W is. The number of trials has mean n w_up / W.
///
/// Four candidates are looked at together, and the first that is kept is taken: to look at each by
/// itself would be to guess, and to guess wrong, whether it is kept.
#[derive(Debug)]
pub(super) struct UniformSelector<'a> {
    candidates: &'a mut Candidates,
    near: bool,
    one: OneBox,
}

impl<'a> UniformSelector<'a> {
    #[inline(always)]
    pub(super) fn begin(candidates: &'a mut Candidates, records: &Records, rng: &mut Rng) -> Self {
        candidates.begin(records.n(), rng);
        let near = size_of_val(records.statistics()) < NEAR;
        let selector = UniformSelector { candidates, near, one: OneBox::default() };
        selector.ask_for(LEFT, records);
        selector
    }

    /// Asks for the last `count` of the next candidates from memory, if they are far.
    #[inline(always)]
    fn ask_for(&self, count: usize, records: &Records) {
        if !self.near {
            self.candidates
                .coming(count)
                .iter()
                .for_each(|&place| records.prefetch_statistic(place as usize));
        }
    }

    /// So many candidates are used up.
    #[inline(always)]
    fn use_up(&mut self, count: usize, records: &Records, rng: &mut Rng) {
        self.candidates.use_up(count, rng);
        self.ask_for(count, records);
    }
}

impl Selector for UniformSelector<'_> {
    #[inline(always)]
    fn defers(&self) -> bool {
        !self.near
    }

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
        let least = envelope.least_cost::<S, V, K>();
        self.one.least = least;
        for _ in 0..most_trials(records.n()) / FOUR {
            let at = self.candidates.next();
            let places = &self.candidates.places[at..at + FOUR];
            let row = |j: usize| records.row_of_its_own::<K>(places[j] as usize);
            let costs = costs_with::<S, V, K>(envelope.apart(), [row(0), row(1), row(2), row(3)]);
            let excess = V::sub(costs, V::load(&[least; 4]));
            let (surely, mut perhaps) = self.candidates.keep::<V>(at, excess);
            let mut all = [0.0; FOUR];
            V::store(&mut all, costs);
            while perhaps != 0 {
                let j = perhaps.trailing_zeros() as usize % FOUR;
                let (place, cost) = (places[j] as usize, all[j]);
                let is_kept = (surely >> j) & 1 == 1
                    || outlasts(cost - least, self.candidates.uniform(at + j, rng));
                if is_kept {
                    self.use_up(j + 1, records, rng);
                    *evaluations += j as u64 + 1;
                    return Choice::at(place, cost);
                }
                perhaps &= perhaps - 1;
            }
            self.use_up(FOUR, records, rng);
            *evaluations += FOUR as u64;
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
