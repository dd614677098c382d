//! The program of counts of the cells of a table: margins, several parts, sums with weights, and unknown n.

use std::collections::BTreeSet;
use std::fmt::Write;

use soma::Invalid;
use soma::chain::Problem;
use soma::counts::{CountProblem, Likelihood, Published, Shares, SizePrior, Total};

use super::counts::{MOST_RECORDS, THREADS, counted, is_allowed};
use super::model::{number, table};
use super::{Options, Program, Units, unfit};

/// The most cells, published numbers, and effects of a model.
const MOST: usize = 1024;

/// The most tabulated costs.
const MOST_TABULATED: usize = 4096;

/// The counts of a problem that the device can sample; or what is in the way.
pub(super) fn fits(problem: &Problem) -> Result<&CountProblem, Invalid> {
    let allowed = "counts of the cells of a table, with noise on sums of them, and a categorical or log-linear \
                   model; soma, soma-blocks, soma-subset, sys-imwg or ran-imwg for others; or --device cpu";
    let counts = problem.counts().map_err(|why| unfit("sampler.kernel", why, allowed))?;
    let costs: Option<Vec<Vec<f64>>> = counts.published().iter().map(tabulated).collect();
    let length = costs.map(|costs| costs.iter().map(Vec::len).sum::<usize>());
    if length.is_none_or(|length| length > MOST_TABULATED) {
        let allowed = format!(
            "Laplace or Gaussian noise, discrete or not, as it is; other laws of whole sums with positive \
             weights, up to {MOST_TABULATED} sums within 12 standard deviations of what was published"
        );
        return Err(unfit("release.mechanism", "laws with longer tables", allowed));
    }
    if counts.is_layered() {
        return Err(unfit("release.mechanism", "reports or synthetic records", allowed));
    }
    let parameters = match counts.shares() {
        Shares::Dirichlet(alpha) => alpha.len(),
        Shares::Model(model) if model.effects().is_some() => model.dim(),
        Shares::Model(_) => {
            let given = format!("counts of a {} model", problem.record_model().kind());
            return Err(unfit("sampler.kernel", given, allowed));
        }
    };
    let most = parameters.max(counts.table().cells()).max(counts.published().len());
    if most > MOST {
        let allowed = format!("up to {MOST} cells, published numbers and effects");
        return Err(unfit("release", most, allowed));
    }
    Ok(counts)
}

/// The published numbers in units of the noise: the cost in nats of a residual r is |r| or r^2.
pub(super) fn published(problem: &Problem) -> Vec<f64> {
    let value = |row: &Published| row.law.centre() * unit(row);
    problem.counts().map_or(Vec::new(), |counts| counts.published().iter().map(value).collect())
}

/// One over the noise: its scale, or its standard deviation where the costs are tabulated.
fn unit(row: &Published) -> f64 {
    match row.law {
        Likelihood::L1 { rate, .. } => rate,
        Likelihood::L2 { rate, .. } => rate * std::f64::consts::FRAC_1_SQRT_2,
        Likelihood::Other(_) => 1.0 / row.law.sd(),
    }
}

/// Whether a law depends on the published value by more than the residual.
fn is_tabulated(row: &Published) -> bool {
    matches!(row.law, Likelihood::Other(_))
}

/// The costs of the true sums 0, 1, ... of a law that is neither L1 nor L2, up to 12 standard deviations beyond what
/// was published; none for L1 and L2. `None` where there is no such table.
fn tabulated(row: &Published) -> Option<Vec<f64>> {
    if !is_tabulated(row) {
        return Some(Vec::new());
    }
    let last = (row.law.centre().abs() + 12.0 * row.law.sd()).ceil().max(2.0);
    let is_whole = row.cells.iter().all(|&(_, weight)| weight > 0) && last < MOST_TABULATED as f64;
    let cost = |truth: usize| Some(-row.law.log_density(truth as f64)).filter(|x| x.is_finite());
    if is_whole { (0..=last as usize).map(cost).collect() } else { None }
}

