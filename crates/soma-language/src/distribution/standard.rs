//! Log densities of standard distributions on nodes, for derivatives of quantiles and scores.

use crate::graph::{Graph, Node, Unary};

/// log density of Gamma(shape, 1) at x.
pub(crate) fn standard_gamma(g: &mut Graph, shape: Node, x: Node) -> Node {
    let (less, log) = (g.plus(shape, -1.0), g.log(x));
    let power = g.mul(less, log);
    let normaliser = g.log_gamma(shape);
    let rest = g.add(x, normaliser);
    g.sub(power, rest)
}

/// log density of Beta(a, b) at x.
pub(crate) fn standard_beta(g: &mut Graph, a: Node, b: Node, x: Node) -> Node {
    let (a_less, b_less) = (g.plus(a, -1.0), g.plus(b, -1.0));
    let negative = g.neg(x);
    let (log_x, log_rest) = (g.log(x), g.unary(Unary::Log1p, negative));
    let (first, second) = (g.mul(a_less, log_x), g.mul(b_less, log_rest));
    let power = g.add(first, second);
    let normaliser = log_beta(g, a, b);
    g.sub(power, normaliser)
}

fn log_beta(g: &mut Graph, a: Node, b: Node) -> Node {
    let sum = g.add(a, b);
    let (first, second, both) = (g.log_gamma(a), g.log_gamma(b), g.log_gamma(sum));
    let top = g.add(first, second);
    g.sub(top, both)
}

/// log density of Student's t with nu degrees of freedom at x.
pub(crate) fn standard_student(g: &mut Graph, nu: Node, x: Node) -> Node {
    let half = g.times(0.5, nu);
    let more = g.plus(half, 0.5);
    let (top, bottom, log_nu) = (g.log_gamma(more), g.log_gamma(half), g.log(nu));
    let root = g.times(0.5, log_nu);
    let gammas = g.sub(top, bottom);
    let constant = g.sub(gammas, root);
    let constant = g.plus(constant, -0.5 * std::f64::consts::PI.ln());
    let square = g.mul(x, x);
    let ratio = g.div(square, nu);
    let log = g.unary(Unary::Log1p, ratio);
    let power = g.mul(more, log);
    g.sub(constant, power)
}
