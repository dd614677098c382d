//! Uniform rejection under one bound of all weights.

pub(crate) mod candidates;
pub(crate) mod outliers;

use self::candidates::{Candidates, LEFT};
use self::outliers::{OutlierTrial, Outliers};
use super::accept::{OneBox, Selected, most_trials};
use super::envelope::Envelope;
use super::{Selector, Turn};
use crate::numeric::accept::is_below_exp_neg;
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::{Cost, costs_with};
use crate::simd::vector::Vector;

/// Statistics of fewer bytes than this stay in the cache and are not prefetched.
const NEAR: usize = 1 << 18;
/// From this number of records on, bounds of the weights are summed first.
pub(crate) const MANY: usize = 1024;
/// Candidates tested together.
const FOUR: usize = 4;

/// Draws a place uniformly and accepts it with probability w_i / w_up, where w_up is the weight at
/// the point of the box that minimises the cost in each coordinate. So place i is selected with
/// probability w_i / W. The expected number of trials is n w_up / W. Outliers that make the box
/// wide are tried separately; see [`Outliers`].
///
/// Four candidates are tested together and the first accepted one is taken: testing one at a time
/// mispredicts a branch.
#[derive(Debug)]
pub(crate) struct UniformSelector<'a> {
    candidates: &'a mut Candidates,
    outliers: &'a mut Outliers,
    near: bool,
    one: OneBox,
}

impl<'a> UniformSelector<'a> {
    #[inline(always)]
    pub(crate) fn begin<V: Vector, const K: usize>(
        candidates: &'a mut Candidates,
        outliers: &'a mut Outliers,
        envelope: &mut Envelope,
        records: &Records,
        many: usize,
        rng: &mut Rng,
    ) -> Self {
        outliers.begin::<V, K>(records, envelope);
        candidates.begin(records.n(), outliers.are_apart(), rng);
        let near = size_of_val(records.statistics()) < NEAR;
        let selector = UniformSelector { candidates, outliers, near, one: OneBox::new(many) };
        selector.ask_for::<LEFT, K>(records);
        selector
    }

    /// Prefetches the last `COUNT` of the next candidates, unless all statistics fit the cache.
    #[inline(always)]
    fn ask_for<const COUNT: usize, const K: usize>(&self, records: &Records) {
        if !self.near {
            for &place in self.candidates.coming::<COUNT>() {
                records.prefetch_statistic::<K>(place as usize);
            }
        }
    }

    /// Accepts candidate `at + j`, after those from `at` on were rejected.
    #[inline(always)]
    fn keep<const K: usize>(
        &mut self,
        at: usize,
        j: usize,
        cost: f64,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Selected {
        let choice = Selected::at(self.candidates.places[at + j] as usize, cost);
        self.use_up::<K>(j + 1, records, rng);
        *evaluations += j as u64 + 1;
        choice
    }

    /// Consumes `count` candidates, at most four. Always prefetches four: a data-dependent trip
    /// count mispredicts.
    #[inline(always)]
    fn use_up<const K: usize>(&mut self, count: usize, records: &Records, rng: &mut Rng) {
        self.candidates.use_up(count, rng);
        self.ask_for::<FOUR, K>(records);
    }
}

impl Selector for UniformSelector<'_> {
    #[inline(always)]
    fn defers(&self) -> bool {
        !self.near
    }

    #[inline(always)]
    fn prepare<S: Cost, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        self.one.prepare::<S, V, K>(statistics, envelope, records);
    }

    #[inline(always)]
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        proposal: &[f64],
        envelope: &mut Envelope,
        at: Turn<'_>,
    ) -> Selected {
        let Turn { records, evaluations, rng, .. } = at;
        envelope.propose::<V, K>(records.residual(), proposal);
        // A copy on the stack: a short statistic stays in registers.
        let mut copy = [0.0; K];
        for k in 0..K {
            copy[k] = records.residual()[k] - proposal[k];
        }
        let apart = if 0 < K && K < 4 { &copy[..] } else { envelope.apart() };
        self.one.least = envelope.least_cost_at::<S, V, K>(apart);
        let split = self.outliers.split::<S, V, K>(self.one.least, apart);
        let least = split.least;
        'trials: for _ in 0..most_trials(records.n()) / FOUR {
            let at = self.candidates.next();
            let places = &self.candidates.places[at..at + FOUR];
            let row = |j: usize| records.row_of_its_own::<K>(places[j] as usize);
            let costs = costs_with::<S, V, K>(apart, [row(0), row(1), row(2), row(3)]);
            let excess = V::sub(costs, V::load(&[least; 4]));
            let (surely, perhaps) = self.candidates.keep::<V>(at, excess);
            let comes_later = self.candidates.come_later::<V>(at, split.mass);
            let mut all = [0.0; FOUR];
            V::store(&mut all, costs);
            // Usually the first candidate that may be accepted is, and no outlier trial precedes
            // it.
            let first = perhaps.trailing_zeros() as usize % FOUR;
            if (surely >> first) & 1 == 1 && comes_later & ((2 << first) - 1) == 0 {
                return self.keep::<K>(at, first, all[first], records, evaluations, rng);
            }
            let mut undecided = perhaps | comes_later;
            while undecided != 0 {
                let j = undecided.trailing_zeros() as usize % FOUR;
                if (comes_later >> j) & 1 == 1 {
                    let (candidate, state) = ((&*self.candidates, at + j), (&*envelope, records));
                    let trial =
                        self.outliers.try_before::<S, K>(candidate, split, state, evaluations, rng);
                    match trial {
                        OutlierTrial::Next => {}
                        kept_or_given_up => {
                            // The digits of this candidate have been used, so it is consumed too.
                            self.use_up::<K>(j + 1, records, rng);
                            *evaluations += j as u64;
                            let OutlierTrial::Kept(choice) = kept_or_given_up else {
                                break 'trials;
                            };
                            return choice;
                        }
                    }
                }
                let is_kept = (surely >> j) & 1 == 1
                    || ((perhaps >> j) & 1 == 1
                        && is_below_exp_neg(self.candidates.uniform(at + j, rng), all[j] - least));
                if is_kept {
                    return self.keep::<K>(at, j, all[j], records, evaluations, rng);
                }
                undecided &= undecided - 1;
            }
            self.use_up::<K>(FOUR, records, rng);
            *evaluations += FOUR as u64;
        }
        Selected::by_weighing_all::<S, K>(envelope, records, evaluations, rng)
    }

    #[inline(always)]
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        envelope: &Envelope,
        at: Turn<'_>,
    ) -> bool {
        self.one.accepts::<S, V, K>(choice, envelope, at)
    }

    #[inline(always)]
    fn replaced<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        _: usize,
        new: &[f64],
        _: &mut Envelope,
        _: &mut Rng,
    ) {
        // The box of all records already contains the proposal.
        self.outliers.came::<V, K>(choice.place, new);
    }
}
