//! A chain of counts.

use serde::{Deserialize, Serialize};

use super::directions::{Directions, Kind};
use super::line::Line;
use super::problem::CountProblem;
use super::redraw::redraw;
use super::reroute::reroute;
use super::shares::{Shares, sample_shares};
use super::size::resize;
use super::start::start;
use super::state::State;
use super::theta;
use super::tuning::Tuning;
use crate::error::Outcome;
use crate::rng::{self, Rng};

/// What one kind of move did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveCounts {
    /// Moves made.
    pub proposed: u64,
    /// Moves that changed the state.
    pub accepted: u64,
}

impl MoveCounts {
    fn add(&mut self, accepted: bool) {
        self.proposed += 1;
        self.accepted += u64::from(accepted);
    }

    /// The share of moves that changed the state.
    pub fn acceptance_rate(&self) -> f64 {
        self.accepted as f64 / self.proposed.max(1) as f64
    }
}

/// What all kinds of moves did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountMoves {
    /// Slice moves of one cell.
    pub cell: MoveCounts,
    /// Slice moves from one cell to another.
    pub transfer: MoveCounts,
    /// Slice moves that keep margins.
    pub swap: MoveCounts,
    /// Two cells shared out anew by the prior.
    pub redraw: MoveCounts,
    /// All counts with n.
    pub resize: MoveCounts,
    /// theta given the counts.
    pub theta: MoveCounts,
    /// theta with the counts.
    pub reroute: MoveCounts,
    /// How often the density was computed along a line.
    pub evaluations: u64,
}

impl CountMoves {
    /// Each kind of move with its name.
    pub fn named(&self) -> [(&'static str, MoveCounts); 7] {
        [
            ("cell", self.cell),
            ("transfer", self.transfer),
            ("swap", self.swap),
            ("redraw", self.redraw),
            ("resize", self.resize),
            ("theta", self.theta),
            ("reroute", self.reroute),
        ]
    }
}

/// Lines for each cell in an iteration.
const PASSES: usize = 2;
/// Moves of n in an iteration.
const RESIZES: usize = 4;
/// The width of a step of a slice move, in standard deviations along the line.
const WIDTH: f64 = 2.5;

/// One chain: the true counts and theta.
///
/// An iteration makes each kind of move that the problem has a use for, a fixed number of times;
/// each leaves the joint posterior of counts and theta invariant, and so does the iteration. Its
/// cost grows with the number of cells and of published numbers, and not with n.
#[derive(Debug)]
pub struct CountChain<'a> {
    problem: &'a CountProblem,
    state: State,
    directions: Directions,
    line: Line,
    tuning: Tuning,
    rng: Rng,
    iteration: u64,
    moves: CountMoves,
}

/// All of a chain that cannot be recomputed: what a checkpoint holds.
#[derive(Debug, Serialize, Deserialize)]
pub struct CountSnapshot {
    counts: Vec<i64>,
    theta: Vec<f64>,
    shares: Vec<f64>,
    tuning: Tuning,
    #[serde(with = "crate::rng")]
    rng: Rng,
    iteration: u64,
    moves: CountMoves,
}

impl CountSnapshot {
    /// How many iterations had been made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }
}

impl<'a> CountChain<'a> {
    /// Chain number `index` under `seed`, at its start; it learns in the first `warmup` iterations.
    pub fn new(problem: &'a CountProblem, seed: u64, index: u64, warmup: u64) -> Self {
        let mut rng = rng::stream(seed, index);
        let (state, variances) = start(problem, &mut rng);
        let centred = match problem.shares() {
            Shares::Dirichlet(_) => Vec::new(),
            Shares::Model(model) => theta::directions(model.as_ref(), &state),
        };
        let mut chain = CountChain {
            problem,
            state,
            directions: Directions::new(problem),
            line: Line::default(),
            tuning: Tuning::new(warmup, variances, centred),
            rng,
            iteration: 0,
            moves: CountMoves::default(),
        };
        chain.draw_shares();
        chain
    }

    /// One iteration.
    pub fn step(&mut self) -> Outcome {
        self.move_counts();
        self.move_theta();
        self.draw_shares();
        if self.tuning.is_on(self.iteration) {
            let State { counts, theta, .. } = &self.state;
            let ended = self.tuning.learn(self.iteration, counts, theta);
            if let (true, Shares::Model(model)) = (ended, self.problem.shares()) {
                self.tuning.centred = theta::directions(model.as_ref(), &self.state);
            }
            if self.iteration + 1 == self.tuning.warmup {
                self.moves = CountMoves::default();
            }
        }
        self.iteration += 1;
        Ok(())
    }

