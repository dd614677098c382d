//! Slice sampling of the counts along a line c + k d, k whole.
//!
//! Invariance: a level is drawn below the log density at k = 0, and k is drawn from the slice,
//! the whole numbers where the log density is above the level, by stepping out and shrinkage
//! (Neal 2003, section 4, on the whole numbers). The width of a step depends on nothing that
//! changes along the line. So each move leaves the target restricted to the line invariant,
//! however the line was chosen, as long as the choice does not depend on where on it the counts
//! are. A move jumps on the scale of the target along the line, from one unit to millions, and
//! costs its logarithm.

use rand::RngExt;
use rand_distr::Exp1;

use super::problem::CountProblem;
use super::shares::Terms;
use super::state::State;
use crate::release::Total;
use crate::rng::Rng;

/// The most steps out of one move, shared at random between the two sides.
const STEPS: u64 = 64;

/// A direction: the cells that change with their signs, and what follows for the published sums.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) cells: Vec<(usize, i64)>,
    /// The published numbers that change.
    rows: Vec<(usize, i64)>,
    /// By how much n changes.
    size: i64,
    /// For each published number the change, while the line is built: 0 between calls.
    scratch: Vec<i64>,
}

impl Line {
    /// Computes what follows from the cells.
    pub(super) fn finish(&mut self, problem: &CountProblem) {
        self.rows.clear();
        self.scratch.resize(problem.published().len(), 0);
        self.size = 0;
        for &(cell, sign) in &self.cells {
            self.size += sign;
            for &(row, weight) in problem.rows_of(cell) {
                if self.scratch[row] == 0 {
                    self.rows.push((row, 0));
                }
                self.scratch[row] += sign * weight;
            }
        }
        for (row, change) in &mut self.rows {
            // A row that was listed twice gets its change the first time only.
            *change = std::mem::take(&mut self.scratch[*row]);
        }
        self.rows.retain(|&(_, change)| change != 0);
    }

    /// How many terms of the log density change along the line.
    pub(super) fn terms(&self) -> u64 {
        (self.cells.len() + self.rows.len()) as u64
    }

    /// The range of k that leaves no count negative.
    fn range(&self, state: &State) -> (i64, i64) {
        let (mut low, mut high) = (-Total::MOST, Total::MOST);
        for &(cell, sign) in &self.cells {
            let count = state.counts[cell];
            if sign > 0 {
                low = low.max(-(count / sign));
            } else {
                high = high.min(count / -sign);
            }
        }
        (low, high)
    }

    /// The log density of the target at k, less that at 0, where no count is negative.
    fn log_density(&self, problem: &CountProblem, terms: Terms, state: &State, k: i64) -> f64 {
        let mut change = 0.0;
        for &(row, by) in &self.rows {
            let (law, sum) = (&problem.published()[row].law, state.sums[row]);
            change += law.log_density((sum + by * k) as f64) - law.log_density(sum as f64);
        }
        for &(cell, sign) in &self.cells {
            change += terms.cell(cell, state.counts[cell], sign * k);
        }
        if self.size != 0 {
            change += terms.size(problem.total(), state.n, self.size * k);
        }
        change
    }

    /// One slice move along the line, with steps of `width`. Whether the counts have changed, and
    /// how often the density was computed.
    pub(super) fn slice(
        &self,
        problem: &CountProblem,
        state: &mut State,
        width: i64,
        rng: &mut Rng,
    ) -> (bool, u64) {
        let (least, most) = self.range(state);
        if least == most {
            return (false, 0);
        }
        let drop: f64 = rng.sample(Exp1);
        let mut evaluations = 0;
        let terms = problem.terms(&state.log_shares);
        let inside = |k: i64| {
            evaluations += 1;
            self.log_density(problem, terms, state, k) >= -drop
        };
        let k = within((least, most), width, STEPS, inside, rng);
        self.go(state, k);
        (k != 0, evaluations)
    }

    /// Moves the counts by k.
    fn go(&self, state: &mut State, k: i64) {
        self.cells.iter().for_each(|&(cell, sign)| state.counts[cell] += sign * k);
        self.rows.iter().for_each(|&(row, by)| state.sums[row] += by * k);
        state.n += self.size * k;
    }
}

/// A whole number of the slice, which holds 0, within the bounds: by stepping out in pieces of
/// `width`, so many at most, and shrinkage. As likely from 0 to k as from k to 0.
fn within(
    (least, most): (i64, i64),
    width: i64,
    steps: u64,
    mut inside: impl FnMut(i64) -> bool,
    rng: &mut Rng,
) -> i64 {
    let (mut low, mut high) = if (most - least) / 4 < width {
        (least, most + 1)
    } else {
        step_out(least, most, width, steps, &mut inside, rng)
    };
    loop {
        let k = rng.random_range(low..high);
        if k == 0 || inside(k) {
            return k;
        }
        if k < 0 {
            low = k + 1;
        } else {
            high = k;
        }
    }
}

/// The k from which to draw, from the first up to and not including the second: pieces of `width`,
/// of which one holds 0, laid on until an end lies outside of the slice.
///
/// The ends are shared by neighbouring pieces (an end belongs to the piece on its right), so that
/// the pieces would be the same from any other point that they hold.
fn step_out(
    least: i64,
    most: i64,
    width: i64,
    steps: u64,
    inside: &mut impl FnMut(i64) -> bool,
    rng: &mut Rng,
) -> (i64, i64) {
    let mut low = -rng.random_range(0..width);
    let mut high = low + width;
    let mut left = rng.random_range(0..steps);
    let mut right = steps - 1 - left;
    while left > 0 && low >= least && inside(low) {
        low -= width;
        left -= 1;
    }
    while right > 0 && high <= most && inside(high) {
        high += width;
        right -= 1;
    }
    (low.max(least), high.min(most + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// On a slice with gaps, from x to y is as likely as from y to x: then the uniform distribution
    /// on the slice is left invariant. Narrow pieces and few steps, so that where a piece ends and
    /// how many there may be matters.
    #[test]
    fn moves_on_a_slice_are_reversible() {
        const SLICE: [i64; 7] = [0, 1, 2, 5, 6, 9, 10];
        const DRAWS: u32 = 60_000;
        let mut rng = stream(3, 0);
        for (width, steps) in [(1, 2), (1, 5), (2, 1), (2, 2), (2, 64), (3, 2), (3, 3)] {
            let mut made = [[0u32; 11]; 11];
            for x in SLICE {
                for _ in 0..DRAWS {
                    let inside = |k: i64| SLICE.contains(&(x + k));
                    let y = x + within((-4 - x, 15 - x), width, steps, inside, &mut rng);
                    made[x as usize][y as usize] += 1;
                }
            }
            for x in SLICE {
                for y in SLICE.into_iter().filter(|y| *y < x) {
                    let there = f64::from(made[y as usize][x as usize]);
                    let back = f64::from(made[x as usize][y as usize]);
                    let limit = 4.5 * (there + back).sqrt();
                    assert!(
                        (there - back).abs() <= limit,
                        "pieces of {width}, {steps} of them: {there} from {y} to {x}, {back} back"
                    );
                }
            }
        }
    }
}
