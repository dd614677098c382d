//! The verdict on the chains, with the options of `soma fit` to try.

use crate::exit::{Failed, Outcome};
use crate::report::Report;

/// The verdict whether the chains can be trusted, and what to do if not.
pub fn sentence(report: &Report) -> String {
    if report.verdict.is_trusted() {
        return format!("{} The means are good to about their mcse.", report.verdict);
    }
    format!("{}{}", report.verdict, options(report))
}

/// The options to try, as a sentence; empty if there are none.
fn options(report: &Report) -> String {
    let options = report.advice.given().map(|(name, value)| format!(" --{name} {value}"));
    let options: String = options.collect();
    if options.is_empty() { options } else { format!(" Try{options}.") }
}

/// An error if `--strict` was given and the draws cannot be trusted.
pub fn strict(is_asked: bool, report: &Report) -> Outcome {
    if is_asked && !report.verdict.is_trusted() {
        return Err(Failed::Untrusted("--strict: the draws are not to be trusted".into()));
    }
    Ok(())
}
