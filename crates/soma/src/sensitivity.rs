//! How far statistics can move, by search: a lower bound beside the proven one.
//!
//! A query states a sensitivity that no pair of records passes. For statistics as text it comes from
//! interval arithmetic, which may be loose: more noise than needed. The search takes many records,
//! looks for the pair whose statistics are furthest apart, and improves on it coordinate by
//! coordinate. What it finds is reached; what lies between it and the bound is not known.

use rand::RngExt;

use crate::error::Outcome;
use crate::release::Query;
use crate::release::query::Sensitivity;
use crate::rng::{Rng, stream};

/// What a search found: statistics that are really so far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reached {
    /// Between two records, one in the place of the other.
    pub replace: Sensitivity,
    /// Of one record, added or removed.
    pub add_remove: Sensitivity,
}

/// Starts of the search.
const STARTS: usize = 40;

/// Rounds over all coordinates from each start.
const ROUNDS: usize = 12;

/// Values tried for a coordinate in a round.
const TRIED: usize = 24;

/// The largest distances that a search finds among records that `draw` gives, the same for the same
/// seed. `draw` is asked for whole records; coordinates of one are tried in the place of another's,
/// and what `is_record` refuses is left out.
pub fn search(
    query: &dyn Query,
    mut draw: impl FnMut(&mut Rng) -> Outcome<Vec<f64>>,
    is_record: impl Fn(&[f64]) -> bool,
    seed: u64,
) -> Outcome<Reached> {
    let mut rng = stream(seed, 0);
    let mut best = |pairs: bool, norm: &dyn Fn(&[f64]) -> f64| -> Outcome<f64> {
        let mut largest: f64 = 0.0;
        for _ in 0..STARTS {
            let mut both = vec![draw(&mut rng)?, draw(&mut rng)?];
            let mut value = distance(query, &both, pairs, norm)?;
            for _ in 0..ROUNDS {
                let before = value;
                for side in 0..if pairs { 2 } else { 1 } {
                    for c in 0..both[side].len() {
                        for _ in 0..TRIED {
                            let other = draw(&mut rng)?;
                            let mut tried = both.clone();
                            tried[side][c] = other[c];
                            if !is_record(&tried[side]) {
                                continue;
                            }
                            let new = distance(query, &tried, pairs, norm)?;
                            if new > value {
                                (value, both) = (new, tried);
                            }
                        }
                    }
                    // A record as a whole, where its coordinates cannot be moved alone.
                    for _ in 0..TRIED {
                        let mut tried = both.clone();
                        tried[side] = draw(&mut rng)?;
                        let new = distance(query, &tried, pairs, norm)?;
                        if new > value {
                            (value, both) = (new, tried);
                        }
                    }
                }
                if value == before {
                    break;
                }
            }
            largest = largest.max(value);
        }
        Ok(largest)
    };
    let l1 = |gaps: &[f64]| gaps.iter().map(|gap| gap.abs()).sum::<f64>();
    let l2 = |gaps: &[f64]| gaps.iter().map(|gap| gap * gap).sum::<f64>().sqrt();
    Ok(Reached {
        replace: Sensitivity { l1: best(true, &l1)?, l2: best(true, &l2)? },
        add_remove: Sensitivity { l1: best(false, &l1)?, l2: best(false, &l2)? },
    })
}

/// How far the statistics of two records are apart, or of the first from nothing.
fn distance(
    query: &dyn Query,
    both: &[Vec<f64>],
    is_pair: bool,
    norm: &dyn Fn(&[f64]) -> f64,
) -> Outcome<f64> {
    let k = query.dim();
    let mut out = vec![0.0; 2 * k];
    query.statistics(&both[0], &mut out[..k])?;
    query.statistics(&both[1], &mut out[k..])?;
    let second = if is_pair { 1.0 } else { 0.0 };
    let gaps: Vec<f64> = (0..k).map(|i| out[i] - second * out[k + i]).collect();
    Ok(norm(&gaps))
}

/// A draw for [`search`] from a record of a model: its coordinates are stretched far out, so that
/// clamps are reached, each where the result is a record still.
pub fn stretched(record: &mut [f64], is_record: impl Fn(&[f64]) -> bool, rng: &mut Rng) {
    for c in 0..record.len() {
        let before = record[c];
        record[c] = if before.fract() != 0.0 {
            let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
            before * sign * 10f64.powf(rng.random_range(-1.0..4.0))
        } else if rng.random::<bool>() {
            before + 10f64.powf(rng.random_range(0.0..4.0)).round()
        } else {
            before
        };
        if !is_record(record) {
            record[c] = before;
        }
    }
}
