//! What an analyst would say who takes the released values for the truth.
//!
//! Models have a textbook estimate for it ([`Model::plug_in`](crate::model::Model::plug_in)); for the
//! others, theta is found at which simulated records have the released means. It is shown beside the
//! posterior, to say what ignoring the noise would have cost.

mod simulated;

use nalgebra::DVector;
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
/// Outputs that the release does not tell are left out. `None`, if there is no estimate: the model
/// has none for this release, theta is held fixed, or the released values are such that there is
/// no answer (a variance below zero, say).
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
    let PlugInFit::Found { theta, covariance } = fit else { return None };
    let z = Normal::standard().inverse_cdf(0.5 + 0.5 * level);
    let names = model.parameters();
    let mut said = Vec::new();
    let mut say = |name: &str, estimate: f64, variance: f64| {
        let reach = z * variance.sqrt();
        if estimate.is_finite() && reach.is_finite() {
            let (low, high) = (estimate - reach, estimate + reach);
            said.push(PlugIn { name: name.to_string(), estimate, low, high });
        }
    };
    for (k, name) in names.iter().enumerate() {
        say(name, theta[k], covariance[(k, k)]);
    }
    for (name, value, slope) in derived(problem, &theta) {
        let slope = DVector::from_vec(slope);
        say(&name, value, slope.dot(&(&covariance * &slope)));
    }
    Some(said)
}

/// The release about records; that of the likely number of them, where that is not public.
fn published(release: &Release) -> &Release {
    release.slotted().map_or(release, |slotted| slotted.likely())
}

/// The derived quantities at theta with their slopes, where all that they are derived from is theta.
fn derived(problem: &Problem, theta: &[f64]) -> Vec<(String, f64, Vec<f64>)> {
    let outputs = problem.outputs();
    if problem.output_count() <= theta.len()
        || outputs[..theta.len()] != problem.model().parameters()
    {
        return Vec::new();
    }
    // Outputs between theta and what is derived, such as n, are not estimated: they stand as NaN,
    // and so does what is derived from them.
    let plain = problem.plain_output_count();
    let at = |theta: &[f64]| {
        let mut draw = theta.to_vec();
        draw.resize(plain, f64::NAN);
        problem.with_derived(draw).split_off(plain)
    };
    let values = at(theta);
    let mut slopes = vec![vec![0.0; theta.len()]; values.len()];
    for k in 0..theta.len() {
        let step = 1e-5 * theta[k].abs().max(1e-3);
        let moved = |sign: f64| {
            let mut there = theta.to_vec();
            there[k] += sign * step;
            at(&there)
        };
        let (above, below) = (moved(1.0), moved(-1.0));
        for (slope, (a, b)) in slopes.iter_mut().zip(above.iter().zip(&below)) {
            slope[k] = (a - b) / (2.0 * step);
        }
    }
    let names = outputs[plain..].iter().cloned();
    names.zip(values).zip(slopes).map(|((name, value), slope)| (name, value, slope)).collect()
}
