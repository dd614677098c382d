//! Whether any data could have led to a release.

use statrs::function::erf::erfc;

use super::Release;
use super::mechanism::Shape;
use crate::error::Invalid;

/// Noise as large as this or larger comes by chance less often than once in 10^12 releases.
const LEAST: f64 = 1e-12;

impl Release {
    /// An error if a released value lies so far outside of what the query can answer that noise
    /// of the stated scale does not explain it: then the scale, the clamp, the number of records
    /// or the unit of the values is not the one of the release.
    ///
    /// Without noise a sum of n statistics lies within n times the bounds of the statistic. A
    /// value that lies outside by z noise scales has a noise of at least z: a probability of
    /// exp(-z) / 2 for noise of Laplace's kind, and of erfc(z / sqrt 2) / 2 for Gauss's. The
    /// smallest of these over the K values, times K, must not be less than 10^-12.
    pub fn check_reach(&self) -> Result<(), Invalid> {
        let per_record = self.n as f64 / self.unit();
        let shape = self.mechanism.noise().shape();
        let all = self.values.iter().zip(self.query.bounds()).zip(self.mechanism.scales());
        for (k, ((&value, (low, high)), &scale)) in all.enumerate() {
            let (low, high) = (low * per_record, high * per_record);
            let outside = (low - value).max(value - high).max(0.0) / scale;
            let tail = match shape {
                Shape::Absolute => 0.5 * (-outside).exp(),
                Shape::Square => 0.5 * erfc(outside / std::f64::consts::SQRT_2),
            };
            if tail * (self.values.len() as f64) < LEAST {
                return Err(Invalid::new(
                    format!("values[{k}]"),
                    format!("no data could have come near: {outside:.0} noise scales out of reach"),
                    value,
                    format!(
                        "about {low} to {high} for n = {}, give or take some noise of scale \
                         {scale}; see whether statistic, n, query and mechanism are those of the \
                         release",
                        self.n
                    ),
                ));
            }
        }
        Ok(())
    }
}
