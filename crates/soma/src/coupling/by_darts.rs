//! SOMA on two chains at a cost that does not grow with n: a few weights of each chain.

use rand::RngExt;
use rand::distr::{Distribution, Uniform};

use super::index::{Coupled, TOGETHER};
use super::offers::CoupledOffers;
use super::pair::{Offer, Pair};
use super::places::{Places, Taken};
use super::sharp::{SURELY, exp_above};
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::Falloff;
use crate::kernel::soma::accept::{Threshold, by_weighing_all};
use crate::kernel::soma::envelope::Envelope;
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// So many places are drawn for both chains together.
pub(super) const DARTS: usize = TOGETHER;

/// No mass is larger: no weight is, in the unit of the masses, larger than 1.
const MOST: f64 = 1.0 / SURELY;

/// After so many rounds all records are weighed. Rounds are independent of each other, so that the
/// law does not change if they are given up after a number that is fixed beforehand.
const ROUNDS: usize = 16;

/// Places drawn uniformly, many at a time and the same ones for both chains, under one bound of
/// all weights.
///
/// A chain draws m places i_1, ..., i_m uniformly, chooses one of them, J, with probability
/// w_J / S, where S is the sum of their weights, and keeps it with probability
/// S / (S - w_J + w_up), where w_up is a bound of all weights; otherwise it draws m places anew.
/// Then place i is kept with probability proportional to w_i E[1 / (w_up + R)] where R, the sum of
/// the weights of the other m - 1 places, has the same law whatever i is: it is w_i / W in the end
/// (ensemble rejection, Deligiannidis, Doucet and Rubenthaler 2020).
///
/// For speed the masses by which J is chosen are bounds m_i of the weights, good to 3e-4, and J is
/// kept with probability w_J / m_J times the above, with m in the place of w.
///
/// Both chains are given the same places and the same uniform for keeping, and choose by the
/// maximal coupling. With m = 1 this would be rejection with common candidates, in which choices
/// that could be the same differ about twice as often as they must; with eight it is nearly the
/// maximal coupling, since the eight weights of each chain stand for all.
#[derive(Debug, Clone, Default)]
pub(super) struct Darts {
    envelopes: [Envelope; 2],
    /// Bounds of W / w_0 from below that hold for all offers of a batch; 0 if there is none.
    floors: [f64; 2],
    scratch: Vec<[f64; 2]>,
}

impl Darts {
    /// Fits the boxes of both chains.
    #[inline(always)]
    pub fn begin<V: Vector, const K: usize>(&mut self, pair: &Pair) {
        for (envelope, records) in self.envelopes.iter_mut().zip(pair.records()) {
            envelope.fit::<V, K>(records);
            envelope.divide_by_widths();
        }
    }
}

impl Places for &mut Darts {
    fn relabels(&self) -> bool {
        true
    }

    /// Widens the boxes to hold all offers of the batch, as the plain kernel does.
    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        offers: &CoupledOffers<'_>,
        size: usize,
    ) {
        for side in 0..2 {
            for j in 0..size {
                self.envelopes[side].widen::<V, K>(offers.offer(j).statistics[side]);
            }
            self.envelopes[side].divide_by_widths();
            let least = pair.n() as f64 * (1.0 - 1e-9) * exp(-self.envelopes[side].width());
            self.floors[side] = if S::BENDS { 0.0 } else { least };
        }
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        _: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        let both = pair.records();
        let mut least = [0.0; 2];
        for side in 0..2 {
            let envelope = &mut self.envelopes[side];
            envelope.offer::<V, K>(both[side].residual(), offer.statistics[side]);
            least[side] = envelope.least_cost::<S, V, K>();
        }
        let chosen = self.chosen::<S, V, K>(pair, least, evaluations, rng);
        let u: f64 = rng.random();
        let mut taken: [Taken; 2] = [None; 2];
        for side in 0..2 {
            let test = Threshold::with(u, -currents[side]);
            let (envelope, (place, cost)) = (&self.envelopes[side], chosen[side]);
            if test.is_met_by(self.floors[side])
                || cost <= -currents[side]
                || accepts::<S, V, K>(
                    test.for_place(cost),
                    (place, least[side]),
                    envelope,
                    both[side],
                    evaluations,
                )
            {
                taken[side] = Some((place, -cost));
            }
        }
        taken
    }
}

