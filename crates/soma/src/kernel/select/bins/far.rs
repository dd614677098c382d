//! Who stands in which bin, where records are far in memory.

use rand::Rng as _;

use super::{Register, Replacement};
use crate::numeric::pages;
use crate::records::codes::counts;
use crate::records::imputed::copy_short;
use crate::records::{Batch, Records};
use crate::rng::Rng;
use crate::simd::prefetch::prefetch;

/// Parts have room for so many standard deviations more than their mean: a part with more comes
/// once in 10^27.
const SPREAD: f64 = 11.0;

/// What memory is asked for comes in pieces of so many bytes.
const LINE: usize = 64;

/// So many places are settled at a time.
const BLOCK: usize = 256;

/// The newcomers of each bin, each with the bin of the record whose place it has taken, its origin.
/// Who has left which place is settled when the sweep is over, in one pass over the records.
///
/// That it can be: a member of a bin is replaced uniformly, so that a permutation of the places of
/// those who stood in a bin when the sweep began leaves the probability of every course of the
/// sweep as it is: by exchangeability the placement is a uniform permutation, drawn once a sweep.
/// Given which newcomers are there at the end, with their origins, and how many places of each bin
/// were never left, it is therefore a uniformly drawn subset of its places that was not left, and
/// the newcomers of that origin stand in the others in an order that is uniform too.
#[derive(Debug, Clone)]
pub(crate) struct Far {
    /// The length of a record.
    d: usize,
    newcomers: Vec<Rows>,
    /// The number of records that each bin had, and of those that have not been replaced.
    first: Vec<u32>,
    left: Vec<u32>,
    /// The newcomers of each origin, in parts that were drawn for them uniformly: the parts one
    /// after the other, each in a uniform order, are in a uniform order.
    parts: Vec<Vec<Bucket>>,
    /// The rows of all parts.
    parted: Vec<f64>,
    /// Whose turn it is of the parts of each origin.
    turns: Vec<usize>,
    /// Places of a block that are to be settled, and what is left of the draw that said so.
    leavers: Vec<(u32, u64)>,
    /// About how many bytes of newcomers, of all origins together, are looked at in turn.
    in_turn: usize,
}

impl Default for Far {
    /// Newcomers that are looked at in turn stay in the second-level cache.
    fn default() -> Self {
        Far::in_turns_of(1 << 18)
    }
}

/// Records, each followed by the number of a bin, and behind them room for more.
#[derive(Debug, Clone, Default)]
struct Rows {
    rows: Vec<f64>,
    count: usize,
}

impl Rows {
    /// Makes room for `more` rows of length `width`.
    #[inline(always)]
    fn reserve(&mut self, more: usize, width: usize) {
        let needed = (self.count + more) * width;
        if needed > self.rows.len() {
            pages::resize(&mut self.rows, needed + needed / 2);
        }
    }

    /// Adds a record where there is room for it.
    #[inline(always)]
    fn push(&mut self, record: &[f64], bin: f64, width: usize) {
        let row = &mut self.rows[self.count * width..][..width];
        copy_short(&mut row[..width - 1], record);
        row[width - 1] = bin;
        self.count += 1;
    }

    /// Takes row i out, and the last one comes to its place. Where there is no row i, nothing
    /// happens, though there must be room. Returns the bin that follows the record.
    #[inline(always)]
    fn take(&mut self, i: usize, width: usize) -> f64 {
        let is_there = i < self.count;
        let i = i.min(self.count);
        self.count -= usize::from(is_there);
        let bin = self.rows[i * width + width - 1];
        for c in 0..width {
            self.rows[i * width + c] = self.rows[self.count * width + c];
        }
        bin
    }
}

/// So many of the rows that stand in one array.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    start: usize,
    count: usize,
    room: usize,
}

impl Bucket {
    /// Asks for all of it from memory: it will be looked at in no order.
    fn ask(&self, rows: &[f64], width: usize) {
        let rows = &rows[self.start * width..][..self.count * width];
        rows.iter().step_by(LINE / size_of::<f64>()).for_each(|row| prefetch(row));
    }
}

impl Far {
    /// Newcomers of about so many bytes are looked at in turn.
    pub(crate) fn in_turns_of(bytes: usize) -> Self {
        let (d, newcomers, first, left, parts) = Default::default();
        let (parted, turns, leavers) = Default::default();
        Far { d, newcomers, first, left, parts, parted, turns, leavers, in_turn: bytes }
    }
}

impl Register for Far {
    #[inline(always)]
    fn begin(&mut self, records: &Records, members: &mut [i64]) {
        self.d = records.d();
        self.newcomers.resize(members.len(), Rows::default());
        self.newcomers.iter_mut().for_each(|newcomers| newcomers.count = 0);
        self.first.clear();
        self.first.extend(&counts(records.codes())[..members.len()]);
        self.left.clone_from(&self.first);
        members.iter_mut().zip(&self.first).for_each(|(n, &first)| *n = i64::from(first));
    }

    /// The newcomers are the first members of a bin.
    #[inline(always)]
    fn ask(&self, bin: usize, member: usize) {
        let Rows { rows, count } = &self.newcomers[bin];
        prefetch(rows.as_ptr().wrapping_add(member.min(*count) * (self.d + 1)));
    }

