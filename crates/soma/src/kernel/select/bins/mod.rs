//! Records whose statistic is the indicator of a bin: they share their weights.

mod bin;
mod members;

use rand::{Rng as _, RngExt};

use self::bin::{Bin, MILD, MOST};
use self::members::Members;
use crate::error::Outcome;
use crate::kernel::Counts;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::records::proposals::Batches;
use crate::release::potential::Evaluate;
use crate::rng::Rng;
use crate::simd::cost::sum_over;
use crate::simd::prefix::shifted::ShiftedPrefix;
use crate::simd::vector::Vector;

/// The records, bin by bin, and what their weights are made of.
///
/// All records of a bin have the same weight: w_0 times what leaving the bin makes of it, times
/// what arriving at the bin of the proposal does; and w_0 itself in the bin of the proposal. Two
/// bins change with a move.
///
/// Nothing but the numbers of members decides about a move: who is replaced is left to
/// [`Members`], and found out later, when what that needs has come from memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bins {
    bins: Vec<Bin>,
    /// The masses of the bins.
    prefix: ShiftedPrefix,
    /// The numbers of members of the bins when the sweep begins.
    counts: Vec<i64>,
    /// What to multiply the coordinates of a statistic by to have the sum say its bin.
    readers: Vec<f64>,
    /// The bins of the proposals of a batch.
    targets: Vec<u32>,
    pending: Vec<Replacement>,
    members: Members,
    /// Whether no factor is too large or too small to be multiplied.
    mild: bool,
}

/// What is still to be done to the records: a proposal of the batch takes the place of a member of
/// a bin, and belongs to another.
#[derive(Debug, Clone, Copy)]
struct Replacement {
    from: u32,
    to: u32,
    proposal: u32,
    /// Which member it is, and, once that is known, its place.
    member: u32,
}

/// After so many moves the masses are summed up anew: shifted one by one, their sums drift.
const DRIFT: usize = 64;

/// The most draws of a bin before weights are compared by their logarithms: rounding leads to an
/// empty bin hardly ever, and again hardly ever again.
const DRAWS: usize = 64;

impl Bins {
    /// The bin of a statistic, which is the indicator of it in noise units; the last one if it is
    /// in none.
    #[inline(always)]
    fn bin<V: Vector>(&self, statistic: &[f64]) -> u32 {
        let k = self.readers.len();
        let (t, reader) = (&statistic[..k], &self.readers[..k]);
        let said =
            sum_over!(V, k, c => V::mul(V::load(&t[c..]), V::load(&reader[c..])), t[c] * reader[c]);
        (said as u32).wrapping_sub(1).min(k as u32)
    }

    /// Finds the members of each bin.
    #[inline(always)]
    fn fit<P: Evaluate>(&mut self, potential: &P, records: &Records) {
        // One more bin, for records that are in none.
        let k = records.k();
        self.counts.resize(k + 1, 0);
        self.members.find(records, &mut self.counts);
        self.bins.resize(k + 1, Bin::OUTSIDE);
        self.readers.resize(k, 0.0);
        self.mild = true;
        for b in 0..k {
            let (target, unit) = (records.target(b), records.unit(b));
            if [target, unit] != [self.bins[b].target, self.bins[b].unit] {
                self.bins[b] = Bin::new(target, unit);
                self.readers[b] = (b as f64 + 1.5) / unit;
            }
            self.mild &= unit < MILD;
        }
        self.bins[k] = Bin::OUTSIDE;
        for (b, (bin, &count)) in self.bins.iter_mut().zip(&self.counts).enumerate() {
            bin.count = count;
            self.mild &= bin.weigh(b, potential);
        }
        self.sum_up();
    }

    /// Sums up the masses.
    #[inline(always)]
    fn sum_up(&mut self) {
        self.prefix.fit(self.bins.len(), self.bins.iter().map(Bin::mass));
    }

    /// Makes a move with a proposal in bin `to`. Returns the bin that a record is taken out of, and
    /// which of its members, any one being as good as another; none if the proposal is refused.
    #[inline(always)]
    fn advance<P: Evaluate, V: Vector>(
        &mut self,
        potential: &P,
        to: usize,
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        let (from, member) = self.select::<P, V>(potential, to, rng)?;
        let gains = self.bins[to].gains;
        let loses = if from == to { -gains } else { self.bins[from].loses };
        let has_fallen = self.prefix.shift::<V>((to, gains), (from, loses));
        self.bins[from].count -= 1;
        self.mild &= self.bins[from].weigh(from, potential);
        self.bins[to].count += 1;
        self.mild &= self.bins[to].weigh(to, potential);
        if has_fallen {
            self.sum_up();
        }
        Some((from, member))
    }

    /// Draws what [`advance`](Bins::advance) returns. All is divided by the factor of arriving.
    #[inline(always)]
    fn select<P: Evaluate, V: Vector>(
        &self,
        potential: &P,
        to: usize,
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        if !self.mild {
            return self.select_by_logarithms(potential, to, rng);
        }
        let (arrival, sum) = (&self.bins[to], self.prefix.height());
        // In the bin of the proposal the weight is w_0, and so at least what the cost, which is
        // convex, would have made of it: the mass that is missing is put last.
        let total = sum + arrival.count as f64 * (arrival.undone() - arrival.leaving()).max(0.0);
        for _ in 0..DRAWS {
            let bits = rng.next_u64();
            let left = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * total;
            let (from, into) = if left < sum {
                self.prefix.at::<V>(left)
            } else {
                (to, arrival.mass() + (left - sum))
            };
            let bin = &self.bins[from];
            // Rounding may lead to where nobody is.
            if bin.count <= 0 {
                continue;
            }
            // How far the draw went into the bin is uniform, and says which member it is.
            let each = if from == to { arrival.undone() } else { bin.leaving() };
            let member = ((into / each) as u32).min(bin.count as u32 - 1);
            let taken = passes(total, total + (arrival.undone() - each).max(0.0), bits, rng);
            return taken.then_some((from, member as usize));
        }
        self.select_by_logarithms(potential, to, rng)
    }

