//! The members of cells or buckets.

use rand::RngExt;

use crate::numeric::pages;
use crate::rng::Rng;
use crate::simd::prefetch::prefetch_row;

/// Spare capacity of a group: one for every 8 members, and 32.
const SPARE: [u32; 2] = [8, 32];

/// The places of all records, sorted into groups. If the records exceed the cache, also a copy of
/// their statistics, group by group, so that a weight costs one cache miss.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    /// For each member the copy of its statistic, if any, and the bits of its place.
    rows: Vec<f64>,
    /// The length of a row.
    stride: usize,
    groups: Vec<Group>,
}

/// The start of a group in the rows, its number of members, and its capacity.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    start: usize,
    len: u32,
    room: u32,
}

impl Members {
    /// Sorts records into `groups` groups: `of` gives the group of each record, `row` its
    /// statistic, of which `k` numbers are copied; none if k is 0.
    #[inline(always)]
    pub(crate) fn sort<'a, const K: usize>(
        &mut self,
        groups: usize,
        of: &[u16],
        k: usize,
        row: impl Fn(usize) -> &'a [f64],
    ) {
        self.stride = if K == 0 { k } else { K } + 1;
        self.groups.clear();
        self.groups.resize(groups, Group::default());
        for &group in of {
            self.groups[usize::from(group)].room += 1;
        }
        let mut end = 0;
        for group in &mut self.groups {
            group.start = end;
            group.room += group.room / SPARE[0] + SPARE[1];
            end += group.room as usize * self.stride;
        }
        if self.rows.len() < end {
            self.rows = pages::with_room(end);
            self.rows.resize(end, 0.0);
        }
        // An empty group has a valid place too, since candidates are read before they are tested.
        for group in &self.groups {
            self.rows[group.start + self.stride - 1] = 0.0;
        }
        for (place, &group) in of.iter().enumerate() {
            self.push::<K>(usize::from(group), place as u32, row(place));
        }
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of members of `group`.
    #[inline(always)]
    pub(crate) fn len(&self, group: usize) -> usize {
        self.groups[group].len as usize
    }

    /// The offset of the row of member `slot` of `group`.
    #[inline(always)]
    fn at(&self, group: usize, slot: usize) -> usize {
        self.groups[group].start + slot * self.stride
    }

    /// The place of member `slot` of `group`.
    #[inline(always)]
    pub(crate) fn place(&self, group: usize, slot: usize) -> usize {
        self.rows[self.at(group, slot) + self.stride - 1].to_bits() as usize
    }

    /// The group and the slot of all members, beginning with group `first`.
    pub(crate) fn all(&self, first: usize) -> impl Iterator<Item = (usize, usize)> {
        let order = (first..self.groups.len()).chain(0..first);
        order.flat_map(|group| (0..self.len(group)).map(move |slot| (group, slot)))
    }

    /// Sets the place of member `slot` of `group`.
    #[inline(always)]
    pub(crate) fn relabel(&mut self, group: usize, slot: usize, place: u32) {
        let at = self.at(group, slot) + self.stride - 1;
        self.rows[at] = f64::from_bits(u64::from(place));
    }

    /// The copied statistic, of length k, of member `slot` of `group`.
    #[inline(always)]
    pub(crate) fn row<const K: usize>(&self, group: usize, slot: usize) -> &[f64] {
        let k = if K == 0 { self.stride - 1 } else { K };
        &self.rows[self.groups[group].start + slot * (k + 1)..][..k]
    }

    /// Draws a member of `group`, or 0 if it is empty, and prefetches it.
    #[inline(always)]
    pub(crate) fn draw(&self, group: usize, rng: &mut Rng) -> u32 {
        let Group { start, len, .. } = self.groups[group];
        let slot = if len == 0 { 0 } else { rng.random_range(0..len) };
        let at = start + slot as usize * self.stride;
        prefetch_row(self.rows.as_ptr().wrapping_add(at), self.stride);
        slot
    }

    /// Adds the record at `place` to `group`, with a copy of its statistic if copies are kept.
    #[inline(always)]
    pub(crate) fn push<const K: usize>(&mut self, group: usize, place: u32, row: &[f64]) {
        let k = if K == 0 { self.stride - 1 } else { K };
        if self.groups[group].len == self.groups[group].room {
            self.make_room(group);
        }
        let Group { start, len, .. } = self.groups[group];
        let to = &mut self.rows[start + len as usize * (k + 1)..];
        to[..k].copy_from_slice(&row[..k]);
        to[k] = f64::from_bits(u64::from(place));
        self.groups[group].len += 1;
    }

    /// Moves a full group to the end, with twice the capacity.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, group: usize) {
        let Group { start, len, room } = self.groups[group];
        let end = self.rows.len();
        self.rows.extend_from_within(start..start + len as usize * self.stride);
        self.rows.resize(end + 2 * room as usize * self.stride, 0.0);
        self.groups[group] = Group { start: end, len, room: 2 * room };
    }

    /// Removes member `slot` of `group`; the last member takes its slot. Returns its place.
    #[inline(always)]
    pub(crate) fn swap_remove<const K: usize>(&mut self, group: usize, slot: usize) -> u32 {
        let stride = if K == 0 { self.stride } else { K + 1 };
        let (start, len) = (self.groups[group].start, self.len(group));
        let rows = &mut self.rows[start..][..len * stride];
        let place = rows[(slot + 1) * stride - 1];
        let (before, last) = rows.split_at_mut((len - 1) * stride);
        if slot + 1 < len {
            before[slot * stride..][..stride].copy_from_slice(&last[..stride]);
        }
        self.groups[group].len -= 1;
        place.to_bits() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full group is moved, and keeps its members.
    #[test]
    fn groups_have_room_for_all() {
        let row = |place: usize| [place as f64, -(place as f64)];
        let rows: Vec<[f64; 2]> = (0..20).map(row).collect();
        let of: Vec<u16> = (0..20).map(|place| place % 2).collect();
        let mut members = Members::default();
        members.sort::<2>(2, &of, 2, |place| &rows[place]);
        (20..500).for_each(|place| members.push::<2>(0, place, &row(place as usize)));
        let first = members.swap_remove::<2>(0, 0) as usize;
        let mut seen = vec![first];
        for (group, slot) in members.all(0) {
            let place = members.place(group, slot);
            assert_eq!(members.row::<2>(group, slot), row(place));
            assert_eq!(group, if place < 20 { place % 2 } else { 0 });
            seen.push(place);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..500).collect::<Vec<_>>());
    }
}
