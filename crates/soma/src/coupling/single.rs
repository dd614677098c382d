//! Two coupled chains at fixed theta, one move at a time.

use std::sync::Arc;

use super::pair::Pair;
use super::proposals::CoupledProposals;
use super::select::by_scan::{Among, Weighed, Weights};
use super::select::one_place::OnePlace;
use super::select::places::{Move, currents, place, taken};
use crate::chain::Problem;
use crate::error::Outcome;
use crate::kernel::SingleKernel;
use crate::records::Records;
use crate::release::potential::{Evaluate, Norm, Potential};
use crate::rng::Rng;
use crate::simd::cost::{L1, L2};
use crate::simd::vector::Portable;

/// Two sets of records that share proposals, places and uniforms move by move, as in the paper's
/// appendix. SOMA uses the maximal coupling of the two selections, and relabels the second chain if
/// both accept at different places. Ran-IMwG and Sys-IMwG use the same place. Marginally each chain
/// moves as [`SingleMoves`](crate::kernel::SingleMoves).
///
/// The sweeps of [`CoupledKernel`](super::CoupledKernel) also pair records with similar statistics
/// before each sweep. Here the second chain is relabelled on joint acceptances only.
#[derive(Debug)]
pub struct SinglePair<'a> {
    proposals: CoupledProposals<'a>,
    potential: Arc<Potential>,
    kernel: SingleKernel,
    pair: Pair,
    turn: usize,
    weights: Weights,
    moves: u64,
}

impl<'a> SinglePair<'a> {
    /// A pair from two initial states. The problem must have a fixed theta (else theta is empty).
    pub fn new(problem: &'a Problem, kernel: SingleKernel, starts: [Vec<f64>; 2]) -> Outcome<Self> {
        let release = problem.release();
        let theta = problem.fixed().unwrap_or_default();
        let [first, second] = starts;
        let pair = Pair::new(Records::new(release, first)?, Records::new(release, second)?);
        Ok(SinglePair {
            proposals: CoupledProposals::new(problem.model(), [theta, theta], release),
            potential: release.potential().clone(),
            kernel,
            pair,
            turn: 0,
            weights: Weights::default(),
            moves: 0,
        })
    }

    /// One move of both chains. Returns which of them accepted.
    pub fn advance(&mut self, rng: &mut Rng) -> Outcome<[bool; 2]> {
        if self.turn == 0 {
            self.pair.first.refresh();
            self.pair.second.refresh();
        }
        let potential = self.potential.clone();
        let taken = match potential.norm() {
            Some(Norm::L1) => self.advance_with(&L1, rng),
            Some(Norm::L2) => self.advance_with(&L2, rng),
            None => self.advance_with(&*potential, rng),
        }?;
        self.turn = (self.turn + 1) % self.pair.n();
        self.moves += 1;
        Ok(taken)
    }

    fn advance_with<P: Evaluate>(&mut self, potential: &P, rng: &mut Rng) -> Outcome<[bool; 2]> {
        let SinglePair { proposals, kernel, pair, turn, weights, .. } = self;
        proposals.draw(1, rng)?;
        let proposal = proposals.proposal(0);
        let currents = currents::<P, Portable, 0>(potential, pair);
        let at = Move { potential, pair, currents, turn: *turn, proposal };
        let mut one = |mut place| taken::<P, Portable, 0>(&mut place, &at, &mut 0, rng);
        let (taken, relabel) = match kernel {
            SingleKernel::Soma => {
                let mut places = Weighed { among: Among::All, weights };
                (taken::<P, Portable, 0>(&mut places, &at, &mut 0, rng), true)
            }
            SingleKernel::RanImwg => (one(OnePlace::Random), false),
            SingleKernel::SysImwg => (one(OnePlace::Next), false),
        };
        pair.put::<Portable, 0>(&proposal, taken.map(place), relabel);
        Ok(taken.map(|taken| taken.is_some()))
    }

