//! The probabilities of the cells: a Dirichlet prior, integrated out, or a model with parameters.

use std::fmt::Debug;
use std::sync::Arc;

use rand::RngExt;
use rand_distr::{Distribution, Gamma};

use crate::error::{Invalid, positive};
use crate::numeric::ln_gamma_shift::ln_gamma_shift;
use crate::release::Total;
use crate::rng::Rng;

/// A model of the cells' probabilities with unconstrained parameters theta.
pub trait CellModel: Debug + Send + Sync {
    /// The names of the outputs of theta.
    fn parameters(&self) -> Vec<String>;

    /// The outputs of theta, in the order of the names.
    fn output(&self, theta: &[f64]) -> Vec<f64>;

    /// The number of coordinates of theta.
    fn dim(&self) -> usize;

    /// The number of cells.
    fn cells(&self) -> usize;

    /// The unnormalised log prior density of the unconstrained theta.
    fn log_prior(&self, theta: &[f64]) -> f64;

    /// Draws theta from the prior.
    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng);

    /// The log probability of each cell. theta has density 0 where they do not sum to one, as where they
    /// cannot be computed.
    fn log_shares(&self, theta: &[f64], out: &mut [f64]);

    /// Where the log probability of a cell is a sum of effects with normal priors, up to a constant: the standard
    /// deviations of the effects, and the effects of each cell, cell by cell. theta is the effects.
    fn effects(&self) -> Option<(&[f64], &[u32])> {
        None
    }

    /// Whether the probabilities of the cells are outputs in addition to theta: if the cells are of
    /// interest themselves, and not bins that a curator chose.
    fn shows_shares(&self) -> bool {
        false
    }

    /// The cell of a record of the model, where the query of the release does not say it.
    fn cell_of(&self, record: &[f64]) -> Option<usize> {
        let _ = record;
        None
    }

    /// The length of a record.
    fn record_dim(&self) -> usize {
        1
    }

    /// Records, so many of each cell, cell by cell, given theta and their cells. By default a record
    /// is the index of its cell.
    fn records(&self, theta: &[f64], counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        let _ = (theta, rng);
        cell_indices(counts)
    }

    /// An initial theta for noisy shares; by default a draw from the prior.
    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let _ = shares;
        self.sample_prior(theta, rng);
    }
}

/// How far from one the probabilities of the cells may sum to.
const ROUNDING: f64 = 1e-6;

/// Whether these are the log probabilities of all cells: a NaN among them is none.
pub(super) fn sum_to_one(log_shares: &[f64]) -> bool {
    (log_shares.iter().map(|log| log.exp()).sum::<f64>() - 1.0).abs() <= ROUNDING
}

/// The index of its cell for each record, cell by cell.
pub(super) fn cell_indices(counts: &[i64]) -> Vec<f64> {
    let each =
        |(cell, &count): (usize, &i64)| std::iter::repeat_n(cell as f64, count.max(0) as usize);
    counts.iter().enumerate().flat_map(each).collect()
}

/// The model of the cells' probabilities.
#[derive(Debug, Clone)]
pub enum Shares {
    /// Dirichlet with these parameters, one for each cell. It is integrated out: the counts are
    /// Dirichlet-multinomial, and the shares are drawn given the counts for the output only.
    Dirichlet(Vec<f64>),
    /// A model with parameters.
    Model(Arc<dyn CellModel>),
}

impl Shares {
    /// The probabilities of a model.
    pub fn of(model: impl CellModel + 'static) -> Self {
        Shares::Model(Arc::new(model))
    }

    pub(super) fn check(&self, cells: usize) -> Result<(), Invalid> {
        let given = match self {
            Shares::Dirichlet(alpha) => {
                for (cell, &alpha) in alpha.iter().enumerate() {
                    positive(&format!("prior.alpha[{cell}]"), alpha)?;
                }
                alpha.len()
            }
            Shares::Model(model) => model.cells(),
        };
        if given == cells {
            return Ok(());
        }
        let (given, allowed) = (format!("{given} cells"), format!("{cells} cells"));
        Err(Invalid::new("model", "the model does not fit the table", given, allowed))
    }
}

