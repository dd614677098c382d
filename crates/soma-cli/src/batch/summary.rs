//! The results of a batch: a row for each fit in the table, one for each parameter in the file.

use std::path::Path;

use serde::Serialize;
use soma_store::{PlannedFit, ResultRow};

use crate::exit::Failed;
use crate::report::{Report, Row};
use crate::table;

/// With more fits than this, the table shows at most this many, and only those not trusted.
const SHOWN: usize = 50;

/// The result of a fit, reduced so that memory does not grow with the number of chains and draws.
pub struct Done {
    /// The name of the fit.
    pub name: String,
    /// `trusted`, `untrusted`, `stopped` or `failed`.
    pub verdict: &'static str,
    /// The reasons against it.
    pub reasons: String,
    parameters: Vec<Row>,
    chains: usize,
    draws: u64,
    rhat: f64,
    ess: f64,
    seconds: f64,
    json: String,
}

/// A fit in `--json`.
#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(flatten)]
    report: Option<&'a Report>,
}

impl Done {
    /// The result from a report or an error. `stopped` if the user stopped the batch; `json` if the
    /// whole report is needed.
    pub fn of(fit: &PlannedFit, report: Result<Report, Failed>, stopped: bool, json: bool) -> Self {
        let empty = Done {
            name: fit.name.clone(),
            verdict: "failed",
            reasons: String::new(),
            parameters: Vec::new(),
            chains: 0,
            draws: 0,
            rhat: f64::NAN,
            ess: f64::NAN,
            seconds: 0.0,
            json: String::new(),
        };
        match report {
            Err(failed) => {
                let verdict = if stopped { "stopped" } else { "failed" };
                let error = failed.message();
                let entry =
                    Json { name: &fit.name, status: verdict, error: Some(&error), report: None };
                Done { verdict, json: entry.text(json), reasons: error, ..empty }
            }
            Ok(report) => {
                let is_whole =
                    report.draws == fit.settings.draws && report.chains == fit.settings.chains;
                let verdict = match (is_whole, report.verdict.is_trusted()) {
                    (false, _) => "stopped",
                    (true, true) => "trusted",
                    (true, false) => "untrusted",
                };
                let reasons: Vec<String> =
                    report.verdict.reasons.iter().map(ToString::to_string).collect();
                let entry =
                    Json { name: &fit.name, status: verdict, error: None, report: Some(&report) };
                Done {
                    verdict,
                    reasons: reasons.join("; "),
                    json: entry.text(json),
                    chains: report.chains,
                    draws: report.draws,
                    rhat: report.verdict.rhat,
                    ess: report.verdict.ess,
                    seconds: report.seconds_warmup + report.seconds_sampling,
                    parameters: report.parameters,
                    ..empty
                }
            }
        }
    }
}

impl Json<'_> {
    /// The fit as JSON, if `wanted`.
    fn text(&self, wanted: bool) -> String {
        let text = || serde_json::to_string(self).unwrap_or_else(|e| unreachable!("plain: {e}"));
        if wanted { text() } else { String::new() }
    }
}

/// All fits.
pub struct Summary {
    fits: Vec<Done>,
}

impl Summary {
    /// Of these fits.
    pub fn of(fits: Vec<Done>) -> Self {
        Summary { fits }
    }

    /// The number of fits for which `is_such` is true.
    pub fn count(&self, is_such: impl Fn(&Done) -> bool) -> usize {
        self.fits.iter().filter(|done| is_such(done)).count()
    }

    /// The rows of the file of results.
    pub fn rows(&self) -> Vec<ResultRow> {
        let of = |done: &Done| {
            let row = |parameter: String, summary| ResultRow {
                name: done.name.clone(),
                parameter,
                summary,
                chains: done.chains as u64,
                draws: done.draws,
                verdict: done.verdict,
                reasons: done.reasons.clone(),
            };
            if done.parameters.is_empty() {
                return vec![row(String::new(), None)];
            }
            done.parameters.iter().map(|p| row(p.name.clone(), Some(p.summary))).collect()
        };
        self.fits.iter().flat_map(of).collect()
    }

    /// As one JSON object.
    pub fn json(&self) -> String {
        let fits: Vec<&str> = self.fits.iter().map(|done| done.json.as_str()).collect();
        let count = |verdict: &str| self.count(|done| done.verdict == verdict);
        format!(
            "{{\"fits\":[{}],\"trusted\":{},\"untrusted\":{},\"stopped\":{},\"failed\":{},\
             \"version\":\"{}\"}}",
            fits.join(","),
            count("trusted"),
            count("untrusted"),
            count("stopped"),
            count("failed"),
            env!("CARGO_PKG_VERSION"),
        )
    }

    /// As a table with a sentence; `file` has all results.
    pub fn text(&self, file: Option<&Path>) -> String {
        let is_long = self.fits.len() > SHOWN;
        let wanted = |done: &&Done| !is_long || done.verdict != "trusted";
        let shown: Vec<&Done> = self.fits.iter().filter(wanted).take(SHOWN).collect();
        let (all, trusted) = (self.fits.len(), self.count(|done| done.verdict == "trusted"));
        let mut text = String::new();
        if !shown.is_empty() {
            text += &table::of_fits(shown.iter().map(|done| {
                let Done { name, verdict, chains, draws, rhat, ess, seconds, .. } = done;
                (name.as_str(), *verdict, *chains, *draws, *rhat, *ess, *seconds)
            }));
            text += "\n\n";
        }
        for done in shown.iter().filter(|done| !done.reasons.is_empty()) {
            text += &format!("{}: {}.\n", done.name, done.reasons.trim_end_matches('.'));
        }
        let bad = all - trusted;
        if is_long && bad > 0 {
            text += &format!(
                "The table shows {} of the {bad} fits that are not trusted.\n",
                shown.len()
            );
        }
        text += &format!("{trusted} of {all} fits are trusted.");
        if let Some(file) = file {
            text += &format!(" All results are in {}.", file.display());
        }
        text
    }
}
