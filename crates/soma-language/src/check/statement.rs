//! Converts statements to variables and definitions.

use std::collections::BTreeSet;

use super::argument::check_whole;
use super::expression::{MAX_LENGTH, all};
use super::function::{self, Argument};
use super::{Binding, Block, Definition, Law, Line, Role, Scope, Shape, Value, Variable};
use crate::distribution::{self, Constraint, Family, Form, TABLE, Univariate};
use crate::error::{Problem, Span, nearest};
use crate::foreign;
use crate::graph::{Fact, Input, Node, Term};
use crate::syntax::{Entry, Expression, Kind, Meaning, Statement, Target, Tilde};

/// The definitions of a block.
#[derive(Clone, Default)]
pub(crate) struct Defined {
    pub variables: Vec<Variable>,
    pub definitions: Vec<Definition>,
    /// The number of coordinates.
    pub coordinates: usize,
}

type Checked<T> = Result<T, Problem>;

impl Line {
    pub(super) fn new(statement: &Statement) -> Self {
        let mut uses = BTreeSet::new();
        let mut add = |expression: &Expression| names_in(expression, &mut uses);
        match &statement.meaning {
            Meaning::Tilde(tilde) => tilde.arguments.iter().for_each(&mut add),
            Meaning::Equals(expression) => add(expression),
        }
        Line { name: statement.target.name.clone(), uses }
    }
}

fn names_in(expression: &Expression, names: &mut BTreeSet<String>) {
    match &expression.kind {
        Kind::Number(_) => {}
        Kind::Name(name) => {
            names.insert(name.clone());
        }
        Kind::List(parts) | Kind::Call { arguments: parts, .. } => {
            parts.iter().for_each(|part| names_in(part, names));
        }
        Kind::Index { of, entries } => {
            names_in(of, names);
            for entry in entries {
                match entry {
                    Entry::At(at) => names_in(at, names),
                    Entry::Range(ends) => ends.iter().for_each(|end| names_in(end, names)),
                }
            }
        }
        Kind::Negate(inner) | Kind::Not(inner) => names_in(inner, names),
        Kind::Binary { sides, .. } => sides.iter().for_each(|side| names_in(side, names)),
        Kind::If { parts } => parts.iter().for_each(|part| names_in(part, names)),
    }
}

