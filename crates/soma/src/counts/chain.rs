//! A chain of counts.

use std::sync::Arc;

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::exact::{EVERY, Exact};
use super::groups::{Groups, partitions};
use super::problem::CountProblem;
use super::reroute::reroute;
use super::shares::{Shares, cell_indices, sample_shares};
use super::start::start;
use super::state::State;
use super::sweep::Sweep;
use super::theta;
use super::tuning::Tuning;
use crate::error::Outcome;
use crate::interrupt;
use crate::rng::{self, Rng};

/// The counts of one kind of move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveCounts {
    /// Moves made.
    pub proposed: u64,
    /// Moves that changed the state.
    pub accepted: u64,
    /// The work, in terms of the log density computed: one per cell and published number.
    pub work: u64,
}

impl MoveCounts {
    pub(super) fn add(&mut self, accepted: bool, work: u64) {
        self.proposed += 1;
        self.accepted += u64::from(accepted);
        self.work += work;
    }

    fn since(self, before: MoveCounts) -> MoveCounts {
        MoveCounts {
            proposed: self.proposed - before.proposed,
            accepted: self.accepted - before.accepted,
            work: self.work - before.work,
        }
    }

    /// The fraction of moves that changed the state.
    pub fn acceptance_rate(&self) -> f64 {
        self.accepted as f64 / self.proposed.max(1) as f64
    }
}

/// The counts of all kinds of moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountMoves {
    /// Slice moves of one cell.
    pub cell: MoveCounts,
    /// Slice moves from one cell to another.
    pub transfer: MoveCounts,
    /// Slice moves that keep margins.
    pub exchange: MoveCounts,
    /// Joint redraws of two cells from the prior, draws of all counts at once, and moves of all large
    /// counts that preserve the published sums.
    pub redraw: MoveCounts,
    /// Joint moves of all counts with n.
    pub resize: MoveCounts,
    /// theta given the counts.
    pub theta: MoveCounts,
    /// Joint moves of theta and the counts.
    pub reroute: MoveCounts,
}

impl CountMoves {
    /// Each kind of move with its name.
    pub fn named(&self) -> [(&'static str, MoveCounts); 7] {
        [
            ("cell", self.cell),
            ("transfer", self.transfer),
            ("exchange", self.exchange),
            ("redraw", self.redraw),
            ("resize", self.resize),
            ("theta", self.theta),
            ("reroute", self.reroute),
        ]
    }

    /// The total of all kinds. A slice move has no rejections, and counts as accepted.
    pub fn total(&self) -> MoveCounts {
        let mut all = MoveCounts::default();
        for (_, made) in self.named() {
            all.proposed += made.proposed;
            all.accepted += made.accepted;
            all.work += made.work;
        }
        for slices in [self.cell, self.transfer, self.exchange, self.theta] {
            all.accepted += slices.proposed - slices.accepted;
        }
        all
    }
}

/// One chain: the true counts and theta.
///
/// An iteration makes each applicable kind of move a number of times that is fixed after warm-up.
/// Each leaves the joint posterior of counts and theta invariant, and so does the iteration. Its
/// cost grows with the number of cells and of published numbers, and not with n.
///
/// Where all counts can be drawn at once they are, and the other moves of the counts are
/// made in one iteration of so many, for what is out of its range.
#[derive(Debug)]
pub struct CountChain<'a> {
    problem: &'a CountProblem,
    /// The problem with the present noisy counts, where these are imputed.
    imputed: Option<Box<CountProblem>>,
    state: State,
    sweep: Sweep,
    /// What all counts are drawn at once from, where that is possible.
    exact: Option<Arc<Exact>>,
    /// Partitions of the cells by sharp margins, for a model with parameters.
    partitions: Vec<Groups>,
    tuning: Tuning,
    rng: Rng,
    iteration: u64,
    moves: CountMoves,
    /// The counts at the last call of `take_done`.
    taken: MoveCounts,
    /// Whether an iteration is incomplete.
    is_in_step: bool,
}

/// The state of a chain that a checkpoint stores: all that cannot be recomputed.
#[derive(Debug, Serialize, Deserialize)]
pub struct CountSnapshot {
    pub(super) counts: Vec<i64>,
    /// The parameters, and then the noisy counts where these are imputed.
    pub(super) theta: Vec<f64>,
    pub(super) shares: Vec<f64>,
    pub(super) tuning: Tuning,
    #[serde(with = "crate::rng")]
    pub(super) rng: Rng,
    pub(super) iteration: u64,
    pub(super) moves: CountMoves,
    pub(super) taken: MoveCounts,
}

impl CountSnapshot {
    /// The number of iterations made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// The number of warm-up iterations.
    pub fn warmup(&self) -> u64 {
        self.tuning.warmup
    }
}

