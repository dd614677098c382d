//! Ensemble rejection in two chains: a few places, drawn for both together.

use rand::RngExt;

use super::index::{Coupled, TOGETHER};
use super::places::Choice;
use super::sharp::{SURELY, exp_above};
use crate::coupling::pair::Pair;
use crate::rng::Rng;
use crate::simd::vector::Vector;

/// Places drawn together, at most.
pub(crate) const DARTS: usize = TOGETHER;

/// No mass is larger: no weight is, in the unit of the masses, larger than 1.
const MOST: f64 = 1.0 / SURELY;

/// Ensemble rejection (Deligiannidis, Doucet and Rubenthaler 2020) in two chains.
///
/// A chain draws m places i_1, ..., i_m from a law b, chooses one of them, J, with probability
/// v_J / S, where v_i = w_i / b_i in a unit in which no v is above 1, and S is the sum over the m;
/// it keeps it with probability S / (S - v_J + 1), and otherwise draws m places anew. Then place i
/// is kept with probability proportional to w_i E[1 / (1 + R)] where R, the sum of the others' v,
/// has the same law whatever i is: it is w_i / W in the end.
///
/// For speed the masses by which J is chosen are bounds of the v, good to 3e-4, and J is kept with
/// probability v_J / mass times the above, with masses in the place of the v.
///
/// Both chains are given the same places and the same uniform for keeping, and choose by the
/// maximal coupling. With m = 1 this would be rejection with common candidates, in which choices
/// that could be the same differ about twice as often as they must; with more it is nearly the
/// maximal coupling, since the m weights of each chain stand for all.
pub(crate) struct Ensemble {
    pub places: [usize; DARTS],
    costs: [[f64; DARTS]; 2],
    masses: [[f64; DARTS]; 2],
    totals: [f64; 2],
}

impl Ensemble {
    /// So many `places`, without masses.
    #[inline(always)]
    pub fn of(places: [usize; DARTS]) -> Self {
        let none = [[0.0; DARTS]; 2];
        Ensemble { places, costs: none, masses: none, totals: [0.0; 2] }
    }

    /// Takes in what the places cost one chain, of which `least` is the least that any place can;
    /// `factors` are one over the bound of each, in the unit of the masses, and 0 for none.
    #[inline(always)]
    pub fn weigh(&mut self, side: usize, costs: [f64; DARTS], least: f64, factors: [f64; DARTS]) {
        let mut losses = [0.0; DARTS];
        for j in 0..DARTS {
            losses[j] = (least - costs[j]) as f32;
        }
        let mut m = [0.0; DARTS];
        for j in 0..DARTS {
            m[j] = f64::from(exp_above(losses[j])) * factors[j];
        }
        self.totals[side] = ((m[0] + m[1]) + (m[2] + m[3])) + ((m[4] + m[5]) + (m[6] + m[7]));
        (self.costs[side], self.masses[side]) = (costs, m);
    }

    /// Lets each chain that is still `open` keep its choice or not; `weight` is v at a slot of one
    /// chain, from the cost there.
    #[inline(always)]
    pub fn keep<V: Vector>(
        &self,
        (open, chosen): (&mut [bool; 2], &mut [Choice; 2]),
        pair: &Pair,
        weight: impl Fn(usize, usize, f64) -> f64,
        rng: &mut Rng,
    ) {
        let Ensemble { places, costs, masses, totals } = self;
        let slots = if *open == [true; 2] {
            let opens = || places.map(|place| pair.open_from(place)[0]);
            Coupled::new([&masses[0], &masses[1]], *totals).slots::<V, _>(rng.random(), opens)
        } else {
            let side = usize::from(open[1]);
            [draw(&masses[side], totals[side], rng); 2]
        };
        let u: f64 = rng.random();
        for side in 0..2 {
            let slot = slots[side];
            let cost = costs[side][slot];
            let weight = || weight(side, slot, cost);
            if open[side] && keeps(u, masses[side][slot], totals[side], weight) {
                chosen[side] = (places[slot], cost);
                open[side] = false;
            }
        }
    }
}

/// Whether the chosen place is kept: with probability S / (S - m + 1) times v / m, where m is its
/// mass and v what it bounds, both at most 1, and S the sum of all masses.
#[inline(always)]
fn keeps(uniform: f64, mass: f64, total: f64, weight: impl Fn() -> f64) -> bool {
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
