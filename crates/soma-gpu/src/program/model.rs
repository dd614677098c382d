//! The constants and the text of a model.

use soma::Invalid;
use soma::chain::Problem;
use soma::model::Recipe;

use super::text_model::{self, Parts};
use super::unfit;

/// The most categories: each has a sum over the records.
pub(super) const MOST_CATEGORIES: usize = 64;

/// The most shares of a composition: their second derivatives are in registers.
const MOST_SHARES: usize = 16;

/// The most draws of a gamma in a sweep: each has [`SPAN`] of the 2^30 random calls that are set aside.
const MOST_DRAWS: usize = (1 << 30) / SPAN;

/// The text of a model: what proposals need, and what comes after the text of the records.
/// `non_centred`: with what carries records to another theta.
pub(super) fn text(
    recipe: &Recipe,
    problem: &Problem,
    non_centred: bool,
) -> Result<Parts, Invalid> {
    let first = match recipe {
        Recipe::Regression { centre, factor, prior_mean, prior_precision, shape, rate } => [
            constants([centre.len() + 1, 0, 0], centre.len()),
            prior_constants(*shape, *rate),
            format!("constexpr int PREDICTORS = {};\n", centre.len()),
            table("float", "centre", centre),
            table("float", "factor", factor),
            table("double", "prior_mean", prior_mean),
            table("double", "prior_precision", prior_precision),
            "\n".into(),
            include_str!("../text/regression.cu").into(),
        ]
        .concat(),
        Recipe::Exponential { shape, rate } => [
            constants([0, 1, 0], 0),
            prior_constants(*shape, *rate),
            "\n".into(),
            include_str!("../text/logarithms.cu").into(),
            "\n".into(),
            include_str!("../text/exponential.cu").into(),
        ]
        .concat(),
        Recipe::Categorical { prior } if prior.len() > MOST_CATEGORIES => {
            let allowed = format!("up to {MOST_CATEGORIES} categories");
            return Err(unfit("model.prior.alpha", format!("{} categories", prior.len()), allowed));
        }
        Recipe::Categorical { prior } => [
            constants([0, 1, 0], 0),
            table("double", "prior", prior),
            "\n".into(),
            include_str!("../text/logarithms.cu").into(),
            "\n".into(),
            include_str!("../text/categorical.cu").into(),
            include_str!("../text/uncarried.cu").into(),
        ]
        .concat(),
        Recipe::Beta { priors } => {
            let model = include_str!("../text/beta.cu");
            let carried = non_centred.then_some(include_str!("../text/beta_carried.cu"));
            return Ok(shapes(problem, priors, model, carried, 1));
        }
        Recipe::Dirichlet { priors } => {
            let (n, shares) = (problem.release().n(), priors.len());
            if shares > MOST_SHARES || (n + 2) * shares > MOST_DRAWS {
                let allowed =
                    format!("up to {MOST_SHARES} shares, and {MOST_DRAWS} of all records");
                return Err(unfit("model", format!("{n} records of {shares} shares"), allowed));
            }
            let model = include_str!("../text/dirichlet.cu");
            let carried = non_centred.then_some(include_str!("../text/dirichlet_carried.cu"));
            return Ok(shapes(problem, priors, model, carried, shares));
        }
        Recipe::Uniform { ranges } => [
            constants([0, ranges.len(), 0], 0),
            table("float", "low", &ranges.iter().map(|range| range.0).collect::<Vec<_>>()),
            table(
                "float",
                "width",
                &ranges.iter().map(|range| range.1 - range.0).collect::<Vec<_>>(),
            ),
            "\n".into(),
            include_str!("../text/uniform.cu").into(),
            include_str!("../text/uncarried.cu").into(),
        ]
        .concat(),
        Recipe::Text(model) => return text_model::parts(model, problem, non_centred),
    };
    Ok(Parts { first, second: String::new() })
}

