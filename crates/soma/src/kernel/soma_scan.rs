//! SOMA by a scan of all n weights: Algorithm 1 of the paper.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::KernelChoice;
use super::counts::{Counts, SweepCost};
use super::table::{Context, Coupling, KernelOptions, RecordKernel};
use crate::error::{Invalid, Outcome};
use crate::records::proposals::for_each_proposal;
use crate::records::{Batch, Proposals, Records};
use crate::release::potential::{Evaluate, Norm};
use crate::rng::Rng;
use crate::simd::cost::{L1, L2};
use crate::simd::vector::Portable;

/// Computes the weights of a proposal y at all places, selects place I with probability w_I / W,
/// and accepts with probability min(1, W / (W + w_0 - w_I)).
///
/// Reversible with respect to pi (the paper's Theorem on reversibility): from x' = [x_-I, y] the
/// weights of the reverse move are w_0 for place I and w_j for each other j. Their sum is W + w_0 -
/// w_I, and pi(x') f(x_I) w_0 = pi(x) f(y) w_I. A move costs n weights.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SomaScan {
    #[serde(skip)]
    weights: Vec<f64>,
}

impl SomaScan {
    /// The kernel; its buffers grow to n in the first sweep.
    pub fn new() -> Self {
        SomaScan::default()
    }

    fn make_moves(
        &mut self,
        potential: &impl Evaluate,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = records.n();
        let weights = &mut self.weights;
        let mut accepted = 0;
        for_each_proposal(n, proposals, &mut Batch::default(), rng, |_, y, t, rng| {
            if let Some(i) = soma_move(potential, records, 0..n, t, weights, rng) {
                records.replace(i, y, t);
                accepted += 1;
            }
        })?;
        Ok(Counts { moves: n as u64, accepted, evaluations: (n * n) as u64 })
    }
}

impl RecordKernel for SomaScan {
    const NAME: &'static str = "soma-scan";

    fn choice(_: KernelOptions, _: usize) -> KernelChoice {
        KernelChoice::Soma
    }

    fn build(_: KernelChoice, _: usize) -> Result<Self, Invalid> {
        Ok(SomaScan::new())
    }

    fn cost(&self, _: f64) -> SweepCost {
        SweepCost { per_sweep: 5.0, per_move: 5.0, per_weight: 1.5 }
    }

    fn coupling(&self) -> Coupling {
        Coupling::AllPlaces
    }

    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts> {
        let Context { records, proposals, potential, rng } = at;
        match potential.norm() {
            Some(Norm::L1) => self.make_moves(&L1, records, proposals, rng),
            Some(Norm::L2) => self.make_moves(&L2, records, proposals, rng),
            None => self.make_moves(potential, records, proposals, rng),
        }
    }
}

/// One move on the places `among`. Returns the accepted place, if any.
///
/// Weights are relative to the largest, so that they neither all underflow nor overflow. w_0 may
/// then be infinite, and the proposal is correctly rejected.
pub(crate) fn soma_move(
    potential: &impl Evaluate,
    records: &Records,
    among: impl Iterator<Item = usize> + Clone,
    statistic: &[f64],
    weights: &mut Vec<f64>,
    rng: &mut Rng,
) -> Option<usize> {
    let residual = records.residual();
    weights.clear();
    weights.extend(
        among.clone().map(|i| {
            -potential.cost_after::<Portable, 0>(residual, records.statistic(i), statistic)
        }),
    );
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for weight in weights.iter_mut() {
        *weight = (*weight - top).exp();
        total += *weight;
    }
    let current = (-potential.current_cost::<Portable, 0>(residual) - top).exp();
    let mut left = rng.random::<f64>() * total;
    let mut chosen = None;
    for (i, &weight) in among.zip(weights.iter()) {
        if weight > 0.0 {
            chosen = Some((i, weight));
        }
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    let (i, weight) = chosen?;
    let accept = total / (total + (current - weight).max(0.0));
    (accept >= 1.0 || rng.random::<f64>() < accept).then_some(i)
}
