//! Formulas of the prior and the density.

use super::Formulas;
use crate::check::{Law, Shape, Value, Variable};
use crate::distribution::Constraint;
use crate::graph::{Graph, Input, Level, Node, Source, Term};

/// Where a log density is set to minus infinity outside the support.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// Everywhere.
    All,
    /// If the bounds of the support depend on theta or on the record: otherwise records are inside
    /// anyway.
    Moving,
}

impl<'m> Formulas<'m> {
    /// The log density of a variable.
    fn law(&self, variable: &Variable, guard: Guard) -> Term<'m> {
        let args = self.arguments(&variable.law, &[], &[]);
        let x = self.terms(&variable.nodes);
        let outside = self.constant(f64::NEG_INFINITY);
        match &variable.law {
            Law::Each(family, _) => {
                let entries = x.iter().zip(&args).map(|(&x, args)| {
                    let inside = family.log_density(x, args);
                    let support = family.support(args);
                    let (low, high) = (support.low.map(|t| t.node), support.high.map(|t| t.node));
                    let graph = self.graph.borrow();
                    let moves =
                        |end: Option<Node>| end.is_some_and(|n| graph.level(n) > Level::Constant);
                    let guarded = guard == Guard::All || moves(low) || moves(high);
                    drop(graph);
                    if !guarded || low.is_none() && high.is_none() && !family.is_discrete() {
                        return inside;
                    }
                    let within = self.graph.borrow_mut().inside(x.node, low, high);
                    let mut within = self.term(within);
                    if family.is_discrete() && guard == Guard::All {
                        let whole = self.graph.borrow_mut().is_whole(x.node);
                        within = within * self.term(whole);
                    }
                    within.select(inside, outside)
                });
                entries.reduce(|a, b| a + b).unwrap_or(outside)
            }
            Law::Whole(family, _) => {
                let inside = family.log_density(&x, &args);
                if family.constraint() != Constraint::Simplex || guard != Guard::All {
                    return inside;
                }
                let zero = self.constant(0.0).node;
                let ends: Vec<Term> = x
                    .iter()
                    .map(|x| self.term(self.graph.borrow_mut().inside(x.node, Some(zero), None)))
                    .collect();
                let within = ends[1..].iter().fold(ends[0], |all, &end| all * end);
                within.select(inside, outside)
            }
        }
    }

    pub(super) fn log_prior(&self) -> Node {
        let terms = self.parameters.variables.iter().map(|variable| self.law(variable, Guard::All));
        terms.fold(self.constant(0.0), |sum, term| sum + term).node
    }

    /// The log density of a record, guarded everywhere.
    pub(super) fn log_density(&self) -> Node {
        let terms = self.record.variables.iter().map(|variable| self.law(variable, Guard::All));
        terms.fold(self.constant(0.0), |sum, term| sum + term).node
    }

    /// The log densities of the variables whose distribution depends on theta, for a record drawn
    /// from the model.
    fn moving_laws(&self) -> Vec<Term<'m>> {
        let laws = self.record.variables.iter().map(|variable| self.law(variable, Guard::Moving));
        laws.filter(|law| self.graph.borrow().depends_on(law.node, Input::Theta)).collect()
    }

    /// The log density of a record, without terms that do not depend on theta.
    pub(super) fn log_likelihood(&self) -> Node {
        let zero = self.constant(0.0);
        self.moving_laws().into_iter().fold(zero, |sum, term| sum + term).node
    }

    /// The log density at the second theta minus that at the first.
    pub(super) fn log_ratio(&self) -> Node {
        let mut total = self.constant(0.0);
        for here in self.moving_laws() {
            let there =
                self.graph.borrow_mut().substitute(&[here.node], &self.theta, &self.beside)[0];
            total = total + (self.term(there) - here);
        }
        total.node
    }

    /// The bounds of the support of each parameter, low and high in turn.
    pub(super) fn support_ends(&self) -> Vec<Node> {
        let infinity = self.constant(f64::INFINITY);
        let mut ends = Vec::new();
        for variable in &self.parameters.variables {
            let args = self.arguments(&variable.law, &[], &[]);
            for &entry in &variable.coordinates {
                let (low, high) = match &variable.law {
                    Law::Each(family, _) => {
                        let support = family.support(&args[entry]);
                        (support.low.unwrap_or(-infinity), support.high.unwrap_or(infinity))
                    }
                    Law::Whole(family, _) => match family.constraint() {
                        Constraint::Free => (-infinity, infinity),
                        Constraint::Simplex => (self.constant(0.0), self.constant(1.0)),
                        Constraint::CorrelationFactor => (self.constant(-1.0), self.constant(1.0)),
                    },
                };
                ends.extend([low.node, high.node]);
            }
        }
        ends
    }

    /// Draws each variable in turn, and substitutes the draws for `inputs`.
    fn draws(
        &self,
        variables: &[Variable],
        inputs: &[Node],
        source: Source<'m>,
        keep: impl Fn(&Variable, &[Node]) -> bool,
    ) -> Vec<Node> {
        let mut drawn: Vec<Node> = Vec::new();
        for variable in variables {
            let before = &inputs[..drawn.len()];
            if keep(variable, &drawn) {
                drawn.extend(&inputs[drawn.len()..][..variable.coordinates.len()]);
                continue;
            }
            let args = self.arguments(&variable.law, before, &drawn);
            let entries: Vec<Term> = match &variable.law {
                Law::Each(family, _) => {
                    args.iter().map(|args| family.sample(source, args)).collect()
                }
                Law::Whole(family, _) => family.sample(source, variable.shape.len(), &args),
            };
            drawn.extend(variable.coordinates.iter().map(|&k| entries[k].node));
        }
        drawn
    }

    pub(super) fn sample_prior(&self) -> Vec<Node> {
        let source = Source { graph: self.graph, each_record: false };
        self.draws(&self.parameters.variables, &self.theta, source, |_, _| false)
    }

    /// Draws a record; with `keep`, variables whose distribution does not depend on theta are kept.
    pub(super) fn propose(&self, keep: bool) -> Vec<Node> {
        let source = Source { graph: self.graph, each_record: true };
        self.draws(&self.record.variables, &self.columns, source, |variable, drawn| {
            let (Law::Each(_, args) | Law::Whole(_, args)) = &variable.law;
            let graph = self.graph.borrow();
            let changed: Vec<Node> =
                self.columns.iter().zip(drawn).filter(|(a, b)| a != b).map(|(&a, _)| a).collect();
            let fixed = |&node: &Node| {
                !graph.depends_on(node, Input::Theta) && !reads(&graph, node, &changed)
            };
            keep && args.iter().flatten().all(fixed)
        })
    }

    /// What is computed from theta: the name of a variable or definition, with the names and nodes
    /// of its numbers. The second of two equal entries of a symmetric matrix is left out.
    pub(super) fn derived(&self) -> Vec<(String, Vec<(String, Node)>)> {
        let is_computed = |&node: &Node| self.graph.borrow().level(node) > Level::Constant;
        let variables = self.parameters.variables.iter().map(|variable| {
            let rest = (0..variable.shape.len()).filter(|k| !variable.coordinates.contains(k));
            let named =
                |k: usize| (variable.shape.entry_name(&variable.name, k), variable.nodes[k]);
            (&variable.name, rest.map(named).collect::<Vec<_>>())
        });
        let definitions = self.parameters.definitions.iter().map(|definition| {
            let Value { shape, nodes } = &definition.value;
            let own = (0..nodes.len()).filter(|&k| match *shape {
                Shape::Matrix(rows, columns) if rows == columns => {
                    let (row, column) = (k / columns, k % columns);
                    column <= row || nodes[column * columns + row] != nodes[k]
                }
                _ => true,
            });
            let named = |k: usize| (shape.entry_name(&definition.name, k), nodes[k]);
            (&definition.name, own.map(named).collect::<Vec<_>>())
        });
        let computed = |(name, mut all): (&String, Vec<(String, Node)>)| {
            all.retain(|(_, node)| is_computed(node));
            (!all.is_empty()).then(|| (name.clone(), all))
        };
        variables.chain(definitions).filter_map(computed).collect()
    }
}

/// Whether `node` is computed from one of `inputs`.
fn reads(graph: &Graph, node: Node, inputs: &[Node]) -> bool {
    let mut stack = vec![node];
    let mut seen = std::collections::HashSet::new();
    while let Some(top) = stack.pop() {
        if inputs.contains(&top) {
            return true;
        }
        if seen.insert(top) {
            stack.extend(graph.entry(top).args());
        }
    }
    false
}
