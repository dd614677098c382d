//! All large counts at once, with n and the published sums held fixed: elliptical slice sampling.
//!
//! Given theta the counts are multinomial, and where a few sums of many cells were published, they are
//! free but for these and n: d = cells - rank numbers, of which lines move one at a time. If r cells
//! are *pivots*, such that the others, the free ones, may be any integers y and the pivots are then
//! integers too, c_P = b - K y, the target is a function of y, proportional to
//!
//! product over i of p_i^(c_i) / c_i!
//!
//! Invariance: let x = y + u with u uniform on \[-1/2, 1/2)^d. The density of x is proportional to the
//! target at x rounded, and the counts are a function of x; so draw u, move x in a way that leaves its
//! density invariant, and round. The density is that of a normal distribution times a factor,
//! and elliptical slice sampling leaves such a product invariant (Murray, Adams and MacKay 2010). The
//! normal is the limit of the multinomial: N(n p_i, n p_i), independent, given the sums. Where counts are
//! large the factor is nearly constant, the first point of the ellipse is taken, and the counts are
//! nearly independent of the last ones. Cells with small expected counts are held fixed; which
//! these are, and which cells are pivots, depends on theta and n alone, which do not change.
//!
//! Cost: O(cells x rank) for a move and a log density of each cell for each point.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use statrs::function::gamma::ln_gamma;

use super::problem::CountProblem;
use super::shares::Shares;
use super::state::State;
use crate::rng::Rng;

/// The most published sums.
const MOST_SUMS: usize = 8;

/// The least expected count of a cell that moves.
const LEAST: f64 = 8.0;

/// The most points of an ellipse.
const MOST_POINTS: u64 = 32;

/// The largest number in the equations of the pivots.
const MOST_ENTRY: i64 = 1 << 20;

/// The sums that are held fixed.
#[derive(Debug)]
pub(super) struct Block {
    /// The weight of each cell in each sum, the sum of all first.
    weights: Vec<Vec<i64>>,
    least: f64,
}

/// The equations of the cells that move, solved for the pivots.
struct Equations {
    /// The cells that move.
    cells: Vec<usize>,
    /// The place in `cells` of the pivot of each equation.
    pivots: Vec<usize>,
    /// The places of the others.
    free: Vec<usize>,
    /// The coefficients, a row for each equation: 1 at its pivot, and 0 at other pivots.
    rows: Vec<Vec<i64>>,
}

impl Block {
    /// The sums of a problem; `None` where there is no theta, or where they leave nothing free.
    pub(super) fn new(problem: &CountProblem) -> Option<Block> {
        let cells = problem.table().cells();
        let rows = problem.published();
        let is_model = matches!(problem.shares(), Shares::Model(_)) && !problem.is_layered();
        if !is_model || rows.len() > MOST_SUMS || cells < 3 {
            return None;
        }
        let mut weights = vec![vec![1; cells]];
        for row in rows {
            let mut dense = vec![0; cells];
            row.cells.iter().for_each(|&(cell, weight)| dense[cell] = weight);
            weights.push(dense);
        }
        let block = Block { weights, least: LEAST };
        let all = block.equations((0..cells).collect())?;
        (all.free.len() > 1).then_some(block)
    }

    /// Solves the sums for pivots, the first of `cells` that can be.
    fn equations(&self, cells: Vec<usize>) -> Option<Equations> {
        let own = |weights: &Vec<i64>| cells.iter().map(|&cell| weights[cell]).collect();
        let mut left: Vec<Vec<i64>> = self.weights.iter().map(own).collect();
        let (mut rows, mut pivots): (Vec<Vec<i64>>, Vec<usize>) = (Vec::new(), Vec::new());
        while let Some(mut row) = (!left.is_empty()).then(|| left.remove(0)) {
            if row.iter().all(|&entry| entry == 0) {
                continue;
            }
            let pivot = row.iter().position(|&entry| entry.abs() == 1)?;
            let sign = row[pivot];
            row.iter_mut().for_each(|entry| *entry *= sign);
            for other in rows.iter_mut().chain(&mut left) {
                let factor = other[pivot];
                for (entry, own) in other.iter_mut().zip(&row) {
                    *entry -= factor * own;
                    if entry.abs() > MOST_ENTRY {
                        return None;
                    }
                }
            }
            rows.push(row);
            pivots.push(pivot);
        }
        let free = (0..cells.len()).filter(|place| !pivots.contains(place)).collect();
        Some(Equations { cells, pivots, free, rows })
    }

