//! Moves of the number of records, if it is unknown.

use rand::RngExt;
use rand::seq::index;
use statrs::function::gamma::ln_gamma;

use super::Problem;
use super::theta::{State, Tally};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::release::NoiseUnits;
use crate::rng::Rng;

/// Moves per iteration.
const PROPOSALS: u64 = 8;

/// Fills k empty slots, or empties k occupied ones, for k = 1, 2, 4, ... up to half of the slots.
///
/// A sweep changes the number of records by one at a time. If the release is vague about it, that
/// is a slow random walk. An empty slot already holds a draw from the model (see `model/slots.rs`),
/// so k of them can be filled at once. The size k and the direction are drawn independently of the
/// state, and the slots uniformly: from n to n + k by one of C(N - n, k) choices, and back by one
/// of C(n + k, k). With the potential phi, relative to proposals that are occupied with probability
/// q, the Metropolis ratio is
///
/// > exp(phi - phi') (q / (1 - q))^k C(N - n, k) / C(n + k, k),
///
/// in which all but the prior of n and the density of the release cancels.
pub(super) fn resize(problem: &Problem, state: &mut State, rng: &mut Rng) -> Outcome<Tally> {
    let release = problem.release();
    let Some(slotted) = release.slotted() else { return Ok(Tally::default()) };
    let (slots, share) = (release.n(), slotted.share());
    let (d, k_of) = (state.records.d(), state.records.k());
    let sizes = (slots / 2).max(1).ilog2() + 1;
    let units = NoiseUnits::new(release);
    let mut tally = Tally::default();
    for _ in 0..PROPOSALS {
        let count = 1usize << rng.random_range(0..sizes);
        let fills = rng.random::<bool>();
        tally.proposed += 1;
        let is_held = |slot: &[f64]| slot[0] == 1.0;
        let rows = state.records.all().chunks_exact(d).enumerate();
        let from: Vec<usize> =
            rows.filter(|(_, slot)| is_held(slot) != fills).map(|(i, _)| i).collect();
        tally.work += (from.len() + count) as u64;
        if from.len() < count {
            continue;
        }
        let chosen: Vec<usize> =
            index::sample(rng, from.len(), count).into_iter().map(|i| from[i]).collect();
        let mut changed = Vec::with_capacity(count * d);
        for &i in &chosen {
            changed.push(if fills { 1.0 } else { 0.0 });
            changed.extend_from_slice(&state.records.record(i)[1..]);
        }
        let mut statistics = vec![0.0; count * k_of];
        release.query().statistics(&changed, &mut statistics)?;
        units.convert(&mut statistics);
        let mut residual = state.records.residual().to_vec();
        for (&i, new) in chosen.iter().zip(statistics.chunks_exact(k_of)) {
            let old = state.records.statistic(i);
            residual
                .iter_mut()
                .zip(old.iter().zip(new))
                .for_each(|(r, (old, new))| *r += old - new);
        }
        let potential = release.potential();
        let gain = potential.cost(state.records.residual()) - potential.cost(&residual);
        // C(m, k) of the m slots of the kind that changes, over C(m', k) of the other kind
        // afterwards.
        let other = slots - from.len() + count;
        let choices = ln_choose(from.len(), count) - ln_choose(other, count);
        let odds = (share / (1.0 - share)).ln() * count as f64;
        let ratio = gain + choices + if fills { odds } else { -odds };
        if accepts(ratio, rng) {
            tally.accepted += 1;
            let rows = changed.chunks_exact(d).zip(statistics.chunks_exact(k_of));
            for (&i, (slot, statistic)) in chosen.iter().zip(rows) {
                state.records.replace(i, slot, statistic);
            }
        }
    }
    Ok(tally)
}

/// The logarithm of n! / (k! (n - k)!).
fn ln_choose(n: usize, k: usize) -> f64 {
    let ln_factorial = |m: usize| ln_gamma(m as f64 + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}
