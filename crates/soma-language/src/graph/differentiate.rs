//! Derivatives, as further nodes of the same graph.

use std::collections::BTreeMap;

use super::{Binary, Graph, Level, Node, Op, Unary};
use crate::special::{LOG_SQRT_TWO_PI, Special};

impl Graph {
    /// The derivatives of `of` with respect to each of `inputs`, by reverse accumulation.
    ///
    /// An adjoint is summed over the records where it passes from a quantity per record to one
    /// common to all records. If `of` is one number per record and an input is common to all, the
    /// derivative is that of the sum over the records.
    pub fn gradient(&mut self, of: Node, inputs: &[Node]) -> Vec<Node> {
        let one = self.constant(1.0);
        self.pull_back(&[(of, one)], inputs)
    }

    /// The sum of `weight` times the derivative of each node of `of` with respect to each of
    /// `inputs`.
    pub fn pull_back(&mut self, of: &[(Node, Node)], inputs: &[Node]) -> Vec<Node> {
        let mut adjoints: BTreeMap<Node, Node> = BTreeMap::new();
        for &(node, weight) in of {
            let sums = self.level(node) < Level::Row && self.level(weight) == Level::Row;
            let weight = if sums { self.sum(weight) } else { weight };
            self.accumulate(&mut adjoints, node, weight);
        }
        let mut found: BTreeMap<Node, Node> = BTreeMap::new();
        while let Some((node, adjoint)) = adjoints.pop_last() {
            if inputs.contains(&node) {
                found.insert(node, adjoint);
            }
            for (k, &arg) in self.entry(node).clone().args().iter().enumerate() {
                if self.level(arg) == Level::Constant {
                    continue;
                }
                let contribution = self.contribution(node, k, adjoint);
                let sums = self.level(node) == Level::Row && self.level(arg) < Level::Row;
                let contribution = if sums { self.sum(contribution) } else { contribution };
                self.accumulate(&mut adjoints, arg, contribution);
            }
        }
        let zero = self.constant(0.0);
        inputs.iter().map(|input| found.get(input).copied().unwrap_or(zero)).collect()
    }

    fn accumulate(&mut self, adjoints: &mut BTreeMap<Node, Node>, node: Node, value: Node) {
        if self.constant_value(value) == Some(0.0) {
            return;
        }
        let sum = match adjoints.get(&node) {
            Some(&before) => self.add(before, value),
            None => value,
        };
        adjoints.insert(node, sum);
    }

    /// The derivatives of `of` along `tangents` of `inputs`, by forward accumulation.
    pub fn push_forward(&mut self, of: &[Node], inputs: &[Node], tangents: &[Node]) -> Vec<Node> {
        let zero = self.constant(0.0);
        let last = of.iter().max().map_or(0, |node| node.at() + 1);
        let mut slopes = vec![zero; last];
        for at in 0..last {
            let node = Node(at as u32);
            if let Some(k) = inputs.iter().position(|&input| input == node) {
                slopes[at] = tangents[k];
                continue;
            }
            let mut slope = zero;
            for (k, &arg) in self.entry(node).clone().args().iter().enumerate() {
                if slopes[arg.at()] != zero {
                    let term = self.contribution(node, k, slopes[arg.at()]);
                    slope = self.add(slope, term);
                }
            }
            slopes[at] = slope;
        }
        of.iter().map(|node| slopes[node.at()]).collect()
    }

    /// `weight` times the derivative of `node` with respect to its argument `k`.
    fn contribution(&mut self, node: Node, k: usize, weight: Node) -> Node {
        let entry = self.entry(node).clone();
        let zero = self.constant(0.0);
        match entry.op {
            Op::Unary(op) => self.unary_slope(op, entry.args[0], node, weight),
            Op::Binary(op) => {
                self.binary_slope(op, [entry.args[0], entry.args[1]], k, node, weight)
            }
            Op::Select if k == 1 => self.select(entry.args[0], weight, zero),
            Op::Select if k == 2 => self.select(entry.args[0], zero, weight),
            Op::Special(special) => {
                let slope = self.special_slope(special, entry.args(), k, node);
                self.mul(slope, weight)
            }
            Op::Sum => weight,
            _ => zero,
        }
    }

