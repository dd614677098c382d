//! The one direction that some sums leave free.

use super::directions::gcd;

/// The largest entry of an equation on the way.
const MOST_ENTRY: i64 = 1 << 30;

/// The vector of whole numbers without common factor that solves rows times x = 0, if all solutions are
/// multiples of it. `None` also where the numbers get too large.
pub(super) fn null_vector(rows: &[Vec<i64>]) -> Option<Vec<i64>> {
    let cells = rows.first()?.len();
    let mut left = rows.to_vec();
    // Solved for a pivot each, which is 0 in all others.
    let mut solved: Vec<(usize, Vec<i64>)> = Vec::new();
    while let Some(row) = left.pop() {
        let Some(pivot) = row.iter().position(|&entry| entry != 0) else { continue };
        for other in left.iter_mut().chain(solved.iter_mut().map(|(_, row)| row)) {
            *other = without(other, &row, pivot)?;
        }
        solved.push((pivot, row));
    }
    let is_free = |cell: &usize| solved.iter().all(|(pivot, _)| pivot != cell);
    let mut free = (0..cells).filter(is_free);
    let (Some(free), None) = (free.next(), free.next()) else { return None };
    // x of the free cell is a multiple of all pivots' entries.
    let mut whole: i64 = 1;
    for (pivot, row) in &solved {
        whole = whole.checked_mul(row[*pivot].abs() / gcd(whole, row[*pivot].abs()))?;
    }
    let mut x = vec![0; cells];
    x[free] = whole;
    for (pivot, row) in &solved {
        x[*pivot] = -row[free].checked_mul(whole / row[*pivot])?;
    }
    let common = x.iter().fold(0, |common, &x| gcd(common, x.abs()));
    x.iter_mut().for_each(|x| *x /= common);
    x.iter().all(|x| x.abs() <= MOST_ENTRY).then_some(x)
}

/// A multiple of `row` with a multiple of `other` taken away, such that nothing is left at `pivot`.
fn without(row: &[i64], other: &[i64], pivot: usize) -> Option<Vec<i64>> {
    let common = gcd(row[pivot].abs(), other[pivot].abs());
    let (times, by) = (other[pivot] / common, row[pivot] / common);
    let mut row: Vec<i64> = row.iter().zip(other).map(|(a, b)| times * a - by * b).collect();
    let common = row.iter().fold(0, |common, &entry| gcd(common, entry.abs()));
    if common > 1 {
        row.iter_mut().for_each(|entry| *entry /= common);
    }
    row.iter().all(|entry| entry.abs() <= MOST_ENTRY).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(rows: &[&[i64]]) -> Option<Vec<i64>> {
        let rows: Vec<Vec<i64>> = rows.iter().map(|row| row.to_vec()).collect();
        let x = null_vector(&rows)?;
        for row in rows {
            assert_eq!(row.iter().zip(&x).map(|(a, b)| a * b).sum::<i64>(), 0, "{row:?} {x:?}");
        }
        let sign = x.iter().find(|&&x| x != 0).map_or(1, |x| x.signum());
        Some(x.iter().map(|x| x * sign).collect())
    }

    #[test]
    fn the_free_direction_is_found_if_there_is_one() {
        let all = [1; 5];
        let (v, vk, two) = ([0, 0, 1, 1, 1], [0, 0, 1, 2, 3], [0, 1, 0, 1, 0]);
        assert_eq!(solved(&[&all, &v, &vk, &two, &all]), Some(vec![2, -2, -1, 2, -1]));
        assert_eq!(
            solved(&[&[1, 1, 1, 1], &[0, 1, 2, 3], &[0, 1, 4, 9]]),
            Some(vec![1, -3, 3, -1])
        );
        assert_eq!(solved(&[&[1, 1, 1], &[2, 7, 4]]), Some(vec![3, 2, -5]));
        assert_eq!(solved(&[&[1, 1, 1], &[0, 1, 0]]), Some(vec![1, 0, -1]));
        assert_eq!(solved(&[&all, &v, &vk]), None);
        assert_eq!(solved(&[&[1, 1], &[1, 2]]), None);
    }
}
