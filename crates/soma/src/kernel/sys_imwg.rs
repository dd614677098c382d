//! Systematic-scan independent Metropolis within Gibbs (Ju, Awan, Gong and Rao 2022).

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::offers::for_each_offer;
use super::shape::{Falloff, log_density, log_weight};
use super::{Batch, Counts, Offers, Records};
use crate::error::Outcome;
use crate::rng::Rng;

/// Offers one record to each place in turn, taken with probability min(1, w_i / w_0).
///
/// Leaves pi invariant: each move is a Metropolis-Hastings step on pi(x_i | x_-i) with the
/// independent proposal f, whose density cancels. The sweep as a whole is not reversible. A move
/// costs one weight.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SysImwg;

impl SysImwg {
    pub(super) fn sweep<S: Falloff>(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = records.n();
        let mut accepted = 0;
        let mut current = log_density::<S>(records.residual());
        for_each_offer(n, offers, &mut Batch::default(), rng, |i, y, t, rng| {
            accepted += metropolis::<S>(records, i, y, t, &mut current, rng);
        })?;
        Ok(Counts { moves: n as u64, accepted, evaluations: n as u64 })
    }
}

/// One independent Metropolis step on record i; `current` is log w_0. Returns 1 if it was taken.
#[inline(always)]
pub(super) fn metropolis<S: Falloff>(
    records: &mut Records,
    i: usize,
    y: &[f64],
    statistic: &[f64],
    current: &mut f64,
    rng: &mut Rng,
) -> u64 {
    let offered = log_weight::<S>(records.residual(), records.statistic(i), statistic);
    let gain = offered - *current;
    if gain >= 0.0 || rng.random::<f64>() < gain.exp() {
        records.replace(i, y, statistic);
        *current = offered;
        1
    } else {
        0
    }
}
