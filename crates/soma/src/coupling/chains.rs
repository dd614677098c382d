//! Two lagged chains, before and after they meet.

use super::kernel::CoupledKernel;
use super::pair::Pair;
use super::proposals::{Buffers, CoupledProposals};
use super::update::update_pair;
use crate::chain::{Chain, Problem};
use crate::error::{Invalid, Outcome};
use crate::kernel::{Counts, Kernel, KernelChoice};
use crate::records::{ModelProposals, Records};
use crate::rng::{self, Rng};

/// First stream of the pairs: disjoint from the streams of plain chains with the same seed.
const FIRST_STREAM: u64 = 1 << 40;

/// A pair of chains X and Y, both drawn from the initial distribution of the problem. X runs `lag`
/// iterations alone; then both run, with X `lag` iterations ahead. One iteration is a sweep and an
/// update of theta.
///
/// The meeting time is the first t > lag with X_t = Y_(t - lag): equal theta and, up to their
/// order, equal records, bit for bit. After the meeting only one chain is run, so they stay equal.
///
/// The marginal chain is the plain one: sweeps of the kernel and [`Model::update`], without further
/// theta updates.
///
/// [`Model::update`]: crate::model::Model::update
#[derive(Debug)]
pub struct CoupledChains<'a> {
    problem: &'a Problem,
    coupled: CoupledKernel,
    plain: Kernel,
    buffers: Buffers,
    theta: [Vec<f64>; 2],
    state: State,
    rng: Rng,
    lag: u64,
    iteration: u64,
    met: Option<u64>,
    counts: Counts,
}

/// There is one per pair, so the size of the variants does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum State {
    /// X is fewer than `lag` iterations ahead; Y has not started.
    Ahead {
        first: Records,
        second: Records,
    },
    Apart(Pair),
    Met(Records),
}

impl<'a> CoupledChains<'a> {
    /// Pair number `index` under `seed`, with both chains at their initial states.
    pub fn new(
        problem: &'a Problem,
        kernel: KernelChoice,
        lag: u64,
        seed: u64,
        index: u64,
    ) -> Outcome<Self> {
        let start = |side| Chain::new(problem, kernel, seed, FIRST_STREAM + 3 * index + side);
        let starts = [start(0)?, start(1)?];
        let rng = rng::stream(seed, FIRST_STREAM + 3 * index + 2);
        CoupledChains::at(problem, kernel, lag, starts.each_ref(), rng)
    }

