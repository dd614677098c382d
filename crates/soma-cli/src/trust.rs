//! The judgement on the chains, with what to do in terms of the options of `soma fit`.

use soma::diagnostics::{Judgement, Summary};

use crate::report::Report;

/// Whether the chains can be trusted, and what to do where they cannot.
pub fn sentence(report: &Report) -> String {
    let rows: Vec<(&str, Summary)> =
        report.parameters.iter().map(|row| (row.name.as_str(), row.summary)).collect();
    let judgement = Judgement::of(&rows, report.chains, report.draws as usize);
    let draws = report.draws as f64;
    let advice = match &judgement {
        Judgement::Disagree { .. } => {
            let warmup = (4 * report.warmup).max(1000) as f64;
            format!(" Try --warmup {} --draws {}.", nice(warmup), nice(4.0 * draws))
        }
        Judgement::Rough { ess, wanted, .. } => {
            format!(" Try --draws {}.", nice(1.2 * draws * wanted / ess.max(1.0)))
        }
        Judgement::Alone { .. } => " Try --chains 4.".to_string(),
        Judgement::Trusted { .. } => " The means are good to about their mcse.".to_string(),
        Judgement::TooFew { .. } | Judgement::Stuck { .. } => String::new(),
    };
    format!("{judgement}{advice}")
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
