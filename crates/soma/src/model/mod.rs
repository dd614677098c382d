//! How a record is drawn given parameters theta, and how theta is drawn given records.

mod beta;
mod categorical;
mod coupled;
mod dirichlet;
mod dirichlet_conditional;
mod exponential;
mod gamma_prior;
mod log_linear;
mod nig;
mod normal;
mod price;
mod rank_one;
mod regression;
mod slice;
pub(crate) mod slots;
mod text;
mod uniform;

#[cfg(test)]
pub(crate) mod testing;

use std::fmt::Debug;

pub use beta::Beta;
pub use categorical::Categorical;
pub use coupled::CoupledUpdate;
pub use dirichlet::Dirichlet;
pub use exponential::Exponential;
pub use gamma_prior::GammaPrior;
pub use log_linear::LogLinear;
pub use nig::NormalInverseGamma;
pub use normal::Normal;
pub use price::Price;
pub use regression::Regression;
pub use text::Text;
pub use uniform::Uniform;

use crate::counts::Shares;
use crate::error::{Invalid, Outcome, finite};
use crate::release::Release;
use crate::release::query::{Axis, BATCH};
use crate::rng::Rng;

/// A model of one record, with a prior of its parameters theta.
///
/// Records come in batches, row after row, so that a model written with arrays is as fast as one
/// written with loops. theta is in the unit that a user reads; [`Transport`] has the unconstrained
/// one.
pub trait Model: Debug + Send + Sync {
    /// The name of this kind of model in a spec.
    fn kind(&self) -> &'static str;

    /// D, the length of a record.
    fn record_dim(&self) -> usize;

    /// The names of the parameters, in the order of theta.
    fn parameters(&self) -> Vec<String>;

    /// Whether `theta`, given by a user, is one that records can be drawn at. The field of the
    /// error is the name of a parameter. Asks for finite numbers, unless the model knows better.
    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        self.parameters().iter().zip(theta).try_for_each(|(name, &value)| {
            finite(name, value)?;
            Ok(())
        })
    }

    /// Whether the model can have been that of the records behind `release`, beyond the length of
    /// a record, which is checked for every model.
    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        let _ = release;
        Ok(())
    }

    /// Whether `record` can have been drawn from the model, at some theta. Asks for finite numbers,
    /// unless the model knows better.
    fn supports(&self, record: &[f64]) -> bool {
        record.iter().all(|x| x.is_finite())
    }

    /// Turns records into what a user reads, where the model stores more than that.
    fn show(&self, records: &mut [f64]) {
        let _ = records;
    }

    /// Draws theta from the prior.
    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome;

    /// The log density of the prior at theta, with respect to theta as a user reads it; minus
    /// infinity outside its support. Constants may be left out.
    fn log_prior(&self, theta: &[f64]) -> Outcome<f64>;

    /// Draws as many records as `records` holds from the model at theta.
    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome;

    /// The normalised log density of one record at theta.
    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64>;

    /// Draws records at theta in the place of `records`, which were drawn from the model at another
    /// theta. Parts of a record whose law does not depend on theta may stay as they are.
    fn redraw(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        self.propose(theta, records, rng)
    }

    /// log f(record | to) - log f(record | from) for each of the records, row after row. What does
    /// not depend on theta may be left out of both.
    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        for (ratio, record) in ratios.iter_mut().zip(records.chunks_exact(self.record_dim())) {
            *ratio = self.log_density(to, record)? - self.log_density(from, record)?;
        }
        Ok(())
    }

    /// Moves theta so that its law given the records is left invariant: an exact draw where there
    /// is one, and otherwise a Markov move that mixes well.
    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome;

    /// Draws anew what of the records neither the release nor [`update`](Model::update) looks at, and
    /// which follows the model at theta all the same. Nothing, for most models.
    fn refresh_unseen(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let _ = (theta, records, rng);
        Ok(())
    }

    /// A start for a chain: theta near what the release says, dispersed more than the posterior.
    /// The prior, unless the model knows better.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let _ = release;
        self.sample_prior(theta, rng)
    }

    /// How many records [`propose`](Model::propose) is best asked for at a time: many, where a
    /// call costs much, as it does in an interpreted language.
    fn batch_size(&self) -> usize {
        BATCH
    }

    /// What the parts of the model take for each of `n` records. Moves and kernels are chosen by it.
    fn price(&self, n: usize) -> Price {
        let _ = n;
        Price::PLAIN
    }

    /// The update of theta in two coupled chains, where the model has one. Without it the two
    /// chains are updated with the same random numbers.
    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        None
    }

    /// The probabilities of the cells of a table with these axes, where the model gives them: then
    /// the counts can be sampled without records.
    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        let _ = axes;
        None
    }

    /// The model as it was understood, where it was written as text.
    fn describe(&self) -> Option<String> {
        None
    }

    /// The model as a function of standard noise, where it is one.
    fn transport(&self) -> Option<&dyn Transport> {
        None
    }

    /// The model's way of carrying records from one theta to another, where it has one and no
    /// [`transport`](Model::transport).
    fn carry(&self) -> Option<&dyn Carry> {
        None
    }
}

