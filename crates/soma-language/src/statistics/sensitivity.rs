//! The sensitivity of sums of statistics.

use std::collections::BTreeSet;
use std::fmt;

use super::cases::Cases;
use super::cells::Cells;
use crate::graph::{Binary, Fact, Graph, Level, Node, Op};

/// The neighbouring relation of data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// One record is replaced by another.
    Replace,
    /// One record is added or removed.
    AddRemove,
}

/// The largest distance between the sums of neighbouring data sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// In the sum of absolute values.
    pub l1: f64,
    /// In the Euclidean norm.
    pub l2: f64,
}

impl Sensitivity {
    /// The larger of both in each norm.
    pub(super) fn larger(self, other: Self) -> Self {
        Sensitivity { l1: self.l1.max(other.l1), l2: self.l2.max(other.l2) }
    }

    /// The smaller of both in each norm.
    fn smaller(self, other: Self) -> Self {
        Sensitivity { l1: self.l1.min(other.l1), l2: self.l2.min(other.l2) }
    }

    /// Whether it is below the other in a norm, by more than rounding.
    fn is_below(self, other: Self) -> bool {
        let below = |own: f64, other: f64| own < other * (1.0 - 1e-12);
        below(self.l1, other.l1) || below(self.l2, other.l2)
    }
}

/// A stated sensitivity below the proven bound.
#[derive(Debug, Clone, PartialEq)]
pub struct TooTight {
    /// `l1` or `l2`.
    pub norm: &'static str,
    /// The stated value.
    pub stated: f64,
    /// The proven bound.
    pub shown: f64,
    /// The argument for it.
    pub reason: &'static str,
}

impl fmt::Display for TooTight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooTight { norm, stated, shown, reason } = self;
        write!(
            f,
            "sensitivity {norm} = {stated} is below {shown}, the smallest that can be shown ({reason}). Allowed: {shown} or more"
        )
    }
}

impl std::error::Error for TooTight {}

/// Rejects values below the proven bound, up to rounding.
pub(super) fn check(
    stated: Sensitivity,
    shown: Sensitivity,
    reason: &'static str,
) -> Result<(), TooTight> {
    for (norm, stated, shown) in [("l1", stated.l1, shown.l1), ("l2", stated.l2, shown.l2)] {
        if !(stated >= shown * (1.0 - 1e-9)) {
            return Err(TooTight { norm, stated, shown, reason });
        }
    }
    Ok(())
}

/// The smallest proven bounds for replaced and for added or removed records, and the argument.
pub(super) fn of(
    graph: &Graph,
    nodes: &[Node],
    facts: &[Fact],
    cells: Option<&Cells>,
) -> ([Sensitivity; 2], &'static str) {
    let widths: Vec<f64> = facts.iter().map(|fact| fact.high - fact.low).collect();
    let sizes: Vec<f64> = facts.iter().map(|fact| fact.low.abs().max(fact.high.abs())).collect();
    let ranges = [norms(&widths), norms(&sizes)];
    if let Some(cells) = cells {
        return (of_values(&cells.values), "from all values that it takes");
    }
    let (mut best, mut reason) = (ranges, "from the ranges");
    if let Some(replace) = gram(graph, nodes).filter(|replace| replace.is_below(ranges[0])) {
        (best[0], reason) = (replace.smaller(ranges[0]), "moments of variables in [-1, 1]");
    }
    let Some(cases) = Cases::find(graph, nodes) else { return (best, reason) };
    let own = cases.sensitivities();
    if own[0].is_below(best[0]) || own[1].is_below(best[1]) {
        best = [own[0].smaller(best[0]), own[1].smaller(best[1])];
        reason = match cases.are_points() {
            true => "from all values that it takes",
            false => "from the ranges for each discrete value and between thresholds",
        };
    }
    (best, reason)
}

pub(super) fn norms(sizes: &[f64]) -> Sensitivity {
    Sensitivity {
        l1: sizes.iter().map(|x| x.abs()).sum(),
        l2: sizes.iter().map(|x| x * x).sum::<f64>().sqrt(),
    }
}

fn of_values(values: &[Vec<f64>]) -> [Sensitivity; 2] {
    let mut replace = Sensitivity { l1: 0.0, l2: 0.0 };
    let mut add = replace;
    for (k, a) in values.iter().enumerate() {
        add = add.larger(norms(a));
        for b in &values[..k] {
            let gaps: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
            replace = replace.larger(norms(&gaps));
        }
    }
    [replace, add]
}

/// The sensitivity under replacement of first and second moments of d variables in [-1, 1], if the
/// statistics are (some of) these: d (d + 2)^2 / (2 (d + 1)) in l1 and d + 1 (d odd) or sqrt(d (d +
/// 2)) (d even) in l2, as shown for the Gram query.
fn gram(graph: &Graph, nodes: &[Node]) -> Option<Sensitivity> {
    let mut variables = BTreeSet::new();
    for &node in nodes {
        let entry = graph.entry(node);
        let factors = match entry.op {
            Op::Binary(Binary::Mul)
                if entry.args().iter().all(|&arg| graph.level(arg) == Level::Row) =>
            {
                entry.args()
            }
            _ => &[node],
        };
        variables.extend(factors.iter().copied());
    }
    let unit = |&node: &Node| graph.fact(node).low >= -1.0 && graph.fact(node).high <= 1.0;
    let different = nodes.iter().collect::<BTreeSet<_>>().len() == nodes.len();
    if !variables.iter().all(unit) || !different {
        return None;
    }
    let d = variables.len() as f64;
    let even = variables.len().is_multiple_of(2);
    Some(Sensitivity {
        l1: d * (d + 2.0) * (d + 2.0) / (2.0 * (d + 1.0)),
        l2: if even { (d * (d + 2.0)).sqrt() } else { d + 1.0 },
    })
}
