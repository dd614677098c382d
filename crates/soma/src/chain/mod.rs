//! The data-augmentation loop: records given theta, theta given records.

mod check;
mod derived;
mod engine;
mod iteration;
mod memory;
mod present;
mod problem;
mod resize;
mod run;
mod start;
mod tempering;
mod theta;
mod trial;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use derived::Derived;
pub use engine::{Engine, EngineSnapshot};
use iteration::Iteration;
pub use memory::MemoryNeed;
pub use problem::{Problem, Summary};
use resize::Resize;
pub use run::{Collected, Draw, Observer, Settings, run, run_chains};
use tempering::{Ladder, Swaps};
pub use theta::{MoveReport, MovesChoice, Schedule, State, Tally};
pub use trial::{Chosen, ITERATION_WORK, Tried};
use trial::{KERNEL_TRIAL, Trial};

use crate::diagnostics::Crossing;
use crate::error::Outcome;
use crate::kernel::{Counts, Kernel, KernelChoice, Records};
use crate::rng::{self, Rng};

/// One chain: theta and the records, advanced by sweeps and theta updates.
///
/// One iteration is a sweep (n moves) followed by the theta updates. If those renew the records
/// well, warm-up may choose to sweep in one of a few iterations only. If n is unknown, there are
/// moves of n between the two. An iteration leaves the joint posterior of theta and the records
/// invariant, since each part does.
#[derive(Debug)]
pub struct Chain<'a> {
    problem: Cow<'a, Problem>,
    state: State,
    kernel: Kernel,
    /// The trial of kernels, if the kernel is `auto`.
    trial: Option<Trial>,
    moves: Schedule,
    rng: Rng,
    iteration: u64,
    counts: Counts,
    taken: Counts,
    /// The acceptance rate of the last sweep.
    acceptance: f64,
    /// The moves of the number of records, if it is unknown.
    resize: Resize,
    /// Whether an iteration is incomplete.
    is_in_step: bool,
    /// Tempered chains with wider noise to swap states with, for sharp releases of few records.
    ladder: Option<Ladder>,
}

/// The state of a chain that a checkpoint stores: all that cannot be recomputed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Snapshot {
    chain: Stored,
    /// The hot rungs of its ladder.
    rungs: Vec<Stored>,
    swaps: Vec<Swaps>,
}

/// The stored state of one chain, without its ladder.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    theta: Vec<f64>,
    records: Vec<f64>,
    kernel: Kernel,
    trial: Option<Trial>,
    moves: Schedule,
    #[serde(with = "crate::rng")]
    rng: Rng,
    iteration: u64,
    counts: Counts,
    taken: Counts,
    acceptance: f64,
    resize: Resize,
}

impl Snapshot {
    /// The number of iterations made.
    pub fn iteration(&self) -> u64 {
        self.chain.iteration
    }
}

/// The name of the swaps of the ladder in the reports of moves.
const SWAP: &str = "swap";

/// How well a chain with these moves crosses between separate modes of its posterior.
pub fn crossing(moves: &[MoveReport]) -> Crossing {
    match moves.iter().find(|made| made.name == SWAP) {
        None => Crossing::NotNeeded,
        Some(MoveReport { repeats: 0, .. }) => Crossing::None,
        Some(MoveReport { tally, .. }) => {
            Crossing::Swaps(tally.accepted as f64 / tally.proposed as f64)
        }
    }
}

/// The cost of drawing a record, as included in the work of a sweep.
const WORK_DRAW: f64 = 1.5;

impl<'a> Chain<'a> {
    /// Chain number `index` under `seed`, in its initial state. theta is updated given the records
    /// only, unless [`with_moves`](Chain::with_moves) is called.
    pub fn new(problem: &'a Problem, kernel: KernelChoice, seed: u64, index: u64) -> Outcome<Self> {
        let mut rng = rng::stream(seed, index);
        let theta = start::theta(problem, &mut rng)?;
        let records = start::records(problem, &theta, &mut rng)?;
        Chain::begin(Cow::Borrowed(problem), kernel, State { theta, records }, rng)
    }

