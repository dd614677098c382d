//! Ensemble rejection in two chains: a few places, drawn for both.

use rand::RngExt;

use super::index::{Coupled, TOGETHER};
use super::places::Choice;
use super::sharp::{SURELY, exp_above};
use crate::coupling::pair::Pair;
use crate::rng::Rng;
use crate::simd::vector::Vector;

/// The largest number of places per round.
pub(crate) const DARTS: usize = TOGETHER;

/// The largest possible mass: weights are at most 1 in the unit of the masses.
const MOST: f64 = 1.0 / SURELY;

/// Ensemble rejection (Deligiannidis, Doucet and Rubenthaler 2020) in two chains.
///
/// A chain draws m places i_1, ..., i_m from a distribution b and selects one of them, J, with
/// probability v_J / S. Here v_i = w_i / b_i, scaled so that v <= 1, and S is the sum over the m.
/// It accepts J with probability S / (S - v_J + 1), and otherwise draws m new places. The
/// probability of accepting place i is then proportional to w_i E[1 / (1 + R)], where R is the sum
/// of v over the other m - 1 places and does not depend on i. So place i is selected with
/// probability w_i / W.
///
/// For speed J is selected by masses that bound the v, with a relative error of 3e-4. J is then
/// accepted with v_J / mass times the probability above, computed from the masses.
///
/// Both chains get the same places and the same acceptance uniform, and select by the maximal
/// coupling. With m = 1 this is rejection with common candidates, in which the selections disagree
/// about twice as often as necessary. With larger m it is nearly the maximal coupling, since the m
/// weights of each chain represent all of them.
pub(crate) struct Ensemble {
    pub places: [usize; DARTS],
    costs: [[f64; DARTS]; 2],
    masses: [[f64; DARTS]; 2],
    totals: [f64; 2],
}

impl Ensemble {
    /// An ensemble of these `places`, without masses.
    #[inline(always)]
    pub fn of(places: [usize; DARTS]) -> Self {
        let none = [[0.0; DARTS]; 2];
        Ensemble { places, costs: none, masses: none, totals: [0.0; 2] }
    }

    /// Sets the masses of one chain from the costs of the places. `least` is the smallest possible
    /// cost; `factors` are one over the bound of each, in the unit of the masses, and 0 for unused
    /// slots.
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

    /// The acceptance test of each chain that is still `open`; `weight` is v at a slot of one
    /// chain, from its cost.
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

/// The acceptance test, with probability S / (S - m + 1) times v / m, where m is the mass of the
/// selected place, v <= m its weight, both at most 1, and S the sum of all masses.
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
