//! Converts the tree of an expression to nodes.

use super::function::{self, Argument, FUNCTIONS, each};
use super::value::{Shape, Value};
use super::{Role, Scope};
use crate::distribution;
use crate::error::{Problem, Span, nearest};
use crate::foreign;
use crate::graph::{Binary, Node};
use crate::syntax::{Entry, Expression, Kind, Operator};

/// The longest vector of a text.
pub(super) const MAX_LENGTH: usize = 1000;

type Checked<T> = Result<T, Problem>;

impl Scope<'_> {
    /// The value of an expression.
    pub(crate) fn value(&self, expression: &Expression) -> Checked<Value> {
        self.check_size(expression.span)?;
        let span = expression.span;
        match &expression.kind {
            Kind::Number(value) => Ok(Value::scalar(self.graph.borrow_mut().constant(*value))),
            Kind::Name(name) => self.named(name, span),
            Kind::List(entries) => self.list(entries, span),
            Kind::Call { name, name_span, arguments } => {
                self.call(name, *name_span, arguments, span)
            }
            Kind::Index { of, entries } => self.index(of, entries, span),
            Kind::Negate(inner) => {
                let inner = self.argument(inner)?;
                each(&mut self.graph.borrow_mut(), &[inner], |g, a| g.neg(a[0]))
            }
            Kind::Not(inner) => {
                let inner = self.condition(inner)?;
                each(&mut self.graph.borrow_mut(), &[inner], |g, a| g.from(1.0, a[0]))
            }
            Kind::Binary { operator, sides } => self.binary(*operator, &sides[0], &sides[1]),
            Kind::If { parts } => {
                let condition = self.condition(&parts[0]);
                let branches = [condition, self.argument(&parts[1]), self.argument(&parts[2])];
                let branches = all(branches)?;
                each(&mut self.graph.borrow_mut(), &branches, |g, a| g.select(a[0], a[1], a[2]))
            }
        }
    }

    pub(super) fn argument(&self, expression: &Expression) -> Checked<Argument> {
        Ok(Argument { value: self.value(expression)?, span: expression.span })
    }

    /// An expression that is true or false.
    fn condition(&self, expression: &Expression) -> Checked<Argument> {
        let argument = self.argument(expression)?;
        let graph = self.graph.borrow();
        if argument.value.nodes.iter().all(|&node| graph.fact(node).is_indicator()) {
            return Ok(argument);
        }
        Err(Problem::new(
            expression.span,
            "a condition must be true or false",
            "compare it with something, as in `x > 0`",
        ))
    }

    fn named(&self, name: &str, span: Span) -> Checked<Value> {
        if let Some(binding) = self.names.get(name) {
            if binding.role == Role::Broken {
                return Err(Problem::new(span, "", ""));
            }
            return match self.refusal(name, binding) {
                Some((message, help)) => Err(Problem::new(span, message, help)),
                None => Ok(binding.value.clone()),
            };
        }
        Err(self.unknown(name, span))
    }

    fn unknown(&self, name: &str, span: Span) -> Problem {
        if let Some(problem) = self.defined_later(name, span) {
            return problem;
        }
        if function::find(name).is_some() {
            let help = format!("write `{name}(...)` with its arguments");
            return Problem::new(span, format!("`{name}` is a function"), help);
        }
        if distribution::find(name).is_some() {
            let help = format!("draw a name from it: `name ~ {name}(...)`");
            return Problem::new(span, format!("`{name}` is a distribution"), help);
        }
        let usable = self.names.iter().filter(|(name, own)| self.refusal(name, own).is_none());
        let known = usable.map(|(name, _)| name.as_str());
        let functions = FUNCTIONS.iter().map(|function| function.name);
        let help = match nearest(name, known.clone().chain(functions)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.clone().next().is_none() => {
                "no names are defined before this line".into()
            }
            None => format!("names that may be used here: {}", listed(known)),
        };
        Problem::new(span, format!("unknown name `{name}`"), help)
    }

    fn list(&self, entries: &[Expression], span: Span) -> Checked<Value> {
        if entries.is_empty() {
            return Err(Problem::new(span, "an empty list", "a vector has at least one entry"));
        }
        let mut nodes = Vec::new();
        for entry in entries {
            let value = self.value(entry)?;
            if value.shape != Shape::Scalar {
                return Err(Problem::new(
                    entry.span,
                    format!("{} inside a list", value.shape.words()),
                    "the entries of a list are single numbers; give matrices as data",
                ));
            }
            nodes.extend(value.nodes);
        }
        Ok(Value::vector(nodes))
    }

    fn call(
        &self,
        name: &str,
        name_span: Span,
        arguments: &[Expression],
        span: Span,
    ) -> Checked<Value> {
        let Some(function) = function::find(name) else {
            return Err(self.unknown_function(name, name_span));
        };
        let read = |(k, argument): (usize, &Expression)| match (function.name, k) {
            ("histogram", 1) => self.edges(argument),
            _ => self.argument(argument),
        };
        let arguments: Vec<Argument> = all(arguments.iter().enumerate().map(read))?;
        function.call(&mut self.graph.borrow_mut(), &arguments, span)
    }

    /// The edges of a histogram, of which `-inf` and `inf` may be the first and the last.
    pub(crate) fn edges(&self, list: &Expression) -> Checked<Argument> {
        let Kind::List(entries) = &list.kind else { return self.argument(list) };
        let is_inf = |entry: &Expression| matches!(&entry.kind, Kind::Name(name) if name == "inf" && !self.names.contains_key(name));
        let mut nodes = Vec::new();
        for entry in entries {
            let infinite = match &entry.kind {
                Kind::Negate(inner) if is_inf(inner) => Some(f64::NEG_INFINITY),
                _ => is_inf(entry).then_some(f64::INFINITY),
            };
            match infinite {
                Some(edge) => nodes.push(self.graph.borrow_mut().constant(edge)),
                None => nodes.extend(self.list(std::slice::from_ref(entry), list.span)?.nodes),
            }
        }
        if nodes.is_empty() {
            return self.argument(list);
        }
        Ok(Argument { value: Value::vector(nodes), span: list.span })
    }

    fn unknown_function(&self, name: &str, span: Span) -> Problem {
        if distribution::find(name).is_some() {
            return Problem::new(
                span,
                format!("`{name}` is a distribution, not a function"),
                format!("draw a name from it on a line of its own: `name ~ {name}(...)`"),
            );
        }
        if self.names.contains_key(name) {
            let message = format!("`{name}` is not a function");
            return Problem::new(
                span,
                message,
                "a product is written with `*`, an entry with `[ ]`",
            );
        }
        let functions = FUNCTIONS.iter().map(|function| function.name);
        let help = match (foreign::function(name), nearest(name, functions.clone())) {
            (Some(help), _) => help.into(),
            (None, Some(meant)) => format!("did you mean `{meant}`?"),
            (None, None) => format!("functions: {}", listed(functions)),
        };
        Problem::new(span, format!("unknown function `{name}`"), help)
    }

    fn binary(&self, operator: Operator, left: &Expression, right: &Expression) -> Checked<Value> {
        let logical = matches!(operator, Operator::And | Operator::Or);
        let side =
            |side: &Expression| if logical { self.condition(side) } else { self.argument(side) };
        let sides = all([side(left), side(right)])?;
        if operator == Operator::Divide
            && sides[1]
                .value
                .nodes
                .iter()
                .any(|&n| self.graph.borrow().constant_value(n) == Some(0.0))
        {
            return Err(Problem::new(
                right.span,
                "division by zero",
                "the divisor is 0 whatever the record",
            ));
        }
        each(&mut self.graph.borrow_mut(), &sides, |g, a| match operator {
            Operator::Add => g.add(a[0], a[1]),
            Operator::Subtract => g.sub(a[0], a[1]),
            Operator::Multiply | Operator::And => g.mul(a[0], a[1]),
            Operator::Divide => g.div(a[0], a[1]),
            Operator::Power => g.pow(a[0], a[1]),
            Operator::Less => g.binary(Binary::Lt, a[0], a[1]),
            Operator::LessEqual => g.binary(Binary::Le, a[0], a[1]),
            Operator::Greater => g.binary(Binary::Lt, a[1], a[0]),
            Operator::GreaterEqual => g.binary(Binary::Le, a[1], a[0]),
            Operator::Equal => g.binary(Binary::Eq, a[0], a[1]),
            Operator::NotEqual => {
                let equal = g.binary(Binary::Eq, a[0], a[1]);
                g.from(1.0, equal)
            }
            Operator::Or => g.binary(Binary::Max, a[0], a[1]),
        })
    }

    fn index(&self, of: &Expression, entries: &[Entry], span: Span) -> Checked<Value> {
        let whole = self.value(of)?;
        match (whole.shape, entries) {
            (Shape::Scalar, _) => Err(Problem::new(
                span,
                "a single number has no entries",
                "only a vector or a matrix is followed by `[ ]`",
            )),
            (Shape::Vector(n), [Entry::Range(ends)]) => {
                let place = |end| self.place(end, "entry", n, whole.shape);
                let (first, last) = (place(&ends[0])?, place(&ends[1])?);
                if first > last {
                    return Err(Problem::new(
                        span,
                        "an empty range",
                        "the first place is at most the last",
                    ));
                }
                Ok(Value::vector(whole.nodes[first..=last].to_vec()))
            }
            (Shape::Vector(n), [Entry::At(at)]) => self.entry(&whole.nodes, n, at),
            (Shape::Matrix(_, columns), [Entry::At(row)]) => {
                let row = self.place(row, "row", whole.shape.len() / columns, whole.shape)?;
                Ok(Value::vector(whole.nodes[row * columns..][..columns].to_vec()))
            }
            (Shape::Matrix(rows, columns), [Entry::At(row), Entry::At(column)]) => {
                let row = self.place(row, "row", rows, whole.shape)?;
                let column = self.place(column, "column", columns, whole.shape)?;
                Ok(Value::scalar(whole.nodes[row * columns + column]))
            }
            (shape, _) => Err(Problem::new(
                span,
                format!(
                    "{} with {} in brackets",
                    shape.words(),
                    if entries.len() == 1 {
                        "1 place".into()
                    } else {
                        format!("{} places", entries.len())
                    }
                ),
                "a vector has one place, a matrix two",
            )),
        }
    }

    /// An entry of a vector at a constant index, or at an integer variable of the record.
    fn entry(&self, nodes: &[Node], n: usize, at: &Expression) -> Checked<Value> {
        let value = self.value(at)?;
        let place = match value.nodes.as_slice() {
            [node] if value.shape == Shape::Scalar => *node,
            _ => {
                return Err(Problem::new(
                    at.span,
                    "a place must be a single number",
                    "write one whole number",
                ));
            }
        };
        if self.graph.borrow().constant_value(place).is_some() {
            return Ok(Value::scalar(nodes[self.place(at, "entry", n, Shape::Vector(n))?]));
        }
        let mut graph = self.graph.borrow_mut();
        let fact = graph.fact(place);
        if !fact.integer {
            return Err(Problem::new(
                at.span,
                "a place must be a whole number, and this is continuous",
                "use a name drawn from `categorical`, or `floor(...)`",
            ));
        }
        if fact.low < 1.0 || fact.high > n as f64 {
            return Err(Problem::new(
                at.span,
                format!("the place can be {}, outside 1 to {n}", fact.range()),
                format!("the vector has {n} entries, counted from 1; `clamp` keeps a place inside"),
            ));
        }
        let last = nodes[n - 1];
        let chosen = nodes[..n - 1].iter().enumerate().rev().fold(last, |rest, (k, &node)| {
            let here = graph.constant((k + 1) as f64);
            let equal = graph.binary(Binary::Eq, place, here);
            graph.select(equal, node, rest)
        });
        Ok(Value::scalar(chosen))
    }

    /// A constant index from 1 to n, converted to count from 0. It is that of a `part` (an entry, a
    /// row or a column) of a value of this shape.
    fn place(&self, at: &Expression, part: &str, n: usize, shape: Shape) -> Checked<usize> {
        let place = self.whole_number(at, "a place")?;
        if place < 1.0 || place > n as f64 {
            return Err(Problem::new(
                at.span,
                format!("there is no {part} {place} in {}", shape.words()),
                format!("counted from 1, the last one is {n}"),
            ));
        }
        Ok(place as usize - 1)
    }

    /// A constant integer.
    pub(super) fn whole_number(&self, expression: &Expression, what: &str) -> Checked<f64> {
        let value = self.value(expression)?;
        let constant = match value.nodes.as_slice() {
            [node] => self.graph.borrow().constant_value(*node),
            _ => None,
        };
        match constant {
            Some(number) if number == number.floor() && number.abs() < 1e9 => Ok(number),
            Some(number) => Err(Problem::new(
                expression.span,
                format!("{what} must be a whole number, not {number}"),
                "write a whole number, or a constant given as data",
            )),
            None => Err(Problem::new(
                expression.span,
                format!("{what} must be a known whole number"),
                "write a number, or give a constant as data; it cannot depend on parameters or records",
            )),
        }
    }
}

/// All values; or the first error among them. That of a name whose own line has an error is not
/// reported, and comes last.
pub(super) fn all<T>(values: impl IntoIterator<Item = Checked<T>>) -> Checked<Vec<T>> {
    let (mut found, mut unreported) = (Vec::new(), None);
    for value in values {
        match value {
            Ok(value) => found.push(value),
            Err(problem) if problem.message.is_empty() => unreported = Some(problem),
            Err(problem) => return Err(problem),
        }
    }
    unreported.map_or(Ok(found), Err)
}

/// A list of names for a message, at most twelve.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown =
        names.iter().take(12).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > 12 { format!("{shown}, ...") } else { shown }
}