impl<'a> CountChain<'a> {
    /// Chain number `index` under `seed`, in its initial state; it adapts in the first `warmup`
    /// iterations.
    pub fn new(problem: &'a CountProblem, seed: u64, index: u64, warmup: u64) -> Self {
        let mut rng = rng::stream(seed, index);
        let (mut state, variances) = start(problem, &mut rng);
        if let Some(synthetic) = problem.synthetic() {
            state.noisy = synthetic.start(&state.counts, &mut rng);
        }
        let centred = match problem.shares() {
            Shares::Dirichlet(_) => Vec::new(),
            Shares::Model(model) => theta::directions(model.as_ref(), &state),
        };
        let exact = problem.exact();
        if let Some(exact) = &exact {
            exact.draw(problem, &mut state, &mut rng);
        }
        let partitions = partitions_of(problem);
        let mut chain = CountChain {
            problem,
            imputed: imputed(problem, &state),
            state,
            sweep: Sweep::new(problem),
            exact,
            tuning: Tuning::new(warmup, variances, centred, 1 + partitions.len()),
            partitions,
            rng,
            iteration: 0,
            moves: CountMoves::default(),
            taken: MoveCounts::default(),
            is_in_step: false,
        };
        chain.draw_shares();
        chain
    }

    /// One iteration. After an error, such as [an interrupt](crate::interrupt), the iteration is
    /// incomplete.
    pub fn step(&mut self) -> Outcome {
        self.is_in_step = true;
        let learns = self.tuning.is_on(self.iteration);
        let CountChain { problem, imputed, state, sweep, exact, tuning, moves, rng, .. } = self;
        if let (Some(own), Some(synthetic)) = (imputed.as_deref_mut(), problem.synthetic()) {
            synthetic.run(own, state, rng)?;
        }
        let problem = imputed.as_deref().unwrap_or(problem);
        let has_sweep = exact.is_none() || self.iteration.is_multiple_of(EVERY);
        if problem.reports().is_none() && has_sweep {
            sweep.run(problem, state, tuning, learns, moves, rng)?;
        }
        if let Some(exact) = exact {
            interrupt::check()?;
            let redrawn = exact.redraw(problem, state, rng);
            moves.redraw.add(redrawn, state.counts.len() as u64);
        }
        self.move_theta()?;
        self.draw_shares();
        if learns {
            let State { counts, theta, .. } = &self.state;
            let ended = self.tuning.learn(self.iteration, counts, theta);
            if let (true, Shares::Model(model)) = (ended, self.problem.shares()) {
                self.tuning.centred = theta::directions(model.as_ref(), &self.state);
            }
            if self.iteration + 1 == self.tuning.warmup {
                (self.moves, self.taken) = (CountMoves::default(), MoveCounts::default());
            }
        }
        self.iteration += 1;
        self.is_in_step = false;
        Ok(())
    }

    /// The chain without draws of all counts at once, or with others.
    #[cfg(test)]
    pub(super) fn with_exact(self, exact: Option<Arc<Exact>>) -> Self {
        CountChain { exact, ..self }
    }

    fn move_theta(&mut self) -> Outcome {
        let Shares::Model(model) = self.problem.shares() else { return Ok(()) };
        let model = model.as_ref();
        let problem = self.imputed.as_deref().unwrap_or(self.problem);
        let (state, rng) = (&mut self.state, &mut self.rng);
        let cells = state.counts.len() as u64;
        let counts = match self.problem.reports() {
            Some(reports) => reports.counts().to_vec(),
            None => state.counts.clone(),
        };
        for direction in &self.tuning.centred {
            interrupt::check()?;
            let (accepted, evaluations) = theta::slice(model, state, &counts, direction, rng);
            self.moves.theta.add(accepted, evaluations * cells);
        }
        if let Some(reports) = self.problem.reports() {
            reports.draw(&state.theta, &mut state.counts, rng);
            return Ok(());
        }
        let whole = 2 * cells + self.problem.published().len() as u64;
        let passes = if model.dim() > 8 { 2 } else { 4 };
        for _ in 0..passes {
            // Over all cells, then within the groups of each partition.
            let groups = std::iter::once(None).chain(self.partitions.iter().map(Some));
            for (groups, steps) in groups.zip(&mut self.tuning.steps) {
                for (direction, step) in self.tuning.joint.iter().zip(steps) {
                    interrupt::check()?;
                    let way = (&direction[..], step.size);
                    let accepted = reroute(problem, model, state, way, groups, rng);
                    self.moves.reroute.add(accepted, whole);
                    if self.iteration < self.tuning.warmup {
                        step.learn(accepted);
                    }
                }
            }
        }
        Ok(())
    }

