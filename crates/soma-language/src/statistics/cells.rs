//! Statistics with few values: the cells of the record on which they are constant.

use std::collections::{BTreeMap, BTreeSet};

use super::settled::settled_from;
use crate::graph::{Binary, Graph, Node, Op, Unary};
use crate::program::{Inputs, Program, Workspace};

/// The largest number of combinations of coordinate values that are evaluated.
const MAX_COMBINATIONS: usize = 20_000;

/// The largest number of distinct values.
const MAX_VALUES: usize = 1000;

/// The distinct values of a statistic.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    pub values: Vec<Vec<f64>>,
    /// Whether each value has at most one entry 1 and otherwise 0.
    pub one_hot: bool,
}

impl Cells {
    /// The values of `nodes`, if they depend on coordinates with few values, or on coordinates
    /// through comparisons with constants only.
    ///
    /// All combinations of representatives are evaluated. Some may be impossible: then there are
    /// fewer values than found, and bounds from them are still valid.
    pub fn find(
        graph: &Graph,
        nodes: &[Node],
        columns: &[Node],
        program: &Program,
    ) -> Option<Cells> {
        let uses = Uses::of(graph, nodes);
        let mut representatives = vec![vec![0.0]; columns.len()];
        let mut combinations = 1usize;
        for (column, own) in columns.iter().zip(&mut representatives) {
            if uses.read.contains(column) {
                *own = uses.representatives(graph, *column)?;
                combinations =
                    combinations.checked_mul(own.len()).filter(|&n| n <= MAX_COMBINATIONS)?;
            }
        }
        let mut records = Vec::with_capacity(combinations * columns.len());
        for mut number in 0..combinations {
            for own in &representatives {
                records.push(own[number % own.len()]);
                number /= own.len();
            }
        }
        let mut out = vec![0.0; combinations * nodes.len()];
        let inputs = Inputs { records: &records, ..Inputs::default() };
        program.run(inputs, combinations, &mut Workspace::new(), &mut [], &mut out);
        let rows = out.chunks_exact(nodes.len());
        let different: BTreeSet<Vec<u64>> =
            rows.map(|row| row.iter().map(|&x| (x + 0.0).to_bits()).collect()).collect();
        if different.len() > MAX_VALUES {
            return None;
        }
        let values: Vec<Vec<f64>> = different
            .into_iter()
            .map(|row| row.into_iter().map(f64::from_bits).collect())
            .collect();
        let is_one_hot = |row: &Vec<f64>| {
            row.iter().all(|&x| x == 0.0 || x == 1.0) && row.iter().sum::<f64>() <= 1.0
        };
        Some(Cells { one_hot: values.iter().all(is_one_hot), values })
    }
}

/// How a statistic depends on a coordinate of a record.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Split {
    /// The points that it is compared with, or capped at.
    pub points: Vec<f64>,
    /// Whether it is capped at one of them (`min`).
    pub is_capped: bool,
    /// Whether it is used in another way.
    pub is_free: bool,
    /// If it is used in another way, and is a whole number: from where on nothing changes with it.
    pub settled_from: Option<f64>,
}

/// How `nodes` depend on each of the `columns`.
pub(super) fn splits(graph: &Graph, nodes: &[Node], columns: &[Node]) -> Vec<Split> {
    let mut splits = vec![Split::default(); columns.len()];
    let place = |node: Node| columns.iter().position(|&column| column == node);
    let mut stack = nodes.to_vec();
    let mut seen = BTreeSet::new();
    while let Some(node) = stack.pop() {
        if !seen.insert(node) {
            continue;
        }
        if let Some(place) = place(node) {
            splits[place].is_free = true;
            continue;
        }
        if let Some((arg, point)) = compared(graph, node)
            && let (column, point, _) = solved(graph, arg, point)
            && let Some(place) = place(column)
        {
            splits[place].points.push(point);
            continue;
        }
        if let Some((column, point)) = settled(graph, node)
            && let Some(place) = place(column)
        {
            splits[place].points.push(point);
            splits[place].is_capped = true;
            continue;
        }
        stack.extend(graph.entry(node).args());
    }
    for (split, &column) in splits.iter_mut().zip(columns).filter(|(split, _)| split.is_free) {
        split.settled_from = settled_from(graph, nodes, column, MAX_VALUES);
    }
    splits
}

/// The argument of `node` that is not constant, and the one that is.
fn with_constant(graph: &Graph, node: Node) -> Option<(Node, f64)> {
    let &[a, b] = graph.entry(node).args() else { return None };
    match (graph.constant_value(a), graph.constant_value(b)) {
        (None, Some(value)) => Some((a, value)),
        (Some(value), None) => Some((b, value)),
        _ => None,
    }
}

/// What `node` compares with a constant, and the constant.
fn compared(graph: &Graph, node: Node) -> Option<(Node, f64)> {
    match graph.entry(node).op {
        Op::Binary(Binary::Lt | Binary::Le | Binary::Eq) => with_constant(graph, node),
        _ => None,
    }
}

