//! The probability of a row, and the noise that leads into it, as programs.

use std::cell::RefCell;

use super::cut::{Cut, UNBOUNDED};
use crate::check::Law;
use crate::distribution::Univariate;
use crate::graph::{Fact, Graph, Input, Node, Term};
use crate::model::Model;
use crate::program::{Program, Widths};

/// The least probability of a tail that is computed as such.
const LEAST: f64 = 1e-290;

/// The programs of the log probability of a row, and of the ends of the noise of a record in it.
/// Their inputs are a record in the row, and beside it the ends of the interval of each coordinate.
pub(super) fn programs(model: &Model, cuts: &[Cut]) -> (Program, Program) {
    let graph = RefCell::new(model.graph.clone());
    let formulas = Formulas { graph: &graph, model, cuts };
    let (log_probability, noise) = formulas.rows();
    let widths = Widths { record: cuts.len(), noise: 0, beside_row: 2 * cuts.len() };
    let graph = graph.borrow();
    (
        Program::new(&graph, &[], &[log_probability], widths),
        Program::new(&graph, &[], &noise, widths),
    )
}

struct Formulas<'m> {
    graph: &'m RefCell<Graph>,
    model: &'m Model,
    cuts: &'m [Cut],
}

impl<'m> Formulas<'m> {
    fn constant(&self, value: f64) -> Term<'m> {
        let node = self.graph.borrow_mut().constant(value);
        Term::new(self.graph, node)
    }

    /// An end of the interval of coordinate `c`: the lower is 0, the upper 1.
    fn end(&self, c: usize, which: usize) -> Term<'m> {
        let node = self.graph.borrow_mut().input(Input::BesideRow, 2 * c + which, Fact::ANY);
        Term::new(self.graph, node)
    }

    /// The log probability of a row, and the ends of its noise.
    fn rows(&self) -> (Node, Vec<Node>) {
        let (mut log, mut noise) = (self.constant(0.0), Vec::new());
        let free = [f64::NEG_INFINITY, f64::INFINITY].map(|end| self.constant(end));
        let mut c = 0;
        for variable in &self.model.record.variables {
            let length = variable.shape.len();
            match &variable.law {
                Law::Each(family, args) => {
                    for &entry in &variable.coordinates {
                        let x = Term::new(self.graph, variable.nodes[entry]);
                        let args: Vec<Term> =
                            args[entry].iter().map(|&node| Term::new(self.graph, node)).collect();
                        let own = self.part(*family, c, x, &args);
                        if let Some((probability, _)) = own {
                            log = log + probability;
                        }
                        noise.push(own.map_or(free, |(_, ends)| ends));
                        c += 1;
                    }
                }
                Law::Whole(family, _) => {
                    noise.extend(vec![free; family.noise(length)]);
                    c += variable.coordinates.len();
                }
            }
        }
        (log.node, noise.into_iter().flatten().map(|term| term.node).collect())
    }

    /// The log probability of the part of coordinate `c` that `x` is in, and the ends of its noise.
    fn part(
        &self,
        family: &dyn Univariate,
        c: usize,
        x: Term<'m>,
        args: &[Term<'m>],
    ) -> Option<(Term<'m>, [Term<'m>; 2])> {
        match &self.cuts[c] {
            Cut::Whole => None,
            Cut::Intervals { .. } => {
                let ends = [0, 1].map(|which| self.score(family, self.end(c, which), args));
                Some((self.log_between(ends), ends))
            }
            Cut::Integers { low, count, is_open } => {
                let inside = self.inside(family, x, args);
                let outside = self.constant(f64::NEG_INFINITY);
                let log = inside.select(family.log_density(x, args), outside);
                let below = family.cdf(x - 1.0, args).normal_quantile();
                let above = family.cdf(x, args).normal_quantile();
                if !is_open {
                    return Some((log, [below, above]));
                }
                let last = low + (*count - 1) as f64;
                let beyond = inside
                    .select(family.above(self.constant(last - 1.0), args), self.constant(0.0));
                let is_last = x.equals(self.constant(last));
                // Far out the first value of a tail has most of its probability.
                let is_large = self.constant(LEAST).less(beyond);
                let log = is_last.select(is_large.select(beyond.log(), log), log);
                let below = is_last.select(-beyond.normal_quantile(), below);
                Some((log, [below, is_last.select(self.constant(f64::INFINITY), above)]))
            }
        }
    }

    /// Whether x is in the support.
    fn inside(&self, family: &dyn Univariate, x: Term<'m>, args: &[Term<'m>]) -> Term<'m> {
        let support = family.support(args);
        let (low, high) = (support.low.map(|t| t.node), support.high.map(|t| t.node));
        let node = self.graph.borrow_mut().inside(x.node, low, high);
        Term::new(self.graph, node)
    }

    /// The standard normal noise of x; infinite outside the support.
    fn score(&self, family: &dyn Univariate, x: Term<'m>, args: &[Term<'m>]) -> Term<'m> {
        let [lowest, highest] = [f64::NEG_INFINITY, f64::INFINITY].map(|end| self.constant(end));
        let support = family.support(args);
        let mut score = family.score(x, args);
        if let Some(low) = support.low {
            score = x.at_most(low).select(lowest, score);
        }
        if let Some(high) = support.high {
            score = high.at_most(x).select(highest, score);
        }
        let score = x.at_most(self.constant(-UNBOUNDED)).select(lowest, score);
        self.constant(UNBOUNDED).at_most(x).select(highest, score)
    }

    /// log(Phi(b) - Phi(a)), from the tails on the side of zero where both are small.
    fn log_between(&self, [a, b]: [Term<'m>; 2]) -> Term<'m> {
        let is_upper = self.constant(0.0).less(a);
        let (low, high) = (is_upper.select(-b, a), is_upper.select(-a, b));
        let (small, large) = (low.normal_log_cdf(), high.normal_log_cdf());
        let log = large + (-(small - large).expm1()).log();
        low.less(high).select(log, self.constant(f64::NEG_INFINITY))
    }
}
