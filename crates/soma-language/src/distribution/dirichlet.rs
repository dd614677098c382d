//! dirichlet(shapes): shares that sum to one, density proportional to the product of
//! share^(shape - 1).

use super::{Argument, Constraint, Domain, Multivariate, vector};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Dirichlet;

/// The sum of the later shapes: with the shape itself, the two shapes of the beta in
/// stick-breaking.
fn sums_after<'g>(shapes: &[Term<'g>]) -> Vec<Term<'g>> {
    let mut sums = vec![shapes[shapes.len() - 1]; shapes.len() - 1];
    for k in (0..sums.len().saturating_sub(1)).rev() {
        sums[k] = sums[k + 1] + shapes[k + 1];
    }
    sums
}

impl Multivariate for Dirichlet {
    fn arguments(&self) -> &'static [Argument] {
        const { &[vector("shapes", Domain::Positive)] }
    }

    fn constraint(&self) -> Constraint {
        Constraint::Simplex
    }

    fn length(&self, lengths: &[usize]) -> Option<usize> {
        lengths.first().copied()
    }

    fn noise(&self, length: usize) -> usize {
        length - 1
    }

    fn log_density<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Term<'g> {
        let shapes = &args[0];
        let total = shapes[1..].iter().fold(shapes[0], |sum, &shape| sum + shape);
        x.iter().zip(shapes).fold(total.log_gamma(), |sum, (x, &shape)| {
            sum + (shape - 1.0) * x.log() - shape.log_gamma()
        })
    }

    fn sample<'g>(&self, source: Source<'g>, _: usize, args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        let gammas: Vec<Term> = args[0].iter().map(|&shape| source.gamma(shape)).collect();
        let total = gammas[1..].iter().fold(gammas[0], |sum, &gamma| sum + gamma);
        gammas.into_iter().map(|gamma| gamma / total).collect()
    }

    /// Stick-breaking: each share is a beta fraction of the rest.
    fn transform<'g>(&self, noise: &[Term<'g>], _: usize, args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        let mut left = args[0][0].constant(1.0);
        let mut shares = Vec::new();
        for ((&e, &shape), after) in noise.iter().zip(&args[0]).zip(sums_after(&args[0])) {
            let share = left * e.special(Special::BetaQuantile, &[shape, after]);
            shares.push(share);
            left = left - share;
        }
        shares.push(left);
        shares
    }

    fn whiten<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        let mut left = args[0][0].constant(1.0);
        let mut noise = Vec::new();
        for ((&share, &shape), after) in x.iter().zip(&args[0]).zip(sums_after(&args[0])) {
            noise.push((share / left).special(Special::BetaScore, &[shape, after]));
            left = left - share;
        }
        noise
    }
}