    /// One move. Whether a count has changed, and the number of terms computed.
    pub(super) fn run(&self, state: &mut State, rng: &mut Rng) -> (bool, u64) {
        let n = state.n as f64;
        let expected: Vec<f64> = state.log_shares.iter().map(|log| n * log.exp()).collect();
        let mut cells: Vec<usize> =
            (0..expected.len()).filter(|&cell| expected[cell] >= self.least).collect();
        // Pivots are rounded by more than one, and so should be large.
        cells.sort_by(|&a, &b| expected[b].total_cmp(&expected[a]));
        let Some(equations) = self.equations(cells).filter(|e| !e.free.is_empty()) else {
            return (false, 0);
        };
        let means = DVector::from_iterator(
            equations.cells.len(),
            equations.cells.iter().map(|&cell| expected[cell]),
        );
        let Some(plane) = Plane::new(&equations, means) else { return (false, 0) };
        let logs: Vec<f64> = equations.cells.iter().map(|&cell| state.log_shares[cell]).collect();
        let counts: Vec<i64> = equations.cells.iter().map(|&cell| state.counts[cell]).collect();
        // The log of the target over the normal density.
        let factor = |counts: &[i64], x: &DVector<f64>| -> f64 {
            let cells = counts.iter().zip(x.iter()).zip(&logs).zip(plane.means.iter());
            cells
                .map(|(((&count, x), log), mean)| {
                    let count = count as f64;
                    count * log - ln_gamma(count + 1.0) + 0.5 * (x - mean) * (x - mean) / mean
                })
                .sum()
        };
        let x = equations.jittered(&counts, rng);
        let centre = plane.centre(&x);
        let here = &x - &centre;
        let normal = DVector::from_fn(x.len(), |k, _| {
            plane.means[k].sqrt() * rng.sample::<f64, _>(StandardNormal)
        });
        let other = plane.projected(normal);
        let level = factor(&counts, &x) - rng.sample::<f64, _>(Exp1);
        let mut angle = std::f64::consts::TAU * rng.random::<f64>();
        let (mut low, mut high) = (angle - std::f64::consts::TAU, angle);
        for point in 1..=MOST_POINTS {
            let to = &centre + &here * angle.cos() + &other * angle.sin();
            let work = point * 2 * counts.len() as u64;
            if let Some(new) = equations.rounded(&counts, &to)
                && factor(&new, &to) >= level
            {
                let changed = new != counts;
                equations.cells.iter().zip(new).for_each(|(&cell, to)| state.counts[cell] = to);
                return (changed, work);
            }
            if angle < 0.0 {
                low = angle;
            } else {
                high = angle;
            }
            angle = low + (high - low) * rng.random::<f64>();
        }
        (false, MOST_POINTS * 2 * counts.len() as u64)
    }
}

impl Equations {
    /// The counts of the free cells and a uniform number each, and the pivots that solve the equations.
    fn jittered(&self, counts: &[i64], rng: &mut Rng) -> DVector<f64> {
        let mut x = DVector::from_iterator(counts.len(), counts.iter().map(|&count| count as f64));
        for &free in &self.free {
            let by = rng.random::<f64>() - 0.5;
            x[free] += by;
            for (row, &pivot) in self.rows.iter().zip(&self.pivots) {
                x[pivot] -= row[free] as f64 * by;
            }
        }
        x
    }

