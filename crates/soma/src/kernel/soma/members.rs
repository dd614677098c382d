//! The members of a cell or a bucket.

use crate::kernel::records::prefetch_row;

/// The places of some records, and, where these are far from each other in memory, a copy of their
/// statistics, side by side: so a record is weighed with one look at memory, and without the place
/// where it belongs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    /// For each member the copy of its statistic, if there is one, and the bits of its place.
    rows: Vec<f64>,
    /// The length of a row.
    stride: usize,
    len: usize,
}

impl Members {
    /// How many.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Forgets them all. Of those to come, statistics of length `k` are copied; none if k is 0.
    pub(crate) fn clear(&mut self, k: usize) {
        self.rows.clear();
        (self.stride, self.len) = (k + 1, 0);
    }

    /// The place of member `slot`.
    #[inline(always)]
    pub(crate) fn place(&self, slot: usize) -> usize {
        self.rows[(slot + 1) * self.stride - 1].to_bits() as usize
    }

    /// Member `slot` has another place now.
    #[inline(always)]
    pub(crate) fn relabel(&mut self, slot: usize, place: u32) {
        self.rows[(slot + 1) * self.stride - 1] = f64::from_bits(u64::from(place));
    }

    /// The copied statistic, of length k, of member `slot`.
    #[inline(always)]
    pub(crate) fn row<const K: usize>(&self, slot: usize, k: usize) -> &[f64] {
        let k = if K == 0 { k } else { K };
        &self.rows[slot * (k + 1)..][..k]
    }

    /// The copied statistics of all.
    pub(crate) fn rows(&self, k: usize) -> impl Iterator<Item = &[f64]> {
        self.rows.chunks_exact(k + 1).map(move |row| &row[..k])
    }

    /// Asks for member `slot` from memory, to be looked at soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize, k: usize) {
        prefetch_row(self.rows.as_ptr().wrapping_add(slot * (k + 1)), k + 1);
    }

    /// Takes in the record at `place`, with a copy of its statistic unless `row` is empty.
    #[inline(always)]
    pub(crate) fn push<const K: usize>(&mut self, place: u32, row: &[f64]) {
        let k = if K == 0 { row.len() } else { K };
        self.rows.extend_from_slice(&row[..k]);
        self.rows.push(f64::from_bits(u64::from(place)));
        self.len += 1;
    }

    /// Lets member `slot` go, with the copy of its statistic, of length k, the last taking its slot;
    /// returns its place. Where there are no copies, k is 0.
    #[inline(always)]
    pub(crate) fn swap_remove<const K: usize>(&mut self, slot: usize, k: usize) -> u32 {
        let stride = if K == 0 { k } else { K } + 1;
        let last = self.rows.len() - stride;
        let (before, end) = self.rows.split_at_mut(last);
        let place = if slot * stride < last {
            let row = &mut before[slot * stride..][..stride];
            let place = row[stride - 1];
            row.copy_from_slice(&end[..stride]);
            place
        } else {
            end[stride - 1]
        };
        self.rows.truncate(last);
        self.len -= 1;
        place.to_bits() as u32
    }
}
