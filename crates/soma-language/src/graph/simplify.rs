//! Simplification on construction: constants are folded, and factors of lower level moved out.

use super::{Binary, Graph, Level, Node, Op, Unary, fact};

impl Graph {
    /// A function of one number.
    pub fn unary(&mut self, op: Unary, a: Node) -> Node {
        if let Some(value) = self.constant_value(a) {
            return self.constant(op.evaluate(value));
        }
        let entry = self.entry(a);
        match (op, entry.op) {
            (Unary::Neg, Op::Unary(Unary::Neg)) => entry.args[0],
            (Unary::Neg, Op::Binary(Binary::Sub)) => {
                let [x, y, _] = entry.args;
                self.sub(y, x)
            }
            (Unary::Neg, Op::Binary(Binary::Mul)) => {
                let [x, y, _] = entry.args;
                if self.level(x) < self.level(y) {
                    let x = self.neg(x);
                    return self.mul(x, y);
                }
                self.push(Op::Unary(op), &[a])
            }
            (Unary::Log, Op::Unary(Unary::Exp)) => entry.args[0],
            (Unary::Abs, _) if entry.fact.low >= 0.0 => a,
            (Unary::Floor, _) if entry.fact.integer => a,
            _ => self.push(Op::Unary(op), &[a]),
        }
    }

    /// A function of two numbers.
    pub fn binary(&mut self, op: Binary, a: Node, b: Node) -> Node {
        match op {
            Binary::Add => self.add(a, b),
            Binary::Sub => self.sub(a, b),
            Binary::Mul => self.mul(a, b),
            Binary::Div => self.div(a, b),
            Binary::Pow => self.pow(a, b),
            _ => self.folded(op, a, b),
        }
    }

    fn folded(&mut self, op: Binary, a: Node, b: Node) -> Node {
        match (self.constant_value(a), self.constant_value(b)) {
            (Some(x), Some(y)) => self.constant(op.evaluate(x, y)),
            _ if op == Binary::Min && self.fact(a).high <= self.fact(b).low => a,
            _ if op == Binary::Min && self.fact(b).high <= self.fact(a).low => b,
            _ if op == Binary::Max && self.fact(a).low >= self.fact(b).high => a,
            _ if op == Binary::Max && self.fact(b).low >= self.fact(a).high => b,
            _ => {
                let node = self.push(Op::Binary(op), &[a, b]);
                let fact = self.fact(node);
                let known = matches!(op, Binary::Lt | Binary::Le) && fact.low == fact.high;
                if known { self.constant(fact.low) } else { node }
            }
        }
    }

    fn is(&self, node: Node, value: f64) -> bool {
        self.constant_value(node) == Some(value)
    }

    /// The arguments of `node`, if it is `op`.
    fn args_if(&self, node: Node, op: Binary) -> Option<[Node; 2]> {
        let entry = self.entry(node);
        (entry.op == Op::Binary(op)).then(|| [entry.args[0], entry.args[1]])
    }

    fn neg_arg(&self, node: Node) -> Option<Node> {
        let entry = self.entry(node);
        (entry.op == Op::Unary(Unary::Neg)).then(|| entry.args[0])
    }

    /// a + b. Terms evaluated least often come first, and are combined.
    pub fn add(&mut self, a: Node, b: Node) -> Node {
        if self.is(a, 0.0) {
            return b;
        }
        if self.is(b, 0.0) {
            return a;
        }
        if let Some(inner) = self.neg_arg(b) {
            return self.sub(a, inner);
        }
        if let Some(inner) = self.neg_arg(a) {
            return self.sub(b, inner);
        }
        let (a, b) = if (self.level(b), b) < (self.level(a), a) { (b, a) } else { (a, b) };
        if let Some([x, y]) = self.args_if(b, Binary::Add)
            && self.level(a) < self.level(b)
            && self.level(x) < self.level(b)
        {
            let both = self.add(a, x);
            return self.add(both, y);
        }
        self.folded(Binary::Add, a, b)
    }

