//! The members of a cell.

use crate::kernel::records::prefetch_row;

/// The places of some records, and, where these are far from each other in memory, a copy of their
/// statistics, side by side: so a record is weighed with one look at memory, and without the place
/// where it belongs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    places: Vec<u32>,
    rows: Vec<f64>,
}

impl Members {
    /// How many.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Forgets them all.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.rows.clear();
    }

    /// The place of member `slot`.
    #[inline(always)]
    pub(crate) fn place(&self, slot: usize) -> usize {
        self.places[slot] as usize
    }

    /// Member `slot` has another place now.
    #[inline(always)]
    pub(crate) fn relabel(&mut self, slot: usize, place: u32) {
        self.places[slot] = place;
    }

    /// The copied statistic, of length k, of member `slot`.
    #[inline(always)]
    pub(crate) fn row<const K: usize>(&self, slot: usize, k: usize) -> &[f64] {
        let k = if K == 0 { k } else { K };
        &self.rows[slot * k..][..k]
    }

    /// The copied statistics of all.
    pub(crate) fn rows(&self, k: usize) -> impl Iterator<Item = &[f64]> {
        self.rows.chunks_exact(k)
    }

    /// Asks for member `slot` from memory, to be looked at soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize, k: usize) {
        prefetch_row(self.rows.as_ptr().wrapping_add(slot * k), k);
        prefetch_row(self.places.as_ptr().wrapping_add(slot).cast(), 1);
    }

    /// Takes in the record at `place`, with a copy of its statistic unless `row` is empty.
    #[inline(always)]
    pub(crate) fn push<const K: usize>(&mut self, place: u32, row: &[f64]) {
        let k = if K == 0 { row.len() } else { K };
        self.places.push(place);
        self.rows.extend_from_slice(&row[..k]);
    }

    /// Lets member `slot` go, with the copy of its statistic, of length k, the last taking its slot;
    /// returns its place. Where there are no copies, k is 0.
    #[inline(always)]
    pub(crate) fn swap_remove<const K: usize>(&mut self, slot: usize, k: usize) -> u32 {
        let k = if K == 0 { k } else { K };
        let last = self.rows.len() - k;
        let (before, end) = self.rows.split_at_mut(last);
        if slot * k < last {
            before[slot * k..][..k].copy_from_slice(&end[..k]);
        }
        self.rows.truncate(last);
        self.places.swap_remove(slot)
    }
}
