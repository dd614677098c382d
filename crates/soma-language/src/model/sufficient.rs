//! Sums over the records that are sufficient for theta.
//!
//! The log density of a record is expanded as a polynomial of degree two in *atoms*: what is
//! computed from a record alone, such as x or log x. Its coefficients depend on theta alone. The sum
//! over the records then needs only the sums of the atoms and of their products, which are computed
//! once; after that the density of theta, and its derivatives, cost the same for any number of
//! records. Normal, log-normal, gamma, beta, Poisson and Bernoulli records are such, and regressions
//! and multivariate normals.
//!
//! The atoms are measured from those of the first record, so that nothing cancels far from zero.

use std::collections::{BTreeMap, HashMap};

use super::{Formulas, Model};
use crate::graph::{Binary, Fact, Graph, Input, Level, Node, Op, Unary};
use crate::program::{Inputs, Program, Widths, Workspace};

/// The programs that use the sums.
pub(super) struct Sufficient {
    /// The atoms of each record.
    atoms: Program,
    /// The sums, given the atoms of the first record.
    sums: Program,
    density: Program,
    posterior: Option<Program>,
}

/// What is known of the records: all of them, or their [sums](Model::sums).
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// Row by row.
    Records(&'a [f64]),
    /// As [`Model::sums`] gives them.
    Sums(&'a [f64]),
}

/// The factors of a product of up to two atoms, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Product {
    One,
    Single(usize),
    Pair(usize, usize),
}

/// The coefficient of each product.
type Polynomial = BTreeMap<Product, Node>;

/// The most products of a polynomial: with more, the records themselves are as fast.
const MOST_PRODUCTS: usize = 100;

impl Product {
    fn times(self, other: Product) -> Option<Product> {
        match (self, other) {
            (Product::One, product) | (product, Product::One) => Some(product),
            (Product::Single(a), Product::Single(b)) => Some(Product::Pair(a.min(b), a.max(b))),
            _ => None,
        }
    }
}

/// The expansion of a log density.
struct Expansion<'g> {
    graph: &'g mut Graph,
    atoms: Vec<Node>,
    known: HashMap<Node, Polynomial>,
}

impl Expansion<'_> {
    /// The atom of the first record.
    fn origin(&mut self, atom: usize) -> Node {
        self.graph.input(Input::Beside, atom, Fact::ANY)
    }

    fn polynomial(&mut self, node: Node) -> Option<Polynomial> {
        if let Some(known) = self.known.get(&node) {
            return Some(known.clone());
        }
        let found = self.expand(node)?;
        let found = (found.len() <= MOST_PRODUCTS).then_some(found)?;
        self.known.insert(node, found.clone());
        Some(found)
    }

    fn expand(&mut self, node: Node) -> Option<Polynomial> {
        let entry = self.graph.entry(node).clone();
        if entry.level < Level::Row {
            return Some(Polynomial::from([(Product::One, node)]));
        }
        if !self.graph.depends_on(node, Input::Theta) {
            let known = self.atoms.iter().position(|&atom| atom == node);
            let atom = known.unwrap_or_else(|| {
                self.atoms.push(node);
                self.atoms.len() - 1
            });
            let (one, origin) = (self.graph.constant(1.0), self.origin(atom));
            return Some(Polynomial::from([(Product::Single(atom), one), (Product::One, origin)]));
        }
        match (entry.op, entry.args()) {
            (Op::Unary(Unary::Neg), &[a]) => {
                let a = self.polynomial(a)?;
                Some(a.into_iter().map(|(product, c)| (product, self.graph.neg(c))).collect())
            }
            (Op::Binary(Binary::Add), &[a, b]) => {
                let (a, b) = (self.polynomial(a)?, self.polynomial(b)?);
                Some(self.sum(a, b))
            }
            (Op::Binary(Binary::Sub), &[a, b]) => {
                let (a, b) = (self.polynomial(a)?, self.polynomial(b)?);
                let negative = b.into_iter().map(|(product, c)| (product, self.graph.neg(c)));
                let negative = negative.collect();
                Some(self.sum(a, negative))
            }
            (Op::Binary(Binary::Mul), &[a, b]) => {
                let (a, b) = (self.polynomial(a)?, self.polynomial(b)?);
                self.product(a, b)
            }
            (Op::Binary(Binary::Div), &[a, b]) if !self.graph.depends_on(b, Input::Theta) => {
                let one = self.graph.constant(1.0);
                let inverse = self.graph.div(one, b);
                let (a, b) = (self.polynomial(a)?, self.polynomial(inverse)?);
                self.product(a, b)
            }
            _ => None,
        }
    }

    fn sum(&mut self, mut a: Polynomial, b: Polynomial) -> Polynomial {
        for (product, c) in b {
            let before = a.get(&product).copied();
            let both = before.map_or(c, |before| self.graph.add(before, c));
            a.insert(product, both);
        }
        a
    }

    fn product(&mut self, a: Polynomial, b: Polynomial) -> Option<Polynomial> {
        let mut all = Polynomial::new();
        for (&p, &x) in &a {
            for (&q, &y) in &b {
                let term = Polynomial::from([(p.times(q)?, self.graph.mul(x, y))]);
                all = self.sum(all, term);
            }
        }
        Some(all)
    }

    /// The terms of a sum that depend on theta, with their signs.
    fn terms(&self, node: Node, is_negative: bool, out: &mut Vec<(Node, bool)>) {
        let entry = self.graph.entry(node);
        match (entry.op, entry.args()) {
            _ if !self.graph.depends_on(node, Input::Theta) => {}
            (Op::Unary(Unary::Neg), &[a]) => self.terms(a, !is_negative, out),
            (Op::Binary(Binary::Add), &[a, b]) => {
                self.terms(a, is_negative, out);
                self.terms(b, is_negative, out);
            }
            (Op::Binary(Binary::Sub), &[a, b]) => {
                self.terms(a, is_negative, out);
                self.terms(b, !is_negative, out);
            }
            _ => out.push((node, is_negative)),
        }
    }
}

