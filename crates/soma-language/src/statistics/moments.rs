//! Statistics that are first and second moments of clamped coordinates.

use crate::graph::{Binary, Graph, Input, Node, Op, Unary};

/// Statistics that are moments of u_j = (x_j - centre_j) / half_width_j, each clamped to \[-1, 1\]:
/// their sums and derivatives have a fast path.
#[derive(Debug, Clone, PartialEq)]
pub struct ClampedMoments {
    /// The middle of the range of each coordinate.
    pub centre: Vec<f64>,
    /// Half the width of the range of each coordinate; 1 for one that is not used.
    pub half_width: Vec<f64>,
    /// The statistics.
    pub terms: Vec<MomentTerm>,
}

/// The statistic offset + factor u_i u_j, where u_D stands for 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentTerm {
    /// i and j, i <= j and i < D.
    pub variables: [usize; 2],
    /// The offset.
    pub offset: f64,
    /// The factor.
    pub factor: f64,
}

/// The node a + b u of one clamped coordinate with the range from `low` to `high`.
struct Affine {
    column: usize,
    range: (f64, f64),
    a: f64,
    b: f64,
}

/// The moments of `nodes`, if all of them are moments.
pub(super) fn find(graph: &Graph, nodes: &[Node], record_dim: usize) -> Option<ClampedMoments> {
    let mut ranges: Vec<Option<(f64, f64)>> = vec![None; record_dim];
    let mut terms = Vec::new();
    for &node in nodes {
        let (offset, factor, core) = peel(graph, node);
        let sides = match graph.entry(core).op {
            Op::Binary(Binary::Mul) => graph.entry(core).args(),
            _ => &[core],
        };
        let affine: Vec<Affine> =
            sides.iter().map(|&side| affine(graph, side)).collect::<Option<_>>()?;
        for part in &affine {
            let known = ranges[part.column].get_or_insert(part.range);
            if *known != part.range {
                return None;
            }
        }
        terms.push(match affine.as_slice() {
            [one] => MomentTerm {
                variables: [one.column, record_dim],
                offset: offset + factor * one.a,
                factor: factor * one.b,
            },
            [one, two] if one.a == 0.0 && two.a == 0.0 => MomentTerm {
                variables: [one.column.min(two.column), one.column.max(two.column)],
                offset,
                factor: factor * one.b * two.b,
            },
            _ => return None,
        });
    }
    let known = |k: usize| ranges[k].unwrap_or((-1.0, 1.0));
    Some(ClampedMoments {
        centre: (0..record_dim).map(|k| 0.5 * (known(k).0 + known(k).1)).collect(),
        half_width: (0..record_dim).map(|k| 0.5 * (known(k).1 - known(k).0)).collect(),
        terms,
    })
}

/// `node` as offset + factor core, with constants factored out.
fn peel(graph: &Graph, mut node: Node) -> (f64, f64, Node) {
    let (mut offset, mut factor) = (0.0, 1.0);
    loop {
        let entry = graph.entry(node);
        let constant = |k: usize| entry.args().get(k).and_then(|&arg| graph.constant_value(arg));
        match (entry.op, constant(0), constant(1)) {
            (Op::Unary(Unary::Neg), ..) => {
                factor = -factor;
                node = entry.args()[0];
            }
            (Op::Binary(Binary::Mul), Some(value), _) => {
                factor *= value;
                node = entry.args()[1];
            }
            (Op::Binary(Binary::Add), Some(value), _) => {
                offset += factor * value;
                node = entry.args()[1];
            }
            (Op::Binary(Binary::Sub), Some(value), _) => {
                offset += factor * value;
                factor = -factor;
                node = entry.args()[1];
            }
            (Op::Binary(Binary::Sub), _, Some(value)) => {
                offset -= factor * value;
                node = entry.args()[0];
            }
            _ => return (offset, factor, node),
        }
    }
}

/// `node` as a clamped coordinate, if it is an affine function of one.
fn affine(graph: &Graph, node: Node) -> Option<Affine> {
    let (offset, factor, clamped) = peel(graph, node);
    let fact = graph.fact(clamped);
    if !fact.is_bounded() || fact.low >= fact.high {
        return None;
    }
    let mut inner = clamped;
    loop {
        let entry = graph.entry(inner);
        let Op::Binary(Binary::Min | Binary::Max) = entry.op else { break };
        let [a, b] = [entry.args()[0], entry.args()[1]];
        inner = match (graph.constant_value(a), graph.constant_value(b)) {
            (None, Some(_)) => a,
            (Some(_), None) => b,
            _ => return None,
        };
    }
    // clamp(p + q x, low, high)
    let (p, q, coordinate) = peel(graph, inner);
    let Op::Input(Input::Record, column) = graph.entry(coordinate).op else { return None };
    let ends = ((fact.low - p) / q, (fact.high - p) / q);
    let range = if q > 0.0 { ends } else { (ends.1, ends.0) };
    let (middle, half) = (0.5 * (fact.low + fact.high), 0.5 * (fact.high - fact.low) * q.signum());
    Some(Affine { column: column as usize, range, a: offset + factor * middle, b: factor * half })
}
