//! One chain of a run: of records, or of counts.
//!
//! If the release depends on a record only through its cell, and the model gives the probability of
//! each cell, the posterior of theta and of the counts is the same whether records are imputed or
//! the counts are sampled directly. The second costs time in proportion to the cells, independently
//! of n. Runs, the store and calibration use either through an [`Engine`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Chain, Chosen, MoveReport, MovesChoice, Problem, Settings, Snapshot, Tally};
use crate::counts::{CountChain, CountSnapshot, MoveCounts};
use crate::error::{Invalid, Outcome};
use crate::kernel::{Counts, KernelChoice};
use crate::stored::{Check, ensure};

/// A running chain.
#[derive(Debug)]
pub enum Engine<'a> {
    /// A chain of theta and imputed records.
    Records(Box<Chain<'a>>),
    /// A chain of theta and the counts of cells.
    Counts {
        /// The chain.
        chain: Box<CountChain<'a>>,
        /// Its problem.
        problem: &'a Problem,
        /// Whether it was chosen by the kernel `auto`.
        is_auto: bool,
    },
}

/// The state of a chain that a checkpoint stores: all that cannot be recomputed.
#[derive(Debug, Serialize, Deserialize)]
pub enum EngineSnapshot {
    /// A chain of records.
    Records(Box<Snapshot>),
    /// A chain of counts.
    Counts {
        /// The chain.
        chain: Box<CountSnapshot>,
        /// Whether it was chosen by the kernel `auto`.
        is_auto: bool,
    },
}

impl Settings {
    /// Whether a run of `problem` samples counts without records: if the kernel is `counts`, or if
    /// it is `auto` and the problem allows it.
    pub fn samples_counts(&self, problem: &Problem) -> bool {
        match self.kernel {
            KernelChoice::Counts => true,
            KernelChoice::Auto => self.moves == MovesChoice::Auto && problem.counts().is_ok(),
            _ => false,
        }
    }

    /// The reason why a run of `problem` imputes records or does not.
    pub fn engine_reason(&self, problem: &Problem) -> String {
        match (self.kernel, problem.counts()) {
            (_, Ok(_)) if self.samples_counts(problem) => {
                "counts without records: the release depends on a record only through its cell"
                    .into()
            }
            (KernelChoice::Auto, Err(why)) => format!("imputed records: {why}"),
            (KernelChoice::Auto, Ok(_)) => {
                format!("imputed records, with theta updates {}", self.moves.name())
            }
            (kernel, _) => format!("imputed records, as kernel {} says", kernel.name()),
        }
    }

    /// Whether the kernel can be used with `problem`.
    pub(super) fn check_engine(&self, problem: &Problem) -> Result<(), Invalid> {
        if problem.wants_records() && problem.release().slotted().is_some() {
            return Err(Invalid::new(
                "kernel",
                "records are not stored where their number is unknown: it differs from draw to draw",
                "[output] records, with n unknown",
                "n = a number; or no stored records",
            ));
        }
        let is_layered =
            problem.release().published_parts().iter().any(|part| part.layer().is_some());
        if is_layered && !(self.samples_counts(problem) && problem.counts().is_ok()) {
            return Err(Invalid::new(
                "kernel",
                "reports and synthetic records are fitted without imputed records",
                self.kernel.name(),
                "kernel = \"auto\" with moves = \"auto\" and no fixed parameters",
            ));
        }
        if self.kernel != KernelChoice::Counts {
            return Ok(());
        }
        if let Err(why) = problem.counts() {
            let given = format!("counts, but {why}");
            let allowed = "kernel = \"auto\", or another kernel of records";
            return Err(Invalid::new("kernel", "there are no counts to sample", given, allowed));
        }
        if self.moves != MovesChoice::Auto {
            let problem = "these are moves of theta with imputed records";
            let allowed = "moves = \"auto\" with kernel = \"counts\"";
            return Err(Invalid::new("moves", problem, self.moves.name(), allowed));
        }
        Ok(())
    }
}

impl<'a> Engine<'a> {
    /// Chain number `index` of a run of `problem`, in its initial state.
    pub fn new(problem: &'a Problem, settings: &Settings, index: u64) -> Outcome<Self> {
        if settings.samples_counts(problem) {
            let counts = problem.counts()?;
            let chain = CountChain::new(counts, settings.seed, index, settings.warmup);
            let is_auto = settings.kernel == KernelChoice::Auto;
            return Ok(Engine::Counts { chain: Box::new(chain), problem, is_auto });
        }
        let chain = Chain::new(problem, settings.kernel, settings.seed, index)?
            .with_moves(settings.moves, settings.warmup)?;
        Ok(Engine::Records(Box::new(chain)))
    }

    /// Restores a stored chain, which continues bit for bit. Returns an error if the state is not
    /// valid for `problem`.
    pub fn restore(problem: &'a Problem, snapshot: EngineSnapshot) -> Outcome<Self> {
        match snapshot {
            EngineSnapshot::Records(snapshot) => {
                Ok(Engine::Records(Box::new(Chain::restore(problem, *snapshot)?)))
            }
            EngineSnapshot::Counts { chain, is_auto } => {
                let chain = Box::new(CountChain::restore(problem.counts()?, *chain)?);
                Ok(Engine::Counts { chain, problem, is_auto })
            }
        }
    }

