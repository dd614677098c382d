//! The cheapest assignment of rows to columns.

/// The smallest total cost of giving each row of a square cost matrix a column of its own
/// (the Hungarian method with shortest augmenting paths: n^3 steps).
pub(super) fn smallest_cost(n: usize, cost: impl Fn(usize, usize) -> f64) -> f64 {
    // Row 0 and column 0 are outside of the matrix: the row being placed starts in column 0.
    let (mut row_price, mut column_price) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let mut row_of = vec![0; n + 1];
    for row in 1..=n {
        row_of[0] = row;
        let (mut slack, mut before) = (vec![f64::INFINITY; n + 1], vec![0; n + 1]);
        let mut reached = vec![false; n + 1];
        let mut column = 0;
        while row_of[column] != 0 {
            reached[column] = true;
            let here = row_of[column];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for j in (1..=n).filter(|&j| !reached[j]) {
                let reduced = cost(here - 1, j - 1) - row_price[here] - column_price[j];
                if reduced < slack[j] {
                    (slack[j], before[j]) = (reduced, column);
                }
                if slack[j] < step {
                    (step, next) = (slack[j], j);
                }
            }
            for j in 0..=n {
                if reached[j] {
                    row_price[row_of[j]] += step;
                    column_price[j] -= step;
                } else {
                    slack[j] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[before[column]];
            column = before[column];
        }
    }
    (1..=n).map(|j| cost(row_of[j] - 1, j - 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn by_trying_all(cost: &[Vec<f64>], row: usize, used: &mut Vec<bool>) -> f64 {
        if row == cost.len() {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for j in 0..cost.len() {
            if !used[j] {
                used[j] = true;
                best = best.min(cost[row][j] + by_trying_all(cost, row + 1, used));
                used[j] = false;
            }
        }
        best
    }

    #[test]
    fn is_the_smallest_of_all_permutations() {
        let mut rng = crate::rng::stream(4, 0);
        for trial in 0..300 {
            let n = 1 + trial % 6;
            let cost: Vec<Vec<f64>> =
                (0..n).map(|_| (0..n).map(|_| rng.random::<f64>() - 0.3).collect()).collect();
            let fast = smallest_cost(n, |i, j| cost[i][j]);
            let slow = by_trying_all(&cost, 0, &mut vec![false; n]);
            assert!((fast - slow).abs() < 1e-12, "{fast} and {slow}");
        }
    }
}
