//! multi_normal(mean, factor): x = mean + factor e with e standard normal and a lower triangular
//! factor, the Cholesky factor of the covariance.

use super::{Argument, Constraint, Domain, Form, Multivariate, vector};
use crate::graph::{Source, Term};
use crate::special::LOG_SQRT_TWO_PI;

pub(super) struct MultiNormal;

impl Multivariate for MultiNormal {
    fn arguments(&self) -> &'static [Argument] {
        const {
            &[
                vector("mean", Domain::Real),
                Argument { name: "factor", domain: Domain::Real, form: Form::Matrix },
            ]
        }
    }

    fn constraint(&self) -> Constraint {
        Constraint::Free
    }

    fn length(&self, lengths: &[usize]) -> Option<usize> {
        lengths.first().copied()
    }

    fn noise(&self, length: usize) -> usize {
        length
    }

    fn log_density<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Term<'g> {
        let d = x.len();
        let constant = x[0].constant(-LOG_SQRT_TWO_PI * d as f64);
        let normaliser = (0..d).fold(constant, |sum, i| sum - args[1][i * d + i].log());
        let squares: Option<Term> = self.whiten(x, args).into_iter().map(Term::square).sum();
        squares.map_or(normaliser, |squares| normaliser - 0.5 * squares)
    }

    fn sample<'g>(&self, source: Source<'g>, d: usize, args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        let noise: Vec<Term> = (0..d).map(|_| source.normal()).collect();
        self.transform(&noise, d, args)
    }

    fn transform<'g>(&self, noise: &[Term<'g>], d: usize, args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        (0..d)
            .map(|i| (0..=i).fold(args[0][i], |sum, j| sum + args[1][i * d + j] * noise[j]))
            .collect()
    }

    /// Forward substitution.
    fn whiten<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        let d = x.len();
        let mut noise: Vec<Term> = Vec::new();
        for i in 0..d {
            let rest =
                (0..i).fold(x[i] - args[0][i], |rest, j| rest - args[1][i * d + j] * noise[j]);
            noise.push(rest / args[1][i * d + i]);
        }
        noise
    }
}