    /// A chain with a given initial state, drawing from `rng`.
    pub fn at(
        problem: &'a Problem,
        kernel: KernelChoice,
        theta: Vec<f64>,
        records: Vec<f64>,
        rng: Rng,
    ) -> Outcome<Self> {
        let state = State { theta, records: Records::new(problem.release(), records)? };
        Chain::begin(Cow::Borrowed(problem), kernel, state, rng)
    }

    fn begin(
        problem: Cow<'a, Problem>,
        kernel: KernelChoice,
        state: State,
        rng: Rng,
    ) -> Outcome<Self> {
        let n = problem.release().n();
        let is_auto = kernel == KernelChoice::Auto;
        Ok(Chain {
            state,
            kernel: kernel.build(n)?,
            trial: if is_auto { Some(Trial::new(0, &problem)?) } else { None },
            moves: Schedule::centred(&problem),
            problem,
            rng,
            iteration: 0,
            counts: Counts::default(),
            taken: Counts::default(),
            acceptance: 0.0,
            resize: Resize::default(),
            is_in_step: false,
            ladder: None,
        })
    }

    /// Sets the theta updates of `choice`, which adapt in the first `warmup` iterations and are
    /// fixed afterwards. A chain with the kernel `auto` chooses its kernel in them too.
    ///
    /// With the choice `auto`, a sharp release of few records also gets a ladder of tempered chains
    /// (see `tempering.rs`).
    pub fn with_moves(mut self, choice: MovesChoice, warmup: u64) -> Outcome<Self> {
        let kernel = if self.trial.is_some() { None } else { Some(self.kernel.clone()) };
        self = self.alone(choice, warmup)?;
        if choice == MovesChoice::Auto && warmup >= theta::LEAST_WARMUP {
            self.ladder = Ladder::new(&self.problem, &mut self.rng, |problem, mut rng| {
                let theta = start::theta(&problem, &mut rng)?;
                let records = start::records(&problem, &theta, &mut rng)?;
                let state = State { theta, records };
                let mut rung = Chain::begin(Cow::Owned(problem), KernelChoice::Auto, state, rng)?;
                if let Some(kernel) = &kernel {
                    (rung.kernel, rung.trial) = (kernel.clone(), None);
                }
                rung.alone(choice, warmup)
            })?;
        }
        Ok(self)
    }

    /// The same without a ladder.
    fn alone(mut self, choice: MovesChoice, warmup: u64) -> Outcome<Self> {
        if self.trial.is_some() {
            let n = self.problem.release().n();
            let trial = Trial::new(warmup, &self.problem)?;
            self.kernel = trial.first().build(n)?;
            self.trial = Some(trial);
        }
        self.moves = Schedule::new(&*self.problem.of_likely()?, choice, warmup, &mut self.rng)?;
        Ok(self)
    }

    /// One iteration: a sweep of the records, the theta updates, and the swaps with the ladder, if
    /// any. After an error, such as [an interrupt](crate::interrupt), the iteration is incomplete:
    /// see [`is_whole`](Chain::is_whole).
    pub fn step(&mut self) -> Outcome<Counts> {
        self.is_in_step = true;
        let counts = self.step_alone()?;
        if let Some(ladder) = &mut self.ladder {
            let made = self.iteration - 1;
            let is_warm = made >= self.moves.warmup();
            ladder.step(&self.problem, &mut self.state, made, is_warm, &mut self.rng)?;
        }
        self.is_in_step = false;
        Ok(counts)
    }

    fn step_alone(&mut self) -> Outcome<Counts> {
        let Chain { problem, state, kernel, trial, moves, resize, rng, .. } = self;
        let trial = trial.as_mut();
        let mut iteration = Iteration { kernel, trial, moves, rng, made: self.iteration };
        let counts = match problem.release().slotted() {
            None => iteration.of_public(problem, state)?,
            Some(_) => iteration.of_unknown(resize, problem, state)?,
        };
        if counts.moves > 0 {
            self.acceptance = counts.acceptance_rate();
        }
        self.iteration += 1;
        self.counts += counts;
        Ok(counts)
    }

    /// The outputs of the current state, in the order of [`Problem::outputs`].
    pub fn draw(&self) -> Vec<f64> {
        self.problem.output(&self.state.theta, &self.state.records)
    }

    /// The normalised log density of the released values given the records.
    pub fn log_density(&self) -> f64 {
        self.problem.log_density(&self.state.records)
    }

