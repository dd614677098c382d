//! Random-scan independent Metropolis within Gibbs.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::offers::for_each_offer;
use super::shape::{Falloff, log_density};
use super::sys_imwg::metropolis;
use super::{Batch, Counts, Offers, Records};
use crate::error::Outcome;
use crate::rng::Rng;

/// Offers a record to a place drawn uniformly, taken with probability min(1, w_i / w_0).
///
/// Reversible with respect to pi: a mixture of the Metropolis-Hastings steps of
/// [`SysImwg`](super::SysImwg) with weights that do not depend on the state. A move costs one
/// weight.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RanImwg;

impl RanImwg {
    pub(super) fn sweep<S: Falloff>(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = records.n();
        let mut accepted = 0;
        let mut current = log_density::<S>(records.residual());
        for_each_offer(n, offers, &mut Batch::default(), rng, |_, y, t, rng| {
            let i = rng.random_range(0..n);
            accepted += metropolis::<S>(records, i, y, t, &mut current, rng);
        })?;
        Ok(Counts { moves: n as u64, accepted, evaluations: n as u64 })
    }
}
