//! All counts drawn at once, where only their sum ties them together.
//!
//! With the shares of a Dirichlet prior integrated out, and published numbers that are each of one
//! cell or of all, the target is
//!
//! h(n) x product over i of w_i(c_i),   n = sum of c_i,
//!
//! with w_i(c) = Gamma(c + a_i) / c! times the laws of cell i, and h(n) = n! / Gamma(n + a) times the
//! prior of n and the laws of the total. f_k(m) = sum over c of w_k(c) f_(k-1)(m - c) is the mass of all
//! counts of the first k cells that sum to m. These are computed once. A draw then takes n from h f_B,
//! and c_B, c_(B-1), ..., c_1 backwards: given that the first k counts sum to m, c_k has probability
//! w_k(c) f_(k-1)(m - c) / f_k(m).
//!
//! Tables need ends: c_i in the range that its own published numbers leave [plausible](super::ranges).
//! Invariance: if all counts are in their ranges they are drawn from the target restricted to these,
//! and otherwise they stay. This is a Gibbs move given whether they are in range, whatever the ranges.
//! What is outside is left to the other moves.
//!
//! Rounding: w_i is normalised, and for a public n tilted by e^(t c), which changes no conditional
//! distribution given n, such that n is the mean of the sum. f_k is then a probability, and one that
//! underflows is of no consequence as long as the mass of n does not: see [`NEGLIGIBLE`].
//!
//! The convolutions cost the sum of the products of lengths; a draw the standard deviation of each
//! count.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rand::RngExt;

use super::problem::CountProblem;
use super::published::Published;
use super::ranges::{own_law, plausible};
use super::shares::Shares;
use super::state::State;
use crate::release::Total;
use crate::rng::Rng;

/// The most multiply-adds of the convolutions for each cell: about as long as a hundred sweeps take.
const MOST_WORK: i64 = 1 << 21;

/// The most cells: the sum of the largest counts is then a number of 64 bits.
const MOST_CELLS: usize = 1 << 12;

/// The most sums of which the masses are kept.
const MOST_KEPT: i64 = 1 << 21;

/// The log of the least mass of n for each unit of the largest h, so that masses below the smallest
/// floating-point number, e^-708, together are as nothing.
const NEGLIGIBLE: f64 = -600.0;

/// Iterations from one to the next that makes the other moves too.
pub(super) const EVERY: u64 = 32;

/// The masses of the counts and of their sums.
#[derive(Debug)]
pub(crate) struct Exact {
    /// The cells in the order of the convolutions: those with few plausible counts first.
    cells: Vec<Cell>,
    /// The smallest possible n.
    least: i64,
    /// The probability of each n and all below it, from the smallest possible one on.
    sizes: Vec<f64>,
}

/// A cell, and the sums of the counts of all up to this one.
#[derive(Debug)]
struct Cell {
    /// Its number.
    index: usize,
    /// The smallest plausible count.
    low: i64,
    /// The probability of each plausible count, if the cells were independent.
    masses: Vec<f64>,
    /// The smallest possible sum.
    least: i64,
    /// The probability of each possible sum, if the cells were independent.
    sums: Vec<f64>,
    /// For each sum a likely count of this cell, as a place in `masses`: where a search begins.
    likely: Vec<u16>,
}

impl Cell {
    fn high(&self) -> i64 {
        self.low + self.masses.len() as i64 - 1
    }

    fn most(&self) -> i64 {
        self.least + self.sums.len() as i64 - 1
    }

    /// The places in `masses` of the counts that leave a possible sum `before` of the cells before, if
    /// the sum with them is `sum`.
    fn possible(&self, before: &Cell, sum: i64) -> (usize, usize) {
        let low = self.low.max(sum - before.most());
        let high = self.high().min(sum - before.least);
        ((low - self.low) as usize, (high - self.low) as usize)
    }

    /// The mass of the count at a place in `masses`, if the sum is `sum`.
    #[inline]
    fn mass(&self, before: &Cell, sum: i64, place: usize) -> f64 {
        let rest = sum - self.low - place as i64 - before.least;
        self.masses[place] * before.sums[rest as usize]
    }
}

impl Exact {
    /// The masses of a problem; `None` where something else ties the counts together, or where there
    /// are too many of them.
    pub(super) fn of(problem: &CountProblem) -> Option<Exact> {
        let Shares::Dirichlet(alpha) = problem.shares() else { return None };
        let cells = alpha.len();
        let mut rows = problem.published().iter();
        if cells > MOST_CELLS
            || problem.reports().is_some()
            || problem.synthetic().is_some()
            || !rows.all(|row| row.cells.len() == 1 || is_total(row, cells))
        {
            return None;
        }
        let top = problem.total().known().unwrap_or(Total::MOST);
        let range = |cell| plausible(problem, cell, top).map(|range| (cell, range));
        Exact::within(problem, (0..cells).map(range).collect::<Option<_>>()?)
    }