/// The text of a beta or Dirichlet model, whose records need `rejecting` draws that reject. `carried`: what carries
/// records, if anything does.
fn shapes(
    problem: &Problem,
    priors: &[(f64, f64)],
    model: &str,
    carried: Option<&str>,
    rejecting: usize,
) -> Parts {
    let [shape, rate]: [Vec<f64>; 2] = [
        priors.iter().map(|prior| prior.0).collect(),
        priors.iter().map(|prior| prior.1).collect(),
    ];
    let first = [
        constants_of([0, 0, rejecting], 0, carried.is_some()),
        table("double", "prior_shape", &shape),
        table("double", "prior_rate", &rate),
        "\n".into(),
        include_str!("../text/draws.cu").into(),
        "\n".into(),
        include_str!("../text/logarithms.cu").into(),
        "\n".into(),
        model.into(),
        match carried {
            Some(carried) => [
                "\n",
                include_str!("../text/quantiles.cu"),
                "\n",
                include_str!("../text/shape_quantiles.cu"),
                carried,
            ]
            .concat(),
            None => include_str!("../text/uncarried.cu").into(),
        },
    ];
    let second = [
        text_model::steps(2, 1),
        table("double", "slice_width", &text_model::widths(problem)),
        "\n".into(),
        include_str!("../text/shapes_conditional.cu").into(),
        "\n".into(),
        include_str!("../text/conditional.cu").into(),
    ];
    Parts { first: first.concat(), second: second.concat() }
}

/// The sums over the records that the theta update needs: `SUMS` of the text.
pub(super) fn sums(recipe: &Recipe) -> usize {
    match recipe {
        Recipe::Regression { centre, .. } => {
            let coefficients = centre.len() + 1;
            coefficients * (coefficients + 1) / 2 + coefficients
        }
        Recipe::Exponential { .. } => 1,
        Recipe::Categorical { prior } => prior.len(),
        Recipe::Beta { .. } => 2,
        Recipe::Dirichlet { priors } => priors.len(),
        Recipe::Uniform { .. } | Recipe::Text(_) => 0,
    }
}

/// How records are carried to another theta, for non-centred updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// In single precision.
    Single,
    /// In double precision.
    Double,
    /// By scores of gamma, beta or Student's t variables, which are solved for.
    ByShapes,
}

/// How records of a model are carried, if they can be.
pub(super) fn carried(recipe: &Recipe) -> Option<Carried> {
    match recipe {
        Recipe::Regression { .. } | Recipe::Exponential { .. } => Some(Carried::Single),
        Recipe::Beta { .. } | Recipe::Dirichlet { .. } => Some(Carried::ByShapes),
        Recipe::Categorical { .. } | Recipe::Uniform { .. } => None,
        Recipe::Text(model) => text_model::carried(model),
    }
}

/// Random calls that are set aside for a draw that rejects.
pub(super) const SPAN: usize = 64;

/// The random numbers that a record is made of, and the first coordinate that a change of theta carries.
fn constants(drawn: [usize; 3], first_carried: usize) -> String {
    constants_of(drawn, first_carried, false)
}

/// The same, of records that `may_overflow`.
fn constants_of(
    [normals, uniforms, rejecting]: [usize; 3],
    first_carried: usize,
    may_overflow: bool,
) -> String {
    format!(
        "// A record is made of standard normals, of uniforms on (0, 1), and of draws that take as many random \
         words as they need.\n\
         constexpr int NORMALS = {normals}, UNIFORMS = {uniforms}, REJECTING = {rejecting};\n\
         constexpr u32 SPAN = {SPAN};\n\
         // A change of theta with the noise held fixed changes the coordinates from this one on.\n\
         constexpr int FIRST_CARRIED = {first_carried};\n\
         // Whether a proposed or carried record may leave the range of numbers.\n\
         constexpr bool MAY_OVERFLOW = {may_overflow};\n\
         // Whether some non-centred updates walk, one parameter at a time.\n\
         constexpr bool WALKS = false;\n\
         __device__ __forceinline__ double walk_width(int) {{ return 0.0; }}\n"
    )
}

fn prior_constants(shape: f64, rate: f64) -> String {
    format!("constexpr double PRIOR_SHAPE = {shape:?}, PRIOR_RATE = {rate:?};\n")
}

/// A table as a constexpr function, so that unrolled loops fold its values.
pub(super) fn table(kind: &str, name: &str, values: &[f64]) -> String {
    let suffix = if kind == "float" { "f" } else { "" };
    let shown: Vec<String> = match values {
        [] => vec![format!("0.0{suffix}")],
        values => values.iter().map(|value| number(*value) + suffix).collect(),
    };
    format!(
        "__device__ __forceinline__ constexpr {kind} {name}(int k) {{\n  \
         constexpr {kind} values[] = {{{}}};\n  return values[k];\n}}\n",
        shown.join(", ")
    )
}

/// A number as C++ reads it, with a point or an exponent.
pub(super) fn number(value: f64) -> String {
    format!("{value:?}")
}
