//! The table `[model]`: the model of a record and the prior of its parameters.

use std::sync::Arc;

use super::prior::{Prior, matrix};
use super::query::{Ranges, ranges};
use super::value::Table;
use super::{fixed, text};
use crate::chain::Problem;
use crate::error::{Invalid, listed};
use crate::model::{
    Beta, Categorical, Dirichlet, Exponential, GammaPrior, LogLinear, Model, Normal,
    NormalInverseGamma, Regression, Text, Uniform,
};
use crate::release::query::Cells;
use crate::release::{Query, Release};

/// Reads a model, for a release.
type Read = fn(&Table, &Release) -> Result<Arc<dyn Model>, Invalid>;

/// The variables of a record as text, for statistics as text. The distributions only state the
/// support.
enum Record {
    /// One number.
    Of(&'static str),
    /// As the table says; `None` if it is wrong, which the reader of the model explains.
    By(fn(&Table) -> Option<String>),
    /// No statistics as text.
    Unnamed,
}

/// Each kind of model with its keys, its reader and its record.
const MODELS: &[(&str, &[&str], Read, Record)] = &[
    ("normal", &["prior"], normal, Record::Of("x ~ normal(0, 1)")),
    ("regression", &["prior", "predictors"], regression, Record::By(predictors_and_response)),
    ("dirichlet", &["prior"], dirichlet, Record::Unnamed),
    ("beta", &["prior"], beta, Record::Of("x ~ beta(1, 1)")),
    ("exponential", &["prior"], exponential, Record::Of("x ~ exponential(1)")),
    ("categorical", &["prior"], categorical, Record::Unnamed),
    ("log-linear", &["prior", "interactions"], log_linear, Record::Unnamed),
    ("uniform", &["range"], uniform, Record::Unnamed),
];

/// The variables of a record of a built-in model, for statistics as text. `None` if this is no such
/// model.
pub(super) fn variables(table: &Table) -> Option<Text> {
    let (.., record) = MODELS.iter().find(|(name, ..)| table.names("kind", name))?;
    let record = match record {
        Record::Of(record) => record.to_string(),
        Record::By(record) => record(table)?,
        Record::Unnamed => return None,
    };
    Text::new("unused ~ normal(0, 1)", &record, &soma_language::Data::new()).ok()
}

/// Of a regression: `x1`, `x2`, ... and `y`.
fn predictors_and_response(table: &Table) -> Option<String> {
    let mean = table.get("predictors")?.table("").ok()?.get("mean")?.numbers().ok()?;
    let predictors = (1..=mean.len()).map(|k| format!("x{k} ~ normal(0, 1)\n"));
    Some(predictors.collect::<String>() + "y ~ normal(0, 1)")
}

pub(super) fn read(table: &Table, release: Release) -> Result<Problem, Invalid> {
    let names: Vec<&'static str> = MODELS.iter().map(|(name, ..)| *name).collect();
    let kind = table.kind(&names).map_err(or_own)?;
    let (_, keys, read, _) = MODELS.iter().find(|(name, ..)| *name == kind).expect("a listed kind");
    table.only(&[&["kind", "fixed", "summaries"], *keys].concat())?;
    let model = read(table, &release)?;
    fixed::apply(table, Problem::new(release, model)?)
}

/// The problem with a model as text.
pub(super) fn with_text(table: &Table, text: Text, release: Release) -> Result<Problem, Invalid> {
    table.only(&[&["fixed", "summaries"], &text::ALL_KEYS[..]].concat())?;
    fixed::apply(table, Problem::new(release, Arc::new(text))?)
}

/// Adds to the error that users can write their own model.
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

/// Boxes a model, and prefixes its errors with the table.
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
    let priors = gammas(table, release.record_query().record_dim())?;
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
    let query = release.record_query();
    check_bins_are_categories(table, query.as_ref())?;
    let cells = query.cells().filter(Cells::is_of_levels);
    let categories = match &cells {
        Some(cells) => cells.count(),
        None => query.bins().or(prior.length("alpha")).unwrap_or(query.dim()),
    };
    let model = Categorical::new(prior.numbers("alpha", categories)?);
    let labels = cells.map(|cells| cells.labels());
    boxed(
        table,
        model.map(|model| match labels {
            Some(labels) => model.labelled(labels),
            None => model,
        }),
    )
}