/// The log prior of the counts along a line: a term for each cell and one for n.
///
/// With the shares integrated out it is sum_i [ln Gamma(c_i + a_i) - ln c_i!] + ln n! -
/// ln Gamma(n + a), a = sum_i a_i; given the shares p it is sum_i [c_i ln p_i - ln c_i!] + ln n!.
/// The log prior of n is added to both.
#[derive(Debug, Clone, Copy)]
pub(super) enum Terms<'a> {
    Dirichlet { alpha: &'a [f64], sum: f64 },
    Multinomial { log_shares: &'a [f64] },
}

impl Terms<'_> {
    /// The change of the term of `cell` from `count` to `count + by`, both at least 0.
    #[inline]
    pub(super) fn cell(&self, cell: usize, count: i64, by: i64) -> f64 {
        if by == 0 {
            return 0.0;
        }
        let (count, by) = (count as f64, by as f64);
        match self {
            Terms::Dirichlet { alpha, .. } => {
                let excess = alpha[cell] - 1.0;
                if excess == 0.0 {
                    return 0.0;
                }
                ln_gamma_shift(count + by + 1.0, excess) - ln_gamma_shift(count + 1.0, excess)
            }
            Terms::Multinomial { log_shares } => {
                by * log_shares[cell] - ln_gamma_shift(count + 1.0, by)
            }
        }
    }

    /// The change of the terms of two cells if one record goes from the second, which has records,
    /// to the first.
    #[inline]
    pub(super) fn step(&self, (to, more): (usize, i64), (from, less): (usize, i64)) -> f64 {
        let (more, less) = (more as f64, less as f64);
        match self {
            Terms::Dirichlet { alpha, .. } => {
                let (gain, loss) = (alpha[to], alpha[from]);
                if gain == 1.0 && loss == 1.0 {
                    return 0.0;
                }
                ((more + gain) * less / ((more + 1.0) * (less - 1.0 + loss))).ln()
            }
            Terms::Multinomial { log_shares } => {
                log_shares[to] - log_shares[from] + (less / (more + 1.0)).ln()
            }
        }
    }

    /// The change of the term of n.
    pub(super) fn size(&self, total: Total, n: i64, by: i64) -> f64 {
        if by == 0 {
            return 0.0;
        }
        let (count, shift) = (n as f64, by as f64);
        let own = match self {
            Terms::Dirichlet { sum, .. } => {
                ln_gamma_shift(count + 1.0, sum - 1.0)
                    - ln_gamma_shift(count + shift + 1.0, sum - 1.0)
            }
            Terms::Multinomial { .. } => ln_gamma_shift(count + 1.0, shift),
        };
        own + total.change(n, by)
    }
}

/// Shares from Dirichlet(alpha + counts): gamma draws over their sum. In logarithms if all parameters
/// are below 1, so that tiny ones do not all underflow: Gamma(a) is Gamma(a + 1) U^(1/a).
pub(super) fn sample_shares(alpha: &[f64], counts: &[i64], shares: &mut [f64], rng: &mut Rng) {
    let shapes = || alpha.iter().zip(counts).map(|(alpha, &count)| alpha + count as f64);
    if shapes().any(|shape| shape >= 1.0) {
        shares.iter_mut().zip(shapes()).for_each(|(share, shape)| {
            *share = if shape >= 1.0 {
                gamma_draw(shape, rng)
            } else {
                log_gamma_draw(shape, rng).exp()
            };
        });
    } else {
        shares.iter_mut().zip(shapes()).for_each(|(share, shape)| {
            *share = log_gamma_draw(shape, rng);
        });
        let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shares.iter_mut().for_each(|share| *share = (*share - most).exp());
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
}

/// A draw of Gamma(shape, 1).
fn gamma_draw(shape: f64, rng: &mut Rng) -> f64 {
    match Gamma::new(shape, 1.0) {
        Ok(gamma) => gamma.sample(rng),
        Err(_) => f64::MIN_POSITIVE,
    }
}

/// The log of a draw of Gamma(shape, 1).
pub(super) fn log_gamma_draw(shape: f64, rng: &mut Rng) -> f64 {
    if shape >= 1.0 {
        return gamma_draw(shape, rng).ln();
    }
    let uniform: f64 = 1.0 - rng.random::<f64>();
    gamma_draw(shape + 1.0, rng).ln() + uniform.ln() / shape
}
