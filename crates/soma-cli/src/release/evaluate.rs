//! The exact sums of the statistics of records.

use soma::release::query::{CoordinateMap, Query};

/// Bits between the largest sum of 2^30 statistics and their lattice, so that sums are exact.
const MANTISSA: i32 = 52;
const MOST_RECORDS: i32 = 30;

/// The sums of statistics, exact, and the width of the lattice that each statistic was put on.
pub struct Sums {
    /// The sums.
    pub sums: Vec<f64>,
    /// The width of the lattice of each.
    pub widths: Vec<f64>,
}

/// Sums the statistics of a query over records.
///
/// Floating-point sums depend on the order of their terms, and may differ between neighbours by more
/// than the sensitivity. Each statistic is put on a lattice instead, so wide that a sum of 2^30 of
/// them is a floating-point number: the sum is exact, and neighbours differ by the sensitivity and
/// at most the width of the lattice in each coordinate.
pub fn sums(query: &dyn Query, records: &[f64]) -> Result<Sums, String> {
    let (d, k) = (query.record_dim(), query.dim());
    let width = |(low, high): (f64, f64)| {
        let most = low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
        if query.is_integer() {
            1.0
        } else {
            2f64.powi(most.log2().ceil() as i32 + MOST_RECORDS - MANTISSA)
        }
    };
    let bounds = query.bounds();
    let widths: Vec<f64> = bounds.iter().copied().map(width).collect();
    check_size(query, &widths, records.len() / d)?;
    let mut sums = vec![0i64; k];
    let mut out = vec![0.0; k];
    for record in records.chunks_exact(d) {
        query.statistics(record, &mut out).map_err(|error| error.to_string())?;
        for (((sum, t), width), (low, high)) in sums.iter_mut().zip(&out).zip(&widths).zip(&bounds)
        {
            if !(t.is_finite() && *low - width <= *t && *t <= high + width) {
                return Err(outside(query, &out));
            }
            *sum += (t / width).round() as i64;
        }
    }
    let sums = sums.iter().zip(&widths).map(|(sum, width)| *sum as f64 * width).collect();
    Ok(Sums { sums, widths })
}

/// Refuses sums that may not be exact: above 2^53 in units of their lattice.
fn check_size(query: &dyn Query, widths: &[f64], records: usize) -> Result<(), String> {
    let most = |(low, high): &(f64, f64)| low.abs().max(high.abs());
    let is_exact = |(bounds, width): (&(f64, f64), &f64)| {
        records as f64 * (most(bounds) / width) <= 2f64.powi(MANTISSA + 1)
    };
    match query.bounds().iter().zip(widths).position(|one| !is_exact(one)) {
        None => Ok(()),
        Some(k) => Err(format!(
            "the sum of {:?} may be too large to be exact. Allowed: statistics whose sum over all \
             records is below 2^53 in size, by a tighter clamp or in another unit.",
            query.labels()[k]
        )),
    }
}

/// The message for a record with these statistics. Their values are confidential.
fn outside(query: &dyn Query, statistics: &[f64]) -> String {
    let bounds = query.bounds();
    let named = query.labels().into_iter().zip(&bounds).zip(statistics);
    let wrong = named.filter(|((_, (low, high)), t)| !(*low <= **t && **t <= *high));
    let said = wrong.map(|((label, (low, high)), _)| format!("{label:?} ({low} to {high})"));
    let said: Vec<String> = said.collect();
    format!(
        "a statistic of a record lies outside its bounds: {}. Allowed: data within them, or a clamp \
         in the statistic.",
        soma::error::listed(&said)
    )
}

/// How many values of each coordinate lie outside the clamp, where the query has one for it.
pub fn clamped(query: &dyn Query, records: &[f64]) -> Option<Vec<Option<usize>>> {
    let ranges: Vec<(f64, f64)> = match (query.clamped_moments(), query.coordinate_map()) {
        (Some(moments), _) => {
            let ranges = moments.centre.iter().zip(&moments.half_width);
            ranges.map(|(centre, half)| (centre - half, centre + half)).collect()
        }
        (None, Some(CoordinateMap::Log)) => {
            query.bounds().iter().map(|(low, high)| (low.exp(), high.exp())).collect()
        }
        _ => return None,
    };
    let outside = |c: usize| {
        let column = records.iter().skip(c).step_by(ranges.len());
        column.filter(|x| !(ranges[c].0 <= **x && **x <= ranges[c].1)).count()
    };
    Some((0..ranges.len()).map(|c| query.reads(c).then(|| outside(c))).collect())
}
