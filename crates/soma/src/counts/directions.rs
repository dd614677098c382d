//! The directions of slice moves.
//!
//! But for the last kind a line is chosen by random numbers and by the shape of the table only, never
//! by the counts, as [slice moves](super::line) require. The kinds of lines:
//!
//! - *cell*: one cell, if n is unknown.
//! - *transfer*: from one cell to another. It preserves n. With both cells in one published sum, or
//!   equal in all factors but one, it preserves the sums that contain both or neither.
//! - *exchange*: several cells such that sums are preserved. The corners of a box, 2 to the power D
//!   cells equal in all but D >= 2 factors, with alternating signs, preserve every margin over a
//!   subset that omits one of the D factors (for D = 2 the basic move of Diaconis and Sturmfels
//!   1998). Two records for two others of the same weights together, such as 0 and 3 for 1 and 2,
//!   preserve every sum with weights. R + 2 cells in the right proportions preserve R of these, such
//!   as 1, -3, 3, -1 the sum and the sum of squares of 0, 1, 2, 3.
//!   Where all published sums together leave one direction free, it is that direction.
//! - *occupied*: from one cell to another of the same published sum, or of the table, both of which
//!   have records and keep at least one. In a large table most cells are empty, and few lines chosen
//!   without the counts have records at both ends.

use std::collections::HashMap;

use rand::RngExt;
use rand::seq::index::sample;

use super::line::Line;
use super::null_vector::null_vector;
use super::problem::CountProblem;
use super::published::Published;
use super::state::State;
use crate::rng::Rng;

/// The most sums with weights that a balance preserves together.
const MOST_BALANCED: usize = 3;

/// The most cells of a sum among which occupied ones are looked for.
const MOST_LOOKED_AT: usize = 64;

/// The most cells for which the sums are solved for a free direction.
const MOST_SOLVED: usize = 64;

/// The tables from which lines are drawn.
#[derive(Debug, Clone)]
pub(super) struct Directions {
    cells: usize,
    /// Levels and stride of the factors with at least two levels.
    factors: Vec<(usize, usize)>,
    /// Published sums of at least two cells but not of all.
    sums: Vec<usize>,
    /// The weights of all cells in the published sums that weight them differently.
    weighted: Vec<Vec<i64>>,
    /// The cells that have these weights in all of them.
    of_weights: HashMap<Vec<i64>, Vec<usize>>,
    /// The only direction that preserves n and all published sums, if there is one that no other kind
    /// draws.
    free: Option<Vec<(usize, i64)>>,
}

/// A kind of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Transfer,
    Exchange,
}

impl Directions {
    pub(super) fn new(problem: &CountProblem) -> Self {
        let table = problem.table();
        let pairs = table.levels().into_iter().zip(table.strides());
        let factors = pairs.filter(|&(levels, _)| levels > 1).collect();
        let sums = problem.published().iter().enumerate();
        let partial = |cells: usize| cells > 1 && cells < table.cells();
        let sums = sums.filter(|(_, row)| partial(row.cells.len())).map(|(row, _)| row).collect();
        let is_weighted = |row: &&Published| row.cells.iter().any(|&(_, weight)| weight != 1);
        let dense = |row: &Published| {
            let mut weights = vec![0; table.cells()];
            row.cells.iter().for_each(|&(cell, weight)| weights[cell] = weight);
            weights
        };
        let weighted: Vec<Vec<i64>> =
            problem.published().iter().filter(is_weighted).map(dense).collect();
        let mut of_weights: HashMap<Vec<i64>, Vec<usize>> = HashMap::new();
        if !weighted.is_empty() {
            for cell in 0..table.cells() {
                let weights = weighted.iter().map(|row| row[cell]).collect();
                of_weights.entry(weights).or_default().push(cell);
            }
        }
        let free = free(problem, weighted.len());
        Directions { cells: table.cells(), factors, sums, weighted, of_weights, free }
    }

    /// Draws a line that preserves n, without the changes of its sums.
    pub(super) fn draw(&self, problem: &CountProblem, line: &mut Line, rng: &mut Rng) -> Kind {
        line.cells.clear();
        let factors = self.factors.len();
        let sums = usize::from(!self.sums.is_empty());
        let weighted = if self.weighted.is_empty() { 0 } else { 2 };
        let free = usize::from(self.free.is_some());
        match (rng.random_range(0..=factors + sums + weighted + free), &self.free) {
            (last, Some(free)) if last == factors + sums + weighted + 1 => {
                line.cells.extend(free);
                Kind::Exchange
            }
            (kind, _) => self.of_kind(kind, problem, line, rng),
        }
    }

