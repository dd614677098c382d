//! Semantic checks: names, shapes, supports, and which names each block may use.

mod argument;
mod defined;
mod expression;
pub mod function;
mod statement;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use statement::Defined;
pub use value::Shape;
pub(crate) use value::Value;

use crate::data::{Data, Datum};
use crate::distribution::{Multivariate, Univariate};
use crate::error::{Problem, Span};
use crate::graph::{Graph, Input, Node};
use crate::syntax::{Expression, Lines, Statement};

/// The largest number of nodes of a text.
const MAX_NODES: usize = 200_000;

/// The text that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    Parameters,
    Record,
    Statistics,
}

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Data,
    Parameter,
    Record,
    /// Its line has an error, which is reported once.
    Broken,
}

#[derive(Debug, Clone)]
pub(crate) struct Binding {
    pub value: Value,
    pub role: Role,
}

/// The distribution of a variable.
#[derive(Clone)]
pub(crate) enum Law {
    /// Entries that are independent given the arguments of each.
    Each(&'static dyn Univariate, Vec<Vec<Node>>),
    /// The whole vector or matrix.
    Whole(&'static dyn Multivariate, Vec<Vec<Node>>),
}

/// A name that is drawn.
#[derive(Clone)]
pub(crate) struct Variable {
    pub name: String,
    pub shape: Shape,
    /// The entries, row by row.
    pub nodes: Vec<Node>,
    /// The index of the first coordinate in theta or in the record.
    pub first: usize,
    /// The entry of each coordinate; entries determined by others have no coordinate in theta.
    pub coordinates: Vec<usize>,
    pub law: Law,
    /// The distribution as it was written.
    pub text: String,
}

impl Variable {
    /// The name of coordinate `k` of this variable.
    pub fn coordinate_name(&self, k: usize) -> String {
        self.shape.entry_name(&self.name, self.coordinates[k])
    }
}

/// A name that is computed.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub name: String,
    pub value: Value,
    pub text: String,
}

/// The name defined by a line, and the names used on its right side.
struct Line {
    name: String,
    uses: BTreeSet<String>,
}

/// The names in scope at a line of a block.
pub(crate) struct Scope<'g> {
    pub graph: &'g RefCell<Graph>,
    pub names: BTreeMap<String, Binding>,
    block: Block,
    /// Names of the record, which parameters cannot use.
    record_names: BTreeSet<String>,
    lines: Vec<Line>,
    current: usize,
}

impl<'g> Scope<'g> {
    /// The names of `data`.
    pub fn new(graph: &'g RefCell<Graph>, data: &Data) -> Result<Self, Problem> {
        let mut names = BTreeMap::new();
        for (name, datum) in data.iter() {
            let value = data_value(&mut graph.borrow_mut(), name, datum)?;
            names.insert(name.clone(), Binding { value, role: Role::Data });
        }
        let (record_names, lines) = (BTreeSet::new(), Vec::new());
        Ok(Scope { graph, names, block: Block::Parameters, record_names, lines, current: 0 })
    }

    /// Begins the block of the statistics.
    pub fn enter_statistics(&mut self) {
        self.block = Block::Statistics;
        self.lines.clear();
    }

    /// Reads the lines of a block; errors are appended to those of the lines.
    pub fn block(&mut self, block: Block, lines: &mut Lines, text: &str) -> Defined {
        self.block = block;
        self.lines = lines.statements.iter().map(Line::new).collect();
        lines.broken.iter().for_each(|name| self.mark_broken(name));
        self.statements(&lines.statements, text, &mut lines.problems)
    }

    /// Marks the line of `name` as erroneous, so that uses of the name are not reported again.
    fn mark_broken(&mut self, name: &str) {
        let broken = Binding { value: Value::vector(Vec::new()), role: Role::Broken };
        self.names.entry(name.to_string()).or_insert(broken);
    }

    /// Declares the names that the record will define.
    pub fn announce_record(&mut self, statements: &[Statement]) {
        self.record_names = statements.iter().map(|s| s.target.name.clone()).collect();
    }