/// An error for a histogram of points whose bins are not one number of a category each.
fn check_bins_are_categories(table: &Table, query: &dyn Query) -> Result<(), Invalid> {
    if query.cells().is_none_or(|cells| cells.is_of_levels()) || query.record_dim() != 1 {
        return Ok(());
    }
    let count = query.dim();
    let numbers: Vec<f64> = (0..count).map(|k| k as f64).collect();
    let mut bins = vec![0.0; count * count];
    let is_sorted = query.statistics(&numbers, &mut bins).is_ok();
    match is_sorted && bins.chunks_exact(count).enumerate().all(|(k, row)| row[k] == 1.0) {
        true => Ok(()),
        false => Err(Invalid::new(
            table.field("kind"),
            "a record is the number of a category here, and the histogram sorts points into its bins",
            format!("categorical, with the bins {}", listed(&query.labels())),
            "query = { kind = \"categories\", labels = [...] } for the counts; or a model of the \
             points: normal, beta, exponential, or one as text",
        )),
    }
}

/// Main effects of every axis of a table, and of the sets of axes of `interactions`.
fn log_linear(table: &Table, release: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let Some(cells) = release.record_query().cells().filter(Cells::is_of_levels) else {
        return Err(Invalid::new(
            table.field("kind"),
            "a log-linear model is one of the cells of a table",
            format!("a query of kind \"{}\"", release.record_query().kind()),
            "query = { kind = \"table\", axes = [...] }",
        ));
    };
    let axes = cells.axes;
    let mut terms: Vec<Vec<usize>> = (0..axes.len()).map(|axis| vec![axis]).collect();
    if let Some(interactions) = table.get("interactions") {
        let sets = interactions.list("sets of axes, such as [[0, 1]]")?;
        for set in sets {
            let axes = set.wholes(0..=axes.len() as u64 - 1)?;
            let twice = axes.iter().enumerate().any(|(k, axis)| axes[..k].contains(axis));
            if axes.len() < 2 || twice {
                return Err(Invalid::new(
                    set.path(),
                    "an interaction is of two axes or more, each once",
                    format!("{axes:?}"),
                    "a list of different axes, such as [0, 1]; main effects are always there",
                ));
            }
            terms.push(axes);
        }
    }
    let sds = Prior::of(table, "normal", &["sd"])?.numbers("sd", terms.len())?;
    let terms: Vec<_> = terms.into_iter().zip(sds).collect();
    boxed(table, LogLinear::new(axes, &terms))
}

fn uniform(table: &Table, release: &Release) -> Result<Arc<dyn Model>, Invalid> {
    let range = match ranges(&table.need("range", "[low, high], or one for each coordinate")?)? {
        Ranges::One(range) => vec![range; release.record_query().record_dim()],
        Ranges::Each(ranges) => ranges,
    };
    boxed(table, Uniform::new(range))
}

/// `count` gamma priors: one shape and rate for all, or one for each.
fn gammas(table: &Table, count: usize) -> Result<Vec<GammaPrior>, Invalid> {
    let prior = Prior::of(table, "gamma", &["shape", "rate"])?;
    let (shapes, rates) = (prior.numbers("shape", count)?, prior.numbers("rate", count)?);
    let all = shapes.into_iter().zip(rates).map(|(shape, rate)| GammaPrior::new(shape, rate));
    all.collect::<Result<_, _>>().map_err(|i| i.under("prior").under(table.path()))
}
