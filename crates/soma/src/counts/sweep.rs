//! The moves of the counts in one iteration, given the prior of the counts.

use super::block::Block;
use super::chain::{CountMoves, check_now_and_then};
use super::directions::{Directions, Kind};
use super::line::Line;
use super::problem::CountProblem;
use super::redraw::redraw;
use super::size::resize;
use super::split::split;
use super::state::State;
use super::tuning::{PASSES, Tuning};
use crate::error::Outcome;
use crate::rng::Rng;

/// Moves of n in an iteration.
const RESIZES: usize = 4;
/// Moves of all large counts in an iteration.
const BLOCKS: usize = 2;
/// The width of a step of a slice move, in standard deviations along the line.
const WIDTH: f64 = 2.5;

/// What the moves of the counts of one table work with.
#[derive(Debug)]
pub(super) struct Sweep {
    directions: Directions,
    block: Option<Block>,
    line: Line,
    /// The weights of the values of a line that are all weighed.
    weights: Vec<f64>,
}

impl Sweep {
    pub(super) fn new(problem: &CountProblem) -> Self {
        let (directions, block) = (Directions::new(problem), Block::new(problem));
        Sweep { directions, block, line: Line::default(), weights: Vec::new() }
    }

    /// Makes each kind of move of the counts a fixed number of times. Each leaves the posterior of
    /// the counts given theta, or with the shares integrated out, invariant. With `learns` the step
    /// of the move of n is adapted. The numbers are fixed after warm-up.
    pub(super) fn run(
        &mut self,
        problem: &CountProblem,
        state: &mut State,
        tuning: &mut Tuning,
        learns: bool,
        moves: &mut CountMoves,
        rng: &mut Rng,
    ) -> Outcome {
        let cells = state.counts.len();
        // What a move of all counts computes.
        let whole = (cells + problem.published().len()) as u64;
        if problem.total().known().is_none() {
            for cell in 0..cells {
                check_now_and_then(cell)?;
                self.directions.cell(problem, cell, &mut self.line);
                let (accepted, work) = self.slice(problem, state, tuning, 0, rng);
                moves.cell.add(accepted, work);
            }
            for _ in 0..RESIZES {
                let accepted = resize(problem, state, tuning.size.size, rng);
                moves.resize.add(accepted, whole);
                if learns {
                    tuning.size.learn(accepted);
                }
            }
        }
        for made in 0..tuning.passes * cells {
            check_now_and_then(made)?;
            let kind = self.directions.draw(problem, &mut self.line, rng);
            let (accepted, work) = self.transfer(problem, state, tuning, 0, rng);
            match kind {
                Kind::Transfer => moves.transfer.add(accepted, work),
                Kind::Exchange => moves.exchange.add(accepted, work),
            }
        }
        // None if no cell is empty: all lines are such lines then.
        for made in 0..(tuning.passes - PASSES) * cells {
            check_now_and_then(made)?;
            if self.directions.occupied(problem, state, &mut self.line, rng) {
                let (accepted, work) = self.transfer(problem, state, tuning, 1, rng);
                moves.transfer.add(accepted, work);
            }
        }
        for made in 0..cells.div_ceil(2) {
            check_now_and_then(made)?;
            let pair = self.directions.two(rng);
            let accepted = redraw(problem, state, pair, rng);
            let rows = problem.rows_of(pair.0).len() + problem.rows_of(pair.1).len();
            moves.redraw.add(accepted, rows as u64);
        }
        if let Some(block) = &self.block {
            for _ in 0..BLOCKS {
                let (changed, work) = block.run(state, rng);
                moves.redraw.add(changed, work);
            }
        }
        Ok(())
    }

    /// A move along the present line, which preserves n and leaves so many records in its cells.
    fn transfer(
        &mut self,
        problem: &CountProblem,
        state: &mut State,
        tuning: &Tuning,
        fewest: i64,
        rng: &mut Rng,
    ) -> (bool, u64) {
        if self.line.is_stuck(state) {
            return (false, 0);
        }
        self.line.finish(problem);
        let weights = &mut self.weights;
        match split(&self.line, problem, state, fewest, weights, rng) {
            Some((accepted, values)) => (accepted, values * self.line.terms()),
            None => self.slice(problem, state, tuning, fewest, rng),
        }
    }

    /// A slice move along the present line, and its work.
    fn slice(
        &self,
        problem: &CountProblem,
        state: &mut State,
        tuning: &Tuning,
        fewest: i64,
        rng: &mut Rng,
    ) -> (bool, u64) {
        let precision: f64 =
            self.line.cells.iter().map(|&(cell, _)| tuning.variances[cell].recip()).sum();
        let width = (WIDTH / precision.sqrt()).ceil().max(1.0) as i64;
        let (accepted, evaluations) = self.line.slice(problem, state, (width, fewest), rng);
        (accepted, evaluations * self.line.terms())
    }
}