    fn unary_slope(&mut self, op: Unary, a: Node, node: Node, weight: Node) -> Node {
        let slope = match op {
            Unary::Neg => return self.neg(weight),
            Unary::Log => return self.div(weight, a),
            Unary::Log1p => {
                let below = self.plus(a, 1.0);
                return self.div(weight, below);
            }
            Unary::Sqrt => {
                let half = self.times(0.5, weight);
                return self.div(half, node);
            }
            Unary::Abs => {
                let (zero, negative) = (self.constant(0.0), self.neg(weight));
                let below = self.binary(Binary::Lt, a, zero);
                return self.select(below, negative, weight);
            }
            Unary::Exp => node,
            Unary::Expm1 => self.plus(node, 1.0),
            Unary::Floor => self.constant(0.0),
            Unary::Tanh => {
                let square = self.mul(node, node);
                self.from(1.0, square)
            }
            Unary::Logistic => {
                let rest = self.from(1.0, node);
                self.mul(node, rest)
            }
            Unary::Softplus => self.unary(Unary::Logistic, a),
            Unary::LogGamma => self.unary(Unary::Digamma, a),
            Unary::Digamma => self.unary(Unary::Trigamma, a),
            Unary::Trigamma => self.constant(f64::NAN),
            Unary::NormalCdf => self.normal_density(a),
            Unary::NormalLogCdf => {
                let density = self.normal_log_density(a);
                let log = self.sub(density, node);
                self.exp(log)
            }
            Unary::NormalQuantile => {
                let density = self.normal_density(node);
                return self.div(weight, density);
            }
            Unary::Sin => self.unary(Unary::Cos, a),
            Unary::Cos => {
                let sine = self.unary(Unary::Sin, a);
                self.neg(sine)
            }
        };
        self.mul(slope, weight)
    }

    fn binary_slope(
        &mut self,
        op: Binary,
        [a, b]: [Node; 2],
        k: usize,
        node: Node,
        weight: Node,
    ) -> Node {
        let zero = self.constant(0.0);
        match (op, k) {
            (Binary::Add, _) | (Binary::Sub, 0) => weight,
            (Binary::Sub, _) => self.neg(weight),
            (Binary::Mul, 0) => self.mul(b, weight),
            (Binary::Mul, _) => self.mul(a, weight),
            (Binary::Div, 0) => self.div(weight, b),
            (Binary::Div, _) => {
                let ratio = self.div(node, b);
                let slope = self.mul(ratio, weight);
                self.neg(slope)
            }
            (Binary::Pow, 0) => {
                let less = self.plus(b, -1.0);
                let power = self.pow(a, less);
                let slope = self.mul(b, power);
                self.mul(slope, weight)
            }
            (Binary::Pow, _) => {
                let log = self.log(a);
                let slope = self.mul(node, log);
                self.mul(slope, weight)
            }
            (Binary::Min | Binary::Max, _) => {
                let second = match op {
                    Binary::Min => self.binary(Binary::Lt, b, a),
                    _ => self.binary(Binary::Lt, a, b),
                };
                if k == 0 {
                    self.select(second, zero, weight)
                } else {
                    self.select(second, weight, zero)
                }
            }
            (Binary::Lt | Binary::Le | Binary::Eq, _) => zero,
        }
    }

    /// log phi(a).
    pub(crate) fn normal_log_density(&mut self, a: Node) -> Node {
        let square = self.mul(a, a);
        let half = self.times(-0.5, square);
        self.plus(half, -LOG_SQRT_TWO_PI)
    }

    fn normal_density(&mut self, a: Node) -> Node {
        let log = self.normal_log_density(a);
        self.exp(log)
    }