    /// a - b.
    pub fn sub(&mut self, a: Node, b: Node) -> Node {
        if self.is(b, 0.0) {
            return a;
        }
        if self.is(a, 0.0) {
            return self.neg(b);
        }
        if a == b {
            return self.constant(0.0);
        }
        if let Some(inner) = self.neg_arg(b) {
            return self.add(a, inner);
        }
        self.folded(Binary::Sub, a, b)
    }

    /// a b. Factors evaluated less often are moved out and combined.
    pub fn mul(&mut self, a: Node, b: Node) -> Node {
        for (x, y) in [(a, b), (b, a)] {
            if self.is(x, 0.0) {
                return x;
            }
            if self.is(x, 1.0) {
                return y;
            }
            if self.is(x, -1.0) {
                return self.neg(y);
            }
        }
        if let (Some(x), Some(y)) = (self.neg_arg(a), self.neg_arg(b)) {
            return self.mul(x, y);
        }
        // A sign is moved to the factor that is evaluated least often.
        for (x, y) in [(a, b), (b, a)] {
            if let Some(inner) = self.neg_arg(x)
                && self.level(x) >= self.level(y)
            {
                let product = self.mul(inner, y);
                return self.neg(product);
            }
        }
        let (a, b) = if (self.level(b), b) < (self.level(a), a) { (b, a) } else { (a, b) };
        if let Some([x, y]) = self.args_if(b, Binary::Mul)
            && self.level(x) < self.level(y)
        {
            if self.level(a) < self.level(y) {
                let outer = self.mul(a, x);
                return self.mul_plain(outer, y);
            }
            let inner = self.mul(a, y);
            return self.mul(x, inner);
        }
        if let Some([x, y]) = self.args_if(a, Binary::Mul)
            && self.level(x) < self.level(y)
            && self.level(y) >= self.level(b)
        {
            let inner = self.mul(y, b);
            return self.mul(x, inner);
        }
        self.mul_plain(a, b)
    }

    fn mul_plain(&mut self, a: Node, b: Node) -> Node {
        if self.is(a, 0.0) || self.is(b, 1.0) {
            return a;
        }
        if self.is(a, 1.0) || self.is(b, 0.0) {
            return b;
        }
        let node = self.folded(Binary::Mul, a, b);
        if a == b && self.constant_value(node).is_none() {
            let fact = fact::square(self.fact(a));
            let known = &mut self.entries[node.at()].fact;
            (known.low, known.high) = (fact.low, fact.high);
        }
        node
    }

    /// a / b: a times 1 / b if b is evaluated less often.
    pub fn div(&mut self, a: Node, b: Node) -> Node {
        if self.is(b, 1.0) || self.is(a, 0.0) && !self.is(b, 0.0) {
            return a;
        }
        if self.level(b) < self.level(a) {
            let one = self.constant(1.0);
            let inverse = self.folded(Binary::Div, one, b);
            return self.mul(inverse, a);
        }
        self.folded(Binary::Div, a, b)
    }

    /// a to the power of b.
    pub fn pow(&mut self, a: Node, b: Node) -> Node {
        match self.constant_value(b) {
            Some(0.0) => self.constant(1.0),
            Some(1.0) => a,
            Some(2.0) => self.mul(a, a),
            Some(3.0) => {
                let square = self.mul(a, a);
                let cube = self.mul(square, a);
                // The interval of a product does not use that both factors have the same sign.
                let plain = self.args_if(square, Binary::Mul) == Some([a, a])
                    && self.args_if(cube, Binary::Mul).is_some_and(|args| args.contains(&square));
                let fact = fact::cube(self.fact(a), plain);
                self.assume(cube, fact);
                cube
            }
            Some(4.0) => {
                let square = self.mul(a, a);
                self.mul(square, square)
            }
            Some(0.5) => self.unary(Unary::Sqrt, a),
            Some(-1.0) => {
                let one = self.constant(1.0);
                self.div(one, a)
            }
            _ => self.folded(Binary::Pow, a, b),
        }
    }

    /// `yes` if `condition` is not 0, and otherwise `no`.
    pub fn select(&mut self, condition: Node, yes: Node, no: Node) -> Node {
        match self.constant_value(condition) {
            Some(value) if value != 0.0 => yes,
            Some(_) => no,
            None if yes == no => yes,
            None if self.is(yes, 1.0)
                && self.is(no, 0.0)
                && self.fact(condition).is_indicator() =>
            {
                condition
            }
            None => self.push(Op::Select, &[condition, yes, no]),
        }
    }

