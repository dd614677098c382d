//! Censored coordinates, re-imputed from truncated conditionals.

use crate::chain::Problem;
use crate::chain::theta::State;
use crate::distribution::normal_above;
use crate::error::Outcome;
use crate::model::Transport;
use crate::rng::Rng;

/// The clamping bounds of the coordinates, if the query clamps and the model can draw from the
/// truncated conditionals.
///
/// A coordinate beyond a clamp enters the release only as the clamp. It can be redrawn from its
/// conditional given theta, the other coordinates and the event that it lies beyond the clamp; the
/// statistics do not change. This is a Gibbs step, which leaves the joint posterior invariant and
/// is always accepted. Before the centred update it makes theta depend on the clamped records only,
/// and not on their current values beyond the clamps.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::chain) struct Bounds {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Bounds {
    pub(in crate::chain) fn new(problem: &Problem) -> Option<Self> {
        let model = problem.model().transport().filter(|model| model.is_smooth())?;
        let moments = problem.release().query().clamped_moments()?;
        let pairs = || moments.centre.iter().zip(&moments.half_width);
        let bounds = Bounds {
            low: pairs().map(|(centre, half)| centre - half).collect(),
            high: pairs().map(|(centre, half)| centre + half).collect(),
        };
        let (d, p) = (model.record_dim(), model.parameters().len());
        let (mut shift, mut factor) = (vec![0.0; d], vec![0.0; d * d]);
        (model.noise_dim() == d && model.affine(&vec![1.0; p], &mut shift, &mut factor))
            .then_some(bounds)
    }

    /// Redraws the censored coordinates of all records, and counts them.
    pub(in crate::chain) fn redraw(
        &self,
        model: &dyn Transport,
        state: &mut State,
        rng: &mut Rng,
    ) -> Outcome<u64> {
        let laws = Conditionals::new(model, &state.theta);
        let (d, mut count) = (self.low.len(), 0);
        state.records.rewrite(|records| {
            for record in records.chunks_exact_mut(d) {
                for j in 0..d {
                    let (is_above, is_below) = (record[j] > self.high[j], record[j] < self.low[j]);
                    if !is_above && !is_below {
                        continue;
                    }
                    count += 1;
                    let (mean, sd) = laws.of(j, record);
                    let gap = if is_above { self.high[j] - mean } else { mean - self.low[j] };
                    // If theta is so extreme that the conditional is not finite, the record stays.
                    if gap.is_finite() && sd.is_normal() {
                        let tail = sd * normal_above(gap / sd, rng);
                        record[j] = if is_above { mean + tail } else { mean - tail };
                    }
                }
            }
        });
        Ok(count)
    }
}

/// The conditionals of each coordinate of a normal record given the others.
struct Conditionals {
    mean: Vec<f64>,
    precision: Vec<f64>,
}

impl Conditionals {
    fn new(model: &dyn Transport, theta: &[f64]) -> Self {
        let d = model.record_dim();
        let (mut mean, mut factor) = (vec![0.0; d], vec![0.0; d * d]);
        model.affine(theta, &mut mean, &mut factor);
        // The inverse of the Cholesky factor, column by column, and from it the precision matrix.
        let mut inverse = vec![0.0; d * d];
        for (c, column) in inverse.chunks_exact_mut(d).enumerate() {
            column[c] = 1.0;
            crate::numeric::cholesky::solve_lower(&factor, column);
        }
        let mut precision = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                precision[i * d + j] =
                    (0..d).map(|k| inverse[i * d + k] * inverse[j * d + k]).sum();
            }
        }
        Conditionals { mean, precision }
    }

    /// The mean and standard deviation of coordinate j.
    fn of(&self, j: usize, record: &[f64]) -> (f64, f64) {
        let row = &self.precision[j * record.len()..][..record.len()];
        let gaps = record.iter().zip(&self.mean).map(|(x, m)| x - m);
        let pull: f64 = row.iter().zip(gaps).map(|(p, gap)| p * gap).sum();
        let own = row[j] * (record[j] - self.mean[j]);
        (self.mean[j] - (pull - own) / row[j], 1.0 / row[j].sqrt())
    }
}
