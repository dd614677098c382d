//! Random-scan independent Metropolis within Gibbs.

use serde::{Deserialize, Serialize};

use super::sys_imwg::ImwgSweep;
use super::{Batch, Counts, Offers, Records};
use crate::error::Outcome;
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// Offers a record to a place drawn uniformly, taken with probability min(1, w_i / w_0).
///
/// Reversible with respect to pi: a mixture of the Metropolis-Hastings steps of
/// [`SysImwg`](super::SysImwg) with weights that do not depend on the state. A move costs one
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
