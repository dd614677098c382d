//! The program of counts without records: which one, and that of categories.

use std::fmt::Write;

use soma::Invalid;
use soma::chain::{MovesChoice, Problem};
use soma::counts::Published;
use soma::kernel::KernelChoice;
use soma::model::Recipe;

use super::model::{self, MOST_CATEGORIES, table};
use super::statistics::Statistics;
use super::stored::Stored;
use super::{Options, Program, Units, slots, tables, unfit};

/// Threads per block.
pub(super) const THREADS: usize = 128;

/// The most records: counts are in single precision, which has all whole numbers up to this.
pub(super) const MOST_RECORDS: usize = 1 << 24;

/// Whether `options` take counts for a problem: asked for by name, or `auto` where they are enough.
pub(super) fn are_taken(options: &Options, problem: &Problem) -> bool {
    let is_auto = options.kernel == KernelChoice::Auto && options.moves == MovesChoice::Auto;
    let is_plain = !options.is_frozen && !options.is_paired;
    options.kernel == KernelChoice::Counts || is_auto && is_plain && tables::fits(problem).is_ok()
}

/// The program of counts, of categories alone where each has one published number, in their order, and n is public.
pub(super) fn program(problem: &Problem, options: Options) -> Result<Program, Invalid> {
    let counts = tables::fits(problem)?;
    let is_own = |(cell, row): (usize, &Published)| row.cells == [(cell, 1)];
    let are_own = counts.published().iter().enumerate().all(is_own)
        && counts.published().len() == counts.table().cells()
        && counts.table().cells() <= MOST_CATEGORIES
        && !tables::are_of_one_release(problem);
    match problem.record_model().recipe() {
        Some(recipe @ Recipe::Categorical { .. })
            if are_own && counts.total().known().is_some() =>
        {
            of_categories(problem, &recipe, options)
        }
        _ => tables::program(problem, options),
    }
}

/// Fails for what counts cannot do.
pub(super) fn is_allowed(options: &Options) -> Result<(), Invalid> {
    if options.is_frozen || options.is_paired {
        let what = if options.is_paired { "pairs of counts" } else { "single moves of counts" };
        return Err(unfit("sampler.kernel", what, "soma or sys-imwg"));
    }
    Ok(())
}

/// A program of counts of so many cells: one thread has a chain.
pub(super) fn counted(
    text: String,
    cells: usize,
    parameters: usize,
    outputs: Vec<String>,
    threads: usize,
    units: Units,
) -> Program {
    Program {
        text,
        records: cells,
        dim: 1,
        parameters,
        outputs,
        lanes: 1,
        threads,
        shared: 0,
        non_centred: 0,
        kernel: "counts".into(),
        stored: Stored::Plain,
        keeps: false,
        is_slotted: false,
        units,
    }
}

fn of_categories(problem: &Problem, recipe: &Recipe, options: Options) -> Result<Program, Invalid> {
    is_allowed(&options)?;
    let n = problem.release().n();
    if n > MOST_RECORDS {
        return Err(unfit("release.n", n, format!("up to {MOST_RECORDS} records")));
    }
    let statistics = Statistics::of(problem.release())?;
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
         constexpr bool RESIDENT = false, PADDED = false;\n{}\n",
        slots::none(),
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
        &statistics.text(Stored::Plain)?,
        &tables.concat(),
        include_str!("../text/params.cu"),
        include_str!("../text/records.cu"),
        include_str!("../text/count_chain.cu"),
        include_str!("../text/counts.cu"),
    ];
    text += &own.join("\n");
    let outputs = problem.model().parameters();
    Ok(counted(text, cells, cells, outputs, threads, Units::Statistics(statistics)))
}
