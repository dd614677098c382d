//! The records of two coupled chains.

use super::align::Aligner;
use crate::records::Records;
use crate::simd::vector::{LANES, Vector};

/// The records of two chains. A place is matched if both chains have the same record there.
///
/// Records are exchangeable, so if the kernel is symmetric in the places, either chain may be
/// relabelled at any time. With that relabelling the number of unmatched places is the multiset
/// distance of the paper's Definition 1, and the chains have met when it is zero.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The chain ahead.
    pub(super) first: Records,
    /// The chain behind.
    pub(super) second: Records,
    /// 1 for unmatched places and 0 for matched ones, padded with zeros.
    open: Vec<f64>,
    unmatched: usize,
    aligner: Aligner,
}

impl Pair {
    /// Two sets of records under one release.
    pub fn new(first: Records, second: Records) -> Self {
        assert_eq!(first.n(), second.n(), "as many records in both chains");
        let open = vec![0.0; first.n() + LANES];
        let mut pair = Pair { first, second, open, unmatched: 0, aligner: Aligner::default() };
        (0..pair.n()).for_each(|i| pair.recheck(i));
        pair
    }

    /// The number of records of each chain.
    pub fn n(&self) -> usize {
        self.first.n()
    }

    /// The records of the two chains.
    pub fn records(&self) -> [&Records; 2] {
        [&self.first, &self.second]
    }

    /// Splits the pair into its two sets of records.
    pub fn into_records(self) -> [Records; 2] {
        [self.first, self.second]
    }

    /// The number of unmatched places.
    pub fn distance(&self) -> usize {
        self.unmatched
    }

    /// Whether both chains have the same record at place i.
    #[inline]
    pub fn is_matched(&self, i: usize) -> bool {
        self.open[i] == 0.0
    }

    /// 1 for unmatched places and 0 for matched ones, from place i on, with the padding.
    #[inline(always)]
    pub(super) fn open_from(&self, i: usize) -> &[f64] {
        &self.open[i..]
    }

    /// Writes the accepted proposals to their places, and updates which of these are matched.
    #[inline(always)]
    pub(super) fn put<V: Vector, const K: usize>(
        &mut self,
        proposal: &Proposal<'_>,
        taken: [Option<usize>; 2],
        relabel: bool,
    ) {
        if let Some(i) = taken[0] {
            self.first.replace_known::<V, K>(i, proposal.records[0], proposal.statistics[0]);
        }
        if let Some(i) = taken[1] {
            self.second.replace_known::<V, K>(i, proposal.records[1], proposal.statistics[1]);
        }
        match taken {
            [Some(i), Some(j)] if i == j && proposal.is_common => self.mark(i, true),
            [Some(i), Some(j)] if relabel && proposal.is_common => {
                self.second.swap(i, j);
                self.mark(i, true);
                self.recheck(j);
            }
            _ => taken.into_iter().flatten().for_each(|i| self.recheck(i)),
        }
    }

    fn recheck(&mut self, i: usize) {
        self.mark(i, self.first.record(i) == self.second.record(i));
    }

    fn mark(&mut self, i: usize, is: bool) {
        let was = self.is_matched(i);
        self.open[i] = f64::from(u8::from(!is));
        self.unmatched = self.unmatched + usize::from(was) - usize::from(is);
    }

    /// Relabels the second chain to pair similar records; see [`Aligner`].
    pub(super) fn align(&mut self) {
        if self.unmatched < 2 {
            return;
        }
        let Pair { first, second, open, aligner, .. } = self;
        aligner.align(first, second, |i| open[i] > 0.0);
        // Moved out of `self`: `recheck` borrows all of it.
        let aligner = std::mem::take(&mut self.aligner);
        aligner.places().iter().for_each(|&i| self.recheck(i as usize));
        self.aligner = aligner;
    }
}

/// One proposal to each chain, and whether it is the same one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proposal<'a> {
    pub records: [&'a [f64]; 2],
    pub statistics: [&'a [f64]; 2],
    pub is_common: bool,
}
