//! SOMA on two chains at a cost that does not grow with n.

use rand::RngExt;

use super::kernel::{soma as soma_by_scan, weigh};
use super::pair::{Offer, Pair};
use crate::kernel::Records;
use crate::kernel::shape::{Falloff, log_density, log_weight};
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
pub(super) fn soma<S: Falloff>(
    pair: &Pair,
    envelopes: &mut [Envelope; 2],
    offer: &Offer<'_>,
    scratch: &mut [Vec<f64>; 2],
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Option<usize>; 2] {
    let n = pair.n();
    let records = pair.records();
    let tops: [f64; 2] = std::array::from_fn(|side| {
        envelopes[side].log_top::<S>(records[side].residual(), offer.statistics[side])
    });
    let mut places = [None; 2];
    for _ in 0..n.div_ceil(2) {
        let candidate = rng.random_range(0..n);
        let u = rng.random::<f64>().ln();
        for side in 0..2 {
            if places[side].is_none() {
                *evaluations += 1;
                let old = records[side].statistic(candidate);
                let weight = log_weight::<S>(records[side].residual(), old, offer.statistics[side]);
                if u < weight - tops[side] {
                    places[side] = Some((candidate, weight));
                }
            }
        }
        if places.iter().all(Option::is_some) {
            break;
        }
    }
    let taken = if places.iter().all(Option::is_none) {
        soma_by_scan::<S>(pair, n, |slot| slot, offer, scratch, evaluations, rng)
    } else {
        let u = rng.random();
        std::array::from_fn(|side| {
            let statistic = offer.statistics[side];
            let (place, weight) = places[side].unwrap_or_else(|| {
                *evaluations += n as u64;
                choose::<S>(records[side], statistic, &mut scratch[side], rng)
            });
            takes::<S>(records[side], statistic, place, weight, u, evaluations).then_some(place)
        })
    };
    for side in 0..2 {
        if taken[side].is_some() {
            envelopes[side].widen(offer.statistics[side]);
        }
    }
    taken
}

/// A place drawn with probability w_i / W, by a scan, and its log weight.
fn choose<S: Falloff>(
    records: &Records,
    statistic: &[f64],
    weights: &mut Vec<f64>,
    rng: &mut Rng,
) -> (usize, f64) {
    let (total, _) = weigh::<S>(records, 0..records.n(), statistic, weights);
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
    (place, log_weight::<S>(records.residual(), records.statistic(place), statistic))
}

/// Whether the offer is taken at `place`, where its log weight is `weight`.
fn takes<S: Falloff>(
    records: &Records,
    statistic: &[f64],
    place: usize,
    weight: f64,
    u: f64,
    evaluations: &mut u64,
) -> bool {
    let residual = records.residual();
    let loss = (log_density::<S>(residual) - weight).exp_m1();
    let needed = loss * u / (1.0 - u);
    let mut sum = 1.0;
    let others = (place + 1..records.n()).chain(0..place);
    for i in others {
        if sum >= needed {
            return true;
        }
        *evaluations += 1;
        sum += (log_weight::<S>(residual, records.statistic(i), statistic) - weight).exp();
    }
    sum >= needed
}
