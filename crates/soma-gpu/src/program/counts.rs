//! The program of counts without records.

use std::fmt::Write;

use soma::Invalid;
use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;
use soma::model::Recipe;

use super::model::{self, table};
use super::statistics::Statistics;
use super::{Options, Program, unfit};

/// Threads per block.
const THREADS: usize = 128;

/// The most records: counts are in single precision, which has all whole numbers up to this.
const MOST_RECORDS: usize = 1 << 24;

/// Whether `options` take counts for a problem: asked for by name, or `auto` where they are enough.
pub(super) fn are_taken(options: &Options, recipe: &Recipe, problem: &Problem) -> bool {
    let is_auto = options.kernel == KernelChoice::Auto && options.moves == MovesChoice::Auto;
    let is_plain = !options.is_frozen && !options.is_paired;
    options.kernel == KernelChoice::Counts || is_auto && is_plain && fits(recipe, problem).is_ok()
}

fn fits(recipe: &Recipe, problem: &Problem) -> Result<(), Invalid> {
    let query = problem.release().query();
    match recipe {
        Recipe::Categorical { prior }
            if query.kind() == "categories" && query.dim() == prior.len() =>
        {
            Ok(())
        }
        _ => {
            let given = format!(
                "counts of a {} model and a {} query",
                problem.model().kind(),
                query.kind()
            );
            let allowed = "counts of a categorical model with a query of its categories; soma, soma-blocks, \
                           soma-subset, sys-imwg or ran-imwg for others, or --device cpu";
            Err(unfit("sampler.kernel", given, allowed))
        }
    }
}

/// The program.
pub(super) fn program(
    problem: &Problem,
    recipe: &Recipe,
    statistics: Statistics,
    options: Options,
) -> Result<Program, Invalid> {
    fits(recipe, problem)?;
    let n = problem.release().n();
    if n > MOST_RECORDS {
        return Err(unfit("release.n", n, format!("up to {MOST_RECORDS} records")));
    }
    if options.is_frozen || options.is_paired {
        let what = if options.is_paired { "pairs of counts" } else { "single moves of counts" };
        return Err(unfit("sampler.kernel", what, "soma or sys-imwg"));
    }
    let cells = statistics.len();
    let threads = options.threads.unwrap_or(THREADS);
    let parts = model::text(recipe, problem, false)?;
    let mut text = String::new();
    let _ = write!(
        text,
        "// Counts of {cells} categories with a Dirichlet prior; n = {n}.\n// Made by `soma gpu show`.\n\n\
         // The counts of a chain are where others have their records.\n\
         constexpr int RECORDS = {cells}, DIM = 1, STATS = {cells}, PARAMETERS = {cells}, VARIABLES = {cells};\n\
         constexpr double TOTAL = {n}.0;\n\
         constexpr int BLOCK = 1, LANES = 1, THREADS = {threads};\n\
         constexpr bool RESIDENT = false, PADDED = false;\n\n"
    );
    let [shifts, units, is_l1] = statistics.cells();
    let tables = [
        "// A count c of category k has the residual published + shift - c unit, in units of the noise.\n".into(),
        table("double", "shift", &shifts),
        table("double", "unit", &units),
        "// 1 if its cost is |residual|, 0 if it is its square.\n".into(),
        table("double", "is_l1", &is_l1),
    ];
    let own = [
        include_str!("../text/random.cu"),
        include_str!("../text/functions.cu"),
        &parts.first,
        include_str!("../text/draws.cu"),
        &statistics.text(false)?,
        &tables.concat(),
        include_str!("../text/records.cu"),
        include_str!("../text/counts.cu"),
    ];
    text += &own.join("\n");
    Ok(Program {
        text,
        records: cells,
        dim: 1,
        parameters: cells,
        lanes: 1,
        threads,
        shared: 0,
        non_centred: 0,
        kernel: "counts".into(),
        is_logit: false,
        statistics,
    })
}
