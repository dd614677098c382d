//! Outliers, which would make one box of all records loose.

use rand::RngExt;

use super::candidates::Candidates;
use crate::kernel::select::accept::{Selected, most_trials};
use crate::kernel::select::envelope::Envelope;
use crate::kernel::select::envelope::is_outside;
use crate::numeric::exp::{exp, exp_above};
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::vector::{Portable, Vector};

/// The core is the box of this many records, or of one in [`SPARSE`] if these are fewer.
const SAMPLED: usize = 512;
const SPARSE: usize = 8;
/// Records per block; the first block decides whether setting records apart is worth it.
const AT_ONCE: usize = 4096;
/// The largest log ratio of the bound of all weights to that of the core; beyond it the core's
/// bound is raised.
const MOST_APART: f64 = 30.0;

/// A box of nearly all records, the core, and a list of the outliers outside it.
///
/// Let b be a bound of the weights in the core, and w_up one of all. A weight w_i is the sum of
/// min(w_i, b) and max(w_i - b, 0), which is zero except for outliers. Trials are a mixture. With
/// probability proportional to n b, a place is drawn uniformly and accepted with probability
/// min(w_i, b) / b. With probability proportional to w_up - b times the length of the list, a place
/// of the list is drawn and accepted with probability max(w_i - b, 0) / (w_up - b). So place i is
/// accepted with probability proportional to w_i. The expected number of trials is (n b + (w_up -
/// b) listed) / W: a few outliers cost little, wherever they are.
///
/// A place stays in the list when a record of the core replaces its record: it is then never
/// accepted in a trial of the second kind.
#[derive(Debug, Clone)]
pub(crate) struct Outliers {
    /// The smallest number of records with which outliers are listed.
    fewest: usize,
    /// The core is used if it is narrower than the box of all records by this many noise units.
    gain: f64,
    core: Envelope,
    /// The edges of the core, coordinate by coordinate, each repeated four times.
    edges: [Vec<f64>; 2],
    is_used: bool,
    listed: Vec<u32>,
    /// A bitmap of the places in the list, 64 per word.
    marks: Vec<u64>,
    per_n: f64,
}

impl Default for Outliers {
    fn default() -> Self {
        Outliers::with(1024, 0.15)
    }
}

impl Outliers {
    /// Outliers are listed if there are at least `fewest` records and the core is narrower by
    /// `gain`.
    pub(crate) fn with(fewest: usize, gain: f64) -> Self {
        let (core, edges, is_used, listed, marks, per_n) = Default::default();
        Outliers { fewest, gain, core, edges, is_used, listed, marks, per_n }
    }

    /// Outliers are listed even for few records.
    #[cfg(test)]
    pub(crate) fn eager() -> Self {
        Outliers::with(2 * SPARSE, 0.0)
    }
}

/// The mixture of trials for one proposal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    /// The cost of weight b.
    pub(crate) least: f64,
    /// The mass of trials of the second kind, relative to the first: an upper bound of their
    /// probability.
    pub(crate) mass: f64,
    /// w_up / b.
    most: f64,
}

/// The result of trials of the second kind.
pub(crate) enum OutlierTrial {
    /// A place was kept.
    Kept(Selected),
    /// The next trial is of the first kind.
    Next,
    /// The number of trials reached its limit.
    GivenUp,
}