impl Formulas<'_> {
    /// The programs, if the log density of a record is such a polynomial. `log_prior_free` and
    /// `constrained` are functions of the unconstrained parameters.
    pub(super) fn sufficient(
        &self,
        log_density: Node,
        log_prior_free: Node,
        constrained: &[Node],
        widths: Widths,
    ) -> Option<Sufficient> {
        let mut graph = self.graph.borrow_mut();
        let mut of = Expansion { graph: &mut graph, atoms: Vec::new(), known: HashMap::new() };
        let (mut terms, mut all) = (Vec::new(), Polynomial::new());
        of.terms(log_density, false, &mut terms);
        for (term, is_negative) in terms {
            let mut own = of.polynomial(term)?;
            if is_negative {
                own.values_mut().for_each(|c| *c = of.graph.neg(*c));
            }
            all = of.sum(all, own);
        }
        let atoms = of.atoms;
        let gaps: Vec<Node> = (0..atoms.len())
            .map(|k| {
                let origin = graph.input(Input::Beside, k, Fact::ANY);
                graph.sub(atoms[k], origin)
            })
            .collect();
        let (mut sums, mut total) = (Vec::new(), graph.constant(0.0));
        for (product, coefficient) in all {
            let sum = match product {
                Product::One => graph.count(),
                Product::Single(a) => graph.plain_sum(gaps[a]),
                Product::Pair(a, b) => {
                    let both = graph.mul(gaps[a], gaps[b]);
                    graph.plain_sum(both)
                }
            };
            let input = graph.input(Input::Beside, atoms.len() + sums.len(), Fact::ANY);
            sums.push(sum);
            let term = graph.mul(coefficient, input);
            total = graph.add(total, term);
        }
        drop(graph);
        let density = self.density_free(log_prior_free, total, constrained);
        let posterior = self.posterior_free(density);
        let graph = self.graph.borrow();
        let program = |outputs: &[Node], rows: &[Node]| Program::new(&graph, outputs, rows, widths);
        Some(Sufficient {
            atoms: program(&[], &atoms),
            sums: program(&sums, &[]),
            density: program(&[density], &[]),
            posterior: posterior.map(|nodes| program(&nodes, &[])),
        })
    }
}

impl Sufficient {
    /// The approximate nanoseconds for each of `n` records: of the sums, and then of the density and
    /// of its derivatives.
    pub(super) fn nanoseconds(&self, n: usize) -> (f64, f64, Option<f64>) {
        let posterior = self.posterior.as_ref().map(|program| program.nanoseconds(n));
        (self.sums.nanoseconds(n), self.density.nanoseconds(n), posterior)
    }

    pub(super) fn density(&self) -> &Program {
        &self.density
    }

    pub(super) fn posterior(&self) -> Option<&Program> {
        self.posterior.as_ref()
    }
}

impl Model {
    /// What the density of theta given the records depends on, into `out`: the atoms of the first
    /// record, and the sums. Returns false if there are no such sums, or if one is not finite.
    pub fn sums(&self, records: &[f64], out: &mut Vec<f64>, workspace: &mut Workspace) -> bool {
        let Some(sufficient) = &self.programs.sufficient else { return false };
        let atoms = sufficient.atoms.row_outputs.len();
        out.clear();
        out.resize(atoms + sufficient.sums.outputs.len(), 0.0);
        let (origin, sums) = out.split_at_mut(atoms);
        let n = records.len() / self.record.coordinates;
        if n > 0 {
            let first =
                Inputs { records: &records[..self.record.coordinates], ..Inputs::default() };
            sufficient.atoms.run(first, 1, workspace, &mut [], origin);
        }
        let inputs = Inputs { records, beside: origin, ..Inputs::default() };
        sufficient.sums.run(inputs, n, workspace, sums, &mut []);
        out.iter().all(|x| x.is_finite())
    }
}