    /// e^(`log_above` - `log_below`).
    fn ratio(&mut self, log_above: Node, log_below: Node) -> Node {
        let log = self.sub(log_above, log_below);
        self.exp(log)
    }

    /// The derivative of a special function with respect to its argument `k`.
    ///
    /// For a distribution function F(a, x) with density f: of the score s = Phi^-1(F),
    /// ds = dF / phi(s); of the quantile x with F(a, x) = Phi(e), dx/de = phi(e) / f and
    /// dx/da = -(dF/da) / f.
    fn special_slope(&mut self, special: Special, args: &[Node], k: usize, node: Node) -> Node {
        use Special::*;
        let last = args.len() - 1;
        let arg = args[last];
        match special {
            GammaCdf | BetaCdf | StudentCdf if k == last => {
                let log = self.standard_log_density(special, &args[..last], arg);
                self.exp(log)
            }
            GammaCdf => self.special(GammaCdfShape, args),
            StudentCdf => self.special(StudentCdfFreedom, args),
            BetaCdf => self.special(if k == 0 { BetaCdfA } else { BetaCdfB }, args),
            GammaScore | BetaScore | StudentScore | HalfNormalScore | ExponentialScore
            | LaplaceScore | LogitScore => {
                let score_density = self.normal_log_density(node);
                let cdf = special.cdf();
                if k == last {
                    let density = self.standard_log_density(cdf, &args[..last], arg);
                    return self.ratio(density, score_density);
                }
                let slope = self.special_slope(cdf, args, k, node);
                let below = self.exp(score_density);
                self.div(slope, below)
            }
            GammaQuantile | BetaQuantile | StudentQuantile | HalfNormalQuantile => {
                let cdf = special.cdf();
                let density = self.standard_log_density(cdf, &args[..last], node);
                if k == last {
                    let noise = self.normal_log_density(arg);
                    return self.ratio(noise, density);
                }
                let at: Vec<Node> = args[..last].iter().copied().chain([node]).collect();
                let slope = self.special_slope(cdf, &at, k, node);
                let density = self.exp(density);
                let ratio = self.div(slope, density);
                self.neg(ratio)
            }
            LogRising | LogRisingSlope if k == last => {
                let sum = self.add(args[0], arg);
                if special == LogRising {
                    let (slope, log) = (self.unary(Unary::Digamma, sum), self.log(args[0]));
                    return self.sub(slope, log);
                }
                let one = self.constant(1.0);
                let (slope, inverse) = (self.unary(Unary::Trigamma, sum), self.div(one, args[0]));
                self.sub(slope, inverse)
            }
            LogRising => self.special(LogRisingSlope, args),
            LogRisingSlope => self.special(LogRisingCurve, args),
            LogRisingCurve => self.constant(f64::NAN),
            _ => self.constant(0.0),
        }
    }

    /// The log density of the standard distribution with distribution function `cdf` at `x`.
    fn standard_log_density(&mut self, cdf: Special, shapes: &[Node], x: Node) -> Node {
        match cdf {
            Special::GammaCdf => crate::distribution::standard_gamma(self, shapes[0], x),
            Special::BetaCdf => crate::distribution::standard_beta(self, shapes[0], shapes[1], x),
            Special::StudentCdf => crate::distribution::standard_student(self, shapes[0], x),
            Special::HalfNormalScore => {
                let normal = self.normal_log_density(x);
                self.plus(normal, std::f64::consts::LN_2)
            }
            Special::ExponentialScore => self.neg(x),
            Special::LaplaceScore => {
                let size = self.unary(Unary::Abs, x);
                let log = self.neg(size);
                self.plus(log, -std::f64::consts::LN_2)
            }
            _ => {
                let (above, negative) = (self.unary(Unary::Softplus, x), self.neg(x));
                let below = self.unary(Unary::Softplus, negative);
                let sum = self.add(above, below);
                self.neg(sum)
            }
        }
    }
}
