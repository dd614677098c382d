//! How the coordinates of a record are cut into values and intervals.

use crate::check::Law;
use crate::graph::{Fact, Graph, Input, Node, Op};
use crate::model::Model;
use crate::statistics::{Split, Statistics};

/// The largest number of values of one coordinate.
const MAX_PARTS: usize = 1024;

/// Stands for an unbounded end of an interval.
pub(super) const UNBOUNDED: f64 = 1e300;

/// How a coordinate is cut.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cut {
    /// Not at all: neither a statistic nor the distribution of a coordinate that is cut depends on it.
    Whole,
    /// Into integers from `low` on. If `is_open` the last stands for all from it on.
    Integers { low: f64, count: usize, is_open: bool },
    /// Into the intervals between these points, in increasing order, of a variable in `support`; the
    /// first and the last have no ends of their own.
    Intervals { points: Vec<f64>, support: Fact },
}

impl Cut {
    /// The number of parts.
    pub fn parts(&self) -> usize {
        match self {
            Cut::Whole => 1,
            Cut::Integers { count, .. } => *count,
            Cut::Intervals { points, .. } => points.len() + 1,
        }
    }

    /// A value in a part.
    pub fn point(&self, part: usize) -> f64 {
        match self {
            Cut::Whole => 0.0,
            Cut::Integers { low, .. } => low + part as f64,
            Cut::Intervals { support, .. } => {
                let [low, high] = self.ends(part);
                match (low.max(support.low), high.min(support.high)) {
                    (low, high) if high < UNBOUNDED && low > -UNBOUNDED => 0.5 * low + 0.5 * high,
                    (low, _) if low > -UNBOUNDED => low + 1.0 + 0.5 * low.abs(),
                    (_, high) if high < UNBOUNDED => high - 1.0 - 0.5 * high.abs(),
                    _ => 0.0,
                }
            }
        }
    }

    /// The ends of the interval of a part.
    pub fn ends(&self, part: usize) -> [f64; 2] {
        match self {
            Cut::Intervals { points, .. } => {
                let low = part.checked_sub(1).map_or(-UNBOUNDED, |before| points[before]);
                [low, points.get(part).copied().unwrap_or(UNBOUNDED)]
            }
            _ => [-UNBOUNDED, UNBOUNDED],
        }
    }

    /// The part of a value.
    pub fn part_of(&self, x: f64) -> usize {
        match self {
            Cut::Whole => 0,
            Cut::Integers { low, count, .. } => ((x - low).max(0.0) as usize).min(count - 1),
            Cut::Intervals { points, .. } => points.partition_point(|&point| point <= x),
        }
    }

    /// The value of a part that is nearest to `x`.
    pub fn nearest(&self, part: usize, x: f64) -> f64 {
        match self {
            Cut::Whole => x,
            Cut::Integers { low, count, is_open: true } if part + 1 == *count => {
                let least = low + part as f64;
                if x.is_finite() { x.max(least) } else { least }
            }
            Cut::Integers { low, .. } => low + part as f64,
            Cut::Intervals { .. } if !x.is_finite() => self.point(part),
            Cut::Intervals { .. } => {
                let [low, high] = self.ends(part);
                x.clamp(low, high.next_down())
            }
        }
    }
}

/// A coordinate of a record.
struct Coordinate {
    name: String,
    fact: Fact,
    /// Whether it is discrete; nothing for an entry of a vector that is drawn as a whole.
    is_discrete: Option<bool>,
    /// The coordinates that its distribution depends on.
    parents: Vec<usize>,
}

/// The cut of each coordinate of the record of `model`.
pub(super) fn cuts(model: &Model, statistics: &[&Statistics]) -> Result<Vec<Cut>, String> {
    let coordinates = coordinates(model);
    let mut is_needed: Vec<bool> =
        (0..coordinates.len()).map(|c| statistics.iter().any(|s| s.reads(c))).collect();
    let mut is_parent = vec![false; coordinates.len()];
    for c in (0..coordinates.len()).rev().filter(|&c| is_needed[c]).collect::<Vec<_>>() {
        mark(&coordinates, c, &mut is_needed, &mut is_parent);
    }
    let all = coordinates.iter().enumerate();
    all.map(|(c, coordinate)| {
        if !is_needed[c] {
            return Ok(Cut::Whole);
        }
        let splits: Vec<&Split> = statistics.iter().map(|s| &s.splits()[c]).collect();
        cut(coordinate, is_parent[c], &splits)
    })
    .collect()
}