    /// Draws the shares given the counts if they are integrated out: for the output.
    fn draw_shares(&mut self) {
        if let Shares::Dirichlet(alpha) = self.problem.shares() {
            let State { counts, shares, .. } = &mut self.state;
            sample_shares(alpha, counts, shares, &mut self.rng);
        }
    }

    /// The outputs of the current state, in the order of [`CountProblem::outputs`].
    pub fn draw(&self) -> Vec<f64> {
        self.problem.output(&self.state)
    }

    /// The true counts.
    pub fn counts(&self) -> &[i64] {
        &self.state.counts
    }

    /// Records with these counts and theta, in random order: together with the draw a draw from the
    /// posterior of the confidential records. They come from a random stream of their own, so that
    /// the chain is the same whether or not they are drawn. Costs n draws.
    pub fn records(&self) -> Vec<f64> {
        let mut rng = rng::apart(&self.rng);
        let State { counts, theta, .. } = &self.state;
        let (mut records, dim) = match self.problem.shares() {
            Shares::Dirichlet(_) => (cell_indices(counts), 1),
            Shares::Model(model) => (model.records(theta, counts, &mut rng), model.record_dim()),
        };
        if dim == 1 {
            records.shuffle(&mut rng);
            return records;
        }
        let mut rows: Vec<&[f64]> = records.chunks_exact(dim).collect();
        rows.shuffle(&mut rng);
        rows.concat()
    }

    /// The unconstrained parameters of the model; empty for a Dirichlet prior.
    pub fn theta(&self) -> &[f64] {
        &self.state.theta
    }

    /// The normalised log density of all that was published, given the counts; of reports, given
    /// theta.
    pub fn log_density(&self) -> f64 {
        match (self.problem.reports(), self.problem.synthetic()) {
            (Some(reports), _) => reports.log_density(&self.state.log_shares),
            (_, Some(synthetic)) => synthetic.log_density(&self.state.counts),
            _ => self.problem.log_density(&self.state.sums),
        }
    }

    /// The number of iterations made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Whether the last iteration is complete.
    pub fn is_whole(&self) -> bool {
        !self.is_in_step
    }

    /// The counts since the last call, or since the end of warm-up.
    pub fn take_done(&mut self) -> MoveCounts {
        let (now, before) = (self.moves.total(), self.taken);
        self.taken = now;
        now.since(before)
    }

    /// The fraction of moves that changed the state since the last call of
    /// [`take_done`](Self::take_done).
    pub fn acceptance_rate(&self) -> f64 {
        self.moves.total().since(self.taken).acceptance_rate()
    }

    /// The counts of each kind of move after warm-up (within warm-up, so far).
    pub fn moves(&self) -> CountMoves {
        self.moves
    }

    /// A snapshot of the chain, to be stored.
    pub fn snapshot(&self) -> CountSnapshot {
        CountSnapshot {
            counts: self.state.counts.clone(),
            theta: [&self.state.theta[..], &self.state.noisy].concat(),
            shares: self.state.shares.clone(),
            tuning: self.tuning.clone(),
            rng: rng::copy(&self.rng),
            iteration: self.iteration,
            moves: self.moves,
            taken: self.taken,
        }
    }

    /// Restores a stored chain, which continues bit for bit.
    pub fn restore(problem: &'a CountProblem, snapshot: CountSnapshot) -> Outcome<Self> {
        snapshot.check(problem)?;
        let CountSnapshot { counts, mut theta, shares, tuning, rng, iteration, moves, taken } =
            snapshot;
        let noisy = theta.split_off(problem.theta_dim());
        let mut state = State::new(problem, counts, theta);
        state.noisy = noisy;
        state.shares = shares;
        Ok(CountChain {
            problem,
            imputed: imputed(problem, &state),
            state,
            sweep: Sweep::new(problem),
            exact: problem.exact(),
            partitions: partitions_of(problem),
            tuning,
            rng,
            iteration,
            moves,
            taken,
            is_in_step: false,
        })
    }
}

/// The problem with the noisy counts of a state, where these are imputed.
fn imputed(problem: &CountProblem, state: &State) -> Option<Box<CountProblem>> {
    let synthetic = problem.synthetic()?;
    let mut own = problem.clone();
    for (cell, &noisy) in state.noisy.iter().enumerate() {
        own.set_law(cell, synthetic.likelihood(noisy));
    }
    Some(Box::new(own))
}

/// The partitions that moves of theta with the counts are made within: none, without theta.
pub(super) fn partitions_of(problem: &CountProblem) -> Vec<Groups> {
    match problem.shares() {
        Shares::Dirichlet(_) => Vec::new(),
        Shares::Model(_) => partitions(problem),
    }
}

/// Checks for an interrupt once in 1024 short moves.
pub(super) fn check_now_and_then(made: usize) -> Outcome {
    if made.is_multiple_of(1024) {
        interrupt::check()?;
    }
    Ok(())
}