    /// One iteration. After an error, such as [an interrupt](crate::interrupt), the iteration is
    /// incomplete.
    pub fn step(&mut self) -> Outcome {
        match self {
            Engine::Records(chain) => chain.step().map(|_| ()),
            Engine::Counts { chain, .. } => chain.step(),
        }
    }

    /// The outputs of the current state, in the order of [`Problem::outputs`].
    pub fn draw(&self) -> Vec<f64> {
        match self {
            Engine::Records(chain) => chain.draw(),
            Engine::Counts { chain, problem, .. } => problem.with_derived(chain.draw()),
        }
    }

    /// The normalised log density of the released values given the state.
    pub fn log_density(&self) -> f64 {
        match self {
            Engine::Records(chain) => chain.log_density(),
            Engine::Counts { chain, .. } => chain.log_density(),
        }
    }

    /// The confidential records as the state has them: the imputed ones; or records drawn given theta
    /// and the counts, the same ones however often they are asked for.
    pub fn records(&self) -> Cow<'_, [f64]> {
        match self {
            Engine::Records(chain) => Cow::Borrowed(chain.records().all()),
            Engine::Counts { chain, .. } => Cow::Owned(chain.records()),
        }
    }

    /// The number of iterations made.
    pub fn iteration(&self) -> u64 {
        match self {
            Engine::Records(chain) => chain.iteration(),
            Engine::Counts { chain, .. } => chain.iteration(),
        }
    }

    /// Whether the last iteration is complete. An incomplete state must not be stored for a resume.
    pub fn is_whole(&self) -> bool {
        match self {
            Engine::Records(chain) => chain.is_whole(),
            Engine::Counts { chain, .. } => chain.is_whole(),
        }
    }

    /// The counts since the last call.
    pub fn take_counts(&mut self) -> Counts {
        match self {
            Engine::Records(chain) => chain.take_counts(),
            Engine::Counts { chain, .. } => {
                let MoveCounts { proposed, accepted, work } = chain.take_done();
                Counts { moves: proposed, accepted, evaluations: work }
            }
        }
    }

    /// The acceptance rate since the last call of [`take_counts`](Self::take_counts).
    pub fn acceptance_rate(&self) -> f64 {
        match self {
            Engine::Records(chain) => chain.acceptance_rate(),
            Engine::Counts { chain, .. } => chain.acceptance_rate(),
        }
    }

    /// The kernel that `auto` has chosen and the reason, after it has chosen.
    pub fn chosen(&self) -> Option<Chosen> {
        match self {
            Engine::Records(chain) => chain.chosen().cloned(),
            Engine::Counts { is_auto, .. } => is_auto
                .then(|| Chosen { kernel: KernelChoice::Counts.name().into(), tried: Vec::new() }),
        }
    }

    /// The report of each kind of move after warm-up. The work of a move of counts is its number of
    /// density evaluations.
    pub fn moves(&self) -> Vec<MoveReport> {
        let chain = match self {
            Engine::Records(chain) => return chain.moves(),
            Engine::Counts { chain, .. } => chain,
        };
        let made = chain.moves().named().into_iter().filter(|(_, made)| made.proposed > 0);
        let made: Vec<_> = made.collect();
        let all: u64 = made.iter().map(|(_, made)| made.work).sum();
        let report = |(name, made): (&str, MoveCounts)| MoveReport {
            name: name.into(),
            repeats: 1,
            every: 1,
            tally: Tally { proposed: made.proposed, accepted: made.accepted, work: made.work },
            share: made.work as f64 / all.max(1) as f64,
        };
        made.into_iter().map(report).collect()
    }

    /// A snapshot of the chain, to be stored.
    pub fn snapshot(&self) -> EngineSnapshot {
        match self {
            Engine::Records(chain) => EngineSnapshot::Records(Box::new(chain.snapshot())),
            Engine::Counts { chain, is_auto, .. } => {
                let (chain, is_auto) = (Box::new(chain.snapshot()), *is_auto);
                EngineSnapshot::Counts { chain, is_auto }
            }
        }
    }
}

impl EngineSnapshot {
    /// The number of iterations made.
    pub fn iteration(&self) -> u64 {
        match self {
            EngineSnapshot::Records(snapshot) => snapshot.iteration(),
            EngineSnapshot::Counts { chain, .. } => chain.iteration(),
        }
    }

    /// Whether this is a valid state of a chain of `problem`; otherwise the error says what is
    /// wrong.
    pub fn check(&self, problem: &Problem) -> Check {
        match self {
            EngineSnapshot::Records(snapshot) => snapshot.check(problem),
            EngineSnapshot::Counts { chain, .. } => chain.check(problem.counts()?),
        }
    }

    /// Whether this is a state of chain number `chain` of a run of `problem` with these settings.
    pub fn check_run(&self, problem: &Problem, settings: &Settings, chain: usize) -> Check {
        let is_counts = matches!(self, EngineSnapshot::Counts { .. });
        let fits = is_counts == settings.samples_counts(problem);
        ensure(fits, "it is of a run with another kernel")?;
        match self {
            EngineSnapshot::Records(snapshot) => snapshot.check_run(settings, chain),
            EngineSnapshot::Counts { chain: stored, is_auto } => {
                let fits = *is_auto == (settings.kernel == KernelChoice::Auto)
                    && stored.iteration() <= settings.iterations()
                    && stored.warmup() == settings.warmup;
                ensure(fits, "it is of a run with other settings")?;
                stored.check_stream(settings.seed, chain as u64)
            }
        }
    }
}
