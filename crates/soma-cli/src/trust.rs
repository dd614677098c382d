//! Whether the chains can be trusted, in plain words.
//!
//! The thresholds are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): R-hat below
//! 1.01, and at least 100 effective draws for each chain, in the bulk and in the tails.

use soma::diagnostics::MIN_DRAWS;

use crate::report::{Report, Row};

const RHAT: f64 = 1.01;
const ESS_PER_CHAIN: f64 = 100.0;

/// The judgement, and what to do where it is not good.
pub fn sentence(report: &Report) -> String {
    if (report.draws as usize) < MIN_DRAWS {
        return format!(
            "Too few draws to judge ({} in each chain): let it run longer.",
            report.draws
        );
    }
    if let Some(row) = report.parameters.iter().find(|row| row.summary.sd == 0.0) {
        return format!(
            "Do not trust this: {} never moved. If the acceptance rate is near 0, the start is \
             far from the release: raise --warmup, or see whether the release is stated rightly.",
            row.name
        );
    }
    let (worst, rhat) = extreme(report, |row| row.summary.rhat);
    if rhat.is_nan() || rhat >= RHAT {
        return format!(
            "Do not trust this yet: the chains disagree (R-hat of {worst} is {rhat:.3}, and should \
             be below {RHAT}). Raise --draws and --warmup, to {} and {} or so.",
            nice(4.0 * report.draws as f64),
            nice((4 * report.warmup).max(1000) as f64),
        );
    }
    let (worst, ess) = extreme(report, |row| -row.summary.ess_bulk.min(row.summary.ess_tail));
    let (ess, wanted) = (-ess, ESS_PER_CHAIN * report.chains as f64);
    if ess.is_nan() || ess < wanted {
        return format!(
            "The chains agree (R-hat below {RHAT}), but {worst} has only {ess:.0} effective draws, \
             and should have {wanted:.0}: means are rough, and quantiles rougher. Raise --draws, to \
             {} or so.",
            nice(1.2 * report.draws as f64 * wanted / ess.max(1.0)),
        );
    }
    let alone = if report.chains == 1 {
        " But one chain cannot disagree with another: run several (--chains 4) to be sure."
    } else {
        ""
    };
    format!(
        "The chains can be trusted: they agree (largest R-hat {rhat:.3}), and every parameter has \
         at least {ess:.0} effective draws. The means are good to about their mcse.{alone}"
    )
}

/// The parameter for which `of` is largest, and how large; one for which it cannot be told is
/// worse than any other.
fn extreme(report: &Report, of: impl Fn(&Row) -> f64) -> (&str, f64) {
    let rank = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    let worst = report.parameters.iter().max_by(|a, b| rank(of(a)).total_cmp(&rank(of(b))));
    worst.map_or(("nothing", f64::NAN), |row| (row.name.as_str(), of(row)))
}

/// A round number that is no less.
fn nice(x: f64) -> u64 {
    let power = 10f64.powf(x.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 3.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= x).unwrap_or(10.0);
    (step * power) as u64
}
