//! SOMA on two chains at a cost that does not grow with n.

use rand::RngExt;

use super::kernel::{Taken, soma as soma_by_scan, weigh};
use super::pair::{Offer, Pair};
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::{Falloff, log_weight_with, outlasts};
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// The smallest box that holds the statistics of a chain's records, or a larger one.
#[derive(Debug, Clone, Default)]
pub(super) struct Envelope {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Envelope {
    /// The box of the records as they stand.
    pub fn new(records: &Records) -> Self {
        let first = records.statistic(0).to_vec();
        let mut envelope = Envelope { low: first.clone(), high: first };
        (1..records.n()).for_each(|i| envelope.widen(records.statistic(i)));
        envelope
    }

    /// Makes room for one more statistic.
    fn widen(&mut self, statistic: &[f64]) {
        for ((low, high), &t) in self.low.iter_mut().zip(&mut self.high).zip(statistic) {
            *low = low.min(t);
            *high = high.max(t);
        }
    }

    /// An upper bound of the log weights of an offer at all places.
    fn log_top<S: Falloff>(&self, residual: &[f64], statistic: &[f64]) -> f64 {
        let mut cost = 0.0;
        for (k, (r, y)) in residual.iter().zip(statistic).enumerate() {
            let gap = r - y;
            cost += S::cost((gap + self.low[k]).max(-gap - self.high[k]).max(0.0));
        }
        -cost
    }
}

/// One SOMA move of both chains: where each takes its offer.
///
/// The place of a chain is the first of a stream of uniformly drawn candidates that passes with
/// probability w_i / w_up, for an upper bound w_up of its weights. Both chains read the same
/// stream of candidates and uniforms, so that they mostly stop at the same one. A chain that has
/// not stopped after n / 2 candidates chooses by a scan: candidates that failed say nothing of the
/// choice that is still to come.
///
/// An offer with w_I < w_0 is taken iff W >= (w_0 - w_I) u / (1 - u), which partial sums of the
/// weights decide, mostly after a few terms.
#[inline(always)]
pub(super) fn soma<S: Falloff, V: Vector, const K: usize>(
    pair: &Pair,
    currents: [f64; 2],
    envelopes: &mut [Envelope; 2],
    offer: &Offer<'_>,
    scratch: &mut [Vec<f64>; 2],
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Taken; 2] {
    let n = pair.n();
    let both = pair.records();
    let tops = [
        envelopes[0].log_top::<S>(both[0].residual(), offer.statistics[0]),
        envelopes[1].log_top::<S>(both[1].residual(), offer.statistics[1]),
    ];
    let mut chosen: [Taken; 2] = [None; 2];
    for _ in 0..n.div_ceil(2) {
        let candidate = rng.random_range(0..n);
        let u: f64 = rng.random();
        for side in 0..2 {
            if chosen[side].is_none() {
                *evaluations += 1;
                let old = both[side].statistic_known::<K>(candidate);
                let residual = both[side].residual();
                let weight = log_weight_with::<S, V, K>(residual, old, offer.statistics[side]);
                if outlasts(tops[side] - weight, u) {
                    chosen[side] = Some((candidate, weight));
                }
            }
        }
        if chosen[0].is_some() && chosen[1].is_some() {
            break;
        }
    }
    let mut taken: [Taken; 2] = [None; 2];
    if chosen[0].is_none() && chosen[1].is_none() {
        let all = |slot| slot;
        taken = soma_by_scan::<S, V, K>(pair, currents, n, all, offer, scratch, evaluations, rng);
    } else {
        let u: f64 = rng.random();
        for side in 0..2 {
            let statistic = offer.statistics[side];
            let choice = match chosen[side] {
                Some(choice) => choice,
                None => {
                    *evaluations += n as u64;
                    choose::<S, V, K>(both[side], statistic, &mut scratch[side], rng)
                }
            };
            let needed = needed(currents[side] - choice.1, u);
            if takes::<S, V, K>(both[side], statistic, choice, needed, evaluations) {
                taken[side] = Some(choice);
            }
        }
    }
    for side in 0..2 {
        if taken[side].is_some() {
            envelopes[side].widen(offer.statistics[side]);
        }
    }
    taken
}

/// A place drawn with probability w_i / W, by a scan, and its log weight.
#[inline(always)]
fn choose<S: Falloff, V: Vector, const K: usize>(
    records: &Records,
    statistic: &[f64],
    weights: &mut Vec<f64>,
    rng: &mut Rng,
) -> (usize, f64) {
    let (total, _) = weigh::<S, V, K>(records, records.n(), |slot| slot, statistic, weights);
    let mut left = rng.random::<f64>() * total;
    let mut place = 0;
    for (i, &weight) in weights.iter().enumerate() {
        if weight > 0.0 {
            place = i;
        }
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    let old = records.statistic_known::<K>(place);
    (place, log_weight_with::<S, V, K>(records.residual(), old, statistic))
}

/// (w_0 / w_I - 1) u / (1 - u): what W / w_I has to reach for the offer to be taken; `loss` is
/// log w_0 - log w_I.
#[inline(always)]
fn needed(loss: f64, u: f64) -> f64 {
    if loss <= 0.0 { 0.0 } else { (exp(loss.min(600.0)) - 1.0) * u / (1.0 - u) }
}

/// Whether the offer is taken at the chosen place: whether the sum of all weights, relative to the
/// one there, reaches `needed`.
#[inline(always)]
fn takes<S: Falloff, V: Vector, const K: usize>(
    records: &Records,
    statistic: &[f64],
    (place, weight): (usize, f64),
    needed: f64,
    evaluations: &mut u64,
) -> bool {
    let (n, residual) = (records.n(), records.residual());
    let (mut sum, mut i) = (1.0, place);
    while sum < needed {
        i = if i + 1 == n { 0 } else { i + 1 };
        if i == place {
            return false;
        }
        *evaluations += 1;
        let old = records.statistic_known::<K>(i);
        let gain = log_weight_with::<S, V, K>(residual, old, statistic) - weight;
        sum += exp(gain.min(600.0));
    }
    true
}
