//! The members of bins, as lists of places.

use super::Replacement;
use crate::records::{Batch, Records};
use crate::simd::prefetch::prefetch;

/// The places of the members of each bin. They are updated with the records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    places: Vec<Vec<u32>>,
}

impl Members {
    /// Finds the members of each bin, and counts them.
    #[inline(always)]
    pub(crate) fn find(&mut self, records: &Records, counts: &mut [i64]) {
        self.places.resize(counts.len(), Vec::new());
        self.places.iter_mut().for_each(Vec::clear);
        for i in 0..records.n() {
            self.places[records.bin(i)].push(i as u32);
        }
        counts.iter_mut().zip(&self.places).for_each(|(n, places)| *n = places.len() as i64);
    }

    /// Prefetches what is needed to replace a member of a bin.
    #[inline(always)]
    pub(crate) fn prefetch(&self, bin: usize, member: usize) {
        prefetch(self.places[bin].as_ptr().wrapping_add(member));
    }

    /// Replaces members by proposals of a batch. All places are looked up first, so that their
    /// cache misses overlap.
    #[inline(always)]
    pub(crate) fn replace(
        &mut self,
        pending: &mut Vec<Replacement>,
        batch: &Batch,
        records: &mut Records,
    ) {
        for replacement in pending.iter_mut() {
            let Replacement { from, to, member, .. } = *replacement;
            let place = self.places[from as usize].swap_remove(member as usize);
            self.places[to as usize].push(place);
            records.prefetch_binned(place as usize);
            replacement.member = place;
        }
        for Replacement { to, proposal, member, .. } in pending.drain(..) {
            records.put_in_bin(member as usize, batch.record(proposal as usize), to as usize);
        }
    }
}