impl Darts {
    /// A place for each chain, drawn with probability w_i / W, and the cost of it.
    #[inline(always)]
    fn chosen<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        least: [f64; 2],
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [(usize, f64); 2] {
        let Darts { envelopes, scratch, .. } = self;
        let both = pair.records();
        let all = Uniform::new(0, pair.n() as u32).expect("there is a record");
        let mut chosen = [(0, 0.0); 2];
        let mut open = [true; 2];
        for _ in 0..ROUNDS {
            let mut places = [0; DARTS];
            places.iter_mut().for_each(|place| *place = all.sample(rng) as usize);
            let mut costs = [[0.0; DARTS]; 2];
            let mut masses = [[0.0; DARTS]; 2];
            let mut totals = [0.0; 2];
            for side in 0..2 {
                if open[side] {
                    for j in 0..DARTS {
                        let row = both[side].statistic_known::<K>(places[j]);
                        costs[side][j] = envelopes[side].cost::<S, V, K>(row);
                    }
                    let mut losses = [0.0; DARTS];
                    for j in 0..DARTS {
                        losses[j] = (least[side] - costs[side][j]) as f32;
                    }
                    for j in 0..DARTS {
                        masses[side][j] = f64::from(exp_above(losses[j]));
                    }
                    let m = &masses[side];
                    totals[side] =
                        ((m[0] + m[1]) + (m[2] + m[3])) + ((m[4] + m[5]) + (m[6] + m[7]));
                    *evaluations += DARTS as u64;
                }
            }
            let slots = if open == [true; 2] {
                let coupled = Coupled::new([&masses[0], &masses[1]], totals);
                match coupled.common(rng.random()) {
                    Ok(slot) => [slot; 2],
                    Err(rest) => {
                        let open = places.map(|place| pair.open_from(place)[0]);
                        coupled.apart(rest, &open, scratch)
                    }
                }
            } else {
                let side = usize::from(open[1]);
                [draw(&masses[side], totals[side], rng); 2]
            };
            let u: f64 = rng.random();
            for side in 0..2 {
                let slot = slots[side];
                let weight = || exp(least[side] - costs[side][slot]);
                if open[side] && keeps(u, masses[side][slot], totals[side], weight) {
                    chosen[side] = (places[slot], costs[side][slot]);
                    open[side] = false;
                }
            }
            if open == [false; 2] {
                return chosen;
            }
        }
        for side in 0..2 {
            if open[side] {
                let rows = (0..pair.n()).map(|i| both[side].statistic_known::<K>(i));
                chosen[side] = by_weighing_all::<S, K>(&envelopes[side], rows, evaluations, rng);
            }
        }
        chosen
    }
}

/// Whether the chosen dart is kept: with probability S / (S - m + w_up) times w / m, where m is its
/// mass and w its weight, both at most 1, and S the sum of all masses.
#[inline(always)]
pub(super) fn keeps(uniform: f64, mass: f64, total: f64, weight: impl Fn() -> f64) -> bool {
    let bar = uniform * (total - mass + MOST);
    bar < total * SURELY || (bar < total && bar * mass < total * weight())
}

/// A slot drawn with probability proportional to its mass.
#[inline(always)]
fn draw(masses: &[f64; DARTS], total: f64, rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * total;
    let mut slot = 0;
    while slot + 1 < DARTS && left >= masses[slot] {
        left -= masses[slot];
        slot += 1;
    }
    slot
}

/// Whether an offer of less weight than w_0 is taken at the chosen place; `least` is the least cost
/// that any place has.
#[inline(always)]
fn accepts<S: Falloff, V: Vector, const K: usize>(
    test: Threshold,
    (place, least): (usize, f64),
    envelope: &Envelope,
    records: &Records,
    evaluations: &mut u64,
) -> bool {
    if test.is_met_by_all(records, envelope.mean_cost::<S, V, K>(records)) {
        return true;
    }
    let places = (place..records.n()).chain(0..place);
    let rows = places.map(|place| records.statistic_known::<K>(place));
    let most = test.weight(least);
    test.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, most, evaluations)
}
