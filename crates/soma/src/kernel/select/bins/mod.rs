//! Selection if the statistic is the indicator of a bin: all records of a bin have the same weight.

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

/// The records by bin, and the factors of their weights.
///
/// All records of a bin have the same weight: w_0 times the factor of leaving the bin, times the
/// factor of arriving in the bin of the proposal; and w_0 in the bin of the proposal itself. A move
/// changes two bins.
///
/// A move depends on the numbers of members only. Which member is replaced is left to [`Members`],
/// and resolved later, after its data were prefetched.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bins {
    bins: Vec<Bin>,
    /// The masses of the bins.
    prefix: ShiftedPrefix,
    /// The numbers of members of the bins at the start of the sweep.
    counts: Vec<i64>,
    /// Factors of the coordinates of a statistic such that their sum is its bin.
    readers: Vec<f64>,
    /// The bins of the proposals of a batch.
    targets: Vec<u32>,
    pending: Vec<Replacement>,
    members: Members,
    /// Whether all factors can be multiplied without overflow or underflow.
    mild: bool,
}

/// A pending replacement: a proposal of the batch replaces a member of one bin and belongs to
/// another.
#[derive(Debug, Clone, Copy)]
struct Replacement {
    from: u32,
    to: u32,
    proposal: u32,
    /// The index of the member and, once resolved, its place.
    member: u32,
}

/// The masses are summed again after this many moves, since incremental updates drift.
const DRIFT: usize = 64;

/// The largest number of draws of a bin before weights are compared by their logarithms: rounding
/// rarely selects an empty bin, and almost never twice.
const DRAWS: usize = 64;

impl Bins {
    /// The bin of an indicator statistic in noise units; the last one if it is in no bin.
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
        // One more bin, for records in no bin.
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

    /// Recomputes the prefix sums of the masses.
    #[inline(always)]
    fn sum_up(&mut self) {
        self.prefix.fit(self.bins.len(), self.bins.iter().map(Bin::mass));
    }

    /// Makes a move with a proposal in bin `to`. Returns the bin of the replaced record and the
    /// index of a uniform member; `None` if the proposal is rejected.
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

    /// Selects for [`advance`](Bins::advance). All weights are divided by the factor of arriving.
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
        // In the bin of the proposal the weight is w_0, which by convexity is at least the product
        // of the factors. The missing mass is appended.
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
            // Rounding may select an empty bin.
            if bin.count <= 0 {
                continue;
            }
            // The position within the mass of the bin is uniform, and determines the member.
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

/// True with probability `part` / `whole`. The last 11 bits of `bits` decide, except in one case in
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

/// SOMA moves: W is the sum over bins of members times weight, so the bin is drawn with its exact
/// probability, and the member uniformly. A move computes the weights of two bins.
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

    /// Counts the places selected for a proposal in `draws` draws, with the records fixed, and the
    /// rejections, last.
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

    /// Checks that every record is in its bin, and that the factors agree with the residual.
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