    /// The counts of which the free ones are those of `x`, rounded; `None` if one is negative.
    fn rounded(&self, counts: &[i64], x: &DVector<f64>) -> Option<Vec<i64>> {
        let mut new = counts.to_vec();
        for &free in &self.free {
            let to = x[free].round();
            if to.is_nan() || to < 0.0 {
                return None;
            }
            let by = to as i64 - counts[free];
            new[free] = to as i64;
            for (row, &pivot) in self.rows.iter().zip(&self.pivots) {
                new[pivot] -= row[free] * by;
            }
        }
        self.pivots.iter().all(|&pivot| new[pivot] >= 0).then_some(new)
    }
}

/// Independent normals N(m, m) of the cells that move, given the sums.
struct Plane {
    means: DVector<f64>,
    rows: DMatrix<f64>,
    /// The covariance of the normals with the sums, times the inverse of that of the sums.
    gain: DMatrix<f64>,
}

impl Plane {
    fn new(equations: &Equations, means: DVector<f64>) -> Option<Plane> {
        let rows = DMatrix::from_fn(equations.rows.len(), means.len(), |row, place| {
            equations.rows[row][place] as f64
        });
        let mut scaled = rows.transpose();
        for (mut row, mean) in scaled.row_iter_mut().zip(means.iter()) {
            row *= *mean;
        }
        let inverse = (&rows * &scaled).cholesky()?.inverse();
        Some(Plane { gain: scaled * inverse, rows, means })
    }

    /// The mean given the sums of `x`.
    fn centre(&self, x: &DVector<f64>) -> DVector<f64> {
        &self.means + &self.gain * (&self.rows * (x - &self.means))
    }

