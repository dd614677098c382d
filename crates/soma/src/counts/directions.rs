//! The directions of slice moves.
//!
//! A line is chosen by random numbers and by the shape of the table only, never by the counts, as
//! [slice moves](super::line) require. The kinds of lines:
//!
//! - *cell*: one cell, if n is unknown.
//! - *transfer*: from one cell to another. It preserves n. With both cells in one published sum, or
//!   equal in all factors but one, it preserves the sums that contain both or neither.
//! - *swap*: the corners of a box, 2 to the power D cells equal in all but D >= 2 factors, with
//!   alternating signs. It preserves every margin over a subset that omits one of the D factors
//!   (for D = 2 the basic move of Diaconis and Sturmfels 1998).

use rand::RngExt;

use super::line::Line;
use super::problem::CountProblem;
use crate::rng::Rng;

/// The tables from which lines are drawn.
#[derive(Debug, Clone)]
pub(super) struct Directions {
    cells: usize,
    /// Levels and stride of the factors with at least two levels.
    factors: Vec<(usize, usize)>,
    /// Published sums of at least two cells but not of all.
    sums: Vec<usize>,
}

/// A kind of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Transfer,
    Swap,
}

impl Directions {
    pub(super) fn new(problem: &CountProblem) -> Self {
        let table = problem.table();
        let pairs = table.levels().into_iter().zip(table.strides());
        let factors = pairs.filter(|&(levels, _)| levels > 1).collect();
        let sums = problem.published().iter().enumerate();
        let partial = |cells: usize| cells > 1 && cells < table.cells();
        let sums = sums.filter(|(_, row)| partial(row.cells.len())).map(|(row, _)| row).collect();
        Directions { cells: table.cells(), factors, sums }
    }

    /// Draws a line that preserves n.
    pub(super) fn draw(&self, problem: &CountProblem, line: &mut Line, rng: &mut Rng) -> Kind {
        line.cells.clear();
        let factors = self.factors.len();
        let kind = match rng.random_range(0..=factors + usize::from(!self.sums.is_empty())) {
            0 => self.pair(&mut line.cells, rng),
            1 if factors == 1 => self.pair(&mut line.cells, rng),
            differing if differing <= factors => self.corners(differing, &mut line.cells, rng),
            _ => self.within(problem, &mut line.cells, rng),
        };
        line.finish(problem);
        kind
    }

    /// The line of one cell.
    pub(super) fn cell(&self, problem: &CountProblem, cell: usize, line: &mut Line) {
        line.cells.clear();
        line.cells.push((cell, 1));
        line.finish(problem);
    }

    /// Two different cells.
    pub(super) fn two(&self, rng: &mut Rng) -> (usize, usize) {
        let first = rng.random_range(0..self.cells);
        let second = rng.random_range(0..self.cells - 1);
        (first, second + usize::from(second >= first))
    }

    fn pair(&self, cells: &mut Vec<(usize, i64)>, rng: &mut Rng) -> Kind {
        let (first, second) = self.two(rng);
        cells.extend([(first, 1), (second, -1)]);
        Kind::Transfer
    }

    /// Two cells of one published sum.
    fn within(&self, problem: &CountProblem, cells: &mut Vec<(usize, i64)>, rng: &mut Rng) -> Kind {
        let row = self.sums[rng.random_range(0..self.sums.len())];
        let members = &problem.published()[row].cells;
        let first = rng.random_range(0..members.len());
        let second = rng.random_range(0..members.len() - 1);
        let second = second + usize::from(second >= first);
        cells.extend([(members[first].0, 1), (members[second].0, -1)]);
        Kind::Transfer
    }

    /// The corners of a box that differ in `differing` factors.
    fn corners(&self, differing: usize, cells: &mut Vec<(usize, i64)>, rng: &mut Rng) -> Kind {
        cells.push((rng.random_range(0..self.cells), 1));
        let mut wanted = differing;
        for (seen, &(levels, stride)) in self.factors.iter().enumerate() {
            // Selection sampling: each set of factors of this size is equally likely.
            if rng.random_range(0..self.factors.len() - seen) >= wanted {
                continue;
            }
            wanted -= 1;
            let level = cells[0].0 / stride % levels;
            let other = rng.random_range(0..levels - 1);
            let other = other + usize::from(other >= level);
            for corner in 0..cells.len() {
                let (cell, sign) = cells[corner];
                cells.push((cell + other * stride - level * stride, -sign));
            }
        }
        if differing == 1 { Kind::Transfer } else { Kind::Swap }
    }
}
