//! Members drawn ahead of their use.

use rand::{Rng as _, RngExt};

use super::members::Members;
use crate::rng::Rng;

/// So many candidates are looked at together, so many members of a cell are drawn ahead.
pub(super) const FOUR: usize = 4;

/// For each cell four members, drawn uniformly and independently of all else, that will be looked at
/// when the cell is drawn next, so that they can be on their way from memory before that.
///
/// They stay uniform over the members as these change: a member that leaves is replaced by a
/// fresh draw, and one that comes takes the place of each with probability one over the number of
/// members. One that was looked at, but decided nothing, can be looked at again.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead {
    next: Vec<[u32; FOUR]>,
}

impl Ahead {
    /// Draws for all cells.
    pub(super) fn start(&mut self, members: &Members, rng: &mut Rng) {
        self.next.clear();
        for cell in 0..members.groups() {
            let mut draw = || fresh(members, cell, rng);
            self.next.push([draw(), draw(), draw(), draw()]);
        }
    }

    /// The next member of `cell`, or the one that comes `after` so many others.
    #[inline(always)]
    pub(super) fn peek(&self, cell: usize, after: usize) -> u32 {
        self.next[cell][after % FOUR]
    }

    /// The next member of `cell` has decided something, and is used up.
    #[inline(always)]
    pub(super) fn pop(&mut self, cell: usize, members: &Members, rng: &mut Rng) {
        let [_, second, third, fourth] = self.next[cell];
        self.next[cell] = [second, third, fourth, fresh(members, cell, rng)];
    }

    /// Member `slot` has left `cell`, and the last one, if it was another, has its slot now.
    #[inline(always)]
    pub(super) fn left(&mut self, (cell, slot): (usize, usize), members: &Members, rng: &mut Rng) {
        let len = members.len(cell);
        for next in &mut self.next[cell] {
            if *next as usize == slot {
                *next = fresh(members, cell, rng);
            } else if *next as usize == len {
                *next = slot as u32;
            }
        }
    }

    /// A member has come to `cell`, at the end.
    #[inline(always)]
    pub(super) fn came(&mut self, cell: usize, members: &Members, rng: &mut Rng) {
        // It replaces any with a chance below four in their number: the first bits of a uniform number
        // mostly say that it does not.
        let (len, word) = (members.len(cell) as u32, rng.next_u32());
        if u64::from(word) * u64::from(len) < (FOUR as u64) << 32 {
            self.replace_some(cell, word, len, rng);
        }
    }

    /// Puts the last of `len` members in the place of each with probability one in `len`. A uniform
    /// number that begins with `bits` says which is the first.
    #[cold]
    #[inline(never)]
    fn replace_some(&mut self, cell: usize, bits: u32, len: u32, rng: &mut Rng) {
        let uniform = (f64::from(bits) + rng.random::<f64>()) / (1u64 << 32) as f64;
        let (mut none_yet, mut is_first) = (1.0, true);
        for next in &mut self.next[cell] {
            none_yet *= 1.0 - 1.0 / f64::from(len);
            let replaces =
                if is_first { uniform < 1.0 - none_yet } else { rng.random_range(0..len) == 0 };
            if replaces {
                (*next, is_first) = (len - 1, false);
            }
        }
    }
}

/// A member of `cell`; 0 if there is none.
#[inline(always)]
fn fresh(members: &Members, cell: usize, rng: &mut Rng) -> u32 {
    let slot = match members.len(cell) as u32 {
        0 => 0,
        len => rng.random_range(0..len),
    };
    members.prefetch(cell, slot as usize);
    slot
}
