//! The formulas of a model.

use std::cell::RefCell;

use crate::check::{Defined, Law};
use crate::graph::{Fact, Graph, Input, Node, Term};

/// The formulas of a model, as nodes of its graph.
pub(super) struct Formulas<'m> {
    pub graph: &'m RefCell<Graph>,
    pub parameters: &'m Defined,
    pub record: &'m Defined,
    pub theta: Vec<Node>,
    pub free: Vec<Node>,
    pub beside: Vec<Node>,
    pub columns: Vec<Node>,
}

impl<'m> Formulas<'m> {
    pub fn new(graph: &'m RefCell<Graph>, parameters: &'m Defined, record: &'m Defined) -> Self {
        let inputs = |defined: &Defined| -> Vec<Node> {
            defined
                .variables
                .iter()
                .flat_map(|v| v.coordinates.iter().map(|&k| v.nodes[k]))
                .collect()
        };
        let new = |input: Input| -> Vec<Node> {
            let mut graph = graph.borrow_mut();
            (0..parameters.coordinates).map(|k| graph.input(input, k, Fact::ANY)).collect()
        };
        Formulas {
            graph,
            parameters,
            record,
            theta: inputs(parameters),
            free: new(Input::Free),
            beside: new(Input::Beside),
            columns: inputs(record),
        }
    }

    pub fn term(&self, node: Node) -> Term<'m> {
        Term::new(self.graph, node)
    }

    pub fn terms(&self, nodes: &[Node]) -> Vec<Term<'m>> {
        nodes.iter().map(|&node| self.term(node)).collect()
    }

    pub fn constant(&self, value: f64) -> Term<'m> {
        let node = self.graph.borrow_mut().constant(value);
        self.term(node)
    }

    /// The arguments of a law with inputs replaced.
    pub fn arguments(&self, law: &Law, from: &[Node], to: &[Node]) -> Vec<Vec<Term<'m>>> {
        let (Law::Each(_, args) | Law::Whole(_, args)) = law;
        args.iter()
            .map(|args| self.terms(&self.graph.borrow_mut().substitute(args, from, to)))
            .collect()
    }
}
