//! Intervals of nodes on a part of the records, where more is known of some of them.

use super::fact::{self, Fact};
use super::{Binary, Graph, Node, Op, Unary};

/// Stands for "not a number": the value of `log(a)` at a negative a.
pub(crate) const UNDEFINED: Fact = Fact { low: f64::NAN, high: f64::NAN, integer: false };

impl Graph {
    /// `nodes` and all that they are computed from, in the order of computation.
    pub(crate) fn sources(&self, nodes: &[Node]) -> Vec<Node> {
        let (mut seen, mut stack) = (vec![false; self.len()], nodes.to_vec());
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node.at()], true) {
                stack.extend(self.entry(node).args());
            }
        }
        (0..self.len()).filter(|&at| seen[at]).map(|at| Node(at as u32)).collect()
    }

    /// The interval of `node` where those of its arguments are `args`. It is empty (low above high)
    /// where the arguments contradict what is known of the node.
    pub(crate) fn enclosed(&self, node: Node, args: &[Fact]) -> Fact {
        let entry = self.entry(node);
        if args.iter().any(|arg| arg.is_undefined()) {
            return of_undefined(entry.op, args);
        }
        let own = match (entry.op, args) {
            (Op::Input(..) | Op::Draw(..) | Op::Constant(_), _) => return entry.fact,
            (Op::Select, [condition, yes, no]) => match condition.truth() {
                Some(true) => *yes,
                Some(false) => *no,
                None => yes.union(*no),
            },
            (Op::Binary(Binary::Eq), [a, b]) if a.low > b.high || b.low > a.high => {
                Fact::constant(0.0)
            }
            (Op::Binary(Binary::Eq), [a, b]) if a.is_point() && b.is_point() => Fact::constant(1.0),
            (Op::Binary(Binary::Mul), _) if entry.args()[0] == entry.args()[1] => {
                fact::square(args[0])
            }
            // A program may round a product and a sum once.
            (op @ Op::Binary(Binary::Add | Binary::Sub), _) if self.has_product(node) => {
                let own = fact::fact_of(op, args);
                if own.integer { own } else { fact::widened(own, args) }
            }
            (op, _) => fact::fact_of(op, args),
        };
        own.intersection(entry.fact)
    }

    fn has_product(&self, node: Node) -> bool {
        let is_product = |&arg: &Node| self.entry(arg).op == Op::Binary(Binary::Mul);
        self.entry(node).args().iter().any(is_product)
    }

    /// Whether the operation of `node` can be outside its domain for arguments in these intervals:
    /// the logarithm or a root of a negative number, 0 / 0.
    pub(crate) fn leaves_domain(&self, node: Node, args: &[Fact]) -> bool {
        match (self.entry(node).op, args) {
            (Op::Unary(Unary::Log | Unary::Sqrt | Unary::LogGamma), [a]) => a.low < 0.0,
            (Op::Unary(Unary::Log1p), [a]) => a.low < -1.0,
            (Op::Unary(Unary::NormalQuantile), [a]) => a.low < 0.0 || a.high > 1.0,
            (Op::Binary(Binary::Div), [a, b]) => a.holds_zero() && b.holds_zero(),
            (Op::Binary(Binary::Pow), [a, b]) => a.low < 0.0 && !b.integer,
            _ => false,
        }
    }

    /// Which of `order`, nodes in the order of computation, may be not a number.
    pub(crate) fn may_be_undefined(&self, order: &[Node]) -> Vec<bool> {
        let mut known = vec![false; self.len()];
        for &node in order {
            let entry = self.entry(node);
            let args: Vec<Fact> = entry.args().iter().map(|&arg| self.fact(arg)).collect();
            let of = |k: usize| known[entry.args()[k].at()];
            let inherited = match entry.op {
                Op::Binary(Binary::Lt | Binary::Le | Binary::Eq) => false,
                Op::Binary(Binary::Min | Binary::Max) => of(1),
                Op::Select => of(1) || of(2),
                _ => (0..args.len()).any(of),
            };
            known[node.at()] = inherited || self.leaves_domain(node, &args);
        }
        order.iter().map(|node| known[node.at()]).collect()
    }
}

/// What a program computes where an argument is not a number.
fn of_undefined(op: Op, args: &[Fact]) -> Fact {
    match (op, args) {
        (Op::Binary(Binary::Lt | Binary::Le | Binary::Eq), _) => Fact::constant(0.0),
        (Op::Binary(Binary::Min | Binary::Max), [_, b]) => *b,
        (Op::Select, [condition, yes, no]) => match condition.truth() {
            Some(true) => *yes,
            Some(false) => *no,
            None => Fact::ANY,
        },
        _ => UNDEFINED,
    }
}
