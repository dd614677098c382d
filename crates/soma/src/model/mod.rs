//! Models: the distribution of a record given parameters theta, and the update of theta given
//! records.

mod beta;
mod categorical;
mod computed;
mod coupled;
mod dirichlet;
mod dirichlet_conditional;
mod exponential;
mod gamma_prior;
mod log_linear;
mod nig;
mod normal;
mod plug_in;
mod price;
mod rank_one;
mod recipe;
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
pub use computed::{Computed, MOST_COMPUTED};
pub use coupled::CoupledUpdate;
pub use dirichlet::Dirichlet;
pub use exponential::Exponential;
pub use gamma_prior::GammaPrior;
pub use log_linear::LogLinear;
pub use nig::NormalInverseGamma;
pub use normal::Normal;
pub use plug_in::PlugInFit;
pub use price::Price;
pub use recipe::Recipe;
pub use regression::Regression;
pub use text::Text;
pub use uniform::Uniform;

pub use soma_language::Values;

use crate::counts::{Partition, Shares};
use crate::error::{Invalid, Outcome, finite};
use crate::release::Release;
use crate::release::query::{Axis, BATCH};
use crate::rng::Rng;

/// A model of one record, with a prior of its parameters theta.
///
/// Records come in batches, row by row, so that a vectorised model is as fast as one with loops.
/// theta is in the user's parametrisation; [`Transport`] has the unconstrained one.
pub trait Model: Debug + Send + Sync {
    /// The name of this kind of model in a spec.
    fn kind(&self) -> &'static str;

    /// D, the length of a record.
    fn record_dim(&self) -> usize;

    /// The names of the parameters, in the order of theta.
    fn parameters(&self) -> Vec<String>;

    /// The numbers that are computed from theta and are outputs beside it, if there are any.
    fn computed(&self) -> Option<&Computed> {
        None
    }

    /// The names of the variables of a record, where the model has names for them.
    fn record_names(&self) -> Option<Vec<String>> {
        None
    }

    /// The values that each variable of a record may have, where the model has names for them.
    fn record_values(&self) -> Option<Vec<Values>> {
        None
    }

    /// Whether records can be drawn at `theta`, as given by a user. The field of the error is the
    /// name of a parameter. The default requires finite numbers.
    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        self.parameters().iter().zip(theta).try_for_each(|(name, &value)| {
            finite(name, value)?;
            Ok(())
        })
    }

    /// Whether the model is compatible with `release`, beyond the length of a record, which is
    /// checked for every model.
    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        let _ = release;
        Ok(())
    }

    /// Whether `record` is in the support of the model at some theta. The default requires finite
    /// numbers.
    fn supports(&self, record: &[f64]) -> bool {
        record.iter().all(|x| x.is_finite())
    }

    /// Converts records from the internal to the user's representation.
    fn show(&self, records: &mut [f64]) {
        let _ = records;
    }

    /// Draws theta from the prior.
    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome;

    /// The log prior density at theta, in the user's parametrisation; minus infinity outside the
    /// support. It may be unnormalised.
    fn log_prior(&self, theta: &[f64]) -> Outcome<f64>;

    /// Fills `records` with draws from the model at theta.
    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome;

    /// The normalised log density of one record at theta.
    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64>;

    /// Replaces `records`, drawn from the model at another theta, by draws at theta. Parts whose
    /// distribution does not depend on theta may be kept.
    fn redraw(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        self.propose(theta, records, rng)
    }

    /// log f(record | to) - log f(record | from) for each of the records, row by row. Terms without
    /// theta may be omitted from both.
    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        for (ratio, record) in ratios.iter_mut().zip(records.chunks_exact(self.record_dim())) {
            *ratio = self.log_density(to, record)? - self.log_density(from, record)?;
        }
        Ok(())
    }

    /// An update that leaves the conditional of theta given the records invariant: an exact draw if
    /// possible, and otherwise a Markov transition that mixes well.
    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome;

    /// The initial theta of a chain: overdispersed, near the release. The default draws from the
    /// prior.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let _ = release;
        self.sample_prior(theta, rng)
    }

    /// The preferred number of records per call of [`propose`](Model::propose): many if a call is
    /// expensive, as in an interpreted language.
    fn batch_size(&self) -> usize {
        BATCH
    }

    /// The cost of the model's operations for each of `n` records, from which moves and kernels are
    /// chosen.
    fn price(&self, n: usize) -> Price {
        let _ = n;
        Price::PLAIN
    }

    /// The coupled update of theta, if the model has one. Otherwise the two chains are updated with
    /// common random numbers.
    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        None
    }

    /// The number of categories, if a record is the index of one: 0, 1, ...
    fn categories(&self) -> Option<usize> {
        None
    }

    /// The probabilities of the cells of a table with these axes, if the model has them: then the
    /// counts can be sampled without records.
    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        let _ = axes;
        None
    }

    /// The cells of records on which the statistics of `release` are constant, where they are
    /// written as text and the model can say how probable each of them is. The error says why it
    /// cannot.
    fn partition(&self, release: &Release) -> Option<Result<Partition, String>> {
        let _ = release;
        None
    }

    /// The textbook estimate of theta from the released values taken for the truth: what an analyst
    /// says who ignores noise and clamping. See [`plug_in`](crate::plug_in::plug_in()).
    fn plug_in(&self, release: &Release) -> PlugInFit {
        let _ = release;
        PlugInFit::Unknown
    }

    /// The parsed model, if it was written as text.
    fn describe(&self) -> Option<String> {
        None
    }

    /// The model as numbers or programs, where code can be generated from them.
    fn recipe(&self) -> Option<Recipe> {
        None
    }

    /// The model as a function of standard normal noise, if it is one.
    fn transport(&self) -> Option<&dyn Transport> {
        None
    }

    /// The model's map of records from one theta to another, if it has one and no
    /// [`transport`](Model::transport).
    fn carry(&self) -> Option<&dyn Carry> {
        None
    }
}