    /// The value of a statistic.
    pub fn statistic(&self, expression: &Expression) -> Result<Value, Problem> {
        self.value(expression)
    }

    fn check_size(&self, span: Span) -> Result<(), Problem> {
        if self.graph.borrow().len() <= MAX_NODES {
            return Ok(());
        }
        let help = "use shorter vectors, or fewer lines";
        Err(Problem::new(span, format!("the model has more than {MAX_NODES} operations"), help))
    }

    /// The reason why a known name cannot be used in this block.
    fn refusal(&self, name: &str, binding: &Binding) -> Option<(String, String)> {
        if self.block != Block::Statistics {
            return None;
        }
        let graph = self.graph.borrow();
        let uses_theta = binding.value.nodes.iter().any(|&n| graph.depends_on(n, Input::Theta));
        let help = "use names of the record and constants given as data";
        match binding.role {
            Role::Parameter if uses_theta => Some((
                format!(
                    "`{name}` is a parameter, and a statistic is computed from the record alone"
                ),
                help.into(),
            )),
            _ if uses_theta => Some((
                format!(
                    "`{name}` depends on parameters, and a statistic is computed from the record alone"
                ),
                help.into(),
            )),
            _ => None,
        }
    }

    /// The error for a name that is defined on this line or a later one.
    fn defined_later(&self, name: &str, span: Span) -> Option<Problem> {
        let Some(line) = self.lines.iter().position(|line| line.name == name) else {
            let in_record = self.block == Block::Parameters && self.record_names.contains(name);
            return in_record.then(|| {
                Problem::new(
                    span,
                    format!(
                        "`{name}` is a record variable, and parameters do not depend on records"
                    ),
                    "move this line to the record",
                )
            });
        };
        let target = &self.lines.get(self.current)?.name;
        if name == target {
            let help = "a name cannot be used on its own right side; choose another name";
            return Some(Problem::new(span, format!("`{name}` is defined by itself"), help));
        }
        if self.reaches(line, target) {
            return Some(Problem::new(
                span,
                format!("`{target}` and `{name}` are defined by each other"),
                "one of the two must be defined without the other",
            ));
        }
        Some(Problem::new(
            span,
            format!("`{name}` is used before it is defined"),
            format!("move the line of `{name}` above this one"),
        ))
    }

    /// Whether the right side of `line` depends on `target`.
    fn reaches(&self, line: usize, target: &str) -> bool {
        let mut seen = vec![false; self.lines.len()];
        let mut stack = vec![line];
        while let Some(at) = stack.pop() {
            if self.lines[at].uses.contains(target) {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                let uses = &self.lines[at].uses;
                stack.extend((0..self.lines.len()).filter(|&k| uses.contains(&self.lines[k].name)));
            }
        }
        false
    }
}

fn data_value(graph: &mut Graph, name: &str, datum: &Datum) -> Result<Value, Problem> {
    let problem = |message: String, help: &str| Err(Problem::new(Span::default(), message, help));
    let (shape, values) = match datum {
        Datum::Scalar(value) => (Shape::Scalar, std::slice::from_ref(value)),
        Datum::Vector(values) => (Shape::Vector(values.len()), values.as_slice()),
        Datum::Matrix(rows, values) if *rows > 0 && values.len() % rows == 0 => {
            (Shape::Matrix(*rows, values.len() / rows), values.as_slice())
        }
        Datum::Matrix(rows, values) => {
            let message = format!("data `{name}`: {} numbers for {rows} rows", values.len());
            return problem(message, "give the same number of entries for each row");
        }
    };
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !valid {
        return problem(
            format!("data `{name}`: not a name"),
            "letters, digits and `_`, a letter first",
        );
    }
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return problem(format!("data `{name}`: empty, or not finite"), "give finite numbers");
    }
    Ok(Value { shape, nodes: values.iter().map(|&value| graph.constant(value)).collect() })
}
