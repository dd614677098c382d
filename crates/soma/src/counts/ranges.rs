//! The counts of a cell that its published numbers leave plausible.

use super::problem::CountProblem;

/// How far below its largest value the log density of the published numbers may be.
const DROP: f64 = 21.0;

/// The log density of the published numbers of `cell` alone as a function of its count.
pub(super) fn own_law(problem: &CountProblem, cell: usize, count: i64) -> f64 {
    let rows = problem.rows_of(cell).iter().map(|&(row, by)| (&problem.published()[row], by));
    let own = rows.filter(|(row, _)| row.cells.len() == 1);
    own.map(|(row, by)| row.law.log_density((by * count) as f64)).sum()
}

/// The smallest and the largest count from 0 to `top` where the published numbers of `cell` alone are
/// not less likely than e^-21 of the most. Their log density is concave, since that of all noise here
/// is: for any other it is some range. `None` if it is not finite.
pub(super) fn plausible(problem: &CountProblem, cell: usize, top: i64) -> Option<(i64, i64)> {
    let rows = problem.rows_of(cell).iter().map(|&(row, by)| (&problem.published()[row], by));
    let own = rows.filter(|(row, _)| row.cells.len() == 1);
    let centres = own.map(|(row, by)| row.law.centre() / by as f64);
    let (least, most) =
        centres.fold((f64::MAX, f64::MIN), |(least, most), at| (least.min(at), most.max(at)));
    let law = |count: i64| own_law(problem, cell, count);
    if least > most {
        // Nothing was published of this cell alone.
        return Some((0, top));
    }
    let start = [least.floor(), most.ceil()].map(|at| at.clamp(0.0, top as f64) as i64);
    let mode = first(start[0], start[1], |count| law(count + 1) <= law(count));
    let limit = law(mode) - DROP;
    if !limit.is_finite() {
        return None;
    }
    let low = first(0, mode, |count| law(count) >= limit);
    let (mut step, mut high) = (1, mode);
    while high < top && law((high + step).min(top)) >= limit {
        high = (high + step).min(top);
        step *= 2;
    }
    let above = (high + step).min(top);
    let high = if high == top { top } else { first(high, above, |count| law(count) < limit) - 1 };
    Some((low, high))
}

/// The first whole number from `low` on that passes, where all after it do; `high` if none before it
/// does.
fn first(mut low: i64, mut high: i64, passes: impl Fn(i64) -> bool) -> i64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flat, list};
    use super::super::{Likelihood, Published, Total};
    use super::*;
    use crate::release::mechanism::{Noise, Publishing};

    /// The range is that of a search of all counts: for one published number, for two that
    /// disagree, for one of twice the count, for a clamped one, and for none.
    #[test]
    fn the_range_is_that_of_a_search() {
        let law = |noise, scale, value| Likelihood::new(noise, scale, value).unwrap();
        let publishing = Publishing { low: 0.0, ..Publishing::default() };
        let clamped = Likelihood::processed(Noise::DiscreteLaplace, 2.0, publishing, 0.0).unwrap();
        let row = |cell: usize, weight: i64, law: Likelihood| Published {
            label: String::new(),
            cells: vec![(cell, weight)],
            law,
        };
        let rows = vec![
            row(0, 1, law(Noise::DiscreteGaussian, 3.0, 40.0)),
            row(1, 1, law(Noise::DiscreteLaplace, 1.5, 90.0)),
            row(1, 1, law(Noise::Gaussian, 6.0, 20.4)),
            row(2, 2, law(Noise::DiscreteLaplace, 2.0, 31.0)),
            row(3, 1, clamped),
            row(4, 1, law(Noise::DiscreteGaussian, 3.0, -30.0)),
            row(5, 1, law(Noise::DiscreteGaussian, 3.0, 500.0)),
            row(6, -1, law(Noise::DiscreteGaussian, 3.0, -70.0)),
        ];
        const TOP: i64 = 200;
        let problem = CountProblem::new(list(8), rows, Total::Known(TOP), flat(8)).unwrap();
        for cell in 0..8 {
            let laws: Vec<f64> = (0..=TOP).map(|count| own_law(&problem, cell, count)).collect();
            let most = laws.iter().copied().fold(f64::MIN, f64::max);
            let is_in = |law: &f64| *law >= most - DROP;
            let low = laws.iter().position(is_in).unwrap() as i64;
            let high = laws.iter().rposition(is_in).unwrap() as i64;
            assert_eq!(plausible(&problem, cell, TOP), Some((low, high)), "cell {cell}");
        }
    }
}
