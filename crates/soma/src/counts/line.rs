//! Slice sampling of the counts along a line c + k d, with integer k.
//!
//! Invariance: a level is drawn below the log density at k = 0, and k is drawn from the slice, the
//! integers where the log density is above the level, by stepping out and shrinkage (Neal 2003,
//! section 4, on the integers). The step width does not depend on anything that changes along the
//! line. So each move leaves the target restricted to the line invariant, however the line was
//! chosen, as long as the choice does not depend on the position along it. A move has the scale of
//! the target along the line, from one unit to millions, and its cost is logarithmic in that.

use rand::RngExt;
use rand_distr::Exp1;

use super::problem::CountProblem;
use super::shares::Terms;
use super::state::State;
use crate::release::Total;
use crate::rng::Rng;

/// The largest number of steps out, divided at random between the two sides.
const STEPS: u64 = 64;

/// A direction: the cells that change, with their signs, and the resulting changes of published
/// sums.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) cells: Vec<(usize, i64)>,
    /// The published numbers that change.
    rows: Vec<(usize, i64)>,
    /// The change of n.
    size: i64,
    /// The change of each published number while the line is built; zero between calls.
    scratch: Vec<i64>,
}

impl Line {
    /// Computes the changes of the sums from the cells.
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
            // A row listed twice gets its change the first time only.
            *change = std::mem::take(&mut self.scratch[*row]);
        }
        self.rows.retain(|&(_, change)| change != 0);
    }

    /// The published numbers that change, with the change at k = 1.
    pub(super) fn rows(&self) -> &[(usize, i64)] {
        &self.rows
    }

    /// Whether no k but 0 leaves all counts non-negative. Needs the cells only.
    pub(super) fn is_stuck(&self, state: &State) -> bool {
        let (least, most) = self.range(state, 0);
        least == most
    }

    /// The number of terms of the log density that change along the line.
    pub(super) fn terms(&self) -> u64 {
        (self.cells.len() + self.rows.len()) as u64
    }

    /// The range of k in which no count is below `fewest`.
    fn range(&self, state: &State, fewest: i64) -> (i64, i64) {
        let (mut low, mut high) = (-Total::MOST, Total::MOST);
        for &(cell, sign) in &self.cells {
            let count = state.counts[cell] - fewest;
            if sign > 0 {
                low = low.max(-(count / sign));
            } else {
                high = high.min(count / -sign);
            }
        }
        (low, high)
    }

    /// The log density of the published sums at k.
    fn published(&self, problem: &CountProblem, state: &State, k: i64) -> f64 {
        let at = |&(row, by): &(usize, i64)| {
            problem.published()[row].law.log_density((state.sums[row] + by * k) as f64)
        };
        self.rows.iter().map(at).sum()
    }

    /// The log prior at k minus that at 0, if no count is negative.
    fn prior(&self, problem: &CountProblem, terms: &Terms, state: &State, k: i64) -> f64 {
        let cell = |&(cell, sign): &(usize, i64)| terms.cell(cell, state.counts[cell], sign * k);
        let mut change: f64 = self.cells.iter().map(cell).sum();
        if self.size != 0 {
            change += terms.size(problem.total(), state.n, self.size * k);
        }
        change
    }

    /// One slice move along the line, with step width `width`. Returns whether the counts changed,
    /// and the number of density evaluations.
    pub(super) fn slice(
        &self,
        problem: &CountProblem,
        state: &mut State,
        (width, fewest): (i64, i64),
        rng: &mut Rng,
    ) -> (bool, u64) {
        let (least, most) = self.range(state, fewest);
        if least == most {
            return (false, 0);
        }
        let drop: f64 = rng.sample(Exp1);
        let mut evaluations = 0;
        let terms = problem.terms(&state.log_shares);
        let here = self.published(problem, state, 0);
        let inside = |k: i64| {
            evaluations += 1;
            self.published(problem, state, k) - here + self.prior(problem, &terms, state, k)
                >= -drop
        };
        let k = within((least, most), width, STEPS, inside, rng);
        self.go(state, k);
        (k != 0, evaluations)
    }

    /// Moves the counts by k.
    pub(super) fn go(&self, state: &mut State, k: i64) {
        self.cells.iter().for_each(|&(cell, sign)| state.counts[cell] += sign * k);
        self.rows.iter().for_each(|&(row, by)| state.sums[row] += by * k);
        state.n += self.size * k;
    }
}

/// A whole number of the slice, which holds 0, within the bounds: by stepping out in pieces of
/// `width`, so many at most, and shrinkage. As likely from 0 to k as from k to 0.
pub(super) fn within(
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

/// The half-open interval from which k is drawn: adjacent intervals of `width`, one of which
/// contains 0, extended until an end is outside the slice.
///
/// The intervals are half-open (an end belongs to the interval on its right), so that they would be
/// the same from any other point that they contain.
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

    /// On a slice with gaps, the transition from x to y has the probability of that from y to x, so
    /// the uniform distribution on the slice is invariant. Narrow intervals and few steps, so that
    /// the ends and the limit matter.
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
