//! The verdict on the chains, with what to do in terms of the options of `soma fit`.

use soma::diagnostics::Reason;

use crate::report::Report;

/// Whether the chains can be trusted, and what to do where they cannot.
pub fn sentence(report: &Report) -> String {
    if report.verdict.is_trusted() {
        return format!("{} The means are good to about their mcse.", report.verdict);
    }
    let (mut warmup, mut draws, mut chains) = (None, None, None);
    for reason in &report.verdict.reasons {
        match reason {
            Reason::Disagree { .. } => {
                warmup = Some(nice((4 * report.warmup).max(1000) as f64));
                draws = draws.max(Some(nice(4.0 * report.draws as f64)));
            }
            Reason::Rough { ess, wanted, .. } => {
                let more = 1.2 * report.draws as f64 * wanted / ess.max(1.0);
                draws = draws.max(Some(nice(more)));
            }
            Reason::OneChain => chains = Some(4),
            Reason::FewSwaps { .. } | Reason::Apart { .. } => {
                warmup = Some(nice((4 * report.warmup).max(1000) as f64));
                draws = draws.max(Some(nice(4.0 * report.draws as f64)));
                chains = chains.max(Some(nice(2.0 * report.chains as f64)));
            }
            _ => {}
        }
    }
    let options = [("chains", chains), ("warmup", warmup), ("draws", draws)];
    let given = options.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    let advice: String = given.map(|(name, value)| format!(" --{name} {value}")).collect();
    let advice = if advice.is_empty() { advice } else { format!(" Try{advice}.") };
    format!("{}{advice}", report.verdict)
}

/// A round number that is no less.
fn nice(x: f64) -> u64 {
    let power = 10f64.powf(x.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 3.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= x).unwrap_or(10.0);
    (step * power) as u64
}

#[cfg(test)]
mod tests {
    use super::nice;

    #[test]
    fn round_numbers_are_no_less() {
        assert_eq!(
            [0.0, 1.0, 1.1, 4000.0, 4800.0, 60_001.0].map(nice),
            [1, 1, 2, 5000, 5000, 100_000]
        );
    }
}