/// Where the one axis is cut, if there is one and it is that of a coordinate.
fn only_cuts(axes: &[Axis]) -> Option<Vec<f64>> {
    match axes {
        [axis] => axis.cuts.clone(),
        _ => None,
    }
}

/// A model that can say what records would have been at another theta.
///
/// Less than [`Transport`]: it need not name the noise that it holds.
pub trait Carry: Model {
    /// The records that the noise of `records`, which follow the model at `theta`, gives at
    /// `new_theta`. To carry them on to a third theta, or back, must give the same as to carry
    /// them there at once; and records that follow the model at `theta` must follow it at
    /// `new_theta`. theta is as a user reads it, and `new_theta` has a finite log prior density.
    fn carry_records(
        &self,
        theta: &[f64],
        new_theta: &[f64],
        records: &[f64],
        carried: &mut [f64],
    ) -> Outcome;
}

/// A model whose record is a function of theta and standard normal noise: smooth and one-to-one,
/// unless a variable of it is discrete (see [`is_smooth`](Transport::is_smooth)).
pub trait Transport: Model {
    /// theta without constraints, of the same length: logarithms of scales and the like.
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]);

    /// The inverse of [`unconstrain`](Transport::unconstrain).
    fn constrain(&self, free: &[f64], theta: &mut [f64]);

    /// The log prior density with respect to the unconstrained theta, up to a constant.
    fn log_prior_free(&self, free: &[f64]) -> f64;

    /// The gradient of [`log_prior_free`](Transport::log_prior_free): by differences, unless the
    /// model knows better.
    fn log_prior_free_gradient(&self, free: &[f64], gradient: &mut [f64]) {
        const STEP: f64 = 1e-4;
        let mut moved = free.to_vec();
        for (c, slope) in gradient.iter_mut().enumerate() {
            moved[c] = free[c] + STEP;
            let above = self.log_prior_free(&moved);
            moved[c] = free[c] - STEP;
            *slope = (above - self.log_prior_free(&moved)) / (2.0 * STEP);
            moved[c] = free[c];
        }
    }

    /// The record as an affine function of its noise, x = shift + factor e, the factor lower
    /// triangular and row after row. `false`, and nothing written, where it is none.
    fn affine(&self, theta: &[f64], shift: &mut [f64], factor: &mut [f64]) -> bool {
        let _ = (theta, shift, factor);
        false
    }

    /// How many records [`forward`](Transport::forward) is best asked for at a time: many, where
    /// theta takes work before the first record.
    fn rows_at_once(&self) -> usize {
        self.batch_size()
    }

    /// How many standard normals make one record: D, unless a record has fewer degrees of
    /// freedom than coordinates, as shares that sum to one do.
    fn noise_dim(&self) -> usize {
        self.record_dim()
    }

    /// Whether all of the noise of records that follow the model is standard normal. Where it is not,
    /// theta moves with the records by a walk alone.
    fn is_standard(&self) -> bool {
        true
    }

    /// Whether a record is a smooth function of theta and of its noise. Where a variable of it is
    /// discrete it jumps, as the quantile of Phi(e) does.
    fn is_smooth(&self) -> bool {
        true
    }

    /// The records x = T(theta, e) of the noise e, both row after row.
    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome;

    /// The noise e with x = T(theta, e). If the records follow the model at theta, the noise is
    /// standard normal.
    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome;

    /// The noise of the records, drawn from its law given them: [`inverse`](Transport::inverse),
    /// where it is one-to-one, and otherwise with the noise of a discrete variable drawn among
    /// that which gives its value.
    fn draw_noise(
        &self,
        theta: &[f64],
        records: &[f64],
        noise: &mut [f64],
        rng: &mut Rng,
    ) -> Outcome {
        let _ = rng;
        self.inverse(theta, records, noise)
    }
}
