//! Names that are not ours: misspellings, synonyms, and the words of other tools.

use crate::error::listed;

/// Synonyms of names, and the keys that other tools have for the same thing.
const SYNONYMS: &[(&str, &str)] = &[
    ("geometric", "discrete-laplace"),
    ("two-sided-geometric", "discrete-laplace"),
    ("double-geometric", "discrete-laplace"),
    ("double-exponential", "laplace"),
    ("normal", "gaussian"),
    ("counts", "categories"),
    ("multinomial", "categorical"),
    ("linear", "regression"),
    ("average", "mean"),
    ("median", "quantile"),
    ("unbounded", "add-remove"),
    ("bounded", "replace"),
    ("substitute", "replace"),
    ("change-one", "replace"),
    ("adjacency", "neighbours"),
    ("size", "n"),
    ("n-records", "n"),
    ("negative-binomial", "poisson-gamma"),
    ("gumbel", "exponential"),
    ("report-noisy-max", "exponential"),
    ("exponential-mechanism", "exponential"),
    ("noise-scale", "scale"),
    ("b", "scale"),
    ("l1-sensitivity", "sensitivity"),
    ("l2-sensitivity", "sensitivity"),
];

/// Words of other tools that are not just another name: the word, one of ours that tells where it
/// stands, and what to write.
const CONVERSIONS: &[(&str, &str, &str)] = &[
    ("sigma", "scale", "scale = sigma, the parameter of Gaussian noise"),
    ("sigma-squared", "scale", "scale = the square root of sigma_squared"),
    ("sd", "variance", "variance = the square of the standard deviation"),
    ("std", "variance", "variance = the square of the standard deviation"),
    ("std-dev", "variance", "variance = the square of the standard deviation"),
    ("stddev", "variance", "variance = the square of the standard deviation"),
    ("noise-stddev", "variance", "variance = the square of the standard deviation"),
    ("standard-deviation", "variance", "variance = the square of the standard deviation"),
    ("alpha", "scale", "scale = 1 / ln(1 / alpha), of geometric noise"),
    ("k", "granularity", "granularity = 2^k"),
    ("bounds", "clamp", "clamp = [low, high]"),
    ("lower", "clamp", "clamp = [low, high]"),
    ("upper", "clamp", "clamp = [low, high]"),
    ("sum", "gram", "kind = \"mean\" with statistic = \"sum\""),
];

/// The allowed names, and the one that `given` may be a misspelling or a synonym of.
pub fn choices(given: &str, names: &[&str]) -> String {
    let all = match names {
        [] => return "nothing here".to_string(),
        [name] => return name.to_string(),
        _ => format!("one of {}", listed(names)),
    };
    let own = plain(given);
    let conversion =
        CONVERSIONS.iter().find(|(word, ours, _)| *word == own && names.contains(ours));
    match (conversion, meant(given, names)) {
        (Some((_, _, write)), _) => format!("{all}; write {write}"),
        (None, Some(name)) => format!("{all}; did you mean {name}?"),
        (None, None) => all,
    }
}

/// The word as it stands in the tables.
fn plain(word: &str) -> String {
    word.to_lowercase().replace([' ', '_'], "-")
}

/// The name that `given` is a synonym of, or else the most similar one. A word that contains
/// another, such as lognormal, is not a misspelling of it.
fn meant<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = plain(given);
    let synonyms = SYNONYMS.iter().filter(|(word, _)| *word == lower).map(|(_, name)| *name);
    let another = synonyms.filter_map(|name| names.iter().find(|known| **known == name)).next();
    let inside = |name: &str| lower.len() > name.len() + 1 && lower.contains(name);
    // lognormal resembles log-linear in its first letters only.
    let near = |name: &str| {
        let edits = strsim::levenshtein(&lower, name);
        2 * edits <= lower.len().max(name.len()) || name.starts_with(&lower)
    };
    let like = names.iter().filter(|name| !inside(name) && near(name));
    let like = like.map(|name| (strsim::jaro_winkler(&lower, name), name));
    let like = like.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
    another.or(like.map(|(_, name)| name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools_lead_to_ours() {
        let noise = ["kind", "epsilon", "scale", "variance", "sensitivity", "granularity"];
        for (given, said) in [
            ("sigma", "write scale = sigma"),
            ("noise_stddev", "write variance = the square"),
            ("alpha", "write scale = 1 / ln(1 / alpha)"),
            ("k", "write granularity = 2^k"),
            ("l1_sensitivity", "did you mean sensitivity?"),
            ("noise_scale", "did you mean scale?"),
            ("Epsilon", "did you mean epsilon?"),
        ] {
            let told = choices(given, &noise);
            assert!(told.contains(said), "{given}: {told}");
        }
        assert!(choices("bounds", &["kind", "clamp"]).ends_with("write clamp = [low, high]"));
        assert!(choices("unbounded", &["replace", "add-remove"]).ends_with("add-remove?"));
        // A word of another tool is not ours where its key is not allowed.
        assert_eq!(choices("alpha", &["kind", "prob"]), "one of kind, prob");
        assert_eq!(choices("gamma", &noise), format!("one of {}", listed(&noise)));
    }
}
