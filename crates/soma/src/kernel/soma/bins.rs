//! Records whose statistic is the indicator of a bin: they share their weights.

use rand::RngExt;

use crate::error::Outcome;
use crate::kernel::exp::exp;
use crate::kernel::offers::Batches;
use crate::kernel::shape::Falloff;
use crate::kernel::{Counts, Records};
use crate::rng::Rng;

/// The records of each bin.
#[derive(Debug, Clone, Default)]
pub(super) struct Bins {
    members: Vec<Vec<u32>>,

    weights: Vec<f64>,
}

/// The bin of a statistic, which is the indicator of it in noise units.
#[inline(always)]
fn bin(statistic: &[f64]) -> usize {
    statistic.iter().position(|&t| t != 0.0).unwrap_or(statistic.len())
}

impl Bins {
    fn fit(&mut self, records: &Records) {
        // One more bin, for records that are in none.
        let bins = records.k() + 1;
        self.members.resize(bins, Vec::new());
        self.members.iter_mut().for_each(Vec::clear);
        for i in 0..records.n() {
            self.members[bin(records.statistic(i))].push(i as u32);
        }
        self.weights.resize(bins, 0.0);
    }
}

/// SOMA moves: W is the sum over the bins of members times weight, so that the bin is drawn with
/// its exact probability, and any record in it will do. A move costs one weight for each bin.
#[inline(always)]
pub(super) fn make_moves<S: Falloff>(
    bins: &mut Bins,
    records: &mut Records,
    mut batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    bins.fit(records);
    let k = records.k();
    let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
    while let Some(places) = batches.next(rng)? {
        for j in 0..places.len() {
            let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
            let to = bin(t);
            counts.evaluations += k as u64 + 1;
            let Some((from, slot)) = bins.select::<S>(records, to, t, rng) else { continue };
            let place = bins.members[from].swap_remove(slot);
            bins.members[to].push(place);
            records.replace(place as usize, y, t);
            counts.accepted += 1;
        }
    }
    Ok(counts)
}

impl Bins {
    /// The place that an offer would take, the records staying as they are.
    #[cfg(test)]
    pub(super) fn frozen<S: Falloff>(
        &mut self,
        records: &Records,
        statistic: &[f64],
        rng: &mut Rng,
    ) -> Option<usize> {
        self.fit(records);
        let (from, slot) = self.select::<S>(records, bin(statistic), statistic, rng)?;
        Some(self.members[from][slot] as usize)
    }

    /// Draws the record that is replaced: its bin and its place among the members; none if the
    /// offer is refused. Weights are relative to the largest.
    #[inline(always)]
    fn select<S: Falloff>(
        &mut self,
        records: &Records,
        to: usize,
        statistic: &[f64],
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        let (residual, k) = (records.residual(), records.k());
        // Relative to the cost of the residual as it stands: leaving bin b adds its unit there,
        // and the offer takes its own unit away; within a bin nothing changes.
        let arrival = if to < k {
            S::cost(residual[to] - statistic[to]) - S::cost(residual[to])
        } else {
            0.0
        };
        let mut least = f64::INFINITY;
        for (b, (cost, members)) in self.weights.iter_mut().zip(&self.members).enumerate() {
            let leave = match residual.get(b) {
                Some(&r) => S::cost(r + records.unit(b)) - S::cost(r),
                None => 0.0,
            };
            *cost = if b == to { 0.0 } else { leave + arrival };
            if !members.is_empty() && *cost < least {
                least = *cost;
            }
        }
        let mut total = 0.0;
        for (weight, members) in self.weights.iter_mut().zip(&self.members) {
            *weight = exp((least - *weight).min(0.0));
            total += *weight * members.len() as f64;
        }
        let mut left = rng.random::<f64>() * total;
        let mut from = usize::MAX;
        for (b, (weight, members)) in self.weights.iter().zip(&self.members).enumerate() {
            let mass = weight * members.len() as f64;
            if mass > 0.0 {
                from = b;
            }
            left -= mass;
            if left < 0.0 {
                break;
            }
        }
        let current = exp(least.min(600.0));
        let short = current - self.weights[from];
        if short > 0.0 && rng.random::<f64>() * (total + short) >= total {
            return None;
        }
        Some((from, rng.random_range(0..self.members[from].len() as u32) as usize))
    }
}
