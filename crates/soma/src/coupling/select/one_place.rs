//! Coupled Ran-IMwG and Sys-IMwG: the same place and the same uniform.

use rand::RngExt;

use super::places::{Choice, Move, Places};
use crate::numeric::accept::is_below_exp_neg;
use crate::release::potential::Evaluate;
use crate::rng::Rng;
use crate::simd::vector::Vector;

/// A place drawn at random, or the next one in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnePlace {
    Random,
    Next,
}

impl OnePlace {
    /// Random or systematic scan.
    pub(crate) fn of(at_random: bool) -> Self {
        if at_random { OnePlace::Random } else { OnePlace::Next }
    }
}

impl<P: Evaluate> Places<P> for OnePlace {
    fn relabels(&self) -> bool {
        *self == OnePlace::Random
    }

    #[inline(always)]
    fn choose<V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, P>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let place = match self {
            OnePlace::Random => rng.random_range(0..at.pair.n()),
            OnePlace::Next => at.turn,
        };
        *evaluations += 2;
        let both = at.pair.records();
        let mut choices = [(place, 0.0); 2];
        for side in 0..2 {
            let old = both[side].statistic_known::<K>(place);
            let (residual, new) = (both[side].residual(), at.proposal.statistics[side]);
            choices[side].1 = at.potential.cost_after::<V, K>(residual, old, new);
        }
        choices
    }

    #[inline(always)]
    fn takes<V: Vector, const K: usize>(
        &self,
        side: usize,
        (_, cost): Choice,
        uniform: f64,
        at: &Move<'_, P>,
        _: &mut u64,
    ) -> bool {
        is_below_exp_neg(uniform, cost - at.currents[side])
    }
}
