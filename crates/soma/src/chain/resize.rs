//! Moves of the number of records, if it is unknown.

use rand::RngExt;
use rand_distr::weighted::WeightedIndex;
use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;

use super::Problem;
use super::present::is_held;
use super::theta::{State, Tally};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::release::NoiseUnits;
use crate::rng::Rng;
use crate::stored::{Check, MOST_COUNTED, ensure};

/// Moves per iteration.
const PROPOSALS: usize = 8;

/// Moves of each size before the sizes have different probabilities.
const LEAST_TRIED: u64 = 8;

/// The cost of a move of no records, in records.
const FIXED_COST: f64 = 20.0;

/// The least probability of a small size, relative to that of the best.
const LEAST_SHARE: f64 = 0.02;

/// Moves that renew this share of the variance of n in an iteration are good enough.
const RENEWED: f64 = 0.1;

/// Fills k empty slots, or empties k occupied ones, for k = 1, 2, 4, ... up to half of the slots.
///
/// A sweep changes the number of records by one at a time. If the release is vague about it, that
/// is a slow random walk. Filling draws k records from the model. The size k and the direction are
/// drawn independently of the state, and the slots uniformly: from n to n + k by one of C(N - n, k)
/// choices, and back by one of C(n + k, k). With the potential phi, relative to proposals that are
/// occupied with probability q, the Metropolis ratio is
///
/// > exp(phi - phi') (q / (1 - q))^k C(N - n, k) / C(n + k, k),
///
/// in which all but the prior of n and the density of the release cancels.
///
/// Sizes that move n further for their cost are tried more often, as learned in warm-up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Resize {
    /// Proposed and accepted moves of each size in warm-up.
    sizes: Vec<[u64; 2]>,
    /// The sums of the squared changes of n by sweeps of the slots and by these moves in warm-up,
    /// and the number, the mean and the scatter of n.
    squared_jumps: [f64; 2],
    seen: [f64; 3],
    /// Whether sweeps are made of the records that are present, and not of the slots.
    sweeps_present: bool,
    tally: Tally,
}

/// A move: the place of its size among all sizes, and whether slots are filled.
type Kind = (usize, bool);

impl Resize {
    /// What the moves did after warm-up.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn check(&self) -> Check {
        let fits =
            |[proposed, accepted]: &[u64; 2]| accepted <= proposed && *proposed < MOST_COUNTED;
        let is_valid = self.sizes.len() <= 64 && self.sizes.iter().all(fits);
        let all = [self.squared_jumps.as_slice(), &self.seen].concat();
        let is_valid = is_valid && all.iter().all(|x| x.is_finite() && *x >= 0.0);
        ensure(is_valid, "the counts of the moves of n are inconsistent")?;
        self.tally.check()
    }

    /// Whether sweeps are made of the records that are present, and not of the slots.
    pub(super) fn sweeps_present(&self) -> bool {
        self.sweeps_present
    }

    #[cfg(test)]
    pub(super) fn set_sweeps(&mut self, present: bool) {
        self.sweeps_present = present;
    }

    /// Sees n before a sweep of the slots in warm-up, between it and these moves, and after them.
    pub(super) fn watch(&mut self, numbers: [usize; 3]) {
        let [before, between, after] = numbers.map(|n| n as f64);
        self.squared_jumps[0] += (between - before).powi(2);
        self.squared_jumps[1] += (after - between).powi(2);
        let [count, mean, scatter] = &mut self.seen;
        *count += 1.0;
        let gap = after - *mean;
        *mean += gap / *count;
        *scatter += gap * (after - *mean);
    }

    /// Chooses what is swept from here on. A sweep of the slots moves n too; where these moves do
    /// so well enough, it is a waste: there are fewer records than slots, and their potential is
    /// that of a public n, which is cheaper to compute.
    pub(super) fn choose_sweeps(&mut self) {
        let [by_sweeps, by_moves] = self.squared_jumps;
        let enough = by_sweeps.min(RENEWED * 2.0 * self.seen[2]);
        self.sweeps_present = by_moves > 0.0 && by_moves >= enough;
    }

    /// The moves of an iteration, of warm-up or not. Does nothing if n is public.
    pub(super) fn step(
        &mut self,
        problem: &Problem,
        state: &mut State,
        is_warmup: bool,
        rng: &mut Rng,
    ) -> Outcome {
        let release = problem.release();
        let Some(slotted) = release.slotted() else { return Ok(()) };
        let share = slotted.share();
        let kinds = self.kinds(release.n(), rng)?;
        let fresh = Fresh::draw(problem, &state.theta, &kinds, rng)?;
        let mut slots = Slots::of(state);
        let (d, k) = (state.records.d(), state.records.k());
        let potential = release.potential();
        let (mut from_fresh, mut tally) = (0, Tally::default());
        for (size, fills) in kinds {
            let count = 1_usize << size;
            let new = from_fresh..from_fresh + if fills { count } else { 0 };
            from_fresh = new.end;
            tally.proposed += 1;
            tally.work += count as u64;
            if is_warmup {
                self.sizes[size][0] += 1;
            }
            let Some((chosen, others)) = slots.choose(count, fills, rng) else { continue };
            let mut residual = state.records.residual().to_vec();
            for (j, &place) in chosen.iter().enumerate() {
                let old = state.records.statistic(place);
                let new = fresh.statistic(new.clone().nth(j), k);
                let change = old.iter().zip(new).map(|(old, new)| old - new);
                residual.iter_mut().zip(change).for_each(|(r, change)| *r += change);
            }
            let gain = potential.cost(state.records.residual()) - potential.cost(&residual);
            // C(m, k) of the m slots of the kind that changes, over C(m', k) of the other kind
            // afterwards.
            let [from, to] = others.map(|others| others + count);
            let choices = ln_choose(from, count) - ln_choose(to, count);
            let odds = (share / (1.0 - share)).ln() * count as f64;
            if !accepts(gain + choices + if fills { odds } else { -odds }, rng) {
                continue;
            }
            tally.accepted += 1;
            if is_warmup {
                self.sizes[size][1] += 1;
            }
            for (j, place) in slots.turn(count, fills).into_iter().enumerate() {
                let at = new.clone().nth(j);
                let slot = match at {
                    Some(at) => fresh.slots[at * d..][..d].to_vec(),
                    None => [&[0.0][..], &state.records.record(place)[1..]].concat(),
                };
                state.records.replace(place, &slot, fresh.statistic(at, k));
            }
        }
        if !is_warmup {
            self.tally += tally;
        }
        Ok(())
    }

    /// The moves of an iteration, drawn independently of the state.
    fn kinds(&mut self, slots: usize, rng: &mut Rng) -> Outcome<Vec<Kind>> {
        let sizes = (slots / 2).max(1).ilog2() as usize + 1;
        self.sizes.resize(sizes, [0; 2]);
        let size = WeightedIndex::new(self.weights())?;
        Ok((0..PROPOSALS).map(|_| (rng.sample(&size), rng.random())).collect())
    }

    /// The weight of each size: its acceptance rate times the square of its length, for its cost.
    fn weights(&self) -> Vec<f64> {
        if self.sizes.iter().any(|[proposed, _]| *proposed < LEAST_TRIED) {
            return vec![1.0; self.sizes.len()];
        }
        let value = |(size, [proposed, accepted]): (usize, &[u64; 2])| {
            let count = (1_u64 << size) as f64;
            *accepted as f64 / *proposed as f64 * count * count / (FIXED_COST + count)
        };
        let values: Vec<f64> = self.sizes.iter().enumerate().map(value).collect();
        let best = values.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let least = |size: usize| LEAST_SHARE * FIXED_COST / (FIXED_COST + (1_u64 << size) as f64);
        let values = values.into_iter().enumerate();
        values.map(|(size, value)| (value / best).max(least(size))).collect()
    }
}

