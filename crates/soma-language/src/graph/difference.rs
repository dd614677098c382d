//! The interval of a difference whose sides have terms in common.

use std::collections::BTreeMap;

use super::{Binary, Fact, Graph, Node, Op, Unary};

impl Graph {
    /// The interval of a - b: both are written as sums of multiples of nodes, in which common ones
    /// cancel.
    pub(crate) fn difference(&self, a: Node, b: Node) -> Fact {
        let (mut terms, mut constant) = (BTreeMap::new(), 0.0);
        let mut stack = vec![(a, 1.0), (b, -1.0)];
        while let Some((node, factor)) = stack.pop() {
            let entry = self.entry(node);
            match (entry.op, entry.args()) {
                (Op::Constant(bits), _) => constant += factor * f64::from_bits(bits),
                (Op::Unary(Unary::Neg), &[x]) => stack.push((x, -factor)),
                (Op::Binary(Binary::Add), &[x, y]) => stack.extend([(x, factor), (y, factor)]),
                (Op::Binary(Binary::Sub), &[x, y]) => stack.extend([(x, factor), (y, -factor)]),
                (Op::Binary(Binary::Mul), &[x, y]) => match self.constant_value(x) {
                    Some(value) => stack.push((y, factor * value)),
                    None => *terms.entry(node).or_insert(0.0) += factor,
                },
                _ => *terms.entry(node).or_insert(0.0) += factor,
            }
        }
        let start = Fact::constant(constant);
        terms.into_iter().filter(|(_, factor)| *factor != 0.0).fold(start, |sum, (node, factor)| {
            let fact = self.fact(node);
            let ends = [factor * fact.low, factor * fact.high];
            Fact::between(sum.low + ends[0].min(ends[1]), sum.high + ends[0].max(ends[1]))
        })
    }
}
