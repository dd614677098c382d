//! Members drawn ahead of their use.

use rand::RngExt;

use super::members::Members;
use crate::rng::Rng;

/// For each cell two members, drawn uniformly and independently of all else, that will be looked at
/// when the cell is drawn next, so that they can be on their way from memory before that.
///
/// They stay uniform over the members as these change: a member that leaves is replaced by a
/// fresh draw, and one that comes takes the place of each with probability one over the number of
/// members.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead {
    next: Vec<[u32; 2]>,
}

impl Ahead {
    /// Draws for all cells.
    pub(super) fn start(&mut self, members: &[Members], k: usize, rng: &mut Rng) {
        self.next.clear();
        for cell in members {
            let mut draw = || if cell.len() > 0 { fresh(cell, k, rng) } else { 0 };
            self.next.push([draw(), draw()]);
        }
    }

    /// The next member of `cell`, one of `members`, of which there are some.
    #[inline(always)]
    pub(super) fn take(&mut self, cell: usize, members: &Members, k: usize, rng: &mut Rng) -> u32 {
        let next = &mut self.next[cell];
        std::mem::replace(next, [next[1], fresh(members, k, rng)])[0]
    }

    /// Member `slot` has left `cell`, and the last one, if it was another, has its slot now.
    #[inline(always)]
    pub(super) fn left(
        &mut self,
        (cell, slot): (usize, usize),
        members: &Members,
        k: usize,
        rng: &mut Rng,
    ) {
        for next in &mut self.next[cell] {
            if *next as usize == slot {
                *next = if members.len() > 0 { fresh(members, k, rng) } else { 0 };
            } else if *next as usize == members.len() {
                *next = slot as u32;
            }
        }
    }

    /// A member has come to `cell`, at the end.
    #[inline(always)]
    pub(super) fn came(&mut self, cell: usize, members: &Members, rng: &mut Rng) {
        let last = members.len() as u32 - 1;
        for next in &mut self.next[cell] {
            if rng.random_range(0..=last) == 0 {
                *next = last;
            }
        }
    }
}

#[inline(always)]
fn fresh(members: &Members, k: usize, rng: &mut Rng) -> u32 {
    let slot = rng.random_range(0..members.len() as u32);
    members.prefetch(slot as usize, k);
    slot
}
