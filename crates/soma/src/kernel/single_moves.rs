//! Single moves, for studies of the state between the moves of a sweep.

use rand::RngExt;

use super::imwg::metropolis;
use super::soma_scan::soma_move;
use crate::error::Outcome;
use crate::records::{Batch, Proposals, Records};
use crate::release::potential::{Evaluate, Norm, Potential};
use crate::rng::Rng;
use crate::simd::cost::{L1, L2};
use crate::simd::vector::Portable;

/// A kernel that can make single moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleKernel {
    /// SOMA on all records, by a scan of the weights.
    Soma,
    /// Independent Metropolis by random scan.
    RanImwg,
    /// Independent Metropolis by systematic scan.
    SysImwg,
}

/// A kernel, move by move: n calls of [`advance`](SingleMoves::advance) have the distribution of
/// one sweep, and the same invariant distribution.
#[derive(Debug, Clone)]
pub struct SingleMoves {
    kernel: SingleKernel,
    turn: usize,
    batch: Batch,
    weights: Vec<f64>,
}

impl SingleMoves {
    /// The moves of `kernel`; a systematic scan begins with the first record.
    pub fn new(kernel: SingleKernel) -> Self {
        SingleMoves { kernel, turn: 0, batch: Batch::default(), weights: Vec::new() }
    }

    /// One move. Returns whether the proposal was accepted.
    pub fn advance(
        &mut self,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        potential: &Potential,
        rng: &mut Rng,
    ) -> Outcome<bool> {
        if self.turn == 0 {
            records.refresh();
        }
        proposals.fill(1, &mut self.batch, rng)?;
        let taken = match potential.norm() {
            Some(Norm::L1) => self.proposal(&L1, records, rng),
            Some(Norm::L2) => self.proposal(&L2, records, rng),
            None => self.proposal(potential, records, rng),
        };
        self.turn = (self.turn + 1) % records.n();
        Ok(taken)
    }

    fn proposal(
        &mut self,
        potential: &impl Evaluate,
        records: &mut Records,
        rng: &mut Rng,
    ) -> bool {
        let (y, statistic) = (self.batch.record(0), self.batch.statistic(0));
        let place = match self.kernel {
            SingleKernel::Soma => {
                let places = 0..records.n();
                let weights = &mut self.weights;
                let taken = soma_move(potential, records, places, statistic, weights, rng);
                if let Some(i) = taken {
                    records.replace(i, y, statistic);
                }
                return taken.is_some();
            }
            SingleKernel::RanImwg => rng.random_range(0..records.n()),
            SingleKernel::SysImwg => self.turn,
        };
        let mut current = potential.current_cost::<Portable, 0>(records.residual());
        let proposal = (y, statistic);
        metropolis::<_, Portable, 0>(potential, records, place, proposal, &mut current, rng)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chain::{Chain, Problem, Summary};
    use crate::kernel::KernelChoice;
    use crate::model::Normal;
    use crate::records::ModelProposals;
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::{Aggregate, Release, query};
    use crate::rng;

    fn problem() -> Problem {
        let query = Arc::new(query::Mean::new(vec![(-3.0, 3.0)]).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![0.6]).unwrap();
        let release = Release::new(query, mechanism, Aggregate::Sum, 3, vec![2.5]).unwrap();
        let model = Arc::new(Normal::new(0.0, 1.0, 2.0, 2.0).unwrap());
        let problem = Problem::new(release, model).unwrap();
        problem.with_fixed(vec![0.0, 1.0], vec![Summary::Mean]).unwrap()
    }

    /// Mean and standard error by batch means, which are nearly independent.
    fn mean_and_error(values: &[f64]) -> (f64, f64) {
        let batches: Vec<f64> = values
            .chunks_exact(values.len() / 100)
            .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
            .collect();
        let mean = batches.iter().sum::<f64>() / 100.0;
        let variance = batches.iter().map(|b| (b - mean) * (b - mean)).sum::<f64>() / 99.0;
        (mean, (variance / 100.0).sqrt())
    }

    /// Single moves have the acceptance rate and the mean of sweeps.
    #[test]
    fn single_moves_agree_with_sweeps() {
        let problem = problem();
        let release = problem.release();
        let theta = problem.fixed().unwrap();
        let cases = [
            (SingleKernel::Soma, KernelChoice::Soma),
            (SingleKernel::RanImwg, KernelChoice::RanImwg),
            (SingleKernel::SysImwg, KernelChoice::SysImwg),
        ];
        for (index, (single, choice)) in cases.into_iter().enumerate() {
            let sweeps = 40_000;
            let mut chain = Chain::new(&problem, choice, 5, index as u64).unwrap();
            let (mut whole, mut parts) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
            let mut rng = rng::stream(6, index as u64);
            let mut records = Records::new(release, vec![0.5, 0.5, 0.5]).unwrap();
            let mut proposals = ModelProposals::new(problem.model(), theta, release);
            let mut moves = SingleMoves::new(single);
            for _ in 0..sweeps {
                whole.0.push(chain.step().unwrap().acceptance_rate());
                whole.1.push(chain.draw()[0]);
                let taken = (0..3)
                    .filter(|_| {
                        let potential = release.potential();
                        moves.advance(&mut records, &mut proposals, potential, &mut rng).unwrap()
                    })
                    .count();
                parts.0.push(taken as f64 / 3.0);
                parts.1.push(records.all().iter().sum::<f64>() / 3.0);
            }
            for (sweep, single) in [(&whole.0, &parts.0), (&whole.1, &parts.1)] {
                let ((a, a_error), (b, b_error)) = (mean_and_error(sweep), mean_and_error(single));
                let gap = (a - b).abs() / a_error.hypot(b_error);
                assert!(gap < 4.5, "{choice:?}: {a} in sweeps, {b} one by one: {gap} errors apart");
            }
        }
    }
}
