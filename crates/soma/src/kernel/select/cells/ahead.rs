//! Members drawn in advance, to hide memory latency.

use rand::{Rng as _, RngExt};

use super::members::Members;
use crate::rng::Rng;

/// Candidates tested together, and members of a cell drawn in advance.
pub(crate) const FOUR: usize = 4;

/// For each cell four members, drawn uniformly and independently of everything else, that are used
/// when the cell is drawn next. They are prefetched meanwhile.
///
/// They stay uniform as the members change: a removed member is replaced by a new draw, and an
/// added one replaces each draw with probability one over the number of members. A draw that was
/// tested but decided nothing is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ahead {
    next: Vec<Four>,
}

/// Four numbers, two per word, so that loads match stores: a load that spans two stores defeats
/// store forwarding.
#[derive(Debug, Clone, Copy, Default)]
struct Four([u64; 2]);

impl Four {
    #[inline(always)]
    fn of(numbers: [u32; FOUR]) -> Self {
        let [a, b, c, d] = numbers.map(u64::from);
        Four([a | b << 32, c | d << 32])
    }

    #[inline(always)]
    fn all(self) -> [u32; FOUR] {
        let Four([low, high]) = self;
        [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
    }

    /// Drops the first and appends `last`.
    #[inline(always)]
    fn followed_by(self, last: u32) -> Self {
        let Four([low, high]) = self;
        Four([low >> 32 | high << 32, high >> 32 | u64::from(last) << 32])
    }
}

impl Ahead {
    /// Draws for all cells.
    pub(crate) fn start(&mut self, members: &Members, rng: &mut Rng) {
        self.next.clear();
        for cell in 0..members.groups() {
            let mut draw = || members.draw(cell, rng);
            self.next.push(Four::of([draw(), draw(), draw(), draw()]));
        }
    }

    /// The next member of `cell`, or the one `after` it.
    #[inline(always)]
    pub(crate) fn peek(&self, cell: usize, after: usize) -> u32 {
        self.next[cell].all()[after % FOUR]
    }

    /// Consumes the next member of `cell`, which has decided something.
    #[inline(always)]
    pub(crate) fn pop(&mut self, cell: usize, members: &Members, rng: &mut Rng) {
        let next = &mut self.next[cell];
        *next = next.followed_by(members.draw(cell, rng));
    }

    /// Called after member `slot` has left `cell`; the last member, if another, now has its slot.
    #[inline(always)]
    pub(crate) fn left(&mut self, (cell, slot): (usize, usize), members: &Members, rng: &mut Rng) {
        let (slot, last) = (slot as u32, members.len(cell) as u32);
        let mut all = self.next[cell].all();
        let mut is_among = false;
        for next in all {
            is_among |= (next == slot) | (next == last);
        }
        if is_among {
            for next in &mut all {
                if *next == slot {
                    *next = members.draw(cell, rng);
                } else if *next == last {
                    *next = slot;
                }
            }
            self.next[cell] = Four::of(all);
        }
    }

    /// Called after a member was appended to `cell`.
    #[inline(always)]
    pub(crate) fn came(&mut self, cell: usize, members: &Members, rng: &mut Rng) {
        // It replaces a draw with probability below four over the number of members: the leading
        // bits of a uniform number usually rule that out.
        let (len, word) = (members.len(cell) as u32, rng.next_u32());
        if u64::from(word) * u64::from(len) < (FOUR as u64) << 32 {
            self.replace_some(cell, word, len, rng);
        }
    }

    /// Replaces each draw by the last of `len` members with probability 1 / `len`. `bits` are the
    /// leading bits of the uniform number that determines the first one.
    #[cold]
    #[inline(never)]
    fn replace_some(&mut self, cell: usize, bits: u32, len: u32, rng: &mut Rng) {
        let uniform = (f64::from(bits) + rng.random::<f64>()) / (1u64 << 32) as f64;
        let (mut none_yet, mut is_first) = (1.0, true);
        let mut all = self.next[cell].all();
        for next in &mut all {
            none_yet *= 1.0 - 1.0 / f64::from(len);
            let replaces =
                if is_first { uniform < 1.0 - none_yet } else { rng.random_range(0..len) == 0 };
            if replaces {
                (*next, is_first) = (len - 1, false);
            }
        }
        self.next[cell] = Four::of(all);
    }
}