/// Slots with records drawn from the model, for all moves that fill some.
struct Fresh {
    slots: Vec<f64>,
    statistics: Vec<f64>,
    /// The statistic of an empty slot.
    of_none: Vec<f64>,
}

impl Fresh {
    fn draw(problem: &Problem, theta: &[f64], kinds: &[Kind], rng: &mut Rng) -> Outcome<Self> {
        let (release, model) = (problem.release(), problem.record_model());
        let (d, k) = (model.record_dim(), release.query().dim());
        let filled = kinds.iter().filter(|(_, fills)| *fills);
        let count: usize = filled.map(|(size, _)| 1_usize << size).sum();
        let mut records = vec![0.0; count * d];
        if count > 0 {
            model.propose(theta, &mut records, rng)?;
        }
        let slots: Vec<f64> =
            records.chunks_exact(d).flat_map(|record| [&[1.0][..], record].concat()).collect();
        let (mut statistics, mut of_none) = (vec![0.0; count * k], vec![0.0; k]);
        release.query().statistics(&slots, &mut statistics)?;
        let units = NoiseUnits::new(release);
        units.convert(&mut statistics);
        units.convert(&mut of_none);
        Ok(Fresh { slots, statistics, of_none })
    }

    /// The statistic of the fresh record `at`, or of an empty slot.
    fn statistic(&self, at: Option<usize>, k: usize) -> &[f64] {
        at.map_or(&self.of_none, |at| &self.statistics[at * k..][..k])
    }
}

/// The places of the empty and of the occupied slots.
struct Slots([Vec<usize>; 2]);

impl Slots {
    fn of(state: &State) -> Self {
        let mut places = [Vec::new(), Vec::new()];
        let slots = state.records.all().chunks_exact(state.records.d());
        for (place, slot) in slots.enumerate() {
            places[usize::from(is_held(slot))].push(place);
        }
        Slots(places)
    }

    /// Draws some slots of those that are empty, to be filled, or occupied, and puts them last among
    /// their kind. Returns them with the numbers of the other slots of their kind and of the other
    /// kind; `None` if there are not enough.
    fn choose(
        &mut self,
        count: usize,
        fills: bool,
        rng: &mut Rng,
    ) -> Option<(&[usize], [usize; 2])> {
        let [empty, held] = &mut self.0;
        let (from, others) = if fills { (empty, held) } else { (held, empty) };
        let left = from.len().checked_sub(count)?;
        for last in (left..from.len()).rev() {
            from.swap(last, rng.random_range(0..=last));
        }
        Some((&from[left..], [left, others.len()]))
    }

    /// Makes the chosen slots slots of the other kind, and returns them.
    fn turn(&mut self, count: usize, fills: bool) -> Vec<usize> {
        let [empty, held] = &mut self.0;
        let (from, to) = if fills { (empty, held) } else { (held, empty) };
        let chosen = from.split_off(from.len() - count);
        to.extend_from_slice(&chosen);
        chosen
    }
}

/// The logarithm of n! / (k! (n - k)!).
fn ln_choose(n: usize, k: usize) -> f64 {
    let ln_factorial = |m: usize| ln_gamma(m as f64 + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}
