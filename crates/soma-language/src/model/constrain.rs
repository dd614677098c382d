//! The unconstrained parametrisation.
//!
//! A parameter above a bound is bound + exp(f), one below a bound is bound - exp(f), one between
//! two is low + (high - low) logistic(f). Shares are by stick-breaking: share k is the rest after
//! the earlier shares times logistic(f_k - log(K - k)), so that f = 0 are equal shares. Entries of
//! the factor of a correlation matrix are tanh(f) times the remaining length of the row.
//!
//! Where f is so large that the parameter is rounded to a bound, the density is 0: f could not be
//! computed from the parameter again.

use super::Formulas;
use crate::check::{Law, Variable};
use crate::distribution::{Constraint, Support, lkj_cholesky};
use crate::graph::{Node, Term};

impl<'m> Formulas<'m> {
    /// theta as a function of the unconstrained parameters, and the log Jacobian of it.
    pub(super) fn constrained(&self) -> (Vec<Node>, Node) {
        let mut theta: Vec<Node> = Vec::new();
        let mut log_jacobian = self.constant(0.0);
        for variable in &self.parameters.variables {
            let done = theta.len();
            let free = self.terms(&self.free[done..][..variable.coordinates.len()]);
            let args = self.arguments(&variable.law, &self.theta[..done], &theta);
            let (entries, logs) = match &variable.law {
                Law::Each(family, _) => free
                    .iter()
                    .zip(&args)
                    .map(|(&f, args)| self.between(f, family.support(args)))
                    .unzip(),
                Law::Whole(family, _) => match family.constraint() {
                    Constraint::Free => (free.clone(), Vec::new()),
                    Constraint::Simplex => self.shares(&free),
                    Constraint::CorrelationFactor => self.factor(&free),
                },
            };
            log_jacobian = logs.into_iter().fold(log_jacobian, |sum: Term, log: Term| sum + log);
            theta.extend(entries.into_iter().map(|entry: Term| entry.node));
        }
        (theta, log_jacobian.node)
    }

    /// The value between the bounds of a support as a function of `f`, and the log of its derivative.
    fn between(&self, f: Term<'m>, support: Support<'m>) -> (Term<'m>, Term<'m>) {
        let (x, log) = match (support.low, support.high) {
            (None, None) => return (f, f.constant(0.0)),
            (Some(low), None) => (low + f.exp(), f),
            (None, Some(high)) => (high - f.exp(), f),
            (Some(low), Some(high)) => {
                let width = high - low;
                (low + width * f.logistic(), width.log() - f.softplus() - (-f).softplus())
            }
        };
        (x, self.guarded(x, [support.low, support.high], log))
    }

    /// `log`, or minus infinity where x is rounded to one of these bounds.
    fn guarded(&self, x: Term<'m>, [low, high]: [Option<Term<'m>>; 2], log: Term<'m>) -> Term<'m> {
        let [low, high] = [low, high].map(|end| end.map(|end| end.node));
        let inside = self.graph.borrow_mut().strictly_inside(x.node, low, high);
        self.term(inside).select(log, self.constant(f64::NEG_INFINITY))
    }

    fn shares(&self, free: &[Term<'m>]) -> (Vec<Term<'m>>, Vec<Term<'m>>) {
        let mut left = self.constant(1.0);
        let (mut shares, mut logs) = (Vec::new(), Vec::new());
        for (k, &f) in free.iter().enumerate() {
            let f = f - ((free.len() - k) as f64).ln();
            let (part, ends) = (f.logistic(), [0.0, 1.0].map(|end| Some(self.constant(end))));
            let log = left.log() - f.softplus() - (-f).softplus();
            logs.push(self.guarded(part, ends, log));
            let share = left * part;
            shares.push(share);
            left = left * (-f).logistic();
        }
        (shares, logs)
    }

    fn factor(&self, free: &[Term<'m>]) -> (Vec<Term<'m>>, Vec<Term<'m>>) {
        let (mut entries, mut logs) = (Vec::new(), Vec::new());
        let mut rest = free.iter();
        for row in 1.. {
            let mut left = self.constant(1.0);
            for &f in rest.by_ref().take(row) {
                let z = f.tanh();
                let entry = z * left.sqrt();
                // 1 - tanh(f)^2 = 4 / (e^f + e^-f)^2
                let log_rest =
                    2.0 * (std::f64::consts::LN_2 - f.abs() - (-2.0 * f.abs()).softplus());
                let ends = [-1.0, 1.0].map(|end| Some(self.constant(end)));
                logs.push(self.guarded(z, ends, log_rest + 0.5 * left.log()));
                left = left * log_rest.exp();
                entries.push(entry);
            }
            if entries.len() == free.len() {
                return (entries, logs);
            }
        }
        (entries, logs)
    }

    /// The unconstrained parameters as a function of theta.
    pub(super) fn unconstrained(&self) -> Vec<Node> {
        let mut free: Vec<Term> = Vec::new();
        for variable in &self.parameters.variables {
            let theta = self.terms(&self.theta[variable.first..][..variable.coordinates.len()]);
            let args = self.arguments(&variable.law, &[], &[]);
            match &variable.law {
                Law::Each(family, _) => {
                    free.extend(
                        theta
                            .iter()
                            .zip(&args)
                            .map(|(&x, args)| unbounded(x, family.support(args))),
                    );
                }
                Law::Whole(family, _) => match family.constraint() {
                    Constraint::Free => free.extend(theta),
                    Constraint::Simplex => free.extend(self.free_shares(&theta)),
                    Constraint::CorrelationFactor => {
                        free.extend(self.free_factor(variable, &theta))
                    }
                },
            }
        }
        free.into_iter().map(|term| term.node).collect()
    }

    fn free_shares(&self, shares: &[Term<'m>]) -> Vec<Term<'m>> {
        let mut left = self.constant(1.0);
        let mut free = Vec::new();
        for (k, &share) in shares.iter().enumerate() {
            let after = left - share;
            free.push(share.log() - after.log() + ((shares.len() - k) as f64).ln());
            left = after;
        }
        free
    }

    fn free_factor(&self, variable: &Variable, theta: &[Term<'m>]) -> Vec<Term<'m>> {
        let d = variable.shape.len().isqrt();
        let mut left = self.constant(1.0);
        let mut free = Vec::new();
        for (&entry, &at) in theta.iter().zip(&variable.coordinates) {
            if at % d == 0 {
                left = self.constant(1.0);
            }
            let z = lkj_cholesky::partial(entry, left);
            free.push(0.5 * (z.log1p() - (-z).log1p()));
            left = left * (1.0 - z.square());
        }
        free
    }

    /// The log prior density of the unconstrained parameters.
    pub(super) fn log_prior_free(
        &self,
        log_prior: Node,
        constrained: &[Node],
        log_jacobian: Node,
    ) -> Node {
        let here = self.graph.borrow_mut().substitute(&[log_prior], &self.theta, constrained)[0];
        // At a bound the prior may be infinite.
        let (log_jacobian, never) = (self.term(log_jacobian), self.constant(f64::NEG_INFINITY));
        never.less(log_jacobian).select(self.term(here) + log_jacobian, never).node
    }
}

/// The inverse of [`between`](Formulas::between).
fn unbounded<'g>(x: Term<'g>, support: Support<'g>) -> Term<'g> {
    match (support.low, support.high) {
        (None, None) => x,
        (Some(low), None) => (x - low).log(),
        (None, Some(high)) => (high - x).log(),
        (Some(low), Some(high)) => (x - low).log() - (high - x).log(),
    }
}
