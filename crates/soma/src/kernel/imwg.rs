//! Independent Metropolis within Gibbs, one record at a time, in order (Ju, Awan, Gong and Rao 2022)
//! or at random.

use pulp::Arch;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::Counts;
use crate::error::Outcome;
use crate::numeric::accept::accepts_exp_neg;
use crate::records::proposals::Batches;
use crate::records::{Batch, Offers, Records};
use crate::release::mechanism::Shape;
use crate::rng::Rng;
use crate::simd::cost::{Falloff, log_density_with, log_weight_with};
use crate::simd::specialise::{Work, specialised};
use crate::simd::vector::Vector;

/// Offers one record to each place in turn, taken with probability min(1, w_i / w_0).
///
/// Leaves pi invariant: each move is a Metropolis-Hastings step on pi(x_i | x_-i) with the
/// independent proposal f, whose density cancels. The sweep as a whole is not reversible. A move
/// costs one weight.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SysImwg {
    #[serde(skip)]
    batch: Batch,
}

impl SysImwg {
    pub(crate) fn sweep(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        ImwgSweep { random: false, records, offers, batch: &mut self.batch, rng }.run_on(shape)
    }
}

/// Offers a record to a place drawn uniformly, taken with probability min(1, w_i / w_0).
///
/// Reversible with respect to pi: a mixture of the Metropolis-Hastings steps of
/// [`SysImwg`] with weights that do not depend on the state. A move costs one
/// weight.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RanImwg {
    #[serde(skip)]
    batch: Batch,
}

impl RanImwg {
    pub(super) fn sweep(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        ImwgSweep { random: true, records, offers, batch: &mut self.batch, rng }.run_on(shape)
    }
}

/// A sweep of independent Metropolis steps, over the places in order or at random.
struct ImwgSweep<'a> {
    random: bool,
    records: &'a mut Records,
    offers: &'a mut dyn Offers,
    batch: &'a mut Batch,
    rng: &'a mut Rng,
}

impl ImwgSweep<'_> {
    fn run_on(self, shape: Shape) -> Outcome<Counts> {
        let k = self.records.k();
        specialised(self, shape, k, Arch::new())
    }
}

impl Work for ImwgSweep<'_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Falloff, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let ImwgSweep { random, records, offers, batch, rng } = self;
        let n = records.n();
        let mut accepted = 0;
        let mut current = log_density_with::<S, V, K>(records.residual());
        let mut batches = Batches::new(n, offers, batch);
        while let Some(places) = batches.next(rng)? {
            for (j, turn) in places.enumerate() {
                let i = if random { rng.random_range(0..n) } else { turn };
                let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
                accepted += metropolis::<S, V, K>(records, i, y, t, &mut current, rng);
            }
        }
        Ok(Counts { moves: n as u64, accepted, evaluations: n as u64 })
    }
}

/// One independent Metropolis step on record i; `current` is log w_0. Returns 1 if it was taken.
#[inline(always)]
pub(crate) fn metropolis<S: Falloff, V: Vector, const K: usize>(
    records: &mut Records,
    i: usize,
    y: &[f64],
    statistic: &[f64],
    current: &mut f64,
    rng: &mut Rng,
) -> u64 {
    let old = records.statistic_known::<K>(i);
    let offered = log_weight_with::<S, V, K>(records.residual(), old, statistic);
    let loss = *current - offered;
    if accepts_exp_neg(loss, rng) {
        records.replace_known::<V, K>(i, y, statistic);
        *current = offered;
        1
    } else {
        0
    }
}