    /// The parameters.
    pub fn theta(&self) -> &[f64] {
        &self.state.theta
    }

    /// The imputed records.
    pub fn records(&self) -> &Records {
        &self.state.records
    }

    /// The number of iterations made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Whether the last iteration is complete. An incomplete state must not be stored for a resume.
    pub fn is_whole(&self) -> bool {
        !self.is_in_step
    }

    /// The counts of all sweeps.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The counts of the sweeps since the last call.
    pub fn take_counts(&mut self) -> Counts {
        let since = self.counts - self.taken;
        self.taken = self.counts;
        since
    }

    /// The acceptance rate since the last call of [`take_counts`](Self::take_counts), or of the
    /// last sweep if there was none since.
    pub fn acceptance_rate(&self) -> f64 {
        let since = self.counts - self.taken;
        if since.moves > 0 { since.acceptance_rate() } else { self.acceptance }
    }

    /// The kernel that `auto` has chosen and the reason, after it has chosen.
    pub fn chosen(&self) -> Option<&Chosen> {
        self.trial.as_ref().and_then(Trial::chosen)
    }

    /// The reports of the sweeps, the theta updates and the swaps after warm-up. If a ladder is
    /// advisable and there is none, the number of swaps is 0: see [`crossing`].
    pub fn moves(&self) -> Vec<MoveReport> {
        let mut reports = self.moves.report();
        if self.resize.tally().proposed > 0 {
            let (name, tally) = ("resize".to_string(), self.resize.tally());
            reports.push(MoveReport { name, repeats: 1, every: 1, tally, share: 0.0 });
            share_work(&mut reports);
        }
        if self.ladder.is_some() || tempering::may_be_in_pieces(&self.problem) {
            let tally = self.ladder.as_ref().map(Ladder::tally).unwrap_or_default();
            let (name, repeats) = (SWAP.to_string(), u64::from(self.ladder.is_some()));
            reports.push(MoveReport { name, repeats, every: 1, tally, share: 0.0 });
            share_work(&mut reports);
        }
        reports
    }

    /// A snapshot of the chain, to be stored.
    pub fn snapshot(&self) -> Snapshot {
        let (rungs, swaps) = self.ladder.as_ref().map(Ladder::stored).unwrap_or_default();
        Snapshot { chain: self.stored(), rungs, swaps }
    }

    fn stored(&self) -> Stored {
        Stored {
            theta: self.state.theta.clone(),
            records: self.state.records.all().to_vec(),
            kernel: self.kernel.clone(),
            trial: self.trial.clone(),
            moves: self.moves.clone(),
            rng: rng::copy(&self.rng),
            iteration: self.iteration,
            counts: self.counts,
            taken: self.taken,
            acceptance: self.acceptance,
            resize: self.resize.clone(),
        }
    }

    /// Restores a stored chain, which continues bit for bit. Returns an error if the state is not
    /// valid for `problem`.
    pub fn restore(problem: &'a Problem, snapshot: Snapshot) -> Outcome<Self> {
        snapshot.check(problem)?;
        let Snapshot { chain, rungs, swaps } = snapshot;
        let ladder = Ladder::restore(problem, rungs, swaps)?;
        Ok(Chain { ladder, ..Chain::resume(Cow::Borrowed(problem), chain)? })
    }

    fn resume(problem: Cow<'a, Problem>, stored: Stored) -> Outcome<Self> {
        let Stored {
            theta,
            records,
            kernel,
            trial,
            moves,
            rng,
            iteration,
            counts,
            taken,
            acceptance,
            resize,
        } = stored;
        let state = State { theta, records: Records::new(problem.release(), records)? };
        Ok(Chain {
            problem,
            state,
            kernel,
            trial,
            moves,
            rng,
            iteration,
            counts,
            taken,
            acceptance,
            resize,
            is_in_step: false,
            ladder: None,
        })
    }
}

/// Sets the proportion of the total work of each kind of move.
fn share_work(reports: &mut [MoveReport]) {
    let all: u64 = reports.iter().map(|report| report.tally.work).sum();
    let share = |work: u64| work as f64 / all.max(1) as f64;
    reports.iter_mut().for_each(|report| report.share = share(report.tally.work));
}
