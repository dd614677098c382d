//! Names of cells by a computed value of the record that the statistics are functions of.

use super::cut::Cut;
use super::label::runs;
use super::parts;
use crate::graph::{Fact, Graph, Input, Node, Op};
use crate::model::Model;
use crate::statistics::Statistics;

/// The most separate pieces in a name.
const MAX_PIECES: usize = 4;

/// A name for each of `count` cells by the last computed whole number that all statistics are
/// functions of, if there is one, and its values tell the cells apart.
pub(super) fn labels(
    model: &Model,
    statistics: &[&Statistics],
    cuts: &[Cut],
    cell_of: &[usize],
    count: usize,
) -> Option<Vec<String>> {
    let is_common = |name: &String| statistics.iter().all(|s| s.through().contains(name));
    let last = model.record.definitions.iter().rev().find(|own| is_common(&own.name))?;
    let node = last.value.nodes[0];
    if !model.graph.fact(node).integer {
        return None;
    }
    let inputs = model.record_facts();
    let rows = (0..cell_of.len()).map(|row| {
        let parts = parts(cuts, row);
        let facts: Vec<Fact> =
            (0..cuts.len()).map(|c| part(&cuts[c], parts[c], inputs[c])).collect();
        enclosed(&model.graph, node, &facts)
    });
    let found = Found::of(rows.zip(cell_of.iter().copied()))?;
    let of_cell = |cell: usize| found.label(&last.name, cell);
    (0..count).map(of_cell).collect()
}

/// The values of a coordinate in a part.
fn part(cut: &Cut, part: usize, fact: Fact) -> Fact {
    match cut {
        Cut::Whole => fact,
        Cut::Intervals { .. } => {
            let [low, high] = cut.ends(part);
            Fact::between(low, high)
        }
        Cut::Integers { is_open: true, count, .. } if part + 1 == *count => {
            Fact { low: cut.point(part), ..fact }
        }
        Cut::Integers { .. } => Fact::constant(cut.point(part)),
    }
}

/// The interval of `node` where the coordinates of the record are in these.
fn enclosed(graph: &Graph, node: Node, record: &[Fact]) -> Fact {
    let order = graph.sources(&[node]);
    let mut facts: Vec<Fact> = Vec::with_capacity(order.len());
    for &own in &order {
        let entry = graph.entry(own);
        let place = |arg: &Node| order.binary_search(arg).expect("a source");
        let args: Vec<Fact> = entry.args().iter().map(|arg| facts[place(arg)]).collect();
        facts.push(match entry.op {
            Op::Input(Input::Record, place) => record[place as usize],
            _ => graph.enclosed(own, &args),
        });
    }
    facts[order.len() - 1]
}

/// The values of a whole number, with the cell of each.
struct Found {
    /// In increasing order. The last may stand for all from it on.
    values: Vec<(f64, usize)>,
    is_open: bool,
}

impl Found {
    /// The values in the rows, if each is in one cell.
    fn of(rows: impl Iterator<Item = (Fact, usize)>) -> Option<Self> {
        let (mut values, mut tails) = (Vec::new(), Vec::new());
        for (fact, cell) in rows {
            match (fact.is_point(), fact.high == f64::INFINITY) {
                (true, _) => values.push((fact.low, cell)),
                (false, true) => tails.push((fact.low, cell)),
                (false, false) => return None,
            }
        }
        let start = tails.iter().map(|tail| tail.0).fold(f64::INFINITY, f64::min);
        let cell = tails.first().map(|tail| tail.1);
        let beyond = values.iter().filter(|(value, _)| *value >= start);
        if tails.iter().chain(beyond).any(|(_, own)| Some(*own) != cell) {
            return None;
        }
        values.retain(|(value, _)| *value < start);
        values.extend(cell.map(|cell| (start, cell)));
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        values.dedup();
        let is_told_apart = values.windows(2).all(|pair| pair[0].0 < pair[1].0);
        is_told_apart.then_some(Found { values, is_open: cell.is_some() })
    }

    /// The values of a cell.
    fn label(&self, name: &str, cell: usize) -> Option<String> {
        let own: Vec<bool> = self.values.iter().map(|value| value.1 == cell).collect();
        let runs = runs(&own);
        let piece = |(first, last): (usize, usize)| {
            let (from, to) = (self.values[first].0, self.values[last].0);
            match (first == last, last + 1 == self.values.len() && self.is_open) {
                (_, true) => format!("{name}>={from}"),
                (true, _) => format!("{name}={from}"),
                (false, _) => format!("{name}={from}..{to}"),
            }
        };
        let is_short = !runs.is_empty() && runs.len() <= MAX_PIECES;
        is_short.then(|| runs.into_iter().map(piece).collect::<Vec<_>>().join("|"))
    }
}
