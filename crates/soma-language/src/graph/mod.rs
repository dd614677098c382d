//! The graph of scalar operations of a text, with each node once.
//!
//! Vectors are unrolled: a node is one number per theta ([`Level::Theta`]), per record
//! ([`Level::Row`]) or for all records ([`Level::Total`]). Common subexpressions are shared,
//! constants are folded, and factors that are the same for all records are moved out of products
//! and sums, so that what depends on theta alone is computed once.

mod difference;
mod differentiate;
mod enclose;
mod fact;
mod op;
mod simplify;
mod term;

use std::collections::HashMap;

pub(crate) use enclose::UNDEFINED;
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

/// How often a node is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Never: it is constant.
    Constant,
    /// Once for each theta.
    Theta,
    /// Once for each record.
    Row,
    /// Once for all records, after them.
    Total,
}

/// A node and its facts.
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
    /// The kinds of input that it depends on, one bit each.
    depends: u8,
}

impl Entry {
    /// The nodes that it is computed from.
    pub fn args(&self) -> &[Node] {
        &self.args[..self.arity as usize]
    }
}

/// Nodes in topological order.
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

    /// The input of this kind and index, with `fact`.
    pub fn input(&mut self, input: Input, place: usize, fact: Fact) -> Node {
        let node = self.push(Op::Input(input, place as u32), &[]);
        self.entries[node.at()].fact = fact;
        node
    }

    /// Replaces the facts of some inputs, and recomputes all that depends on them.
    pub(crate) fn restate(&mut self, inputs: &[(Node, Fact)]) {
        for at in 0..self.entries.len() {
            let node = Node(at as u32);
            if let Some((_, fact)) = inputs.iter().find(|(input, _)| *input == node) {
                self.entries[at].fact = *fact;
                continue;
            }
            let entry = &self.entries[at];
            if matches!(entry.op, Op::Input(..) | Op::Constant(_) | Op::Draw(..)) {
                continue;
            }
            let facts: Vec<Fact> = entry.args().iter().map(|&arg| self.fact(arg)).collect();
            let fact = match (entry.op, entry.args()) {
                (Op::Binary(Binary::Mul), &[a, b]) if a == b => fact::square(facts[0]),
                (op, _) => fact::fact_of(op, &facts),
            };
            self.entries[at].fact = fact;
        }
    }

    /// Adds a fact about `node` that the operations alone do not imply.
    pub fn assume(&mut self, node: Node, fact: Fact) {
        let known = &mut self.entries[node.at()].fact;
        known.low = known.low.max(fact.low);
        known.high = known.high.min(fact.high);
        known.integer |= fact.integer;
    }

    /// A random number per theta, or per record.
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

    /// `nodes` with each of `from` replaced by the corresponding one of `to`.
    pub fn substitute(&mut self, nodes: &[Node], from: &[Node], to: &[Node]) -> Vec<Node> {
        let mut image: HashMap<Node, Node> = from.iter().copied().zip(to.iter().copied()).collect();
        nodes.iter().map(|&node| self.image(node, &mut image)).collect()
    }

    /// Iterative, since a chain of nodes may be long.
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
