//! Checks of the arguments of a distribution.

use super::function::Argument;
use super::{Block, Scope, Shape};
use crate::distribution::{self, Constraint, Domain, Form, Multivariate};
use crate::error::Problem;
use crate::syntax::{Target, Tilde};

type Checked<T> = Result<T, Problem>;

impl Scope<'_> {
    /// Rejects an argument that is, or can be, outside its domain.
    pub(super) fn check_domain(
        &self,
        name: &str,
        argument: &Argument,
        expected: &distribution::Argument,
    ) -> Checked<()> {
        let graph = self.graph.borrow();
        for &node in &argument.value.nodes {
            let fact = graph.fact(node);
            let constant = graph.constant_value(node);
            if let Some(value) = constant
                && !inside(expected.domain, value)
            {
                return Err(Problem::new(
                    argument.span,
                    format!(
                        "`{}` of `{name}` is {value}, but it must be {}",
                        expected.name,
                        expected.domain.words()
                    ),
                    "change the argument",
                ));
            }
            let (low, high, advice) = match expected.domain {
                Domain::Real => continue,
                Domain::Positive => (
                    0.0,
                    f64::INFINITY,
                    "give it a positive prior such as `half_normal`, or write `exp(...)`",
                ),
                Domain::Probability => {
                    (0.0, 1.0, "write `logistic(...)`, or give it a prior on (0, 1) such as `beta`")
                }
                Domain::Count => (
                    0.0,
                    f64::INFINITY,
                    "use a constant, or a name drawn from a discrete distribution",
                ),
            };
            let whole = expected.domain != Domain::Count || fact.integer;
            if fact.low < low || fact.high > high || !whole {
                let range = fact.range();
                return Err(Problem::new(
                    argument.span,
                    format!(
                        "`{}` of `{name}` must be {}, but this can be {range}",
                        expected.name,
                        expected.domain.words()
                    ),
                    advice,
                ));
            }
        }
        Ok(())
    }
}

fn inside(domain: Domain, value: f64) -> bool {
    match domain {
        Domain::Real => value.is_finite(),
        Domain::Positive => value > 0.0 && value.is_finite(),
        Domain::Probability => (0.0..=1.0).contains(&value),
        Domain::Count => value >= 0.0 && value == value.floor() && value < 1e15,
    }
}

/// Rejects a vector or matrix of the wrong shape for its distribution.
pub(super) fn check_whole(
    family: &dyn Multivariate,
    target: &Target,
    shape: Shape,
    tilde: &Tilde,
    arguments: &[Argument],
    scope: &Scope<'_>,
) -> Checked<()> {
    for (argument, expected) in arguments.iter().zip(family.arguments()) {
        let fits = match expected.form {
            Form::Scalar => argument.value.shape == Shape::Scalar,
            Form::Vector => {
                matches!(argument.value.shape, Shape::Vector(n) if n >= 2 || family.constraint() == Constraint::Free)
            }
            Form::Matrix => {
                matches!(argument.value.shape, Shape::Matrix(rows, columns) if rows == columns)
            }
        };
        if !fits {
            let wanted = match expected.form {
                Form::Scalar => "a single number",
                Form::Vector if family.constraint() == Constraint::Simplex => {
                    "a vector of two or more"
                }
                Form::Vector => "a vector",
                Form::Matrix => "a square matrix",
            };
            return Err(Problem::new(
                argument.span,
                format!(
                    "`{}` of `{}` must be {wanted}, not {}",
                    expected.name,
                    tilde.name,
                    argument.value.shape.words()
                ),
                "a vector is a name such as `b` of `b[1..3]`, or a list `[1, 2, 3]`; matrices are given as data or drawn",
            ));
        }
    }
    if family.is_matrix() {
        return match shape {
            Shape::Matrix(rows, columns)
                if rows == columns && rows >= 2 && scope.block == Block::Parameters =>
            {
                Ok(())
            }
            Shape::Matrix(rows, columns) if rows == columns && rows >= 2 => Err(Problem::new(
                tilde.span,
                format!("`{}` is a distribution of parameters", tilde.name),
                "move this line to the parameters",
            )),
            _ => Err(Problem::new(
                target.span,
                format!("`{}` draws a square matrix", tilde.name),
                format!("write `{0}[1..3, 1..3] ~ {1}(...)`", target.name, tilde.name),
            )),
        };
    }
    let lengths: Vec<usize> = arguments.iter().map(|argument| argument.value.nodes.len()).collect();
    let n = family.length(&lengths).unwrap_or(0);
    if shape != Shape::Vector(n) {
        let message = format!(
            "`{}` draws a vector of {n}, but `{}` is {}",
            tilde.name,
            target.name,
            shape.words()
        );
        return Err(Problem::new(
            target.span,
            message,
            format!("write `{}[1..{n}] ~ ...`", target.name),
        ));
    }
    if let Some(argument) =
        arguments.iter().find(|argument| matches!(argument.value.shape, Shape::Matrix(..)))
    {
        check_factor(argument, n, scope)?;
    }
    Ok(())
}

/// Rejects a matrix that is not a Cholesky factor with n rows.
fn check_factor(argument: &Argument, n: usize, scope: &Scope<'_>) -> Checked<()> {
    let nodes = &argument.value.nodes;
    if nodes.len() != n * n {
        return Err(Problem::new(
            argument.span,
            format!("{} for a mean of {n}", argument.value.shape.words()),
            format!("the factor must be a matrix of {n} by {n}"),
        ));
    }
    let graph = scope.graph.borrow();
    let upper =
        (0..n * n).any(|at| at % n > at / n && graph.constant_value(nodes[at]) != Some(0.0));
    if upper {
        return Err(Problem::new(
            argument.span,
            "the factor must be lower triangular",
            "for a covariance given as data write `cholesky(covariance)`",
        ));
    }
    let diagonal = (0..n).any(|i| {
        let node = nodes[i * n + i];
        graph.fact(node).low < 0.0 || graph.constant_value(node) == Some(0.0)
    });
    if diagonal {
        return Err(Problem::new(
            argument.span,
            "the diagonal of the factor must be positive",
            "use `cholesky(covariance)` of data, or `scale_rows(sd, L)` with positive sd",
        ));
    }
    Ok(())
}
