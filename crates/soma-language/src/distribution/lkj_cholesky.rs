//! lkj_cholesky(concentration): the Cholesky factor L of a correlation matrix R with density
//! proportional to det(R)^(concentration - 1) (Lewandowski, Kurowicka and Joe 2009).
//!
//! Row i of L is a point on the unit sphere, parametrised by partial correlations: with z_ij in
//! (-1, 1), L_ij = z_ij sqrt(1 - the sum of the squared earlier entries). Under LKJ(c) the z are
//! independent, (z_ij + 1) / 2 ~ Beta(s_j, s_j) with s_j = c + (d - 1 - j) / 2 for the column j =
//! 1, ...

use super::{Argument, Constraint, Domain, Multivariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct LkjCholesky;

/// d of a matrix of d^2 entries.
fn side(length: usize) -> usize {
    length.isqrt()
}

/// The shape of the beta of column j, from 0.
fn shape<'g>(concentration: Term<'g>, d: usize, j: usize) -> Term<'g> {
    concentration + 0.5 * (d as f64 - 2.0 - j as f64)
}

/// L from partial correlations, row by row.
pub(crate) fn factor<'g>(
    d: usize,
    one: Term<'g>,
    mut partial: impl FnMut(usize, usize) -> Term<'g>,
) -> Vec<Term<'g>> {
    let mut entries = vec![one * 0.0; d * d];
    for i in 0..d {
        let mut left = one;
        for j in 0..i {
            let entry = partial(i, j) * left.sqrt();
            entries[i * d + j] = entry;
            left = left - entry.square();
        }
        entries[i * d + i] = left.sqrt();
    }
    entries
}

/// The largest partial correlation below 1.
const LARGEST: f64 = 1.0 - f64::EPSILON / 2.0;

/// The partial correlation of an entry, from the remaining squared length before it. Rounding
/// cannot make it 1.
pub(crate) fn partial<'g>(entry: Term<'g>, left: Term<'g>) -> Term<'g> {
    let z = entry / left.sqrt();
    z.max(z.constant(-LARGEST)).min(z.constant(LARGEST))
}

/// The partial correlation of each entry below the diagonal, and the remaining squared length
/// before it.
pub(crate) fn partials<'g>(d: usize, x: &[Term<'g>]) -> Vec<(Term<'g>, Term<'g>)> {
    let mut found = Vec::new();
    for i in 0..d {
        let mut left = x[0].constant(1.0);
        for j in 0..i {
            let z = partial(x[i * d + j], left);
            found.push((z, left));
            left = left * (1.0 - z.square());
        }
    }
    found
}

impl Multivariate for LkjCholesky {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("concentration", Domain::Positive)] }
    }

    fn constraint(&self) -> Constraint {
        Constraint::CorrelationFactor
    }

    fn is_matrix(&self) -> bool {
        true
    }

    fn length(&self, _: &[usize]) -> Option<usize> {
        None
    }

    fn noise(&self, length: usize) -> usize {
        let d = side(length);
        d * (d - 1) / 2
    }

    /// With respect to the entries below the diagonal.
    fn log_density<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Term<'g> {
        let d = side(x.len());
        let mut total = x[0].constant(0.0);
        let partials = partials(d, x);
        let places = (0..d).flat_map(|i| (0..i).map(move |j| (i, j)));
        for ((_, j), (z, left)) in places.zip(partials) {
            let s = shape(args[0][0], d, j);
            let log_beta = 2.0 * s.log_gamma() - (2.0 * s).log_gamma();
            let constant = log_beta + (2.0 * s - 1.0) * std::f64::consts::LN_2;
            total = total + (s - 1.0) * (-z.square()).log1p() - constant - 0.5 * left.log();
        }
        total
    }

    fn sample<'g>(
        &self,
        source: Source<'g>,
        length: usize,
        args: &[Vec<Term<'g>>],
    ) -> Vec<Term<'g>> {
        let d = side(length);
        factor(d, args[0][0].constant(1.0), |_, j| {
            let s = shape(args[0][0], d, j);
            2.0 * source.beta(s, s) - 1.0
        })
    }

    fn transform<'g>(
        &self,
        noise: &[Term<'g>],
        length: usize,
        args: &[Vec<Term<'g>>],
    ) -> Vec<Term<'g>> {
        let d = side(length);
        factor(d, args[0][0].constant(1.0), |i, j| {
            let s = shape(args[0][0], d, j);
            2.0 * noise[i * (i - 1) / 2 + j].special(Special::BetaQuantile, &[s, s]) - 1.0
        })
    }

    fn whiten<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Vec<Term<'g>> {
        let d = side(x.len());
        let places = (0..d).flat_map(|i| (0..i).map(move |j| (i, j)));
        let pairs = places.zip(partials(d, x));
        pairs
            .map(|((_, j), (z, _))| {
                let s = shape(args[0][0], d, j);
                (0.5 * z + 0.5).special(Special::BetaScore, &[s, s])
            })
            .collect()
    }
}