    /// The masses within these ranges of the counts of all cells.
    pub(super) fn within(
        problem: &CountProblem,
        mut ranges: Vec<(usize, (i64, i64))>,
    ) -> Option<Exact> {
        let (cells, known) = (ranges.len(), problem.total().known());
        ranges.sort_by_key(|&(_, (low, high))| high - low);
        let bounds = bounds(&ranges, known)?;
        let mut logs: Vec<Vec<f64>> = Vec::with_capacity(cells);
        let terms = problem.terms(&[]);
        for &(cell, (low, high)) in &ranges {
            let prior = |count: i64| terms.cell(cell, low, count - low);
            let log = |count: i64| prior(count) + own_law(problem, cell, count);
            logs.push((low..=high).map(log).collect());
        }
        let tilt = known.map_or(0.0, |n| tilt(&ranges, &logs, n));
        let mut made: Vec<Cell> = Vec::with_capacity(cells);
        for ((&(index, (low, _)), logs), &(least, most)) in ranges.iter().zip(&logs).zip(&bounds) {
            let masses = tilted(logs, tilt);
            let cell = match made.last() {
                None => first(index, low, masses, (least, most)),
                Some(before) => next(before, index, low, masses, (least, most)),
            };
            made.push(cell);
        }
        let last = made.last()?;
        let law = |n: i64| -> f64 {
            let totals = problem.published().iter().filter(|row| is_total(row, cells));
            totals.map(|row| row.law.log_density(n as f64)).sum()
        };
        // The prior of n may begin above the least sum.
        let from = problem.total().nearest(last.least as f64) as i64;
        let size = |n: i64| match known {
            Some(_) => 0.0,
            None => terms.size(problem.total(), from, n - from) + law(n),
        };
        let logs: Vec<f64> = (last.least..=last.most()).map(size).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        let sizes = logs.iter().zip(&last.sums).map(|(log, mass)| {
            sum += (log - most).exp() * mass;
            sum
        });
        let sizes: Vec<f64> = sizes.collect();
        let (least, is_fine) = (last.least, sum.ln() > NEGLIGIBLE);
        is_fine.then_some(Exact { least, cells: made, sizes })
    }

    /// Whether each count is in its range.
    fn holds(&self, counts: &[i64]) -> bool {
        self.cells.iter().all(|cell| (cell.low..=cell.high()).contains(&counts[cell.index]))
    }

    /// Draws all counts anew if they are in their ranges. Returns whether they are.
    pub(super) fn redraw(&self, problem: &CountProblem, state: &mut State, rng: &mut Rng) -> bool {
        let holds = self.holds(&state.counts);
        if holds {
            self.draw(problem, state, rng);
        }
        holds
    }

    /// Draws all counts from the target restricted to their ranges.
    pub(super) fn draw(&self, problem: &CountProblem, state: &mut State, rng: &mut Rng) {
        let level = rng.random::<f64>() * self.sizes[self.sizes.len() - 1];
        let place = self.sizes.partition_point(|&below| below <= level).min(self.sizes.len() - 1);
        state.n = self.least + place as i64;
        let mut sum = state.n;
        for pair in self.cells.windows(2).rev() {
            let [before, cell] = pair else { continue };
            let count = cell.low + count_given(cell, before, sum, rng) as i64;
            state.counts[cell.index] = count;
            sum -= count;
        }
        state.counts[self.cells[0].index] = sum;
        for (sum, row) in state.sums.iter_mut().zip(problem.published()) {
            *sum = match row.cells.as_slice() {
                &[(cell, weight)] => weight * state.counts[cell],
                _ => state.n,
            };
        }
    }
}

/// Whether the published number is of all cells alike.
fn is_total(row: &Published, cells: usize) -> bool {
    row.cells.len() == cells && row.cells.iter().all(|&(_, weight)| weight == 1)
}

/// The masses of a problem for as long as any of its chains has them: those of thousands of groups would
/// fill the memory.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Weak<Exact>>);

impl Clone for Kept {
    /// Empty, since the clone may be changed.
    fn clone(&self) -> Self {
        Kept::default()
    }
}

impl Kept {
    /// The masses of `problem`, which must be the one that this is kept with.
    pub(super) fn get(&self, problem: &CountProblem) -> Option<Arc<Exact>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exact) = kept.upgrade() {
            return Some(exact);
        }
        let exact = Arc::new(Exact::of(problem)?);
        *kept = Arc::downgrade(&exact);
        Some(exact)
    }
}

