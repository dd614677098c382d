//! Checks of functions that are not defined for all numbers.

use super::Scope;
use crate::error::{Problem, Span};
use crate::graph::{Binary, Node, Op, Unary};

impl Scope<'_> {
    /// Rejects `what`, computed by `nodes`, if it can be the logarithm or a root of a negative
    /// number. What stands in a branch of `if` is left to its condition, and a quotient by 0 has
    /// probability 0.
    pub(super) fn check_defined(
        &self,
        what: &str,
        nodes: &[Node],
        span: Span,
    ) -> Result<(), Problem> {
        let graph = self.graph.borrow();
        let Some(node) = graph.first_undefined(nodes) else { return Ok(()) };
        let (of, remedy) = match graph.entry(node).op {
            Op::Unary(Unary::Log) => ("the logarithm", "`log(max(..., 1e-6))`"),
            Op::Unary(Unary::Log1p) => (
                "`log1p` (or `logit`)",
                "`log1p(max(..., -0.999999))` (`logit(clamp(..., 1e-6, 0.999999))`)",
            ),
            Op::Unary(Unary::Sqrt) => ("the square root", "`sqrt(max(..., 0))`"),
            Op::Unary(Unary::NormalQuantile) => {
                ("`normal_quantile`", "`normal_quantile(clamp(..., 1e-6, 0.999999))`")
            }
            Op::Unary(_) => ("`lgamma`", "`lgamma(max(..., 1e-6))`"),
            _ => ("a power that is not whole", "`max(..., 0) ^ b`"),
        };
        let own = graph.fact(graph.entry(node).args()[0]).range();
        let prior = match graph.entry(node).op {
            Op::Unary(Unary::NormalQuantile) => "a prior on (0, 1) such as `beta`",
            Op::Unary(Unary::Log1p) => "a prior above -1 (for `logit`, on (0, 1))",
            _ => "a positive prior such as `half_normal`",
        };
        Err(Problem::new(
            span,
            format!("{what} is not always a number: it is computed from {of} of what can be {own}"),
            format!("give that {prior}, or write {remedy}"),
        ))
    }
}

impl crate::graph::Graph {
    /// The first operation that can be outside its domain, of those that `nodes` are computed from
    /// without a branch.
    fn first_undefined(&self, nodes: &[Node]) -> Option<Node> {
        let (mut stack, mut seen) = (nodes.to_vec(), std::collections::HashSet::new());
        while let Some(node) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            let entry = self.entry(node);
            let args: Vec<_> = entry.args().iter().map(|&arg| self.fact(arg)).collect();
            if entry.op != Op::Binary(Binary::Div) && self.leaves_domain(node, &args) {
                return Some(node);
            }
            match entry.op {
                Op::Select => stack.push(entry.args()[0]),
                _ => stack.extend(entry.args()),
            }
        }
        None
    }
}