/// Whether a law of the problem is tabulated for the values of this one release.
pub(super) fn are_of_one_release(problem: &Problem) -> bool {
    problem.counts().is_ok_and(|counts| counts.published().iter().any(is_tabulated))
}

/// The log density of the published numbers at a cost of 0.
pub(super) fn top(problem: &Problem) -> f64 {
    let constant = |row: &Published| row.law.log_density(row.law.centre());
    problem.counts().map_or(0.0, |counts| counts.published().iter().map(constant).sum())
}

/// A table of whole numbers as a constexpr function.
fn integers(name: &str, values: impl Iterator<Item = usize>) -> String {
    let mut shown: Vec<String> = values.map(|value| value.to_string()).collect();
    if shown.is_empty() {
        shown.push("0".into());
    }
    format!(
        "__device__ __forceinline__ constexpr int {name}(int k) {{\n  \
         constexpr int values[] = {{{}}};\n  return values[k];\n}}\n",
        shown.join(", ")
    )
}

/// The published numbers of each cell, with its weights.
fn rows_of(counts: &CountProblem) -> Vec<Vec<(usize, i64)>> {
    let mut of_cell = vec![Vec::new(); counts.table().cells()];
    for (row, published) in counts.published().iter().enumerate() {
        published.cells.iter().for_each(|&(cell, weight)| of_cell[cell].push((row, weight)));
    }
    of_cell
}

/// The tables of the sums: what is published, of which cells, and the factors of the table.
fn sums(counts: &CountProblem) -> String {
    let of_cell = rows_of(counts);
    let mut starts = vec![0];
    of_cell.iter().for_each(|rows| starts.push(starts[starts.len() - 1] + rows.len()));
    let all = || of_cell.iter().flatten();
    let weights: Vec<f64> = all().map(|&(_, weight)| weight as f64).collect();
    let units: Vec<f64> = counts.published().iter().map(unit).collect();
    let law = |row: &Published| match row.law {
        Likelihood::L1 { .. } => 0,
        Likelihood::L2 { .. } => 1,
        Likelihood::Other(_) => 2,
    };
    let costs: Vec<Vec<f64>> =
        counts.published().iter().map(|row| tabulated(row).unwrap_or_default()).collect();
    let mut tables = vec![0];
    costs.iter().for_each(|row| tables.push(tables[tables.len() - 1] + row.len()));
    let levels: Vec<usize> = factors(counts);
    let strides = (0..levels.len()).map(|f| levels[f + 1..].iter().product());
    [
        "// A sum of counts has the residual published - unit sum, whose cost is its size (L1) or its square (L2), or a \
         tabulated cost.\n\
         constexpr int L1 = 0, L2 = 1, TABULATED = 2;\n"
            .into(),
        table("double", "unit", &units),
        integers("law", counts.published().iter().map(law)),
        "// The tabulated costs of number k are those from table_start(k) to table_start(k + 1) - 1.\n".into(),
        integers("table_start", tables.into_iter()),
        table("double", "tabulated", &costs.concat()),
        "// The published numbers of cell k are those from row_start(k) to row_start(k + 1) - 1.\n".into(),
        integers("row_start", starts.into_iter()),
        integers("row_of", all().map(|&(row, _)| row)),
        table("double", "weight_of", &weights),
        "// The factors of the table, and how far the cells of two levels of one are apart.\n".into(),
        integers("levels_of", levels.iter().copied()),
        integers("stride_of", strides),
        "// The published numbers that a draw has.\n".into(),
        integers("margin", counts.margins().map(|(row, _)| row)),
    ]
    .concat()
}

/// The numbers of levels of the table's factors, without those of one level: they change no cell's place.
fn factors(counts: &CountProblem) -> Vec<usize> {
    counts.table().levels().into_iter().filter(|&levels| levels > 1).collect()
}