/// The ranges of the sums of the first counts, given those of the counts and n. `None` if there are
/// none, or if they are too long.
fn bounds(ranges: &[(usize, (i64, i64))], known: Option<i64>) -> Option<Vec<(i64, i64)>> {
    let low: i64 = ranges.iter().map(|(_, range)| range.0).sum();
    let high: i64 = ranges.iter().map(|(_, range)| range.1).sum();
    let (least, most) = known.map_or((low, high), |n| (n, n));
    if least < low || most > high {
        return None;
    }
    let (mut lows, mut highs, mut work, mut kept) = (0, 0, 0i64, 0i64);
    let mut bounds: Vec<(i64, i64)> = Vec::with_capacity(ranges.len());
    for &(_, (from, to)) in ranges {
        let before = bounds.last().map_or(0, |&(least, most)| most - least + 1);
        work = work.saturating_add((to - from + 1).saturating_mul(before));
        lows += from;
        highs += to;
        let range = (lows.max(least - (high - highs)), highs.min(most - (low - lows)));
        kept = kept.saturating_add(range.1 - range.0 + 1);
        bounds.push(range);
    }
    let widest = ranges.last().map_or(0, |&(_, (from, to))| to - from);
    let fits = work <= MOST_WORK * ranges.len() as i64 && kept <= MOST_KEPT;
    (fits && widest < i64::from(u16::MAX)).then_some(bounds)
}

/// Masses proportional to exp(log + tilt x place) that sum to one.
fn tilted(logs: &[f64], tilt: f64) -> Vec<f64> {
    let logs = logs.iter().enumerate().map(|(place, log)| log + tilt * place as f64);
    let mut masses: Vec<f64> = logs.collect();
    let most = masses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    masses.iter_mut().for_each(|mass| *mass = (*mass - most).exp());
    let sum: f64 = masses.iter().sum();
    masses.iter_mut().for_each(|mass| *mass /= sum);
    masses
}

/// The tilt at which the mean of the sum is about n: to within half its standard deviation, as far
/// as fifty of Newton's steps go.
fn tilt(ranges: &[(usize, (i64, i64))], logs: &[Vec<f64>], n: i64) -> f64 {
    let (mut tilt, mut low, mut high) = (0.0, f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..50 {
        let (mut mean, mut variance) = (0.0, 0.0);
        for (&(_, (from, _)), logs) in ranges.iter().zip(logs) {
            let (mut own, mut square) = (0.0, 0.0);
            for (place, mass) in tilted(logs, tilt).into_iter().enumerate() {
                own += place as f64 * mass;
                square += (place * place) as f64 * mass;
            }
            mean += from as f64 + own;
            variance += square - own * own;
        }
        let gap = n as f64 - mean;
        if gap.abs() <= 0.5 * variance.max(0.0).sqrt() {
            break;
        }
        if gap > 0.0 {
            low = tilt
        } else {
            high = tilt
        }
        let newton = tilt + gap / variance.max(1e-9);
        tilt = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low.max(tilt - 1.0) + high.min(tilt + 1.0))
        };
    }
    tilt
}

/// The first cell: its counts are the sums.
fn first(index: usize, low: i64, masses: Vec<f64>, (least, most): (i64, i64)) -> Cell {
    let sums = masses[(least - low) as usize..=(most - low) as usize].to_vec();
    Cell { index, low, masses, least, sums, likely: Vec::new() }
}

/// The next cell: the sums with it are a convolution.
fn next(
    before: &Cell,
    index: usize,
    low: i64,
    masses: Vec<f64>,
    (least, most): (i64, i64),
) -> Cell {
    let mut sums = vec![0.0; (most - least + 1) as usize];
    for (place, &mass) in masses.iter().enumerate() {
        let count = low + place as i64;
        let from = least.max(before.least + count);
        let to = most.min(before.most() + count);
        if from > to {
            continue;
        }
        let sums = &mut sums[(from - least) as usize..=(to - least) as usize];
        let others = &before.sums[(from - count - before.least) as usize..];
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += mass * other);
    }
    let mut cell = Cell { index, low, masses, least, sums, likely: Vec::new() };
    // From one sum to the next the most likely count changes little: each search begins at the last.
    let mut at = 0;
    let likely = (least..=most).map(|sum| {
        let (low, high) = cell.possible(before, sum);
        at = at.clamp(low, high);
        let mass = |place: usize| cell.mass(before, sum, place);
        while at < high && mass(at + 1) > mass(at) {
            at += 1;
        }
        while at > low && mass(at - 1) > mass(at) {
            at -= 1;
        }
        at as u16
    });
    cell.likely = likely.collect();
    cell
}

/// The place of the count of `cell` given its sum with the cells before: by inversion, from a likely
/// one outwards, so that few masses are added up.
#[inline]
fn count_given(cell: &Cell, before: &Cell, sum: i64, rng: &mut Rng) -> usize {
    let (low, high) = cell.possible(before, sum);
    let at = (sum - cell.least) as usize;
    let likely = usize::from(cell.likely[at]);
    let mut left = rng.random::<f64>() * cell.sums[at] - cell.mass(before, sum, likely);
    let (mut down, mut up) = (likely, likely);
    while left >= 0.0 {
        if up < high {
            up += 1;
            left -= cell.mass(before, sum, up);
            if left < 0.0 {
                return up;
            }
        }
        if down > low {
            down -= 1;
            left -= cell.mass(before, sum, down);
            if left < 0.0 {
                return down;
            }
        }
        if up == high && down == low {
            // Left over from rounding.
            return likely;
        }
    }
    likely
}