/// The cut points of the only axis, if there is one and it is a coordinate.
fn only_cuts(axes: &[Axis]) -> Option<Vec<f64>> {
    match axes {
        [axis] => axis.cuts.clone(),
        _ => None,
    }
}

/// A model that can map records from one theta to another.
///
/// Less than [`Transport`]: the noise need not be explicit.
pub trait Carry: Model {
    /// The records at `new_theta` with the same noise as `records`, which follow the model at
    /// `theta`. The maps must compose: to a third theta, or back, in one step or in two. Records
    /// that follow the model at `theta` must follow it at `new_theta`. theta is in the user's
    /// parametrisation, and `new_theta` has a finite log prior density.
    fn carry_records(
        &self,
        theta: &[f64],
        new_theta: &[f64],
        records: &[f64],
        carried: &mut [f64],
    ) -> Outcome;
}

/// A model whose record is a function of theta and standard normal noise: smooth and one-to-one,
/// unless one of its variables is discrete (see [`is_smooth`](Transport::is_smooth)).
pub trait Transport: Model {
    /// The unconstrained theta, of the same length: logarithms of scales and the like.
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]);

    /// The inverse of [`unconstrain`](Transport::unconstrain).
    fn constrain(&self, free: &[f64], theta: &mut [f64]);

    /// The log prior density with respect to the unconstrained theta, up to a constant.
    fn log_prior_free(&self, free: &[f64]) -> f64;

    /// The gradient of [`log_prior_free`](Transport::log_prior_free). The default uses finite
    /// differences.
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

    /// How wide the prior of each unconstrained parameter is, where that is known: the distance of its
    /// quartiles. Where the prior has no curvature, as far out in the tail of the logarithm of a
    /// standard deviation, steps are no longer than this.
    fn prior_widths(&self) -> Option<&[f64]> {
        None
    }

    /// The record as an affine function of its noise, x = shift + factor e, with a lower triangular
    /// factor, row by row. Returns `false`, and writes nothing, if it is not affine.
    fn affine(&self, theta: &[f64], shift: &mut [f64], factor: &mut [f64]) -> bool {
        let _ = (theta, shift, factor);
        false
    }

    /// The preferred number of records per call of [`forward`](Transport::forward): many if theta
    /// needs preparation.
    fn rows_at_once(&self) -> usize {
        self.batch_size()
    }

    /// The number of standard normals per record: D, unless a record has fewer degrees of freedom
    /// than coordinates, such as shares that sum to one.
    fn noise_dim(&self) -> usize {
        self.record_dim()
    }

    /// Whether all of the noise is standard normal. Otherwise theta and the records are moved
    /// jointly by the random walk only.
    fn is_standard(&self) -> bool {
        true
    }

    /// Whether a record is a smooth function of theta and of its noise. A discrete variable jumps,
    /// as the quantile of Phi(e) does.
    fn is_smooth(&self) -> bool {
        true
    }

    /// Whether the posterior of theta may have any shape, so that the pilot also tries the costly
    /// bridge update. The other joint updates are enough for the built-in models.
    fn may_bend(&self) -> bool {
        false
    }

    /// The records x = T(theta, e) of the noise e, both row by row.
    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome;

    /// The noise e with x = T(theta, e). If the records follow the model at theta, the noise is
    /// standard normal.
    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome;

    /// The noise of the records, drawn from its conditional given them:
    /// [`inverse`](Transport::inverse) if the map is one-to-one; the noise of a discrete variable
    /// is drawn from the interval that gives its value.
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
