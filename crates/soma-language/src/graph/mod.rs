//! The graph of scalar operations that a text means, every node once.
//!
//! Vectors are unrolled: a node is one number for each theta ([`Level::Theta`]), for each record
//! ([`Level::Row`]) or for all records ([`Level::Total`]). Equal nodes are one node, constants are
//! folded, and factors that are the same for all records are moved out of products and sums, so
//! that what depends on theta alone is computed once.

mod differentiate;
mod fact;
mod op;
mod term;

use std::collections::HashMap;

pub use fact::Fact;
pub use op::{Binary, Draw, Input, Op, Unary};
pub use term::{Source, Term};

use crate::special::Special;

/// A node of a [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub(crate) u32);

impl Node {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// How often a node is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Never: it is known.
    Constant,
    /// Once for each theta.
    Theta,
    /// Once for each record.
    Row,
    /// Once for all records, after them.
    Total,
}

/// What a node is and what is known of it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The operation.
    pub op: Op,
    args: [Node; 3],
    arity: u8,
    /// How often it is computed.
    pub level: Level,
    /// Its interval.
    pub fact: Fact,
    /// The kinds of input that it depends on, a bit each.
    depends: u8,
}

impl Entry {
    /// The nodes that it is computed from.
    pub fn args(&self) -> &[Node] {
        &self.args[..self.arity as usize]
    }
}

/// Nodes, each after those that it is computed from.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    entries: Vec<Entry>,
    known: HashMap<(Op, [Node; 3], u8), Node>,
    draws: u32,
}

const NONE: Node = Node(u32::MAX);