impl Outliers {
    /// Sets `all` to the box of all records, and finds a core and the outliers, in blocks of rows
    /// that stay in the cache.
    #[inline(always)]
    pub(crate) fn begin<V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        all: &mut Envelope,
    ) {
        let (n, k) = (records.n(), if K == 0 { records.k() } else { K });
        all.clear(k);
        self.is_used = false;
        self.listed.clear();
        let mut start = 0;
        for (part, rows) in records.statistics().chunks(AT_ONCE * k).enumerate() {
            all.widen_all::<V, K>(rows);
            if part == 0 && n >= self.fewest {
                self.find_core::<V, K>(records);
                self.is_used = all.width() - self.core.width() > self.gain;
            }
            if self.is_used {
                self.list::<V, K>(start, rows);
            }
            start += AT_ONCE;
        }
    }

    /// Whether outliers are tried separately in this sweep.
    #[inline(always)]
    pub(crate) fn are_apart(&self) -> bool {
        self.is_used
    }

    /// The box of a sample of the records.
    #[inline(always)]
    fn find_core<V: Vector, const K: usize>(&mut self, records: &Records) {
        let n = records.n();
        let sampled = SAMPLED.min(n / SPARSE);
        self.core.clear(records.k());
        for j in 0..sampled {
            self.core.widen::<V, K>(records.row_of_its_own::<K>(j * n / sampled));
        }
        for (edges, core) in self.edges.iter_mut().zip([self.core.low(), self.core.high()]) {
            edges.clear();
            (0..4).for_each(|_| edges.extend(core));
        }
        self.marks.clear();
        self.marks.resize(n.div_ceil(64), 0);
        self.per_n = 1.0 / n as f64;
    }

    /// Lists the records outside the core, with statistics `rows` from place `start` on, four rows
    /// at a time.
    #[inline(always)]
    fn list<V: Vector, const K: usize>(&mut self, start: usize, rows: &[f64]) {
        let edges = std::mem::take(&mut self.edges);
        let width = if K == 0 { edges[0].len() } else { 4 * K };
        let (low, high) = (&edges[0][..width], &edges[1][..width]);
        for (four, few) in rows.chunks(width).enumerate() {
            let (mut outside, mut c) = (u32::from(few.len() < width), 0);
            while c < width && few.len() == width {
                let numbers = V::load(&few[c..]);
                outside |= V::below(numbers, V::load(&low[c..]));
                outside |= V::below(V::load(&high[c..]), numbers);
                c += 4;
            }
            if outside != 0 {
                for (j, row) in few.chunks_exact(width / 4).enumerate() {
                    self.came::<V, K>(start + 4 * four + j, row);
                }
            }
        }
        self.edges = edges;
    }

    /// Called after a record with this statistic has come to a place.
    #[inline(always)]
    pub(crate) fn came<V: Vector, const K: usize>(&mut self, place: usize, statistic: &[f64]) {
        if self.is_used && is_outside::<V, K>(self.core.low(), self.core.high(), statistic) {
            let (word, bit) = (&mut self.marks[place / 64], 1 << (place % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.listed.push(place as u32);
            }
        }
    }

    /// The mixture of trials for a proposal that leaves the residual `apart` at statistic zero;
    /// `least` is a lower bound of all costs.
    #[inline(always)]
    pub(crate) fn split<S: Cost, V: Vector, const K: usize>(
        &self,
        least: f64,
        apart: &[f64],
    ) -> Split {
        if !self.is_used {
            return Split { least, mass: 0.0, most: 1.0 };
        }
        let in_core = self.core.least_cost_at::<S, V, K>(apart);
        let gap = (in_core - least).min(MOST_APART);
        let most = exp_above(gap);
        let mass = self.listed.len() as f64 * self.per_n * (most - 1.0);
        Split { least: least + gap, mass, most }
    }

    /// Makes the trials of the second kind that precede candidate `at`, if any.
    #[cold]
    #[inline(never)]
    pub(crate) fn try_before<S: Cost, const K: usize>(
        &self,
        (candidates, at): (&Candidates, usize),
        split: Split,
        (envelope, records): (&Envelope, &Records),
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> OutlierTrial {
        let apart = split.mass / (1.0 + split.mass);
        if !candidates.comes_later(at, apart, rng) {
            return OutlierTrial::Next;
        }
        for _ in 0..most_trials(records.n()) {
            *evaluations += 1;
            let place = self.listed[rng.random_range(0..self.listed.len())] as usize;
            let cost = envelope.cost::<S, Portable, K>(records.row_of_its_own::<K>(place));
            if rng.random::<f64>() * (split.most - 1.0) < exp(split.least - cost) - 1.0 {
                return OutlierTrial::Kept(Selected::at(place, cost));
            }
            if rng.random::<f64>() >= apart {
                return OutlierTrial::Next;
            }
        }
        OutlierTrial::GivenUp
    }

    /// Checks that every record outside the core is in the list, once.
    #[cfg(test)]
    pub(crate) fn check(&self, records: &Records) {
        let mut listed = self.listed.clone();
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed.len(), self.listed.len(), "a place is in the list twice");
        let (low, high) = (self.core.low(), self.core.high());
        for place in 0..records.n() {
            let is_out = is_outside::<Portable, 0>(low, high, records.statistic(place));
            assert!(!is_out || listed.binary_search(&(place as u32)).is_ok(), "{place} is missing");
        }
        assert!(self.is_used && !listed.is_empty() && listed.len() < records.n());
    }
}
