//! The constants and the text of a model.

use soma::model::Recipe;

/// The text of a model. A record has one noise value per coordinate; a change of theta with the noise held
/// fixed changes the last coordinate only.
pub(super) fn text(recipe: &Recipe) -> String {
    match recipe {
        Recipe::Regression { centre, factor, prior_mean, prior_precision, shape, rate } => [
            constants(centre.len() + 1, true, *shape, *rate),
            format!("constexpr int PREDICTORS = {};\n", centre.len()),
            table("float", "centre", centre),
            table("float", "factor", factor),
            table("double", "prior_mean", prior_mean),
            table("double", "prior_precision", prior_precision),
            "\n".into(),
            include_str!("../text/regression.cu").into(),
        ]
        .concat(),
        Recipe::Exponential { shape, rate } => {
            constants(1, false, *shape, *rate) + "\n" + include_str!("../text/exponential.cu")
        }
    }
}

/// The sums over the records that the theta update needs: `SUMS` of the text.
pub(super) fn sums(recipe: &Recipe) -> usize {
    match recipe {
        Recipe::Regression { centre, .. } => {
            let coefficients = centre.len() + 1;
            coefficients * (coefficients + 1) / 2 + coefficients
        }
        Recipe::Exponential { .. } => 1,
    }
}

fn constants(noise: usize, is_normal: bool, shape: f64, rate: f64) -> String {
    format!(
        "// NOISE numbers make a record: standard normal, or uniform on (0, 1].\n\
         constexpr int NOISE = {noise};\n\
         constexpr bool NORMAL_NOISE = {is_normal};\n\
         // A change of theta with the noise held fixed changes the coordinates from this one on.\n\
         constexpr int FIRST_CARRIED = {};\n\
         constexpr double PRIOR_SHAPE = {shape:?}, PRIOR_RATE = {rate:?};\n",
        noise - 1
    )
}

/// A table as a constexpr function, so that unrolled loops fold its values.
fn table(kind: &str, name: &str, values: &[f64]) -> String {
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