    /// A pair with the given initial states, drawing from `rng`.
    pub fn at(
        problem: &'a Problem,
        kernel: KernelChoice,
        lag: u64,
        [first, second]: [&Chain<'_>; 2],
        rng: Rng,
    ) -> Outcome<Self> {
        if lag < 1 {
            return Err(Invalid::new("lag", "must be positive", lag, "a whole number from 1 up"))?;
        }
        let n = problem.release().n();
        Ok(CoupledChains {
            problem,
            coupled: CoupledKernel::new(kernel, n)?,
            plain: kernel.build(n)?,
            buffers: Buffers::default(),
            theta: [first.theta().to_vec(), second.theta().to_vec()],
            state: State::Ahead {
                first: first.records().clone(),
                second: second.records().clone(),
            },
            rng,
            lag,
            iteration: 0,
            met: None,
            counts: Counts::default(),
        })
    }

    /// Replaces the coupling; the kernel must be the same.
    pub fn with_coupling(mut self, coupled: CoupledKernel) -> Self {
        self.coupled = coupled;
        self
    }

    /// One iteration: of X alone before the lag and after the meeting, of both chains in between.
    pub fn step(&mut self) -> Outcome {
        self.iteration += 1;
        let CoupledChains { problem, theta: [first, second], rng, .. } = self;
        match &mut self.state {
            State::Met(records) => {
                self.counts += advance(problem, &mut self.plain, first, records, rng)?;
            }
            State::Ahead { first: records, second } => {
                self.counts += advance(problem, &mut self.plain, first, records, rng)?;
                if self.iteration == self.lag {
                    self.state = State::Apart(Pair::new(records.clone(), second.clone()));
                }
            }
            State::Apart(pair) => {
                let state = (&mut *pair, &mut self.buffers);
                self.counts +=
                    advance_pair(problem, &mut self.coupled, [first, second], state, rng)?;
                if pair.distance() == 0 && first == second {
                    self.met = Some(self.iteration);
                    self.state = State::Met(pair.records()[0].clone());
                }
            }
        }
        Ok(())
    }

    /// The meeting time, if the chains have met.
    pub fn met(&self) -> Option<u64> {
        self.met
    }

    /// The iteration of X. Y is `lag` iterations behind, or at its initial state.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// The lag.
    pub fn lag(&self) -> u64 {
        self.lag
    }

    /// The outputs of X and, before the meeting, of Y, in the order of [`Problem::outputs`].
    pub fn draws(&self) -> (Vec<f64>, Option<Vec<f64>>) {
        let [x, y] = self.records();
        let draw = |side: usize, records| self.problem.output(&self.theta[side], records);
        (draw(0, x), self.met.is_none().then(|| draw(1, y)))
    }

    /// The parameters of X and Y; after the meeting, Y's are those at the meeting.
    pub fn theta(&self) -> [&[f64]; 2] {
        [&self.theta[0], &self.theta[1]]
    }

    /// The records of X and of Y; the same after the meeting.
    pub fn records(&self) -> [&Records; 2] {
        match &self.state {
            State::Met(records) => [records; 2],
            State::Ahead { first, second } => [first, second],
            State::Apart(pair) => pair.records(),
        }
    }

    /// Counts over all sweeps of both chains.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// One iteration of a chain.
fn advance(
    problem: &Problem,
    kernel: &mut Kernel,
    theta: &mut [f64],
    records: &mut Records,
    rng: &mut Rng,
) -> Outcome<Counts> {
    let (release, model) = (problem.release(), problem.model());
    let potential = release.potential();
    let mut proposals = ModelProposals::new(model, theta, release);
    let counts = kernel.sweep(records, &mut proposals, potential, rng)?;
    if problem.fixed().is_none() {
        model.update(theta, records.all(), rng)?;
    }
    Ok(counts)
}

/// One iteration of two chains.
fn advance_pair(
    problem: &Problem,
    kernel: &mut CoupledKernel,
    [first, second]: [&mut Vec<f64>; 2],
    (pair, buffers): (&mut Pair, &mut Buffers),
    rng: &mut Rng,
) -> Outcome<Counts> {
    let (release, model) = (problem.release(), problem.model());
    let potential = release.potential();
    let mut proposals = CoupledProposals::new(model, [first, second], release)
        .sharing(kernel.shares())
        .within(std::mem::take(buffers));
    let counts = kernel.sweep(pair, &mut proposals, potential, rng)?;
    *buffers = proposals.into_buffers();
    if problem.fixed().is_none() {
        let [x, y] = pair.records();
        update_pair(model, [first, second], [x.all(), y.all()], rng)?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::RngExt;

    use super::*;
    use crate::chain::MovesChoice;
    use crate::model::testing::mean_and_error;
    use crate::model::{Model, Normal};
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::{Aggregate, Release, query};

    const N: usize = 6;

    fn release() -> Release {
        let query = Arc::new(query::Mean::new(vec![(-3.0, 3.0)]).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![0.5]).unwrap();
        Release::new(query, mechanism, Aggregate::Sum, N, vec![2.0]).unwrap()
    }

    fn problem() -> Problem {
        Problem::new(release(), Arc::new(Normal::new(0.0, 1.0, 2.0, 2.0).unwrap())).unwrap()
    }

    /// A model in which theta is fixed and the records do not depend on it.
    #[derive(Debug)]
    struct Still;

    impl Model for Still {
        fn kind(&self) -> &'static str {
            "still"
        }

        fn record_dim(&self) -> usize {
            1
        }

        fn parameters(&self) -> Vec<String> {
            vec!["x".into()]
        }

        fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
            theta[0] = rng.random();
            Ok(())
        }

        fn log_prior(&self, _: &[f64]) -> Outcome<f64> {
            Ok(0.0)
        }

        fn propose(&self, _: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
            records.iter_mut().for_each(|x| *x = rng.random());
            Ok(())
        }

        fn log_density(&self, _: &[f64], _: &[f64]) -> Outcome<f64> {
            Ok(0.0)
        }

        fn update(&self, _: &mut [f64], _: &[f64], _: &mut Rng) -> Outcome {
            Ok(())
        }
    }

    const KERNELS: [KernelChoice; 3] =
        [KernelChoice::Soma, KernelChoice::RanImwg, KernelChoice::SysImwg];

    const LAG: u64 = 7;

    /// X runs alone before the lag and after the meeting. There it equals the chain with centred
    /// updates, bit for bit.
    #[test]
    fn x_is_the_chain_of_centred_moves() {
        let problem = problem();
        for kernel in KERNELS {
            let start = |stream| Chain::new(&problem, kernel, 3, stream).unwrap();
            let starts = [start(0), start(1)];
            let theta = starts[0].theta().to_vec();
            let rows = starts[0].records().all().to_vec();
            let mut alone = Chain::at(&problem, kernel, theta, rows, rng::stream(5, 0)).unwrap();
            alone = alone.with_moves(MovesChoice::Centred, 1_000).unwrap();
            let starts = starts.each_ref();
            let mut pair =
                CoupledChains::at(&problem, kernel, LAG, starts, rng::stream(5, 0)).unwrap();
            for _ in 0..LAG {
                alone.step().unwrap();
                pair.step().unwrap();
                assert_eq!(pair.theta()[0], alone.theta(), "{kernel:?}");
                assert_eq!(pair.records()[0].all(), alone.records().all(), "{kernel:?}");
                assert_eq!(pair.records()[1].all(), starts[1].records().all(), "{kernel:?}");
            }
            pair.step().unwrap();
            assert_ne!(pair.records()[1].all(), starts[1].records().all(), "Y moves from here on");
        }
    }

    /// Chains with equal records have not met while theta differs.
    #[test]
    fn a_meeting_is_of_theta_too() {
        let problem = Problem::new(release(), Arc::new(Still)).unwrap();
        for (theta, meets) in [(0.5, true), (0.75, false)] {
            let kernel = KernelChoice::Soma;
            let start = |theta| {
                let rows = vec![0.4; N];
                Chain::at(&problem, kernel, vec![theta], rows, rng::stream(3, 0)).unwrap()
            };
            let starts = [start(0.5), start(theta)];
            let rng = rng::stream(4, 0);
            let mut pair = CoupledChains::at(&problem, kernel, 1, starts.each_ref(), rng).unwrap();
            (0..200).for_each(|_| pair.step().unwrap());
            assert_eq!(pair.met().is_some(), meets);
            let mut both = pair.records().map(|records| records.all().to_vec());
            both.iter_mut().for_each(|all| all.sort_unstable_by(f64::total_cmp));
            assert_eq!(both[0], both[1], "their records have met long ago");
        }
    }

    /// Two iterations after two distant starts, each chain of a pair has the distribution of a
    /// single chain: means and mean squares of theta and of the sum of the records agree.
    #[test]
    fn each_chain_alone_is_the_plain_one() {
        let problem = problem();
        let thetas = [vec![0.0, 1.0], vec![0.8, 2.0]];
        let rows = [vec![0.1; N], vec![1.5; N]];
        for kernel in KERNELS {
            let start = |side: usize, stream| {
                let (theta, rows) = (thetas[side].clone(), rows[side].clone());
                Chain::at(&problem, kernel, theta, rows, rng::stream(9, stream)).unwrap()
            };
            let mut together = [const { Vec::new() }; 2];
            let mut alone = [const { Vec::new() }; 2];
            for run in 0..20_000 {
                let starts = [start(0, 0), start(1, 0)];
                let rng = rng::stream(10, run);
                let mut pair =
                    CoupledChains::at(&problem, kernel, 1, starts.each_ref(), rng).unwrap();
                (0..3).for_each(|_| pair.step().unwrap());
                // After the meeting both chains are X.
                let [x, y] = pair.theta();
                let y = if pair.met().is_some() { x } else { y };
                for (side, theta) in [x, y].into_iter().enumerate() {
                    let mut chain = start(side, 2 * run + 1 + side as u64);
                    for _ in side..3 {
                        chain.step().unwrap();
                    }
                    together[side].push(features(theta, pair.records()[side]));
                    alone[side].push(features(chain.theta(), chain.records()));
                }
            }
            for side in 0..2 {
                for f in 0..5 {
                    let of = |draws: &[[f64; 5]]| {
                        mean_and_error(&draws.iter().map(|draw| draw[f]).collect::<Vec<f64>>())
                    };
                    let ((a, a_error), (b, b_error)) = (of(&together[side]), of(&alone[side]));
                    let gap = (a - b).abs() / a_error.hypot(b_error);
                    assert!(gap < 4.5, "{kernel:?}, chain {side}, {f}: {a} in a pair, {b} alone");
                }
            }
        }
    }

    fn features(theta: &[f64], records: &Records) -> [f64; 5] {
        let (mean, sum) = (theta[0], records.all().iter().sum::<f64>());
        [mean, mean * mean, theta[1].ln(), sum, sum * sum]
    }
}