    /// The same by logarithms relative to the largest weight, if factors would overflow.
    #[cold]
    #[inline(never)]
    fn select_by_logarithms(
        &self,
        potential: &impl Evaluate,
        to: usize,
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        let arriving = self.bins[to].logs(to, potential)[1];
        let log =
            |b: usize| if b == to { 0.0 } else { self.bins[b].logs(b, potential)[0] + arriving };
        let bins = || (0..self.bins.len()).filter(|&b| self.bins[b].count > 0);
        let top = bins().map(log).fold(f64::NEG_INFINITY, f64::max);
        let mass = |b: usize| self.bins[b].count as f64 * exp((log(b) - top).min(0.0));
        let total: f64 = bins().map(mass).sum();
        let mut left = rng.random::<f64>() * total;
        let mut from = None;
        for b in bins() {
            from = if mass(b) > 0.0 { Some(b) } else { from };
            left -= mass(b);
            if left < 0.0 {
                break;
            }
        }
        let from = from?;
        let short = exp((-top).min(MOST)) - exp(log(from) - top);
        let taken = short <= 0.0 || rng.random::<f64>() * (total + short) < total;
        taken.then(|| (from, rng.random_range(0..self.bins[from].count as usize)))
    }
}

/// True with probability `part` / `whole`. The last 11 bits of `bits` decide, but for one case in
/// 2,048.
#[inline(always)]
fn passes(part: f64, whole: f64, bits: u64, rng: &mut Rng) -> bool {
    const CELLS: f64 = 2048.0;
    let (cell, sought) = ((bits % 2048) as f64, CELLS * part);
    if (cell + 1.0) * whole <= sought {
        return true;
    }
    cell * whole < sought && (cell + rng.random::<f64>()) * whole < sought
}

/// SOMA moves: W is the sum over the bins of members times weight, so that the bin is drawn with
/// its exact probability, and any record in it will do. A move computes the weights of two bins.
#[inline(always)]
pub(crate) fn make_moves<P: Evaluate, V: Vector>(
    bins: &mut Bins,
    potential: &P,
    records: &mut Records,
    batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    bins.fit(potential, records);
    let outcome = bins.go_through::<P, V>(potential, records, batches, rng);
    records.set_residual_of_bins(bins.bins.iter().map(|bin| bin.count));
    outcome
}

impl Bins {
    #[inline(always)]
    fn go_through<P: Evaluate, V: Vector>(
        &mut self,
        potential: &P,
        records: &mut Records,
        mut batches: Batches,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let k = self.readers.len();
        let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
        let mut targets = std::mem::take(&mut self.targets);
        while let Some((count, is_said)) = batches.next_binned(&mut targets, rng)? {
            if !is_said {
                let bin = |j| self.bin::<V>(batches.batch().statistic(j));
                targets.clear();
                targets.extend((0..count).map(bin));
            }
            for (j, &to) in targets.iter().enumerate() {
                if j % DRIFT == 0 {
                    self.sum_up();
                }
                let moved = self.advance::<P, V>(potential, to as usize, rng);
                let Some((from, member)) = moved else { continue };
                self.members.prefetch(from, member);
                let (from, member) = (from as u32, member as u32);
                self.pending.push(Replacement { from, to, proposal: j as u32, member });
            }
            counts.accepted += self.pending.len() as u64;
            self.members.replace(&mut self.pending, batches.batch(), records);
        }
        self.targets = targets;
        counts.evaluations = k as u64 + 1 + 2 * counts.accepted;
        Ok(counts)
    }

    /// Counts the places that a proposal would take in so many draws, the records staying as they
    /// are, and, last, how often it would be refused.
    #[cfg(test)]
    pub(crate) fn frozen<P: Evaluate, V: Vector>(
        &mut self,
        potential: &P,
        records: &Records,
        statistic: &[f64],
        draws: usize,
        rng: &mut Rng,
    ) -> Vec<u64> {
        self.fit(potential, records);
        let to = self.bin::<V>(statistic) as usize;
        let mut members = vec![Vec::new(); self.bins.len()];
        (0..records.n()).for_each(|i| members[records.bin(i)].push(i));
        let mut taken = vec![0; records.n() + 1];
        for _ in 0..draws {
            let place =
                self.select::<P, V>(potential, to, rng).map(|(from, slot)| members[from][slot]);
            taken[place.unwrap_or(records.n())] += 1;
        }
        taken
    }

    /// Every record is in its bin, and the factors are those of the residual.
    #[cfg(test)]
    pub(crate) fn check<P: Evaluate, V: Vector>(&self, potential: &P, records: &Records) {
        let mut members = vec![0; self.bins.len()];
        (0..records.n()).for_each(|i| members[self.bin::<V>(records.statistic(i)) as usize] += 1);
        assert!(self.bins.iter().map(|bin| bin.count).eq(members));
        for (b, &r) in records.residual().iter().enumerate() {
            let cost = |r| potential.coordinate_cost(b, r);
            let factor = |change: f64| (cost(r) - cost(r + change)).exp();
            let unit = records.unit(b);
            assert!((self.bins[b].leaving() / factor(unit) - 1.0).abs() < 1e-9);
            assert!((self.bins[b].undone() * factor(-unit) - 1.0).abs() < 1e-9);
        }
    }
}