impl Scope<'_> {
    /// Reads the statements of a block; errors are appended to `problems`, one per line.
    pub(super) fn statements(
        &mut self,
        statements: &[Statement],
        text: &str,
        problems: &mut Vec<Problem>,
    ) -> Defined {
        let mut defined = Defined::default();
        for (k, statement) in statements.iter().enumerate() {
            self.current = k;
            if let Err(problem) = self.statement(statement, text, &mut defined) {
                self.mark_broken(&statement.target.name);
                if !problem.message.is_empty() {
                    problems.push(problem);
                }
            }
        }
        defined
    }

    fn statement(
        &mut self,
        statement: &Statement,
        text: &str,
        defined: &mut Defined,
    ) -> Checked<()> {
        let target = &statement.target;
        self.check_new(target)?;
        let shape = self.target_shape(target)?;
        let quoted = |span: Span| text.get(span.start..span.end).unwrap_or("").to_string();
        let value = match &statement.meaning {
            Meaning::Equals(expression) => {
                let value = self.value(expression)?;
                if !target.ranges.is_empty() && value.shape != shape {
                    return Err(Problem::new(
                        expression.span,
                        format!(
                            "{} for `{}`, which is {}",
                            value.shape.words(),
                            target.name,
                            shape.words()
                        ),
                        format!(
                            "leave out the range: `{} = ...` takes the shape of its right side",
                            target.name
                        ),
                    ));
                }
                let (name, text) = (target.name.clone(), quoted(expression.span));
                defined.definitions.push(Definition { name, value: value.clone(), text });
                value
            }
            Meaning::Tilde(tilde) => {
                let mut variable = self.tilde(target, shape, tilde, defined.coordinates)?;
                variable.text = quoted(tilde.whole);
                defined.coordinates += variable.coordinates.len();
                let value = Value { shape: variable.shape, nodes: variable.nodes.clone() };
                defined.variables.push(variable);
                value
            }
        };
        let role = if self.block == Block::Parameters { Role::Parameter } else { Role::Record };
        self.names.insert(target.name.clone(), Binding { value, role });
        Ok(())
    }

    fn check_new(&self, target: &Target) -> Checked<()> {
        let name = &target.name;
        let Some(binding) = self.names.get(name) else {
            if function::find(name).is_some() {
                let help = "choose another name";
                return Err(Problem::new(
                    target.span,
                    format!("`{name}` is the name of a function"),
                    help,
                ));
            }
            return Ok(());
        };
        if binding.role == Role::Broken {
            return Err(Problem::new(target.span, "", ""));
        }
        let place = match binding.role {
            Role::Data => "given as data",
            Role::Parameter if self.block == Block::Record => "defined among the parameters",
            _ => "defined above",
        };
        Err(Problem::new(
            target.span,
            format!("`{name}` is already {place}"),
            "each name is defined once; choose another",
        ))
    }

    /// The shape from the ranges of a target.
    fn target_shape(&self, target: &Target) -> Checked<Shape> {
        let mut sides = Vec::new();
        for [first, last] in &target.ranges {
            if self.whole_number(first, "the start of a range")? != 1.0 {
                let help = format!("write `{}[1..n]`", target.name);
                return Err(Problem::new(first.span, "a range of a definition begins at 1", help));
            }
            let last_value = self.whole_number(last, "the end of a range")?;
            if !(1.0..=MAX_LENGTH as f64).contains(&last_value) {
                return Err(Problem::new(
                    last.span,
                    format!("a range that ends at {last_value}"),
                    format!("a vector has from 1 to {MAX_LENGTH} entries"),
                ));
            }
            sides.push(last_value as usize);
        }
        match sides.as_slice() {
            [] => Ok(Shape::Scalar),
            [n] => Ok(Shape::Vector(*n)),
            [rows, columns] if rows * columns <= MAX_LENGTH => Ok(Shape::Matrix(*rows, *columns)),
            _ => Err(Problem::new(
                target.span,
                "too many ranges, or too large a matrix",
                "a vector has one range, a matrix two",
            )),
        }
    }

    fn tilde(
        &self,
        target: &Target,
        shape: Shape,
        tilde: &Tilde,
        first: usize,
    ) -> Checked<Variable> {
        let family = distribution::find(&tilde.name).ok_or_else(|| unknown_distribution(tilde))?;
        let expected = family.arguments();
        if tilde.arguments.len() != expected.len() {
            let names: Vec<&str> = expected.iter().map(|argument| argument.name).collect();
            let count = if expected.len() == 1 {
                "1 argument".into()
            } else {
                format!("{} arguments", expected.len())
            };
            return Err(Problem::new(
                tilde.whole,
                format!("`{}` takes {count}, not {}", tilde.name, tilde.arguments.len()),
                format!("write `{}({})`", tilde.name, names.join(", ")),
            ));
        }
        let arguments = all(tilde.arguments.iter().map(|argument| self.argument(argument)))?;
        for (argument, expected) in arguments.iter().zip(expected) {
            self.check_domain(&tilde.name, argument, expected)?;
            let what = format!("`{}` of `{}`", expected.name, tilde.name);
            self.check_defined(&what, &argument.value.nodes, argument.span)?;
        }
        let (law, coordinates) = match family {
            Family::Univariate(family) => (
                self.each_law(family, target, shape, tilde, &arguments)?,
                (0..shape.len()).collect(),
            ),
            Family::Multivariate(family) => {
                check_whole(family, target, shape, tilde, &arguments, self)?;
                let args = arguments.iter().map(|argument| argument.value.nodes.clone()).collect();
                let coordinates = self.coordinates(family.constraint(), shape);
                (Law::Whole(family, args), coordinates)
            }
        };
        let nodes = self.entries(&law, shape, first, &coordinates);
        Ok(Variable {
            name: target.name.clone(),
            shape,
            nodes,
            first,
            coordinates,
            law,
            text: String::new(),
        })
    }

    /// The entries that are coordinates of theta or of the record.
    fn coordinates(&self, constraint: Constraint, shape: Shape) -> Vec<usize> {
        let parameters = self.block == Block::Parameters;
        match (constraint, shape) {
            (Constraint::Simplex, _) if parameters => (0..shape.len() - 1).collect(),
            (Constraint::CorrelationFactor, Shape::Matrix(_, d)) if parameters => {
                (0..shape.len()).filter(|at| at % d < at / d).collect()
            }
            _ => (0..shape.len()).collect(),
        }
    }

    fn each_law(
        &self,
        family: &'static dyn Univariate,
        target: &Target,
        shape: Shape,
        tilde: &Tilde,
        arguments: &[Argument],
    ) -> Checked<Law> {
        if family.is_discrete() && self.block == Block::Parameters {
            return Err(Problem::new(
                tilde.span,
                format!("`{}` is discrete, and parameters must be continuous", tilde.name),
                "give a probability or a rate a continuous prior; sum over a discrete parameter, or make it a record variable",
            ));
        }
        for (argument, expected) in arguments.iter().zip(family.arguments()) {
            let own = argument.value.shape;
            if expected.form == Form::Scalar && own != Shape::Scalar && own != shape {
                let help = match own {
                    Shape::Vector(n) if shape == Shape::Scalar => {
                        format!("write `{}[1..{n}] ~ ...`, or take one entry", target.name)
                    }
                    _ => format!("it must be a single number, or {}", shape.words()),
                };
                let message = format!(
                    "`{}` of `{}` is {}, but `{}` is {}",
                    expected.name,
                    tilde.name,
                    own.words(),
                    target.name,
                    shape.words()
                );
                return Err(Problem::new(argument.span, message, help));
            }
        }
        for (argument, expected) in arguments.iter().zip(family.arguments()) {
            if expected.form == Form::Vector
                && !matches!(argument.value.shape, Shape::Vector(n) if n >= 2)
            {
                let words = argument.value.shape.words();
                return Err(Problem::new(
                    argument.span,
                    format!(
                        "`{}` of `{}` must be a vector of two or more, not {words}",
                        expected.name, tilde.name
                    ),
                    "a vector is a name such as `w` of `w[1..3]`, or a list `[1, 2, 3]`",
                ));
            }
        }
        let args: Vec<Vec<Node>> = (0..shape.len())
            .map(|k| {
                let pairs = arguments.iter().zip(family.arguments());
                pairs
                    .flat_map(|(argument, expected)| entries_for(&argument.value, expected.form, k))
                    .collect()
            })
            .collect();
        if let (Some((message, help)), Some(last)) =
            (self.family_problem(family, &args), arguments.last())
        {
            return Err(Problem::new(arguments[0].span.to(last.span), message, help));
        }
        Ok(Law::Each(family, args))
    }

    fn family_problem(
        &self,
        family: &dyn Univariate,
        args: &[Vec<Node>],
    ) -> Option<(String, String)> {
        args.iter().find_map(|args| {
            let terms: Vec<Term> = args.iter().map(|&arg| Term::new(self.graph, arg)).collect();
            family.problem(&terms)
        })
    }

    /// The nodes of the entries: inputs, and entries determined by others.
    fn entries(&self, law: &Law, shape: Shape, first: usize, coordinates: &[usize]) -> Vec<Node> {
        let input = if self.block == Block::Parameters { Input::Theta } else { Input::Record };
        let facts: Vec<Fact> = (0..shape.len()).map(|k| self.entry_fact(law, k)).collect();
        let mut graph = self.graph.borrow_mut();
        let zero = graph.constant(0.0);
        let mut nodes = vec![zero; shape.len()];
        for (k, &entry) in coordinates.iter().enumerate() {
            nodes[entry] = graph.input(input, first + k, facts[entry]);
        }
        if coordinates.len() == shape.len() {
            return nodes;
        }
        match shape {
            Shape::Matrix(_, d) => {
                for i in 0..d {
                    let squares: Vec<Node> =
                        (0..i).map(|j| graph.pow_two(nodes[i * d + j])).collect();
                    let total = graph.total(&squares);
                    let left = graph.from(1.0, total);
                    graph.assume(left, Fact::between(0.0, 1.0));
                    nodes[i * d + i] = graph.unary(crate::graph::Unary::Sqrt, left);
                }
            }
            _ => {
                let last = nodes.len() - 1;
                let total = graph.total(&nodes[..last]);
                nodes[last] = graph.from(1.0, total);
                graph.assume(nodes[last], Fact::between(0.0, 1.0));
            }
        }
        nodes
    }

    /// The fact of entry `k` from the support.
    fn entry_fact(&self, law: &Law, k: usize) -> Fact {
        match law {
            Law::Each(family, args) => {
                let terms: Vec<Term> =
                    args[k].iter().map(|&arg| Term::new(self.graph, arg)).collect();
                let support = family.support(&terms);
                Fact {
                    low: support.low.map_or(f64::NEG_INFINITY, |end| end.fact().low),
                    high: support.high.map_or(f64::INFINITY, |end| end.fact().high),
                    integer: family.is_discrete(),
                }
            }
            Law::Whole(family, _) => match family.constraint() {
                Constraint::Free => Fact::ANY,
                Constraint::Simplex => Fact::between(0.0, 1.0),
                Constraint::CorrelationFactor => Fact::between(-1.0, 1.0),
            },
        }
    }
}

/// The entries of an argument for entry `k` of the target.
fn entries_for(value: &Value, form: Form, k: usize) -> Vec<Node> {
    match (form, value.shape) {
        (Form::Scalar, Shape::Scalar) => vec![value.nodes[0]],
        (Form::Scalar, _) => vec![value.nodes[k]],
        _ => value.nodes.clone(),
    }
}

fn unknown_distribution(tilde: &Tilde) -> Problem {
    let names = || TABLE.iter().map(|(name, _)| *name);
    let meant = foreign::distribution(&tilde.name);
    if function::find(&tilde.name).is_some() {
        return Problem::new(
            tilde.span,
            format!("`{}` is a function, not a distribution", tilde.name),
            meant.unwrap_or("write `=` for an expression, and `~` for a distribution"),
        );
    }
    let help = match (meant, nearest(&tilde.name, names())) {
        (Some(help), _) => help.into(),
        (None, Some(meant)) => format!("did you mean `{meant}`?"),
        (None, None) => format!(
            "distributions: {}",
            names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    Problem::new(tilde.span, format!("unknown distribution `{}`", tilde.name), help)
}