    /// The records of the two chains.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// The number of moves of each chain.
    pub fn moves(&self) -> u64 {
        self.moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::SingleMoves;
    use crate::model::Normal;
    use crate::records::ModelProposals;
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::{Aggregate, Release, query};
    use crate::rng;

    const N: usize = 4;

    fn problem() -> Problem {
        let query = Arc::new(query::Mean::new(vec![(-3.0, 3.0)]).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![0.5]).unwrap();
        let release = Release::new(query, mechanism, Aggregate::Sum, N, vec![2.0]).unwrap();
        let model = Arc::new(Normal::new(0.0, 1.0, 2.0, 2.0).unwrap());
        Problem::new(release, model).unwrap().with_fixed(vec![0.0, 1.0], Vec::new()).unwrap()
    }

    /// The sum of the records after a few moves, and how many were taken.
    fn mean_and_error(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        (mean, (squares / (n - 1.0) / n).sqrt())
    }

    /// After a few moves from a fixed start, each chain of a pair has the distribution of a single
    /// chain: the mean and mean square of the sum and the acceptance rate agree.
    #[test]
    fn each_chain_alone_moves_as_it_should() {
        let problem = problem();
        let starts = [vec![-1.0, 0.0, 1.0, 2.5], vec![0.3, 0.4, -2.0, 1.0]];
        let (runs, moves) = (30_000, 6);
        for kernel in [SingleKernel::Soma, SingleKernel::RanImwg, SingleKernel::SysImwg] {
            let mut coupled = [const { [const { Vec::new() }; 3] }; 2];
            let mut alone = [const { [const { Vec::new() }; 3] }; 2];
            let mut rng = rng::stream(11, 0);
            for _ in 0..runs {
                let mut pair = SinglePair::new(&problem, kernel, starts.clone()).unwrap();
                let mut taken = [0.0; 2];
                for _ in 0..moves {
                    let both = pair.advance(&mut rng).unwrap();
                    taken.iter_mut().zip(both).for_each(|(t, yes)| *t += f64::from(u8::from(yes)));
                }
                for side in 0..2 {
                    let sum: f64 = pair.pair().records()[side].all().iter().sum();
                    let numbers = [sum, sum * sum, taken[side]];
                    coupled[side].iter_mut().zip(numbers).for_each(|(to, x)| to.push(x));
                    let mut records =
                        Records::new(problem.release(), starts[side].clone()).unwrap();
                    let mut proposals = ModelProposals::new(
                        problem.model(),
                        problem.fixed().unwrap(),
                        problem.release(),
                    );
                    let mut single = SingleMoves::new(kernel);
                    let count = (0..moves)
                        .filter(|_| {
                            let potential = problem.release().potential();
                            single
                                .advance(&mut records, &mut proposals, potential, &mut rng)
                                .unwrap()
                        })
                        .count();
                    let sum: f64 = records.all().iter().sum();
                    let numbers = [sum, sum * sum, count as f64];
                    alone[side].iter_mut().zip(numbers).for_each(|(to, x)| to.push(x));
                }
            }
            for (ours, plain) in coupled.iter().flatten().zip(alone.iter().flatten()) {
                let ((a, a_error), (b, b_error)) = (mean_and_error(ours), mean_and_error(plain));
                let gap = (a - b).abs() / a_error.hypot(b_error);
                assert!(gap < 4.5, "{kernel:?}: {a} in a pair, {b} alone: {gap} errors apart");
            }
        }
    }

    /// Pairs meet, and stay equal afterwards.
    #[test]
    fn pairs_meet_and_stay_together() {
        let problem = problem();
        for kernel in [SingleKernel::Soma, SingleKernel::RanImwg, SingleKernel::SysImwg] {
            let starts = [vec![-1.0, 0.0, 1.0, 2.5], vec![0.3, 0.4, -2.0, 1.0]];
            let mut rng = rng::stream(12, 0);
            let mut pair = SinglePair::new(&problem, kernel, starts).unwrap();
            while pair.pair().distance() > 0 {
                pair.advance(&mut rng).unwrap();
                assert!(pair.moves() < 100_000, "{kernel:?} does not meet");
            }
            for _ in 0..1000 {
                pair.advance(&mut rng).unwrap();
                assert_eq!(pair.pair().distance(), 0, "{kernel:?} parts again");
            }
        }
    }
}