    #[inline(always)]
    fn replace(&mut self, pending: &mut Vec<Replacement>, batch: &Batch, _: &mut Records) {
        let width = self.d + 1;
        // One more than can come, where nobody is taken from.
        let room = pending.len() + 1;
        self.newcomers.iter_mut().for_each(|newcomers| newcomers.reserve(room, width));
        for Replacement { from, to, proposal, member } in pending.drain(..) {
            let newcomers = &mut self.newcomers[from as usize];
            let is_newcomer = (member as usize) < newcomers.count;
            let taken = newcomers.take(member as usize, width);
            let origin = if is_newcomer { taken } else { f64::from(from) };
            self.left[from as usize] -= u32::from(!is_newcomer);
            self.newcomers[to as usize].push(batch.record(proposal as usize), origin, width);
        }
    }

    #[inline(always)]
    fn end(&mut self, records: &mut Records, rng: &mut Rng) {
        self.part(rng);
        self.settle(records, rng);
    }
}

impl Far {
    /// Divides the newcomers by origin, and those of each origin at random.
    #[inline(always)]
    fn part(&mut self, rng: &mut Rng) {
        let width = self.d + 1;
        self.make_room();
        let parted = &mut self.parted[..];
        for (bin, newcomers) in self.newcomers.iter().enumerate() {
            let rows = &newcomers.rows[..newcomers.count * width];
            for row in rows.chunks_exact(width) {
                let parts = &mut self.parts[row[width - 1] as usize];
                let (mut part, _) = below(parts.len(), rng.next_u64());
                while parts[part].count == parts[part].room {
                    part = (part + 1) % parts.len();
                }
                let part = &mut parts[part];
                let to = &mut parted[(part.start + part.count) * width..][..width];
                copy_short(&mut to[..width - 1], &row[..width - 1]);
                to[width - 1] = bin as f64;
                part.count += 1;
            }
        }
    }

    /// Makes room for all parts: [`SPREAD`] standard deviations more than a part has on average,
    /// so that hardly ever one is full, and the next one taken.
    fn make_room(&mut self) {
        let (width, bins) = (self.d + 1, self.newcomers.len());
        let in_turn = (self.in_turn / (bins * width * size_of::<f64>())).max(1);
        let mut start = 0;
        self.parts.resize(bins, Vec::new());
        for (b, parts) in self.parts.iter_mut().enumerate() {
            let newcomers = (self.first[b] - self.left[b]) as usize;
            let count = newcomers / in_turn + 1;
            let each = newcomers as f64 / count as f64;
            let room = (each + SPREAD * each.sqrt() + SPREAD * SPREAD) as usize;
            parts.clear();
            parts.extend((0..count).map(|j| Bucket { start: start + j * room, count: 0, room }));
            start += count * room;
        }
        if start * width > self.parted.len() {
            pages::resize(&mut self.parted, start * width * 9 / 8);
        }
    }

    /// Goes through all places, and says who stands there.
    #[inline(always)]
    fn settle(&mut self, records: &mut Records, rng: &mut Rng) {
        let (d, width) = (self.d, self.d + 1);
        self.turns.clear();
        self.turns.resize(self.parts.len(), 0);
        // The next part is asked for while one is used up.
        let first = self.parts.iter().flat_map(|parts| parts.iter().take(2));
        first.for_each(|part| part.ask(&self.parted, width));
        let (rows, codes) = records.binned_mut();
        for (rows, codes) in rows.chunks_mut(BLOCK * d).zip(codes.chunks_mut(BLOCK)) {
            self.find_leavers(codes, rng);
            let parted = &mut self.parted[..];
            for &(place, rest) in &self.leavers {
                let (row, code) =
                    (&mut rows[place as usize * d..][..d], &mut codes[place as usize]);
                let parts = &mut self.parts[usize::from(*code)];
                let turn = &mut self.turns[usize::from(*code)];
                while parts[*turn].count == 0 {
                    *turn += 1;
                    parts[*turn + 1..].iter().take(1).for_each(|part| part.ask(parted, width));
                }
                let part = &mut parts[*turn];
                let (newcomer, _) = below(part.count, rest);
                part.count -= 1;
                let (taken, last) =
                    ((part.start + newcomer) * width, (part.start + part.count) * width);
                copy_short(row, &parted[taken..][..d]);
                *code = parted[taken + d] as u8;
                for c in 0..width {
                    parted[taken + c] = parted[last + c];
                }
            }
        }
    }

    /// Draws those of a block who were replaced: each time the next of all in a bin of whom a known
    /// number was.
    #[inline(always)]
    fn find_leavers(&mut self, codes: &[u8], rng: &mut Rng) {
        self.leavers.resize(BLOCK, (0, 0));
        let mut found = 0;
        for (place, &code) in codes.iter().enumerate() {
            let (first, left) =
                (&mut self.first[usize::from(code)], &mut self.left[usize::from(code)]);
            let (number, rest) = below(*first as usize, rng.next_u64());
            let stays = number < *left as usize;
            *first -= 1;
            *left -= u32::from(stays);
            self.leavers[found] = (place as u32, rest);
            found += usize::from(!stays);
        }
        self.leavers.truncate(found);
    }
}

/// A number below `count` from 64 random bits, uniform to 2^-64 times `count`, and what it leaves
/// of them: bits that are random still, but for as many as the number took.
#[inline(always)]
fn below(count: usize, bits: u64) -> (usize, u64) {
    let product = u128::from(bits) * count as u128;
    ((product >> 64) as usize, product as u64)
}