    /// A line of the kinds before the last.
    fn of_kind(&self, kind: usize, problem: &CountProblem, line: &mut Line, rng: &mut Rng) -> Kind {
        let factors = self.factors.len();
        let sums = usize::from(!self.sums.is_empty());
        match kind {
            0 => self.pair(&mut line.cells, rng),
            1 if factors == 1 => self.pair(&mut line.cells, rng),
            differing if differing <= factors => self.corners(differing, &mut line.cells, rng),
            other if other == factors + sums + 1 => self.two_for_two(&mut line.cells, rng),
            other if other == factors + sums + 2 => self.balance(&mut line.cells, rng),
            _ => self.within(problem, &mut line.cells, rng),
        }
    }

    /// A line between two occupied cells of one published sum, or of the table. False if there are
    /// none.
    ///
    /// This one is chosen by the counts. The sum, and the cells of it that are looked at, are chosen
    /// without them; of the m occupied ones of these any two are as likely, 2 / (m (m - 1)). So counts
    /// and line have the joint density of the target times a function of which cells are occupied. A
    /// move along the line that leaves at least one record in both cells does not change which these
    /// are: given the line the density along it is the target's, and a move that leaves this
    /// invariant leaves the joint density and the target invariant.
    pub(super) fn occupied(
        &self,
        problem: &CountProblem,
        state: &State,
        line: &mut Line,
        rng: &mut Rng,
    ) -> bool {
        line.cells.clear();
        let sum = self.sums.get(rng.random_range(0..=self.sums.len()));
        let members = sum.map(|&row| &problem.published()[row].cells);
        let size = members.map_or(self.cells, Vec::len);
        // All of a small sum, and of a large one some, evenly spaced from a random one on.
        let (start, stride, some) = if size <= MOST_LOOKED_AT {
            (0, 1, size)
        } else {
            let stride = rng.random_range(1..size);
            let different = size / gcd(size as i64, stride as i64) as usize;
            (rng.random_range(0..size), stride, different.min(MOST_LOOKED_AT))
        };
        for step in 0..some {
            let place = (start + step * stride) % size;
            let cell = members.map_or(place, |members| members[place].0);
            if state.counts[cell] > 0 {
                line.cells.push((cell, 1));
            }
        }
        let count = line.cells.len();
        if count < 2 {
            return false;
        }
        let first = rng.random_range(0..count);
        let second = rng.random_range(0..count - 1);
        let second = second + usize::from(second >= first);
        let (first, second) = (line.cells[first].0, line.cells[second].0);
        line.cells.clear();
        line.cells.extend([(first, 1), (second, -1)]);
        true
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

    /// Two cells for two others with the same weights together, the last of them found by its
    /// weights. Two cells if there is none.
    fn two_for_two(&self, cells: &mut Vec<(usize, i64)>, rng: &mut Rng) -> Kind {
        let [a, b, c] = [0; 3].map(|_: usize| rng.random_range(0..self.cells));
        let weights: Vec<i64> = self.weighted.iter().map(|w| w[a] + w[b] - w[c]).collect();
        let Some(others) = self.of_weights.get(&weights) else { return self.pair(cells, rng) };
        let d = others[rng.random_range(0..others.len())];
        for (cell, by) in [(a, 1), (b, 1), (c, -1), (d, -1)] {
            match cells.iter_mut().find(|(known, _)| *known == cell) {
                Some((_, sum)) => *sum += by,
                None => cells.push((cell, by)),
            }
        }
        cells.retain(|&(_, by)| by != 0);
        if cells.is_empty() { self.pair(cells, rng) } else { Kind::Exchange }
    }

    /// Cells in the proportions that preserve n and some sums with weights: the determinants that
    /// solve their equations, without common factor. Two cells if they are all zero.
    fn balance(&self, cells: &mut Vec<(usize, i64)>, rng: &mut Rng) -> Kind {
        let most = self.weighted.len().min(self.cells.saturating_sub(2)).min(MOST_BALANCED);
        if most == 0 {
            return self.pair(cells, rng);
        }
        let sums = rng.random_range(1..=most);
        let rows = sample(rng, self.weighted.len(), sums);
        let chosen = sample(rng, self.cells, sums + 2).into_vec();
        let mut equations = vec![vec![1; sums + 2]];
        for row in rows {
            equations.push(chosen.iter().map(|&cell| self.weighted[row][cell]).collect());
        }
        let by: Vec<i64> =
            (0..chosen.len()).map(|left_out| cofactor(&equations, left_out)).collect();
        let common = by.iter().fold(0, |common, &by| gcd(common, by.abs()));
        if common == 0 {
            return self.pair(cells, rng);
        }
        let moved = chosen.into_iter().zip(by).filter(|&(_, by)| by != 0);
        cells.extend(moved.map(|(cell, by)| (cell, by / common)));
        Kind::Exchange
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
        if differing == 1 { Kind::Transfer } else { Kind::Exchange }
    }
}

/// The only direction that preserves n and all published sums, where no other kind of line is in it: not
/// that of two cells, nor that of a box, nor a balance of `weighted` sums.
fn free(problem: &CountProblem, weighted: usize) -> Option<Vec<(usize, i64)>> {
    let (cells, rows) = (problem.table().cells(), problem.published());
    let is_box = problem.table().levels().into_iter().filter(|&levels| levels > 1).count() > 1;
    let is_balance = weighted <= MOST_BALANCED && weighted + 2 == cells;
    if cells > MOST_SOLVED || is_box || is_balance || problem.is_layered() {
        return None;
    }
    let dense = |row: &Published| {
        let mut weights = vec![0; cells];
        row.cells.iter().for_each(|&(cell, weight)| weights[cell] = weight);
        weights
    };
    let all: Vec<Vec<i64>> =
        std::iter::once(vec![1; cells]).chain(rows.iter().map(dense)).collect();
    let free = null_vector(&all)?;
    let free: Vec<(usize, i64)> = free.into_iter().enumerate().filter(|&(_, by)| by != 0).collect();
    (free.len() > 2).then_some(free)
}

/// The determinant of `rows` without the column `left_out`, with its sign: these of all columns
/// solve rows times x = 0.
fn cofactor(rows: &[Vec<i64>], left_out: usize) -> i64 {
    let Some((first, rest)) = rows.split_first() else { return 1 };
    let without = |row: &Vec<i64>| {
        let mut row = row.clone();
        row.remove(left_out);
        row
    };
    let rest: Vec<Vec<i64>> = rest.iter().map(without).collect();
    let sign = if left_out.is_multiple_of(2) { 1 } else { -1 };
    let first = without(first);
    sign * first.iter().enumerate().map(|(k, entry)| entry * cofactor(&rest, k)).sum::<i64>()
}

/// The greatest common divisor.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flat, list};
    use super::super::{Likelihood, Published, Total};
    use super::*;
    use crate::release::mechanism::Noise;
    use crate::rng::stream;

