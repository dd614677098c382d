//! Independent Metropolis within Gibbs, by systematic scan (Ju, Awan, Gong and Rao 2022) or by
//! random scan.

use pulp::Arch;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::KernelChoice;
use super::counts::{Counts, SweepCost};
use super::table::{Context, Coupling, KernelOptions, RecordKernel};
use crate::error::{Invalid, Outcome};
use crate::numeric::accept::accepts_exp_neg;
use crate::records::proposals::Batches;
use crate::records::{Batch, Proposals, Records};
use crate::release::potential::{Evaluate, Norm, Potential};
use crate::rng::Rng;
use crate::simd::cost::{Cost, L1, L2};
use crate::simd::specialise::{Work, specialised};
use crate::simd::vector::{Portable, Vector};

/// Systematic scan: proposes one record for each place in turn, and accepts with probability min(1,
/// w_i / w_0).
///
/// Leaves pi invariant: each move is a Metropolis-Hastings step on pi(x_i | x_-i) with the
/// independent proposal f, whose density cancels. The sweep as a whole is not reversible. A move
/// costs one weight.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SysImwg {
    #[serde(skip)]
    batch: Batch,
}

impl RecordKernel for SysImwg {
    const NAME: &'static str = "sys-imwg";
    const AUTO_RANK: Option<usize> = Some(0);

    fn choice(_: KernelOptions, _: usize) -> KernelChoice {
        KernelChoice::SysImwg
    }

    fn build(_: KernelChoice, _: usize) -> Result<Self, Invalid> {
        Ok(SysImwg::default())
    }

    fn cost(&self, _: f64) -> SweepCost {
        SweepCost { per_sweep: 3.0, per_move: 2.7, per_weight: 1.0 }
    }

    fn coupling(&self) -> Coupling {
        Coupling::OnePlace { at_random: false }
    }

    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts> {
        let Context { records, proposals, potential, rng } = at;
        ImwgSweep { random: false, records, proposals, batch: &mut self.batch, rng }
            .run_on(potential)
    }
}

/// Random scan: proposes a record for a uniformly drawn place, and accepts with probability min(1,
/// w_i / w_0).
///
/// Reversible with respect to pi: a mixture of the Metropolis-Hastings steps of [`SysImwg`], with
/// weights that do not depend on the state. A move costs one weight.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RanImwg {
    #[serde(skip)]
    batch: Batch,
}

impl RecordKernel for RanImwg {
    const NAME: &'static str = "ran-imwg";

    fn choice(_: KernelOptions, _: usize) -> KernelChoice {
        KernelChoice::RanImwg
    }

    fn build(_: KernelChoice, _: usize) -> Result<Self, Invalid> {
        Ok(RanImwg::default())
    }

    fn cost(&self, _: f64) -> SweepCost {
        SweepCost { per_sweep: 3.0, per_move: 3.1, per_weight: 1.0 }
    }

    fn coupling(&self) -> Coupling {
        Coupling::OnePlace { at_random: true }
    }

    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts> {
        let Context { records, proposals, potential, rng } = at;
        ImwgSweep { random: true, records, proposals, batch: &mut self.batch, rng }
            .run_on(potential)
    }
}

/// A sweep of independent Metropolis steps, by systematic or random scan.
struct ImwgSweep<'a> {
    random: bool,
    records: &'a mut Records,
    proposals: &'a mut dyn Proposals,
    batch: &'a mut Batch,
    rng: &'a mut Rng,
}

impl ImwgSweep<'_> {
    fn run_on(self, potential: &Potential) -> Outcome<Counts> {
        let k = self.records.k();
        match potential.norm() {
            Some(Norm::L1) => specialised::<_, L1>(self, k, Arch::new()),
            Some(Norm::L2) => specialised::<_, L2>(self, k, Arch::new()),
            None => self.make_moves::<Potential, Portable, 0>(potential),
        }
    }

    #[inline(always)]
    fn make_moves<P: Evaluate, V: Vector, const K: usize>(self, potential: &P) -> Outcome<Counts> {
        let ImwgSweep { random, records, proposals, batch, rng } = self;
        let n = records.n();
        let mut accepted = 0;
        let mut current = potential.current_cost::<V, K>(records.residual());
        let mut batches = Batches::new(n, proposals, batch);
        while let Some(places) = batches.next(rng)? {
            for (j, turn) in places.enumerate() {
                let i = if random { rng.random_range(0..n) } else { turn };
                let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
                let taken = metropolis::<P, V, K>(potential, records, i, (y, t), &mut current, rng);
                accepted += u64::from(taken);
            }
        }
        Ok(Counts { moves: n as u64, accepted, evaluations: n as u64 })
    }
}

impl Work for ImwgSweep<'_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Cost, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        self.make_moves::<S, V, K>(&S::default())
    }
}

/// One independent Metropolis step on record i; `current` is the current cost, -log w_0. Returns
/// whether the proposal, a record with its statistic, is accepted.
#[inline(always)]
pub(crate) fn metropolis<P: Evaluate, V: Vector, const K: usize>(
    potential: &P,
    records: &mut Records,
    i: usize,
    (record, statistic): (&[f64], &[f64]),
    current: &mut f64,
    rng: &mut Rng,
) -> bool {
    let old = records.statistic_known::<K>(i);
    let cost = potential.cost_after::<V, K>(records.residual(), old, statistic);
    let is_taken = accepts_exp_neg(cost - *current, rng);
    if is_taken {
        records.replace_known::<V, K>(i, record, statistic);
        *current = cost;
    }
    is_taken
}
