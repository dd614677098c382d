//! The exact posterior of one parameter, for the comparison with a run.

/// The probabilities at which quantiles are compared.
pub const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];

/// A number and its standard error: 0 if by enumeration.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub value: f64,
    pub error: f64,
}

/// The posterior of one parameter.
#[derive(Debug, Clone)]
pub struct Answer {
    pub mean: Estimate,
    /// Of the unconstrained parameter (the logarithm of a variance or a rate), whose fourth moment
    /// exists: that of the parameter itself may not.
    pub free_sd: Estimate,
    /// At [`LEVELS`].
    pub quantiles: [Estimate; 3],
}

/// Weighted draws, from importance sampling.
pub struct Weighted<'a> {
    pub values: &'a [f64],
    pub weights: &'a [f64],
}

impl Weighted<'_> {
    fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The weighted mean of `of`, with the standard error of a ratio of two means.
    fn mean_of(&self, of: impl Fn(f64) -> f64) -> Estimate {
        let total = self.total();
        let pairs = || self.values.iter().map(|x| of(*x)).zip(self.weights);
        let value = pairs().map(|(x, w)| x * w).sum::<f64>() / total;
        let squares: f64 = pairs().map(|(x, w)| (w * (x - value)).powi(2)).sum();
        Estimate { value, error: squares.sqrt() / total }
    }

    pub fn mean(&self) -> Estimate {
        self.mean_of(|x| x)
    }

    /// The standard deviation; its error is that of the variance over twice itself.
    pub fn sd(&self) -> Estimate {
        let mean = self.mean().value;
        let variance = self.mean_of(|x| (x - mean) * (x - mean));
        let value = variance.value.sqrt();
        Estimate { value, error: variance.error / (2.0 * value) }
    }

    /// The quantiles at [`LEVELS`]. The error of each is half the distance between the quantiles at
    /// its probability plus and minus its standard error.
    pub fn quantiles(&self) -> [Estimate; 3] {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_unstable_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        let mut sum = 0.0;
        let total = self.total();
        let below: Vec<f64> = order
            .iter()
            .map(|&i| {
                sum += self.weights[i] / total;
                sum
            })
            .collect();
        let at = |p: f64| {
            let place = below.partition_point(|share| *share < p).min(order.len() - 1);
            self.values[order[place]]
        };
        LEVELS.map(|p| {
            let value = at(p);
            let error = self.mean_of(|x| f64::from(x <= value)).error;
            Estimate { value, error: 0.5 * (at(p + error) - at(p - error)) }
        })
    }
}

/// The effective sample size of the weights.
pub fn effective(weights: &[f64]) -> f64 {
    let (sum, squares) =
        weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}