    fn move_counts(&mut self) {
        let cells = self.state.counts.len();
        let problem = self.problem;
        if problem.total().known().is_none() {
            for cell in 0..cells {
                self.directions.cell(problem, cell, &mut self.line);
                let accepted = self.slice();
                self.moves.cell.add(accepted);
            }
            for _ in 0..RESIZES {
                let step = self.tuning.size.size;
                let accepted = resize(problem, &mut self.state, step, &mut self.rng);
                self.moves.resize.add(accepted);
                if self.tuning.is_on(self.iteration) {
                    self.tuning.size.learn(accepted);
                }
            }
        }
        for _ in 0..PASSES * cells {
            let kind = self.directions.draw(problem, &mut self.line, &mut self.rng);
            let accepted = self.slice();
            match kind {
                Kind::Transfer => self.moves.transfer.add(accepted),
                Kind::Swap => self.moves.swap.add(accepted),
            }
        }
        for _ in 0..cells.div_ceil(2) {
            let pair = self.directions.two(&mut self.rng);
            self.moves.redraw.add(redraw(problem, &mut self.state, pair, &mut self.rng));
        }
    }

    /// A slice move along the present line.
    fn slice(&mut self) -> bool {
        let precision: f64 =
            self.line.cells.iter().map(|&(cell, _)| self.tuning.variances[cell].recip()).sum();
        let width = (WIDTH / precision.sqrt()).ceil().max(1.0) as i64;
        let (state, rng) = (&mut self.state, &mut self.rng);
        let (accepted, evaluations) = self.line.slice(self.problem, state, width, rng);
        self.moves.evaluations += evaluations;
        accepted
    }

    fn move_theta(&mut self) {
        let Shares::Model(model) = self.problem.shares() else { return };
        let model = model.as_ref();
        let (state, rng) = (&mut self.state, &mut self.rng);
        for direction in &self.tuning.centred {
            self.moves.theta.add(theta::slice(model, state, direction, rng));
        }
        let passes = if model.dim() > 8 { 2 } else { 4 };
        for _ in 0..passes {
            for (direction, step) in self.tuning.joint.iter().zip(&mut self.tuning.steps) {
                let accepted = reroute(self.problem, model, state, direction, step.size, rng);
                self.moves.reroute.add(accepted);
                if self.iteration < self.tuning.warmup {
                    step.learn(accepted);
                }
            }
        }
    }

    /// The shares given the counts, where they are integrated out: for the output.
    fn draw_shares(&mut self) {
        if let Shares::Dirichlet(alpha) = self.problem.shares() {
            let State { counts, shares, .. } = &mut self.state;
            sample_shares(alpha, counts, shares, &mut self.rng);
        }
    }

    /// What a draw holds of the present state, in the order of [`CountProblem::outputs`].
    pub fn draw(&self) -> Vec<f64> {
        self.problem.output(&self.state)
    }

    /// The true counts.
    pub fn counts(&self) -> &[i64] {
        &self.state.counts
    }

    /// The parameters of the model, on the scale without bounds; none for a Dirichlet prior.
    pub fn theta(&self) -> &[f64] {
        &self.state.theta
    }

    /// The normalised log density of all that was published, given the counts.
    pub fn log_density(&self) -> f64 {
        self.problem.log_density(&self.state.sums)
    }

    /// How many iterations have been made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// What each kind of move did after warm-up (in it, while it lasts).
    pub fn moves(&self) -> CountMoves {
        self.moves
    }

    /// The chain as it is now, to be stored.
    pub fn snapshot(&self) -> CountSnapshot {
        CountSnapshot {
            counts: self.state.counts.clone(),
            theta: self.state.theta.clone(),
            shares: self.state.shares.clone(),
            tuning: self.tuning.clone(),
            rng: rng::copy(&self.rng),
            iteration: self.iteration,
            moves: self.moves,
        }
    }

    /// The chain that was stored: it goes on exactly as the one that was not.
    pub fn restore(problem: &'a CountProblem, snapshot: CountSnapshot) -> Outcome<Self> {
        let CountSnapshot { counts, theta, shares, tuning, rng, iteration, moves } = snapshot;
        let cells = problem.table().cells();
        let (dim, drawn) = match problem.shares() {
            Shares::Dirichlet(_) => (0, cells),
            Shares::Model(model) => (model.dim(), 0),
        };
        let sizes = counts.len() == cells && theta.len() == dim && shares.len() == drawn;
        if !sizes || !tuning.is_valid(cells, dim) {
            return Err("the stored state of the chain is of another problem".into());
        }
        let n = counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count));
        let right = counts.iter().all(|&count| count >= 0)
            && n.is_some_and(|n| problem.total().known().is_none_or(|known| known == n))
            && theta.iter().chain(&shares).all(|x| x.is_finite());
        if !right {
            return Err("the stored counts cannot be those of the problem".into());
        }
        let mut state = State::new(problem, counts, theta);
        state.shares = shares;
        let directions = Directions::new(problem);
        let line = Line::default();
        Ok(CountChain { problem, state, directions, line, tuning, rng, iteration, moves })
    }
}
