//! The table `[model]`: how a record is drawn, and what was believed of its parameters.

use std::sync::Arc;

use super::prior::{Prior, matrix};
use super::query::{Ranges, ranges};
use super::value::Table;
use super::{fixed, text};
use crate::chain::Problem;
use crate::error::Invalid;
use crate::model::{
    Beta, Categorical, Dirichlet, Exponential, GammaPrior, Model, Normal, NormalInverseGamma,
    Regression, Text, Uniform,
};
use crate::release::Release;

/// Reads a model, for a release.
type Read = fn(&Table, &Release) -> Result<Arc<dyn Model>, Invalid>;

/// Each kind of model with the keys that it takes and how it is read.
const MODELS: &[(&str, &[&str], Read)] = &[
    ("normal", &["prior"], normal),
    ("regression", &["prior", "predictors"], regression),
    ("dirichlet", &["prior"], dirichlet),
    ("beta", &["prior"], beta),
    ("exponential", &["prior"], exponential),
    ("categorical", &["prior"], categorical),
    ("uniform", &["range"], uniform),
];

pub(super) fn read(table: &Table, release: Release) -> Result<Problem, Invalid> {
    let names: Vec<&'static str> = MODELS.iter().map(|(name, ..)| *name).collect();
    let kind = table.kind(&names).map_err(or_own)?;
    let (_, keys, read) = MODELS.iter().find(|(name, ..)| *name == kind).expect("a listed kind");
    table.only(&[&["kind", "fixed", "summaries"], *keys].concat())?;
    let model = read(table, &release)?;
    fixed::apply(table, Problem::new(release, model)?)
}

/// The problem with a model as text.
pub(super) fn with_text(table: &Table, text: Text, release: Release) -> Result<Problem, Invalid> {
    table.only(&[&["fixed", "summaries"], &text::KEYS[..]].concat())?;
    fixed::apply(table, Problem::new(release, Arc::new(text))?)
}

/// The error with the way out for those whose model is not in the list.
fn or_own(invalid: Invalid) -> Invalid {
    if invalid.allowed.ends_with('?') {
        return invalid;
    }
    Invalid {
        allowed: format!(
            "{}; or a model of your own, as text (parameters, record), in Rust or in Python",
            invalid.allowed
        ),
        ..invalid
    }
}

/// A model in the list's type, with errors below the model's table.
fn boxed<M: Model + 'static>(
    table: &Table,
    model: Result<M, Invalid>,
) -> Result<Arc<dyn Model>, Invalid> {
    Ok(Arc::new(model.map_err(|invalid| invalid.under(table.path()))?))
}

fn normal(table: &Table, _: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let prior = Prior::of(table, "normal-inverse-gamma", &["mean", "lambda", "shape", "rate"])?;
    let (mean, lambda) = (prior.number("mean")?, prior.number("lambda")?);
    boxed(table, Normal::new(mean, lambda, prior.number("shape")?, prior.number("rate")?))
}

fn regression(table: &Table, _: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let example = "{ mean = [...], covariance = [[...], ...] }, the covariance if not the identity";
    let predictors = table.need("predictors", example)?.table(example)?;
    predictors.only(&["mean", "covariance"])?;
    let centre = predictors.need("mean", "the mean of each predictor")?.numbers()?;
    let p = centre.len();
    let covariance = predictors.get("covariance").map(|value| matrix(&value, p)).transpose()?;
    let prior = Prior::of(table, "normal-inverse-gamma", &["mean", "precision", "shape", "rate"])?;
    let (mean, precision) = (prior.numbers("mean", p + 1)?, prior.matrix("precision", p + 1)?);
    let (shape, rate) = (prior.number("shape")?, prior.number("rate")?);
    let prior = NormalInverseGamma::new(mean, &precision, shape, rate)
        .map_err(|invalid| invalid.under("prior"));
    boxed(table, prior.and_then(|prior| Regression::new(centre, covariance, prior)))
}

fn dirichlet(table: &Table, release: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let priors = gammas(table, release.query().record_dim())?;
    boxed(table, Dirichlet::new(priors))
}

fn beta(table: &Table, _: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let priors = gammas(table, 2)?;
    boxed(table, Ok(Beta::new(priors[0], priors[1])))
}

fn exponential(table: &Table, _: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let priors = gammas(table, 1)?;
    boxed(table, Ok(Exponential::new(priors[0])))
}

fn categorical(table: &Table, release: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let prior = Prior::of(table, "dirichlet", &["alpha"])?;
    let query = release.query();
    let categories = query.bins().unwrap_or(query.dim());
    let model = Categorical::new(prior.numbers("alpha", categories)?);
    let labelled = query.categories() == Some(categories);
    boxed(table, if labelled { model.map(|model| model.labelled(query.labels())) } else { model })
}

fn uniform(table: &Table, release: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let range = match ranges(&table.need("range", "[low, high], or one for each coordinate")?)? {
        Ranges::One(range) => vec![range; release.query().record_dim()],
        Ranges::Each(ranges) => ranges,
    };
    boxed(table, Uniform::new(range))
}

/// `count` gamma priors: with one shape and rate for all, or one for each.
fn gammas(table: &Table, count: usize) -> Result<Vec<GammaPrior>, Invalid> {
    let prior = Prior::of(table, "gamma", &["shape", "rate"])?;
    let (shapes, rates) = (prior.numbers("shape", count)?, prior.numbers("rate", count)?);
    let all = shapes.into_iter().zip(rates).map(|(shape, rate)| GammaPrior::new(shape, rate));
    all.collect::<Result<_, _>>().map_err(|i| i.under("prior").under(table.path()))
}
