//! The values of a draw: theta, or summaries of the records where theta is fixed.

use soma::chain::{Problem, Summary};

use super::model::table;
use super::stored::Stored;

/// What stands for the mean and the standard deviation among the probabilities of quantiles.
const MEAN: f64 = -1.0;
const SD: f64 = -2.0;

/// The names of the values, and the text that computes them.
pub(super) fn of(problem: &Problem, stored: Stored) -> (Vec<String>, String) {
    if problem.fixed().is_none() {
        let mut names = problem.record_model().parameters();
        if problem.release().slotted().is_some() {
            names.push("n".into());
        }
        return (names, include_str!("../text/outputs.cu").into());
    }
    let which = |summary: &Summary| match summary {
        Summary::Mean => MEAN,
        Summary::Sd => SD,
        Summary::Quantile(p) => *p,
    };
    let all: Vec<f64> = problem.summaries().iter().map(which).collect();
    let count = all.len() * problem.model().record_dim();
    let names = problem.outputs().into_iter().take(count).collect();
    let shown = stored.function().map_or("x".into(), |function| format!("{function}(x)"));
    let text = format!(
        "// Summaries of each coordinate: the probability of a quantile, or one of these two.\n\
         constexpr int SUMMARIES = {};\n\
         constexpr double MEAN_OF_RECORDS = {MEAN:?}, SD_OF_RECORDS = {SD:?};\n{}\n\
         // A coordinate as a user reads it.\n\
         __device__ __forceinline__ float shown(float x) {{ return {shown}; }}\n\n{}",
        all.len(),
        table("double", "quantile", &all),
        include_str!("../text/summaries.cu"),
    );
    (names, text)
}