/// The input x and the point such that `node` is constant for all x from the point on.
fn settled(graph: &Graph, node: Node) -> Option<(Node, f64)> {
    let mut is_min = match graph.entry(node).op {
        Op::Binary(Binary::Min) => true,
        Op::Binary(Binary::Max) => false,
        _ => return None,
    };
    let (mut arg, mut value) = with_constant(graph, node)?;
    loop {
        let (inner, point, increases) = solved(graph, arg, value);
        is_min = is_min == increases;
        match graph.entry(inner).op {
            Op::Input(..) if is_min => return Some((inner, point)),
            // max(y, d) is at least the value where y is.
            Op::Binary(Binary::Max) if is_min => {}
            Op::Binary(Binary::Min) if !is_min => {}
            _ => return None,
        }
        (arg, value) = (with_constant(graph, inner)?.0, point);
    }
}

/// Undoes strictly monotone functions of one number: the innermost x, the x at which `node` is
/// `value`, and whether `node` increases with x.
fn solved(graph: &Graph, mut node: Node, mut value: f64) -> (Node, f64, bool) {
    let mut increases = true;
    loop {
        let entry = graph.entry(node);
        let args = entry.args();
        let first = args.first().and_then(|&arg| graph.constant_value(arg));
        let second = args.get(1).and_then(|&arg| graph.constant_value(arg));
        let (inner, solution, is_same) = match (entry.op, first, second) {
            (Op::Unary(Unary::Neg), ..) => (args[0], -value, false),
            (Op::Unary(Unary::Exp), ..) => (args[0], value.ln(), true),
            (Op::Unary(Unary::Log), ..) if graph.fact(args[0]).low >= 0.0 => {
                (args[0], value.exp(), true)
            }
            (Op::Binary(Binary::Add), Some(shift), _) => (args[1], value - shift, true),
            (Op::Binary(Binary::Add), _, Some(shift)) => (args[0], value - shift, true),
            (Op::Binary(Binary::Sub), Some(from), _) => (args[1], from - value, false),
            (Op::Binary(Binary::Sub), _, Some(shift)) => (args[0], value + shift, true),
            (Op::Binary(Binary::Mul), Some(factor), _) if factor != 0.0 => {
                (args[1], value / factor, factor > 0.0)
            }
            _ => return (node, value, increases),
        };
        if !solution.is_finite() {
            return (node, value, increases);
        }
        (node, value, increases) = (inner, solution, increases == is_same);
    }
}

/// Which of the `columns` the nodes depend on.
pub(super) fn read(graph: &Graph, nodes: &[Node], columns: &[Node]) -> Vec<bool> {
    let uses = Uses::of(graph, nodes);
    columns.iter().map(|column| uses.read.contains(column)).collect()
}

/// How some nodes depend on coordinates.
struct Uses {
    read: BTreeSet<Node>,
    /// The constants that a coordinate is compared with.
    thresholds: BTreeMap<Node, Vec<f64>>,
    /// Coordinates that are only capped by a constant (`min`) or compared.
    capped: BTreeSet<Node>,
    /// Coordinates that are used in another way.
    free: BTreeSet<Node>,
}

impl Uses {
    fn of(graph: &Graph, nodes: &[Node]) -> Self {
        let mut uses = Uses {
            read: BTreeSet::new(),
            thresholds: BTreeMap::new(),
            capped: BTreeSet::new(),
            free: nodes.iter().copied().collect(),
        };
        let mut stack = nodes.to_vec();
        let mut seen = BTreeSet::new();
        while let Some(node) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            let entry = graph.entry(node);
            if matches!(entry.op, Op::Input(..)) {
                uses.read.insert(node);
            }
            for (k, &arg) in entry.args().iter().enumerate() {
                let other =
                    entry.args().get(1 - k.min(1)).and_then(|&other| graph.constant_value(other));
                match (entry.op, other) {
                    (Op::Binary(Binary::Lt | Binary::Le | Binary::Eq), Some(value)) => {
                        uses.thresholds.entry(arg).or_default().push(value);
                    }
                    (Op::Binary(Binary::Min), Some(value)) => {
                        uses.thresholds.entry(arg).or_default().push(value);
                        uses.capped.insert(arg);
                    }
                    _ => {
                        uses.free.insert(arg);
                    }
                }
                stack.push(arg);
            }
        }
        uses
    }

    /// A value of `column` in each set on which everything computed from it is constant.
    fn representatives(&self, graph: &Graph, column: Node) -> Option<Vec<f64>> {
        let fact = graph.fact(column);
        let thresholds = self.thresholds.get(&column);
        let most = || thresholds.into_iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let high = if self.free.contains(&column) {
            fact.high
        } else {
            fact.high.min(most().floor() + 1.0)
        };
        if fact.integer && fact.low.is_finite() && high.is_finite() {
            let count = high - fact.low + 1.0;
            return (count >= 1.0 && count <= MAX_VALUES as f64)
                .then(|| (0..count as usize).map(|k| fact.low + k as f64).collect());
        }
        if self.free.contains(&column) || self.capped.contains(&column) {
            return None;
        }
        let mut points: Vec<f64> = thresholds?.clone();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let between = points.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
        let ends = [points[0] - 1.0, points[points.len() - 1] + 1.0, fact.low, fact.high];
        let all: Vec<f64> = points.iter().copied().chain(between).chain(ends).collect();
        let inside = |x: &f64| x.is_finite() && *x >= fact.low && *x <= fact.high;
        Some(all.into_iter().filter(inside).collect())
    }
}
