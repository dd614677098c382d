//! Compiles a graph to a program.

use std::collections::HashMap;

use super::scalar::Step;
use super::{Action, Instruction, Operand, Program, Widths};
use crate::graph::{Binary, Graph, Level, Node, Op};

impl Program {
    /// The program that computes `outputs` once and `row_outputs` for each record.
    pub fn new(graph: &Graph, outputs: &[Node], row_outputs: &[Node], widths: Widths) -> Self {
        let needed = needed(graph, outputs.iter().chain(row_outputs));
        let mut compiler = Compiler::new(graph, &needed, row_outputs);
        for &node in &needed {
            compiler.visit(node);
        }
        Program {
            outputs: outputs.iter().map(|node| compiler.slot(*node)).collect(),
            row_outputs: row_outputs.iter().map(|node| compiler.place[node]).collect(),
            theta_steps: Step::decode(&compiler.theta),
            totals_steps: Step::decode(&compiler.totals),
            constants: compiler.constants,
            theta: compiler.theta,
            rows: compiler.rows,
            totals: compiler.totals,
            sums: compiler.sums,
            slots: compiler.slots as usize,
            columns: compiler.columns as usize,
            widths,
        }
    }
}

/// The nodes needed for `roots`, in topological order.
fn needed<'a>(graph: &Graph, roots: impl Iterator<Item = &'a Node>) -> Vec<Node> {
    let mut seen = vec![false; graph.len()];
    let mut stack: Vec<Node> = roots.copied().collect();
    let mut found = Vec::new();
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut seen[node.at()], true) {
            found.push(node);
            stack.extend(graph.entry(node).args());
        }
    }
    found.sort_unstable();
    found
}

struct Compiler<'a> {
    graph: &'a Graph,
    /// The number of remaining instructions that read a node; outputs are read at the end.
    readers: HashMap<Node, usize>,
    /// Products fused into the instruction that reads them.
    fused: HashMap<Node, ()>,
    place: HashMap<Node, Operand>,
    unused: Vec<u32>,
    constants: Vec<(u32, f64)>,
    theta: Vec<Instruction>,
    rows: Vec<Instruction>,
    totals: Vec<Instruction>,
    sums: Vec<u32>,
    slots: u32,
    columns: u32,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, needed: &[Node], row_outputs: &[Node]) -> Self {
        let mut readers: HashMap<Node, usize> = HashMap::new();
        for &node in needed {
            for &arg in graph.entry(node).args() {
                *readers.entry(arg).or_default() += 1;
            }
        }
        // An output is read at the end, however often it is requested.
        for &node in row_outputs {
            let count = readers.entry(node).or_default();
            *count = count.saturating_add(usize::MAX / 4);
        }
        let mut fused = HashMap::new();
        for &node in needed {
            if let Some(product) = fusable(graph, node, &readers) {
                fused.insert(product, ());
            }
        }
        Compiler {
            graph,
            readers,
            fused,
            place: HashMap::new(),
            unused: Vec::new(),
            constants: Vec::new(),
            theta: Vec::new(),
            rows: Vec::new(),
            totals: Vec::new(),
            sums: Vec::new(),
            slots: 0,
            columns: 0,
        }
    }

    fn new_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    fn new_column(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| {
            self.columns += 1;
            self.columns - 1
        })
    }

    fn slot(&self, node: Node) -> u32 {
        match self.place[&node] {
            Operand::Slot(slot) => slot,
            Operand::Column(_) => unreachable!("an output that is computed once has a slot"),
        }
    }

    fn visit(&mut self, node: Node) {
        if self.fused.contains_key(&node) {
            return;
        }
        let entry = self.graph.entry(node);
        let level = entry.level;
        let (action, args) = self.instruction(node);
        let operands: Vec<Operand> = args.iter().map(|arg| self.place[arg]).collect();
        let is_sum = matches!(action, Some(Action::Sum | Action::SumProduct));
        let target = if level == Level::Row {
            Operand::Column(self.new_column())
        } else {
            Operand::Slot(self.new_slot())
        };
        self.place.insert(node, target);
        let (Operand::Slot(index) | Operand::Column(index)) = target;
        let Some(action) = action else {
            self.constants.push((index, self.graph.constant_value(node).unwrap_or(f64::NAN)));
            return;
        };
        let mut padded = [Operand::Slot(0); 3];
        padded[..operands.len()].copy_from_slice(&operands);
        let instruction =
            Instruction { action, args: padded, arity: operands.len() as u8, target: index };
        match level {
            _ if is_sum => {
                self.sums.push(index);
                self.rows.push(instruction);
            }
            Level::Constant | Level::Theta => self.theta.push(instruction),
            Level::Row => self.rows.push(instruction),
            Level::Total => self.totals.push(instruction),
        }
        for arg in args {
            self.release(arg);
        }
    }

    /// The action of `node` and its operands. A constant has none.
    fn instruction(&self, node: Node) -> (Option<Action>, Vec<Node>) {
        let entry = self.graph.entry(node);
        let args = entry.args();
        let product = |k: usize| {
            let inner = self.graph.entry(args[k]).args();
            self.fused.contains_key(&args[k]).then(|| [inner[0], inner[1]])
        };
        let action = match entry.op {
            Op::Constant(_) => return (None, Vec::new()),
            Op::Input(input, place) => Action::Load(input, place),
            Op::Draw(draw, ..) => Action::Draw(draw),
            Op::Unary(op) => Action::Unary(op),
            Op::Select => Action::Select,
            Op::Special(special) => Action::Special(special),
            Op::Count => Action::Count,
            Op::Sum => match product(0) {
                Some([a, b]) => return (Some(Action::SumProduct), vec![a, b]),
                None => Action::Sum,
            },
            Op::Binary(Binary::Add) => match (product(0), product(1)) {
                (_, Some([a, b])) => return (Some(Action::MulAdd), vec![a, b, args[0]]),
                (Some([a, b]), _) => return (Some(Action::MulAdd), vec![a, b, args[1]]),
                _ => Action::Binary(Binary::Add),
            },
            Op::Binary(Binary::Sub) => match product(1) {
                Some([a, b]) => return (Some(Action::SubMul), vec![a, b, args[0]]),
                None => Action::Binary(Binary::Sub),
            },
            Op::Binary(op) => Action::Binary(op),
        };
        (Some(action), args.to_vec())
    }

    /// Removes one reader of `node`: its column is free after the last.
    fn release(&mut self, node: Node) {
        let left = self.readers.get_mut(&node).expect("a node that is read has readers");
        *left -= 1;
        if *left == 0
            && let Operand::Column(column) = self.place[&node]
        {
            self.unused.push(column);
        }
    }
}

/// The product that only `node` reads, if the two can be fused.
fn fusable(graph: &Graph, node: Node, readers: &HashMap<Node, usize>) -> Option<Node> {
    let entry = graph.entry(node);
    let args = entry.args();
    let single = |arg: Node| {
        let product = graph.entry(arg);
        let is_product = product.op == Op::Binary(Binary::Mul) && product.level == Level::Row;
        (is_product && readers.get(&arg) == Some(&1)).then_some(arg)
    };
    match entry.op {
        Op::Sum => single(args[0]),
        Op::Binary(Binary::Sub) if entry.level == Level::Row => single(args[1]),
        Op::Binary(Binary::Add) if entry.level == Level::Row => {
            single(args[1]).or_else(|| single(args[0]))
        }
        _ => None,
    }
}