    /// A draw of the normals without its mean, given sums of zero.
    fn projected(&self, normal: DVector<f64>) -> DVector<f64> {
        let sums = &self.rows * &normal;
        normal - &self.gain * sums
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::list;
    use super::super::{CellModel, Likelihood, Published, Total};
    use super::*;
    use crate::release::mechanism::Noise;
    use crate::rng::stream;

    /// Cells with fixed probabilities.
    #[derive(Debug)]
    struct Fixed(Vec<f64>);

    impl CellModel for Fixed {
        fn parameters(&self) -> Vec<String> {
            Vec::new()
        }
        fn output(&self, _: &[f64]) -> Vec<f64> {
            Vec::new()
        }
        fn dim(&self) -> usize {
            0
        }
        fn cells(&self) -> usize {
            self.0.len()
        }
        fn log_prior(&self, _: &[f64]) -> f64 {
            0.0
        }
        fn sample_prior(&self, _: &mut [f64], _: &mut Rng) {}
        fn log_shares(&self, _: &[f64], out: &mut [f64]) {
            out.iter_mut().zip(&self.0).for_each(|(out, p)| *out = p.ln());
        }
    }

    fn block(weights: &[&[i64]], shares: &[f64], counts: &[i64]) -> (Option<Block>, State) {
        let row = |weights: &&[i64]| Published {
            label: String::new(),
            cells: weights.iter().copied().enumerate().filter(|&(_, w)| w != 0).collect(),
            law: Likelihood::new(Noise::Gaussian, 1.0, 5.0).unwrap(),
        };
        let rows = weights.iter().map(row).collect();
        let shares = Shares::of(Fixed(shares.to_vec()));
        let total = Total::Known(counts.iter().sum());
        let problem = CountProblem::new(list(counts.len()), rows, total, shares).unwrap();
        (Block::new(&problem), State::new(&problem, counts.to_vec(), Vec::new()))
    }

    /// All counts with the same n and sums, by enumeration: the frequency of each, and of pairs of
    /// successive ones in both orders, since each move is reversible.
    #[test]
    fn counts_have_the_multinomial_law_given_the_sums() {
        let shares = [0.1, 0.25, 0.3, 0.2, 0.15];
        for (weights, counts) in [
            (&[&[0, 1, 2, 3, 4][..]][..], [2, 3, 2, 1, 1]),
            (&[&[0, 1, 1, 0, 0], &[0, 0, 1, 2, 3]], [2, 2, 3, 2, 1]),
            (&[&[1, 0, 0, 0, 1]], [1, 4, 1, 2, 3]),
        ] {
            let (block, mut state) = block(weights, &shares, &counts);
            let block = Block { least: 0.0, ..block.unwrap() };
            let mut all: Vec<(Vec<i64>, f64)> = Vec::new();
            let n: i64 = counts.iter().sum();
            for code in 0..(n + 1).pow(5) {
                let c: Vec<i64> = (0..5).map(|k| code / (n + 1).pow(k) % (n + 1)).collect();
                let is_same = block.weights.iter().all(|weights| {
                    let sum = |c: &[i64]| weights.iter().zip(c).map(|(w, c)| w * c).sum::<i64>();
                    sum(&c) == sum(&counts)
                });
                if is_same {
                    let log = |(&c, p): (&i64, &f64)| c as f64 * p.ln() - ln_gamma(c as f64 + 1.0);
                    let log: f64 = c.iter().zip(&shares).map(log).sum();
                    all.push((c, log.exp()));
                }
            }
            let mass: f64 = all.iter().map(|(_, p)| p).sum();
            const MOVES: usize = 200_000;
            let mut rng = stream(3, 0);
            let place = |state: &State| all.iter().position(|(c, _)| *c == state.counts).unwrap();
            let mut path = Vec::with_capacity(MOVES);
            for _ in 0..MOVES {
                block.run(&mut state, &mut rng);
                path.push(place(&state));
            }
            assert!(all.len() >= 8, "{}", all.len());
            for (k, (c, p)) in all.iter().enumerate() {
                let p = p / mass;
                let hits: Vec<f64> = path.iter().map(|&at| f64::from(u8::from(at == k))).collect();
                if p > 0.002 {
                    crate::model::testing::assert_mean(&format!("{c:?}"), &hits, p);
                }
            }
            for (a, b) in [(0, 1), (2, 5), (3, 4)] {
                let count = |a, b| path.windows(2).filter(|pair| pair == &[a, b]).count() as f64;
                let (there, back) = (count(a, b), count(b, a));
                assert!((there - back).abs() < 4.5 * (there + back).sqrt() + 1.0, "{there} {back}");
            }
        }
    }

    /// Large counts are nearly independent from one move to the next.
    #[test]
    fn large_counts_are_drawn_anew() {
        let shares: Vec<f64> = (0..20).map(|k| (1.0 + f64::from(k % 7)) / 77.0).collect();
        let shares: Vec<f64> = shares.iter().map(|p| p / shares.iter().sum::<f64>()).collect();
        let weights: Vec<i64> = (0..20).collect();
        let counts: Vec<i64> = shares.iter().map(|p| (p * 1e6).round() as i64).collect();
        let (block, mut state) = block(&[&weights], &shares, &counts);
        let (block, mut rng) = (block.unwrap(), stream(4, 0));
        let (mut column, mut changed) = (Vec::new(), 0);
        for _ in 0..4000 {
            changed += i32::from(block.run(&mut state, &mut rng).0);
            column.push(state.counts[3] as f64);
        }
        assert!(changed > 3900, "{changed}");
        let mean = column.iter().sum::<f64>() / 4000.0;
        let product = |a: &f64, b: &f64| (a - mean) * (b - mean);
        let variance: f64 = column.iter().map(|a| product(a, a)).sum();
        let lagged: f64 = column.windows(2).map(|pair| product(&pair[0], &pair[1])).sum();
        assert!((lagged / variance).abs() < 0.1, "{}", lagged / variance);
    }

    #[test]
    fn sums_that_leave_nothing_free_have_no_block() {
        let shares = [0.2, 0.3, 0.5];
        assert!(block(&[&[1, 0, 0], &[0, 1, 0]], &shares, &[3, 4, 5]).0.is_none());
        assert!(block(&[&[0, 1, 2]], &shares, &[3, 4, 5]).0.is_none());
        assert!(block(&[&[0, 1, 1, 0]], &[0.1, 0.2, 0.3, 0.4], &[3, 4, 5, 6]).0.is_some());
    }
}
