//! Nodes written as formulas.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Binary, Draw, Fact, Graph, Node, Unary};
use crate::special::Special;

/// A node with its graph, so that a density reads as its formula.
#[derive(Debug, Clone, Copy)]
pub struct Term<'g> {
    graph: &'g RefCell<Graph>,
    /// The node.
    pub node: Node,
}

impl<'g> Term<'g> {
    /// `node` of `graph`.
    pub fn new(graph: &'g RefCell<Graph>, node: Node) -> Self {
        Term { graph, node }
    }

    fn unary(self, op: Unary) -> Self {
        let node = self.graph.borrow_mut().unary(op, self.node);
        Term { node, ..self }
    }

    fn binary(self, op: Binary, other: Self) -> Self {
        let node = self.graph.borrow_mut().binary(op, self.node, other.node);
        Term { node, ..self }
    }

    /// A constant of the same graph.
    pub fn constant(self, value: f64) -> Self {
        let node = self.graph.borrow_mut().constant(value);
        Term { node, ..self }
    }

    /// What is known of the value.
    pub fn fact(self) -> Fact {
        self.graph.borrow().fact(self.node)
    }

    /// What is known of this minus `other`, where terms that both have cancel.
    pub fn beyond(self, other: Self) -> Fact {
        self.graph.borrow().difference(self.node, other.node)
    }

    /// The argument, if this is `op` of something.
    pub fn argument_of(self, op: Unary) -> Option<Self> {
        let node = {
            let graph = self.graph.borrow();
            let entry = graph.entry(self.node);
            (entry.op == super::Op::Unary(op)).then(|| entry.args()[0])
        };
        node.map(|node| Term { node, ..self })
    }

    /// e^a
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// log a
    pub fn log(self) -> Self {
        self.unary(Unary::Log)
    }

    /// log(1 + a)
    pub fn log1p(self) -> Self {
        self.unary(Unary::Log1p)
    }

    /// e^a - 1
    pub fn expm1(self) -> Self {
        self.unary(Unary::Expm1)
    }

    /// Square root.
    pub fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt)
    }

    /// |a|
    pub fn abs(self) -> Self {
        self.unary(Unary::Abs)
    }

    /// The largest whole number that is at most a.
    pub fn floor(self) -> Self {
        self.unary(Unary::Floor)
    }

    /// a^2
    pub fn square(self) -> Self {
        self * self
    }

    /// Hyperbolic tangent.
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }

    /// 1 / (1 + e^-a)
    pub fn logistic(self) -> Self {
        self.unary(Unary::Logistic)
    }

    /// log(1 + e^a)
    pub fn softplus(self) -> Self {
        self.unary(Unary::Softplus)
    }

    /// log Gamma(a)
    pub fn log_gamma(self) -> Self {
        self.unary(Unary::LogGamma)
    }

    /// Phi(a)
    pub fn normal_cdf(self) -> Self {
        self.unary(Unary::NormalCdf)
    }

    /// log Phi(a)
    pub fn normal_log_cdf(self) -> Self {
        self.unary(Unary::NormalLogCdf)
    }

    /// Phi^-1(a)
    pub fn normal_quantile(self) -> Self {
        self.unary(Unary::NormalQuantile)
    }

    /// a^b
    pub fn pow(self, b: Self) -> Self {
        self.binary(Binary::Pow, b)
    }

    /// The indicator of a < b.
    pub fn less(self, b: Self) -> Self {
        self.binary(Binary::Lt, b)
    }

    /// The indicator of a <= b.
    pub fn at_most(self, b: Self) -> Self {
        self.binary(Binary::Le, b)
    }

    /// The indicator of a == b.
    pub fn equals(self, b: Self) -> Self {
        self.binary(Binary::Eq, b)
    }

    /// The smaller of two.
    pub fn min(self, b: Self) -> Self {
        self.binary(Binary::Min, b)
    }

    /// The larger of two.
    pub fn max(self, b: Self) -> Self {
        self.binary(Binary::Max, b)
    }

    /// `yes` if this is not 0, and otherwise `no`.
    pub fn select(self, yes: Self, no: Self) -> Self {
        let node = self.graph.borrow_mut().select(self.node, yes.node, no.node);
        Term { node, ..self }
    }

    /// A special function of shapes and, last, of this.
    pub fn special(self, special: Special, shapes: &[Self]) -> Self {
        let args: Vec<Node> = shapes.iter().chain([&self]).map(|term| term.node).collect();
        let node = self.graph.borrow_mut().special(special, &args);
        Term { node, ..self }
    }
}

impl Neg for Term<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl $trait for Term<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.binary(Binary::$trait, other)
            }
        }
        impl $trait<f64> for Term<'_> {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                self.binary(Binary::$trait, self.constant(other))
            }
        }
        impl<'g> $trait<Term<'g>> for f64 {
            type Output = Term<'g>;
            fn $method(self, other: Term<'g>) -> Term<'g> {
                other.constant(self).binary(Binary::$trait, other)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl<'g> std::iter::Sum<Term<'g>> for Option<Term<'g>> {
    fn sum<I: Iterator<Item = Term<'g>>>(terms: I) -> Self {
        terms.reduce(|a, b| a + b)
    }
}

/// A source of random numbers: per theta, or per record.
#[derive(Debug, Clone, Copy)]
pub struct Source<'g> {
    /// The graph.
    pub graph: &'g RefCell<Graph>,
    /// Whether there is one for each record.
    pub each_record: bool,
}

impl<'g> Source<'g> {
    fn draw(self, draw: Draw, args: &[Term<'g>]) -> Term<'g> {
        let args: Vec<Node> = args.iter().map(|term| term.node).collect();
        let node = self.graph.borrow_mut().draw(draw, self.each_record, &args);
        Term { graph: self.graph, node }
    }

    /// A standard normal.
    pub fn normal(self) -> Term<'g> {
        self.draw(Draw::Normal, &[])
    }

    /// A uniform on (0, 1).
    pub fn uniform(self) -> Term<'g> {
        self.draw(Draw::Uniform, &[])
    }

    /// An exponential of rate 1.
    pub fn exponential(self) -> Term<'g> {
        self.draw(Draw::Exponential, &[])
    }

    /// A gamma of this shape and rate 1.
    pub fn gamma(self, shape: Term<'g>) -> Term<'g> {
        self.draw(Draw::Gamma, &[shape])
    }

    /// A beta of these shapes.
    pub fn beta(self, a: Term<'g>, b: Term<'g>) -> Term<'g> {
        self.draw(Draw::Beta, &[a, b])
    }

    /// A Poisson of this mean.
    pub fn poisson(self, mean: Term<'g>) -> Term<'g> {
        self.draw(Draw::Poisson, &[mean])
    }

    /// The successes in `n` trials of probability p.
    pub fn binomial(self, n: Term<'g>, p: Term<'g>) -> Term<'g> {
        self.draw(Draw::Binomial, &[n, p])
    }
}
