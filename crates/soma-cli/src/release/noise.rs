//! Noise from OpenDP, and the guarantee that its privacy map proves.

use opendp::domains::{AtomDomain, VectorDomain};
use opendp::measurements::{make_gaussian, make_laplace};
use opendp::metrics::{L1Distance, L2Distance};
use soma::release::mechanism::Noise;

use super::publish::Guarantee;

/// The exponent k of the lattice 2^k that noise is on, of a granularity 2^k.
fn exponent(granularity: Option<f64>) -> Result<Option<i32>, String> {
    let Some(width) = granularity else { return Ok(None) };
    let k = width.log2().round();
    match 2f64.powi(k as i32) == width {
        true => Ok(Some(k as i32)),
        false => Err(format!(
            "mechanism.granularity: OpenDP's lattices have widths that are powers of two (given: \
             {width}). Allowed: {}, or another power of two.",
            2f64.powi(k as i32)
        )),
    }
}

/// What adds noise to the true answers, with its guarantee for a sensitivity: in the sum of absolute
/// values for Laplace's kind, in the Euclidean norm for Gauss's.
///
/// Whole numbers are added to by the mechanisms of whole numbers, others by those of floating point,
/// whose result is a sample of the exact law up to 2^-1074, or lies on the lattice of `granularity`.
pub fn release(
    noise: Noise,
    scale: f64,
    granularity: Option<f64>,
    sensitivity: f64,
    answers: &[f64],
) -> Result<(Vec<f64>, Guarantee), String> {
    let failed = |error: opendp::error::Error| {
        let detail = error.message.as_deref().unwrap_or("no further detail");
        format!("OpenDP: {error}: {detail}")
    };
    let floats = || VectorDomain::new(AtomDomain::<f64>::new_non_nan()).with_size(answers.len());
    let wholes = || VectorDomain::new(AtomDomain::<i64>::default());
    let (l1, l2) = (L1Distance::<f64>::default(), L2Distance::<f64>::default());
    let k = exponent(granularity)?;
    let exact = answers.to_vec();
    let whole: Vec<i64> = answers.iter().map(|answer| answer.round() as i64).collect();
    let from_whole = |values: Vec<i64>| values.into_iter().map(|value| value as f64).collect();
    match (noise, k) {
        (Noise::Laplace, None) | (Noise::DiscreteLaplace, Some(_)) => {
            let made = make_laplace(floats(), l1, scale, k).map_err(failed)?;
            let epsilon = made.map(&sensitivity).map_err(failed)?;
            Ok((made.invoke(&exact).map_err(failed)?, Guarantee::Epsilon(epsilon)))
        }
        (Noise::Gaussian, None) | (Noise::DiscreteGaussian, Some(_)) => {
            let made = make_gaussian(floats(), l2, scale, k).map_err(failed)?;
            let rho = made.map(&sensitivity).map_err(failed)?;
            Ok((made.invoke(&exact).map_err(failed)?, Guarantee::Rho(rho)))
        }
        (Noise::DiscreteLaplace, None) => {
            let made = make_laplace(wholes(), l1, scale, None).map_err(failed)?;
            let epsilon = made.map(&sensitivity).map_err(failed)?;
            let values = made.invoke(&whole).map_err(failed)?;
            Ok((from_whole(values), Guarantee::Epsilon(epsilon)))
        }
        (Noise::DiscreteGaussian, None) => {
            let made = make_gaussian(wholes(), l2, scale, None).map_err(failed)?;
            let rho = made.map(&sensitivity).map_err(failed)?;
            let values = made.invoke(&whole).map_err(failed)?;
            Ok((from_whole(values), Guarantee::Rho(rho)))
        }
        _ => Err(format!(
            "mechanism.kind: OpenDP adds no such noise (given: {}). Allowed: laplace, gaussian, \
             discrete-laplace or discrete-gaussian, the discrete ones with granularity or without.",
            noise.name()
        )),
    }
}