    /// The number of records.
    pub fn count(&mut self) -> Node {
        self.push(Op::Count, &[])
    }

    /// The sum of `node` over all records as it is.
    pub(crate) fn plain_sum(&mut self, node: Node) -> Node {
        self.push(Op::Sum, &[node])
    }

    /// The sum of `node` over all records; factors common to all of them are moved out.
    pub fn sum(&mut self, node: Node) -> Node {
        let entry = self.entry(node);
        let (level, [a, b, _]) = (entry.level, entry.args);
        if level < Level::Row {
            let count = self.count();
            return self.mul(node, count);
        }
        match entry.op {
            Op::Binary(Binary::Add) => {
                let (a, b) = (self.sum(a), self.sum(b));
                self.add(a, b)
            }
            Op::Binary(Binary::Sub) => {
                let (a, b) = (self.sum(a), self.sum(b));
                self.sub(a, b)
            }
            Op::Unary(Unary::Neg) => {
                let a = self.sum(a);
                self.neg(a)
            }
            Op::Binary(Binary::Mul) if self.level(a) < Level::Row => {
                let b = self.sum(b);
                self.mul(a, b)
            }
            _ => self.push(Op::Sum, &[node]),
        }
    }
}

/// Shorthands.
impl Graph {
    pub(crate) fn neg(&mut self, a: Node) -> Node {
        self.unary(Unary::Neg, a)
    }

    pub(crate) fn exp(&mut self, a: Node) -> Node {
        self.unary(Unary::Exp, a)
    }

    pub(crate) fn log(&mut self, a: Node) -> Node {
        self.unary(Unary::Log, a)
    }

    pub(crate) fn log_gamma(&mut self, a: Node) -> Node {
        self.unary(Unary::LogGamma, a)
    }

    /// a + `value`.
    pub(crate) fn plus(&mut self, a: Node, value: f64) -> Node {
        let value = self.constant(value);
        self.add(a, value)
    }

    /// a times `value`.
    pub(crate) fn times(&mut self, value: f64, a: Node) -> Node {
        let value = self.constant(value);
        self.mul(value, a)
    }

    /// `value` - a.
    pub(crate) fn from(&mut self, value: f64, a: Node) -> Node {
        let value = self.constant(value);
        self.sub(value, a)
    }

    /// a^2
    pub(crate) fn pow_two(&mut self, a: Node) -> Node {
        self.mul(a, a)
    }

    /// The sum of `terms`.
    pub(crate) fn total(&mut self, terms: &[Node]) -> Node {
        let zero = self.constant(0.0);
        terms.iter().fold(zero, |sum, &term| self.add(sum, term))
    }

    /// Whether `a` is in the closed interval with these bounds, tested on the value itself: the
    /// facts of `a` hold inside the support only.
    pub(crate) fn inside(&mut self, a: Node, low: Option<Node>, high: Option<Node>) -> Node {
        let one = self.constant(1.0);
        let above = low.map_or(one, |low| self.push(Op::Binary(Binary::Le), &[low, a]));
        let below = high.map_or(one, |high| self.push(Op::Binary(Binary::Le), &[a, high]));
        self.mul(above, below)
    }

    /// Whether `a` is in the open interval with these bounds, tested on the value itself: a number
    /// inside may be rounded to a bound.
    pub(crate) fn strictly_inside(
        &mut self,
        a: Node,
        low: Option<Node>,
        high: Option<Node>,
    ) -> Node {
        let one = self.constant(1.0);
        let above = low.map_or(one, |low| self.push(Op::Binary(Binary::Lt), &[low, a]));
        let below = high.map_or(one, |high| self.push(Op::Binary(Binary::Lt), &[a, high]));
        self.mul(above, below)
    }

    /// Whether `a` is an integer, tested on the value itself.
    pub(crate) fn is_whole(&mut self, a: Node) -> Node {
        let floor = self.push(Op::Unary(Unary::Floor), &[a]);
        self.push(Op::Binary(Binary::Eq), &[floor, a])
    }
}