/// The prior of n, as text.
fn size_prior(total: Total) -> String {
    let log = match total {
        Total::Known(_) | Total::Unknown(SizePrior::Flat) => "0.0".into(),
        Total::Unknown(SizePrior::Uniform { low, high }) => {
            format!("n >= {low}.0 && n <= {high}.0 ? 0.0 : -1.0 / 0.0")
        }
        Total::Unknown(SizePrior::Poisson { mean }) => {
            format!("n * {} - lgamma(n + 1.0)", number(mean.ln()))
        }
        Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => format!(
            "lgamma(n + {}) - lgamma(n + 1.0) - n * {}",
            number(shape),
            number(rate.ln_1p())
        ),
    };
    format!(
        "// The log prior of the number of records, up to a constant.\n\
         __device__ __forceinline__ double log_prior_of_n(double n) {{ return {log}; }}\n"
    )
}

/// The most published numbers that a line of four cells changes.
fn most_touched(counts: &CountProblem) -> usize {
    let most = rows_of(counts).iter().map(Vec::len).max().unwrap_or(0);
    (4 * most).min(counts.published().len()).max(1)
}

/// The program.
pub(super) fn program(problem: &Problem, options: Options) -> Result<Program, Invalid> {
    let counts = fits(problem)?;
    is_allowed(&options)?;
    let (total, cells, rows) = (counts.total(), counts.table().cells(), counts.published().len());
    // The number of slots for records, where n is unknown.
    let start = problem.release().n();
    if start > MOST_RECORDS {
        return Err(unfit("release.n", start, format!("up to {MOST_RECORDS} records")));
    }
    let (parameters, shares) = match counts.shares() {
        Shares::Dirichlet(alpha) => {
            let sum: f64 = alpha.iter().sum();
            let text = format!("constexpr double PRIOR_SUM = {};\n", number(sum));
            (cells, text + &table("double", "prior", alpha))
        }
        Shares::Model(model) => {
            let (sds, effects) = model.effects().unwrap_or_default();
            let text = format!("constexpr int TERMS = {};\n", effects.len() / cells);
            let effects = effects.iter().map(|&effect| effect as usize);
            let tables = table("double", "effect_sd", sds) + &integers("effect_of", effects);
            (model.dim(), text + &tables)
        }
    };
    let has_model = matches!(counts.shares(), Shares::Model(_));
    let outputs = counts.outputs();
    let threads = options.threads.unwrap_or(THREADS);
    let mut text = String::new();
    let labels: BTreeSet<&str> = counts.published().iter().map(|row| row.label.as_str()).collect();
    let labels: Vec<&str> = labels.into_iter().filter(|label| !label.is_empty()).take(20).collect();
    let n = total.known().map_or("unknown".into(), |n| n.to_string());
    let _ = write!(
        text,
        "// Counts of {cells} cells of a {} model; published: {}; n = {n}.\n// Made by `soma gpu show`.\n\n\
         // The counts of a chain are where others have their records.\n\
         constexpr int CELLS = {cells}, RECORDS = CELLS, DIM = 1, STATS = {rows}, PARAMETERS = {parameters};\n\
         constexpr int OUTPUTS = {}, MARGINS = {}, FACTORS = {}, MOST_TOUCHED = {};\n\
         // Whether n is unknown, how many records a chain starts with, and whether the probabilities of the cells have \
         parameters.\n\
         constexpr bool IS_UNKNOWN = {}, HAS_MODEL = {has_model};\n\
         constexpr double START = {start}.0;\n\
         constexpr int LANES = 1, THREADS = {threads};\n\n",
        problem.record_model().kind(),
        labels.join(", "),
        outputs.len(),
        counts.margins().count(),
        factors(counts).len(),
        most_touched(counts),
        total.known().is_none(),
    );
    let own = [
        include_str!("../text/random.cu"),
        include_str!("../text/functions.cu"),
        "// Draws that reject: of counts, at the start.\nconstexpr u32 SPAN = 64;\n",
        include_str!("../text/draws.cu"),
        &sums(counts),
        &(shares + &size_prior(total)),
        include_str!("../text/params.cu"),
        match has_model {
            true => include_str!("../text/table_effects.cu"),
            false => include_str!("../text/table_dirichlet.cu"),
        },
        include_str!("../text/count_chain.cu"),
        include_str!("../text/tables.cu"),
    ];
    text += &own.join("\n");
    Ok(counted(text, cells, parameters, outputs, threads, Units::Counts(rows)))
}