    /// Of sums that are looked at whole and in part: all pairs are drawn, and no other ones.
    #[test]
    fn occupied_cells_of_one_sum() {
        let law = Likelihood::new(Noise::Gaussian, 1.0, 5.0).unwrap();
        let large: Vec<usize> = (10..90).collect();
        let sums: [&[usize]; 2] = [&large, &[3, 50, 95]];
        let rows = sums.map(|cells| Published::sum("", cells, law.clone()));
        let problem =
            CountProblem::new(list(100), rows.to_vec(), Total::Known(30), flat(100)).unwrap();
        let mut counts = vec![0; 100];
        let occupied = [3, 12, 50, 51, 89, 95];
        occupied.iter().for_each(|&cell| counts[cell] = 5);
        let state = State::new(&problem, counts, Vec::new());
        let directions = Directions::new(&problem);
        let (mut line, mut rng) = (Line::default(), stream(4, 0));
        let mut drawn = std::collections::HashSet::new();
        for _ in 0..4000 {
            if directions.occupied(&problem, &state, &mut line, &mut rng) {
                assert_eq!((line.cells[0].1, line.cells[1].1), (1, -1));
                drawn.insert((line.cells[0].0, line.cells[1].0));
            }
        }
        assert_eq!(drawn.len(), 30);
        let is_pair =
            |&(a, b): &(usize, usize)| a != b && [a, b].iter().all(|c| occupied.contains(c));
        assert!(drawn.iter().all(is_pair));
    }

    #[test]
    fn cofactors_solve_the_equations() {
        let rows = vec![vec![1, 1, 1, 1], vec![0, 1, 2, 3], vec![0, 1, 4, 9]];
        let by: Vec<i64> = (0..4).map(|left_out| cofactor(&rows, left_out)).collect();
        let common = by.iter().fold(0, |common, &by| gcd(common, by.abs()));
        let smallest: Vec<i64> = by.iter().map(|by| by / common).collect();
        let sign = smallest[0].signum();
        assert_eq!(smallest.iter().map(|by| by * sign).collect::<Vec<_>>(), [1, -3, 3, -1]);
    }
}