/// Marks all that the distribution of coordinate `c` depends on.
fn mark(coordinates: &[Coordinate], c: usize, is_needed: &mut [bool], is_parent: &mut [bool]) {
    for &parent in &coordinates[c].parents {
        if !is_parent[parent] {
            is_parent[parent] = true;
            is_needed[parent] = true;
            mark(coordinates, parent, is_needed, is_parent);
        }
    }
}

fn cut(coordinate: &Coordinate, is_parent: bool, splits: &[&Split]) -> Result<Cut, String> {
    let Coordinate { name, fact, .. } = coordinate;
    let mut points: Vec<f64> = splits.iter().flat_map(|split| split.points.clone()).collect();
    let is_free = splits.iter().any(|split| split.is_free);
    match coordinate.is_discrete {
        None => Err(format!("`{name}` is drawn together with other numbers")),
        Some(true) => {
            let most = points.iter().copied().fold(fact.low, f64::max);
            let last = (most + 1e-9 * most.abs()).floor() + 1.0;
            let is_many = fact.high - fact.low + 1.0 > MAX_PARTS as f64;
            let settled = splits.iter().map(|split| match split.is_free {
                true => split.settled_from.unwrap_or(f64::INFINITY),
                false => last,
            });
            let last = match is_free {
                true if is_many => settled.fold(fact.low, f64::max),
                true => fact.high,
                false => last,
            };
            let is_open = !is_parent && last < fact.high;
            let high = if is_open { last } else { fact.high };
            let count = high - fact.low + 1.0;
            if !(count >= 1.0 && count <= MAX_PARTS as f64) {
                let help = match (is_parent, high.is_finite()) {
                    (true, _) => ", which other variables are drawn given".into(),
                    (false, true) => String::new(),
                    (false, false) => {
                        format!("; `min({name}, 30)` in the place of `{name}` would bound it")
                    }
                };
                return Err(format!("the statistics depend on too many values of `{name}`{help}"));
            }
            Ok(Cut::Integers { low: fact.low, count: count as usize, is_open })
        }
        Some(false) if is_parent => {
            Err(format!("what the statistics depend on is drawn given `{name}`, a continuous one"))
        }
        Some(false) if is_free || splits.iter().any(|split| split.is_capped) => {
            Err(format!("the statistics depend on the value of `{name}`, a continuous one"))
        }
        Some(false) => {
            points.retain(|&point| point > fact.low && point < fact.high);
            points.sort_by(f64::total_cmp);
            points.dedup_by(|b, a| *b - *a <= 1e-12 * a.abs());
            Ok(Cut::Intervals { points, support: *fact })
        }
    }
}

fn coordinates(model: &Model) -> Vec<Coordinate> {
    let mut all = Vec::new();
    let facts = model.record_facts();
    for variable in &model.record.variables {
        for (k, &entry) in variable.coordinates.iter().enumerate() {
            let (is_discrete, args): (Option<bool>, Vec<Node>) = match &variable.law {
                Law::Each(family, args) => (Some(family.is_discrete()), args[entry].clone()),
                Law::Whole(_, args) => (None, args.iter().flatten().copied().collect()),
            };
            all.push(Coordinate {
                name: variable.coordinate_name(k),
                fact: facts[all.len()],
                is_discrete,
                parents: columns(&model.graph, &args),
            });
        }
    }
    all
}

/// The coordinates of the record that `nodes` are computed from.
fn columns(graph: &Graph, nodes: &[Node]) -> Vec<usize> {
    let mut stack = nodes.to_vec();
    let (mut seen, mut found) = (std::collections::HashSet::new(), Vec::new());
    while let Some(node) = stack.pop() {
        if !seen.insert(node) {
            continue;
        }
        let entry = graph.entry(node);
        match entry.op {
            Op::Input(Input::Record, place) => found.push(place as usize),
            _ => stack.extend(entry.args()),
        }
    }
    found
}