impl Graph {
    /// What `node` is.
    pub fn entry(&self, node: Node) -> &Entry {
        &self.entries[node.at()]
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The interval of `node`.
    pub fn fact(&self, node: Node) -> Fact {
        self.entry(node).fact
    }

    /// How often `node` is computed.
    pub fn level(&self, node: Node) -> Level {
        self.entry(node).level
    }

    /// Whether `node` depends on an input of this kind.
    pub fn depends_on(&self, node: Node, input: Input) -> bool {
        self.entry(node).depends & (1 << input as u8) != 0
    }

    /// The value of a constant node.
    pub fn constant_value(&self, node: Node) -> Option<f64> {
        match self.entry(node).op {
            Op::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn push(&mut self, op: Op, args: &[Node]) -> Node {
        let mut padded = [NONE; 3];
        padded[..args.len()].copy_from_slice(args);
        let key = (op, padded, args.len() as u8);
        if let Some(&node) = self.known.get(&key) {
            return node;
        }
        let facts = [0, 1, 2].map(|k| args.get(k).map_or(Fact::ANY, |&arg| self.fact(arg)));
        let below = args.iter().map(|&arg| self.level(arg)).max().unwrap_or(Level::Constant);
        let (level, own) = match op {
            Op::Constant(_) => (Level::Constant, 0),
            Op::Input(input, _) if input.is_row() => (Level::Row, 1 << input as u8),
            Op::Input(input, _) => (Level::Theta, 1 << input as u8),
            Op::Draw(_, _, true) => (Level::Row, 0),
            Op::Draw(_, _, false) => (Level::Theta.max(below), 0),
            Op::Sum | Op::Count => (Level::Total, 0),
            _ => (below, 0),
        };
        let depends = args.iter().fold(own, |bits, &arg| bits | self.entry(arg).depends);
        let fact = fact::fact_of(op, &facts[..args.len()]);
        let node = Node(self.entries.len() as u32);
        self.entries.push(Entry {
            op,
            args: padded,
            arity: args.len() as u8,
            level,
            fact,
            depends,
        });
        self.known.insert(key, node);
        node
    }

    /// The constant `value`.
    pub fn constant(&mut self, value: f64) -> Node {
        self.push(Op::Constant((value + 0.0).to_bits()), &[])
    }

    /// The input of a kind and a place, of which `fact` is known.
    pub fn input(&mut self, input: Input, place: usize, fact: Fact) -> Node {
        let node = self.push(Op::Input(input, place as u32), &[]);
        self.entries[node.at()].fact = fact;
        node
    }

    /// Notes that `node` is known to lie in an interval that the operations alone do not show.
    pub fn assume(&mut self, node: Node, fact: Fact) {
        let known = &mut self.entries[node.at()].fact;
        known.low = known.low.max(fact.low);
        known.high = known.high.min(fact.high);
        known.integer |= fact.integer;
    }

    /// A random number for each theta, or for each record.
    pub fn draw(&mut self, draw: Draw, each_record: bool, args: &[Node]) -> Node {
        self.draws += 1;
        self.push(Op::Draw(draw, self.draws, each_record), args)
    }

    /// A special function.
    pub fn special(&mut self, special: Special, args: &[Node]) -> Node {
        let values: Option<Vec<f64>> = args.iter().map(|&arg| self.constant_value(arg)).collect();
        match values {
            Some(values) => self.constant(special.evaluate(&values)),
            None => self.push(Op::Special(special), args),
        }
    }

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

    /// a + b. What is computed least often stands first, and is joined with its like.
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

    /// a b. Factors that are computed less often are moved out and joined.
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
        // A sign stands at the factor that is computed least often.
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
            let fact = self.fact(a);
            let low = if fact.low <= 0.0 && fact.high >= 0.0 {
                0.0
            } else {
                (fact.low * fact.low).min(fact.high * fact.high)
            };
            let high = (fact.low * fact.low).max(fact.high * fact.high);
            let known = &mut self.entries[node.at()].fact;
            (known.low, known.high) = (low, high);
        }
        node
    }

    /// a / b: a times 1 / b where b is computed less often.
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
                self.mul(square, a)
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

    /// The sum of `node` over all records; what is the same for all of them is moved out.
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

    /// `node` with each of `from` replaced by its like of `to`.
    pub fn substitute(&mut self, nodes: &[Node], from: &[Node], to: &[Node]) -> Vec<Node> {
        let mut image: HashMap<Node, Node> = from.iter().copied().zip(to.iter().copied()).collect();
        nodes.iter().map(|&node| self.image(node, &mut image)).collect()
    }

    /// Without recursion: a chain of nodes may be long.
    fn image(&mut self, node: Node, image: &mut HashMap<Node, Node>) -> Node {
        let mut stack = vec![node];
        while let Some(&top) = stack.last() {
            if image.contains_key(&top) {
                stack.pop();
                continue;
            }
            let entry = self.entry(top).clone();
            let missing: Vec<Node> =
                entry.args().iter().copied().filter(|arg| !image.contains_key(arg)).collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let args: Vec<Node> = entry.args().iter().map(|arg| image[arg]).collect();
            let new = if args == entry.args() { top } else { self.rebuild(entry.op, &args) };
            image.insert(top, new);
            stack.pop();
        }
        image[&node]
    }

    fn rebuild(&mut self, op: Op, args: &[Node]) -> Node {
        match op {
            Op::Unary(op) => self.unary(op, args[0]),
            Op::Binary(op) => self.binary(op, args[0], args[1]),
            Op::Select => self.select(args[0], args[1], args[2]),
            Op::Special(special) => self.special(special, args),
            Op::Sum => self.sum(args[0]),
            Op::Draw(..) | Op::Constant(_) | Op::Input(..) | Op::Count => self.push(op, args),
        }
    }
}

/// Short names for building.
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

    /// Whether `a` is in the closed interval with these ends, asked of the number itself: what is
    /// known of `a` is known of numbers inside the support only.
    pub(crate) fn inside(&mut self, a: Node, low: Option<Node>, high: Option<Node>) -> Node {
        let one = self.constant(1.0);
        let above = low.map_or(one, |low| self.push(Op::Binary(Binary::Le), &[low, a]));
        let below = high.map_or(one, |high| self.push(Op::Binary(Binary::Le), &[a, high]));
        self.mul(above, below)
    }

    /// Whether `a` is a whole number, asked of the number itself.
    pub(crate) fn is_whole(&mut self, a: Node) -> Node {
        let floor = self.push(Op::Unary(Unary::Floor), &[a]);
        self.push(Op::Binary(Binary::Eq), &[floor, a])
    }
}
