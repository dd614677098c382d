//! What an analyst would say who takes the released values for the truth.
//!
//! Models have a textbook estimate for it ([`Model::plug_in`](crate::model::Model::plug_in)); for the
//! others, theta is found at which simulated records have the released means. It is shown beside the
//! posterior, to say what ignoring the noise would have cost.

mod counted;
mod simulated;

use nalgebra::{DMatrix, DVector};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::chain::Problem;
use crate::model::PlugInFit;
use crate::release::Release;

/// What the released values would say of one output, if they were the truth.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PlugIn {
    /// The output: a parameter, or a quantity derived from parameters.
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The plug-in estimates of `problem` with intervals of probability `level`, such as 0.9: estimate
/// plus or minus normal quantiles of the sampling error, the noise and the clamping ignored.
///
/// Counts and the number of records are what was published of them, and have no interval: low and
/// high are the estimate. Shares are those of the published counts, negative ones taken as none, in
/// their sum; or in the published total, where n is not public and a part has it.
///
/// Outputs that the release does not tell are left out. `None`, if there is no estimate at all: the
/// model has none for this release, theta is held fixed, or the released values are such that there
/// is no answer (a variance below zero, say).
///
/// ```
/// let spec = soma::spec::Spec::parse(r#"
///     [release]
///     n = 100
///     statistic = "mean"
///     values = [2.5]
///     query = { kind = "mean", clamp = [0.0, 20.0] }
///     mechanism = { kind = "laplace", epsilon = 1.0 }
///
///     [model]
///     kind = "exponential"
///     prior = { kind = "gamma", shape = 1.0, rate = 1.0 }
/// "#).unwrap();
/// let said = soma::plug_in::plug_in(&spec.problem, 0.9).unwrap();
/// assert_eq!((said[0].name.as_str(), said[0].estimate), ("rate", 0.4));
/// assert!((said[0].high - 0.4658).abs() < 1e-4);
/// ```
pub fn plug_in(problem: &Problem, level: f64) -> Option<Vec<PlugIn>> {
    if problem.fixed().is_some() {
        return None;
    }
    let (model, release) = (problem.record_model(), published(problem.release()));
    let fit = match model.plug_in(release) {
        PlugInFit::Unknown => simulated::fit(model, release),
        known => known,
    };
    let (names, plain) = (problem.outputs(), problem.plain_output_count());
    let mut draw = vec![f64::NAN; plain];
    let counted = counted::published(problem);
    for (value, name) in draw.iter_mut().zip(&names) {
        *value = counted.of(name).unwrap_or(f64::NAN);
    }
    let p = model.parameters().len();
    let is_theta = p <= plain && names[..p] == model.parameters();
    let (theta, covariance) = match fit {
        PlugInFit::Found { theta, covariance } => counted.shares_of_total(theta, covariance),
        _ => (vec![f64::NAN; p], DMatrix::zeros(p, p)),
    };
    let z = Normal::standard().inverse_cdf(0.5 + 0.5 * level);
    let mut said = Vec::new();
    let mut say = |name: &str, estimate: f64, variance: f64| {
        let reach = z * variance.max(0.0).sqrt();
        if estimate.is_finite() && !variance.is_nan() && reach.is_finite() {
            let (low, high) = (estimate - reach, estimate + reach);
            said.push(PlugIn { name: name.to_string(), estimate, low, high });
        }
    };
    for (k, name) in model.parameters().iter().enumerate() {
        say(name, theta[k], covariance[(k, k)]);
    }
    let first = if is_theta { p } else { 0 };
    for (name, value) in names.iter().zip(&draw).skip(first) {
        say(name, *value, 0.0);
    }
    if is_theta {
        draw[..p].copy_from_slice(&theta);
    }
    for (name, value, slope) in derived(problem, draw, if is_theta { p } else { 0 }) {
        // What does not depend on theta has no sampling error, whether or not theta has one.
        let variance = match slope.amax() {
            0.0 => 0.0,
            _ => slope.dot(&(&covariance * &slope)),
        };
        say(&name, value, variance);
    }
    (!said.is_empty()).then_some(said)
}

/// The release about records; that of the likely number of them, where that is not public.
fn published(release: &Release) -> &Release {
    release.slotted().map_or(release, |slotted| slotted.likely())
}

/// The derived quantities of `draw`, which begins with `p` parameters, with their slopes in them.
/// Comparisons jump, and have none. What is derived from an output that is NaN is NaN.
fn derived(problem: &Problem, draw: Vec<f64>, p: usize) -> Vec<(String, f64, DVector<f64>)> {
    let (plain, comparisons) = (draw.len(), problem.comparisons());
    let at = |draw: Vec<f64>| problem.with_derived(draw).split_off(plain);
    let values = at(draw.clone());
    let mut slopes = vec![DVector::zeros(p); values.len()];
    for k in 0..p {
        let step = 1e-5 * draw[k].abs().max(1e-3);
        let moved = |sign: f64| {
            let mut there = draw.clone();
            there[k] += sign * step;
            at(there)
        };
        let (above, below) = (moved(1.0), moved(-1.0));
        for (slope, (a, b)) in slopes.iter_mut().zip(above.iter().zip(&below)) {
            slope[k] = if a == b { 0.0 } else { (a - b) / (2.0 * step) };
        }
    }
    let names = problem.derived_names();
    let all = names.into_iter().zip(values).zip(slopes);
    all.map(|((name, value), slope)| match comparisons.contains(&name) {
        true => (name, value, DVector::zeros(p)),
        false => (name, value, slope),
    })
    .collect()
}
