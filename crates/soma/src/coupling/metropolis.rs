//! Ran-IMwG and Sys-IMwG on two chains: the same place, and the same uniform.

use rand::RngExt;

use super::pair::{Offer, Pair};
use super::places::{Places, Taken};
use crate::kernel::shape::{Falloff, log_weight_with, outlasts};
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// A place drawn at random, or the next one in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnePlace {
    Random,
    Next,
}

impl Places for OnePlace {
    fn relabels(&self) -> bool {
        *self == OnePlace::Random
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        turn: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        let place = match self {
            OnePlace::Random => rng.random_range(0..pair.n()),
            OnePlace::Next => turn,
        };
        metropolis::<S, V, K>(pair, currents, place, offer, evaluations, rng)
    }
}

/// One independent Metropolis step of both chains at the same place, with the same uniform.
#[inline(always)]
pub(super) fn metropolis<S: Falloff, V: Vector, const K: usize>(
    pair: &Pair,
    currents: [f64; 2],
    place: usize,
    offer: &Offer<'_>,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Taken; 2] {
    *evaluations += 2;
    let u: f64 = rng.random();
    let both = pair.records();
    let mut taken = [None; 2];
    for side in 0..2 {
        let old = both[side].statistic_known::<K>(place);
        let residual = both[side].residual();
        let offered = log_weight_with::<S, V, K>(residual, old, offer.statistics[side]);
        if outlasts(currents[side] - offered, u) {
            taken[side] = Some((place, offered));
        }
    }
    taken
}
