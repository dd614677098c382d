//! The distributions: one file each, and one line in [`TABLE`].
//!
//! A distribution is given by formulas: its normalised log density, a sampler, its quantile as a
//! function of standard noise, and the inverse of that. Derivatives follow from the formulas.

mod bernoulli;
mod beta;
mod binomial;
mod categorical;
mod dirichlet;
mod exponential;
mod gamma;
mod half_normal;
mod inverse_gamma;
mod laplace;
pub(crate) mod lkj_cholesky;
mod log_normal;
mod logistic;
mod multi_normal;
mod negative_binomial;
mod normal;
mod poisson;
mod standard;
mod student_t;
mod uniform;
mod weibull;

pub(crate) use standard::{standard_beta, standard_gamma, standard_student};

use crate::graph::{Source, Term};

/// The domain of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Any number.
    Real,
    /// A number above 0.
    Positive,
    /// A number from 0 to 1.
    Probability,
    /// A whole number from 0 up.
    Count,
}

impl Domain {
    /// The domain in words.
    pub fn words(self) -> &'static str {
        match self {
            Domain::Real => "any number",
            Domain::Positive => "positive",
            Domain::Probability => "between 0 and 1",
            Domain::Count => "a whole number from 0 up",
        }
    }
}

/// The form of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One number.
    Scalar,
    /// A vector.
    Vector,
    /// A square matrix.
    Matrix,
}

/// An argument of a distribution.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Its name in messages and in the manual.
    pub name: &'static str,
    /// Its domain.
    pub domain: Domain,
    /// Its form.
    pub form: Form,
}

/// A scalar argument.
pub(crate) const fn scalar(name: &'static str, domain: Domain) -> Argument {
    Argument { name, domain, form: Form::Scalar }
}

/// A vector argument.
pub(crate) const fn vector(name: &'static str, domain: Domain) -> Argument {
    Argument { name, domain, form: Form::Vector }
}

/// The bounds of a support, if any.
#[derive(Debug, Clone, Copy)]
pub struct Support<'g> {
    /// The lower end.
    pub low: Option<Term<'g>>,
    /// The upper end.
    pub high: Option<Term<'g>>,
}

impl Support<'_> {
    /// All numbers.
    pub const REAL: Support<'static> = Support { low: None, high: None };
}

/// The distribution of one number. A vector argument is given entry by entry.
pub trait Univariate: Sync {
    /// The arguments, in order.
    fn arguments(&self) -> &'static [Argument];

    /// Whether its values are integers.
    fn is_discrete(&self) -> bool {
        false
    }

    /// Whether its values are bounded by their type, and not by the model: an indicator or a
    /// category.
    fn is_bounded_by_type(&self) -> bool {
        false
    }

    /// Whether the ends of its support are values with a positive density, if it is continuous.
    fn holds_ends(&self) -> bool {
        false
    }

    /// The error for arguments that are invalid together, and how to fix it.
    fn problem(&self, args: &[Term]) -> Option<(String, String)> {
        let _ = args;
        None
    }

    /// The closed interval of its values.
    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g>;

    /// The normalised log density (or log probability) at x inside the support.
    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g>;

    /// A draw.
    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g>;

    /// The value for given noise: a standard normal or, if the distribution is discrete, a uniform
    /// on (0, 1).
    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g>;

    /// The standard normal noise of the value x. Not used for a discrete distribution.
    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        self.cdf(x, args).normal_quantile()
    }

    /// The probability of values up to x.
    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g>;

    /// The probability of values above x. Where it may be much smaller than one, it is computed
    /// without cancellation.
    fn above<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        1.0 - self.cdf(x, args)
    }
}

/// The constraint on the entries of a vector, which determines its unconstrained parametrisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// None.
    Free,
    /// Positive entries that sum to one.
    Simplex,
    /// The Cholesky factor of a correlation matrix: lower triangular, rows of length one, the
    /// diagonal positive.
    CorrelationFactor,
}

/// The distribution of a vector, or of a matrix row by row. Always continuous.
pub trait Multivariate: Sync {
    /// The arguments, in order.
    fn arguments(&self) -> &'static [Argument];

    /// The constraint on the entries.
    fn constraint(&self) -> Constraint;

    /// Whether a value is a square matrix.
    fn is_matrix(&self) -> bool {
        false
    }

    /// The number of entries of a value for arguments of these lengths, if determined by them.
    fn length(&self, lengths: &[usize]) -> Option<usize>;

    /// The number of standard normals for a value of `length` entries.
    fn noise(&self, length: usize) -> usize;

    /// The normalised log density, with respect to the entries that are not determined by others.
    fn log_density<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Term<'g>;

    /// A draw of `length` entries.
    fn sample<'g>(
        &self,
        source: Source<'g>,
        length: usize,
        args: &[Vec<Term<'g>>],
    ) -> Vec<Term<'g>>;

    /// The value for given standard normals.
    fn transform<'g>(
        &self,
        noise: &[Term<'g>],
        length: usize,
        args: &[Vec<Term<'g>>],
    ) -> Vec<Term<'g>>;

    /// The standard normals of a value.
    fn whiten<'g>(&self, x: &[Term<'g>], args: &[Vec<Term<'g>>]) -> Vec<Term<'g>>;
}

/// A distribution of the table.
#[derive(Clone, Copy)]
pub enum Family {
    /// Of one number.
    Univariate(&'static dyn Univariate),
    /// Of a vector.
    Multivariate(&'static dyn Multivariate),
}

impl Family {
    /// The arguments, in order.
    pub fn arguments(self) -> &'static [Argument] {
        match self {
            Family::Univariate(family) => family.arguments(),
            Family::Multivariate(family) => family.arguments(),
        }
    }
}

/// Every distribution by its name in a text.
pub const TABLE: [(&str, Family); 20] = [
    ("bernoulli", Family::Univariate(&bernoulli::Bernoulli)),
    ("beta", Family::Univariate(&beta::Beta)),
    ("binomial", Family::Univariate(&binomial::Binomial)),
    ("categorical", Family::Univariate(&categorical::Categorical)),
    ("dirichlet", Family::Multivariate(&dirichlet::Dirichlet)),
    ("exponential", Family::Univariate(&exponential::Exponential)),
    ("gamma", Family::Univariate(&gamma::Gamma)),
    ("half_normal", Family::Univariate(&half_normal::HalfNormal)),
    ("inverse_gamma", Family::Univariate(&inverse_gamma::InverseGamma)),
    ("laplace", Family::Univariate(&laplace::Laplace)),
    ("lkj_cholesky", Family::Multivariate(&lkj_cholesky::LkjCholesky)),
    ("log_normal", Family::Univariate(&log_normal::LogNormal)),
    ("logistic", Family::Univariate(&logistic::Logistic)),
    ("multi_normal", Family::Multivariate(&multi_normal::MultiNormal)),
    ("negative_binomial", Family::Univariate(&negative_binomial::NegativeBinomial)),
    ("normal", Family::Univariate(&normal::Normal)),
    ("poisson", Family::Univariate(&poisson::Poisson)),
    ("student_t", Family::Univariate(&student_t::StudentT)),
    ("uniform", Family::Univariate(&uniform::Uniform)),
    ("weibull", Family::Univariate(&weibull::Weibull)),
];

/// The distribution called `name`.
pub fn find(name: &str) -> Option<Family> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, family)| *family)
}
