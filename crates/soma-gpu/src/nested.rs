//! R-hat for many short chains.

/// Nested R-hat (Margossian et al. 2022) of `groups`, each of several chains that started at the same
/// point, each chain with its draws: sqrt(1 + B / W), where B is the variance of the means of the
/// groups and W the mean over the groups of the variance of the means of their chains plus the
/// mean variance within a chain. Near 1 if the chains have forgotten their starts, however short
/// they are. Not a number for fewer than two groups or draws that do not vary.
///
/// ```
/// let group = |shift: f64| vec![vec![shift + 1.0, shift + 2.0], vec![shift + 1.5, shift + 2.5]];
/// assert_eq!(soma_gpu::nested_rhat(&[group(0.0), group(0.0)]), 1.0);
/// assert!(soma_gpu::nested_rhat(&[group(0.0), group(5.0)]) > 2.0);
/// ```
pub fn nested_rhat(groups: &[Vec<Vec<f64>>]) -> f64 {
    let means_of = |group: &Vec<Vec<f64>>| group.iter().map(|c| mean(c)).collect::<Vec<f64>>();
    let within = |group: &Vec<Vec<f64>>| {
        let inside = mean(&group.iter().map(|chain| variance(chain)).collect::<Vec<f64>>());
        variance(&means_of(group)) + inside
    };
    let centres: Vec<f64> = groups.iter().map(|group| mean(&means_of(group))).collect();
    if centres.len() < 2 {
        return f64::NAN;
    }
    let spread = mean(&groups.iter().map(within).collect::<Vec<f64>>());
    (1.0 + variance(&centres) / spread).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample variance; 0 for a single value.
fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    squares / (values.len() as f64 - 1.0).max(1.0)
}
