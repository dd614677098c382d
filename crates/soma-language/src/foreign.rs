//! Words and signs of other languages (Stan, BUGS, R, Python) and of typography, and what is
//! written here instead. Everything that a message says about them is in this file.

/// What a line is.
pub(crate) const LINE: &str = "a line is `name ~ distribution(...)` or `name = expression`";

/// What is written in the place of a declaration.
pub(crate) const DECLARATION: &str = "there are no types and no `;`: the prior says the support, as in `s ~ half_normal(20)`; a \
     vector is `b[1..3] ~ ...`";

/// What is written in the place of `c ? a : b` and the like.
pub(crate) const CONDITIONAL: &str = "write `if c then a else b`";

/// What is written in the place of a second `=`.
pub(crate) const EQUALITY: &str = "equality is written `==`";

/// What is written in the place of `name <- value`.
pub(crate) const ARROW: &str = "write `=` for an expression, or `~` for a distribution";

/// What is written in the place of `T(0, )`.
pub(crate) const TRUNCATION: &str =
    "there is no truncation; a normal with mean 0 that is cut at 0 is `half_normal(scale)`";

/// What is written in the place of a loop.
pub(crate) const LOOP: &str =
    "there are no loops: a vector is `b[1..3] ~ ...`, and the record is the text of one record";

/// What is written in the place of blocks in braces.
pub(crate) const BLOCK: &str =
    "there are no blocks: `parameters` and `record` are two texts; a vector is `[1, 2]`";

/// What `|` stands for in other languages.
pub(crate) const BAR: &str = "`|` is not of this language: a line is `name ~ distribution(...)`, and of two conditions one is \
     `a or b`";

/// Words after `~`, and what to write. Words are compared as [`plain`] makes them.
const DISTRIBUTIONS: &[(&[&str], &str)] = &[
    (&["gaussian", "norm", "rnorm"], "did you mean `normal`?"),
    (&["n"], "did you mean `normal(mean, sd)`? Its second argument is an sd, not a variance"),
    (&["dnorm"], "write `normal(mean, sd)`: an sd, not a precision"),
    (&["stdnormal"], "write `normal(0, 1)`"),
    (&["dhalfnorm", "halfnorm", "hnorm"], "did you mean `half_normal`?"),
    (&["lnorm", "rlnorm"], "did you mean `log_normal`?"),
    (&["dlnorm"], "write `log_normal(mean, sd)`: an sd, not a precision"),
    (&["t", "student", "studentt", "rt"], "write `student_t(freedom, location, scale)`"),
    (&["dt"], "write `student_t(freedom, location, scale)`: a scale, not a precision"),
    (&["cauchy", "dcauchy", "rcauchy"], "write `student_t(1, location, scale)`"),
    (
        &["halfcauchy", "halft", "halfstudentt"],
        "draw `t ~ student_t(freedom, 0, scale)`, freedom 1 for Cauchy, and write `s = abs(t)`",
    ),
    (&["doubleexponential", "doubleexp"], "write `laplace(location, scale)`"),
    (&["ddexp"], "write `laplace(location, scale)`: a scale, not a rate"),
    (&["dlogis", "logis"], "write `logistic(location, scale)`: a scale, not a rate"),
    (&["exp", "expon", "dexp", "rexp"], "did you mean `exponential`?"),
    (&["dgamma", "rgamma"], "write `gamma(shape, rate)`"),
    (&["invgamma", "dinvgamma", "igamma"], "write `inverse_gamma(shape, scale)`"),
    (
        &["chisq", "chisquare", "chisquared", "chi2", "dchisq", "dchisqr"],
        "write `gamma(k / 2, 0.5)`",
    ),
    (&["dweibull", "rweibull"], "write `weibull(shape, scale)`"),
    (&["dweib"], "write `weibull(shape, scale)`: the scale is rate^(-1 / shape)"),
    (&["dbeta", "rbeta"], "write `beta(a, b)`"),
    (&["dunif", "runif", "unif"], "write `uniform(low, high)`"),
    (
        &["flat", "dflat", "halfflat", "improper", "improperuniform", "jeffreys"],
        "priors are proper: write a wide one, such as `normal(0, 100)`",
    ),
    (&["dbern", "bern", "rbern"], "write `bernoulli(probability)`"),
    (&["bernoullilogit"], "write `bernoulli(logistic(...))`"),
    (&["dbin"], "write `binomial(trials, probability)`, the trials first"),
    (&["dbinom", "binom", "rbinom"], "write `binomial(trials, probability)`"),
    (&["binomiallogit"], "write `binomial(trials, logistic(...))`"),
    (&["dpois", "pois", "rpois"], "write `poisson(mean)`"),
    (&["poissonlog"], "write `poisson(exp(...))`"),
    (
        &["negbin", "negbinomial", "negbinomial2", "dnegbin", "dnbinom", "nbinom"],
        "write `negative_binomial(mean, size)`",
    ),
    (&["negbinomial2log"], "write `negative_binomial(exp(...), size)`"),
    (&["geometric", "geom", "dgeom"], "write `negative_binomial(mean, 1)`, the number of failures"),
    (&["dcat", "cat", "multinoulli", "discrete"], "write `categorical(weights)`"),
    (&["categoricallogit"], "write `categorical(softmax(...))`"),
    (
        &["multinomial", "dmulti", "dmultinom"],
        "a record is one individual: write `k ~ categorical(weights)`, and count by statistics",
    ),
    (&["ddirch", "ddirich", "ddirichlet", "dir"], "write `dirichlet(shapes)`"),
    (
        &["mvn", "mvnormal", "mvnorm", "multivariatenormal", "multinormalcholesky"],
        "write `multi_normal(mean, factor)`, with the Cholesky factor of the covariance",
    ),
    (
        &["dmnorm", "multinormalprec"],
        "write `multi_normal(mean, factor)`: the Cholesky factor of the covariance, not a precision",
    ),
    (&["lkj", "lkjcorr", "lkjcorrcholesky", "lkjchol"], "did you mean `lkj_cholesky`?"),
    (
        &["wishart", "dwish", "invwishart", "inversewishart"],
        "draw `L[1..3, 1..3] ~ lkj_cholesky(2)` and `sd[1..3] ~ half_normal(10)`; the factor of the \
         covariance is `scale_rows(sd, L)`",
    ),
];

/// Names of functions, and what to write. Words are compared as [`plain`] makes them.
const FUNCTIONS: &[(&[&str], &str)] = &[
    (&["ln"], "did you mean `log`?"),
    (&["log10"], "write `log(x) / log(10)`"),
    (&["log2"], "write `log(x) / log(2)`"),
    (&["sigmoid", "expit", "invlogit", "ilogit", "plogis"], "did you mean `logistic`?"),
    (&["qlogis"], "did you mean `logit`?"),
    (&["phi", "pnorm", "phiapprox"], "did you mean `normal_cdf`?"),
    (&["qnorm", "probit", "invphi"], "did you mean `normal_quantile`?"),
    (&["fabs"], "did you mean `abs`?"),
    (&["power"], "did you mean `pow`?"),
    (&["square", "sqr"], "write `x ^ 2`"),
    (&["inv"], "write `1 / x`"),
    (&["clip"], "did you mean `clamp`?"),
    (&["pmin", "fmin", "minimum"], "did you mean `min`?"),
    (&["pmax", "fmax", "maximum"], "did you mean `max`?"),
    (&["loggam", "gammaln", "lgam"], "did you mean `lgamma`?"),
    (&["inprod", "dotproduct", "inner"], "did you mean `dot`?"),
    (&["len", "numelements", "size"], "did you mean `length`?"),
    (&["chol", "choleskydecompose"], "did you mean `cholesky`?"),
    (&["diagpremultiply"], "did you mean `scale_rows`?"),
    (&["trunc", "int"], "did you mean `floor`?"),
    (&["c", "array", "vector", "list"], "a vector is written `[1, 2]`"),
    (&["rep"], "write the vector out, `[1, 1, 1]`; a single number goes with any vector"),
    (&["ifelse", "iif", "where", "cond"], CONDITIONAL),
    (&["equals", "eq"], "write `a == b`"),
    (&["step", "intstep"], "write `a >= 0`, which is 1 or 0"),
    (
        &["i", "indicator", "indicatorfunction"],
        "write the comparison alone, as in `x > 0`: it is 1 or 0",
    ),
];

/// Types of Stan, at the beginning of a declaration.
const TYPES: &[&str] = &[
    "real",
    "int",
    "vector",
    "row_vector",
    "matrix",
    "array",
    "simplex",
    "ordered",
    "positive_ordered",
    "unit_vector",
    "corr_matrix",
    "cov_matrix",
    "cholesky_factor_corr",
    "cholesky_factor_cov",
    "complex",
    "float",
    "double",
    "var",
    "let",
    "const",
];

/// Signs of several characters, which can stand nowhere in a text.
const SIGNS: &[(&str, &str)] = &[
    ("%*%", "write `dot(v, w)`"),
    ("%in%", "compare with each, as in `k == 1 or k == 2`"),
    ("%%", "there is no remainder; write `x - m * floor(x / m)`"),
    ("**", "write `^`"),
    ("//", "a comment begins with `#`; the whole part of a quotient is `floor(a / b)`"),
    ("/*", "a comment begins with `#`"),
    ("+=", LINE),
    ("-=", LINE),
    ("*=", LINE),
    ("/=", LINE),
    (":=", "write `=`"),
    ("=<", "write `<=`"),
    ("=>", "write `>=`"),
    ("<>", "write `!=`"),
    ("~=", "write `!=`"),
    ("->", ARROW),
    ("&&", "write `and`"),
    ("||", "write `or`"),
];

/// Single characters that stand for something.
const CHARACTERS: &[(&str, &str)] = &[
    ("−–—‐‑‒﹣－", "write `-`"),
    ("∼～˜", "write `~`"),
    ("×∗·⋅•＊", "write `*`"),
    ("÷∕⁄／", "write `/`"),
    ("≤⩽", "write `<=`"),
    ("≥⩾", "write `>=`"),
    ("≠", "write `!=`"),
    ("＝", "write `=`"),
    ("＋", "write `+`"),
    ("∧", "write `and`"),
    ("∨", "write `or`"),
    ("¬", "write `not`"),
    ("←", ARROW),
    ("…", "a range is written `1..3`"),
    ("²", "write `^ 2`"),
    ("³", "write `^ 3`"),
    ("√", "write `sqrt(...)`"),
    ("∞", "numbers are finite: leave out the bound, or write a large one"),
    ("（", "write `(`"),
    ("）", "write `)`"),
    ("［", "write `[`"),
    ("］", "write `]`"),
    ("，；、", "write `,`"),
    ("“”„‟«»‘’‚‛‹›´`", "remove the quotes: names and numbers have none"),
    ("'\"", "there are no texts inside a model: names and numbers have no quotes"),
    ("?？", CONDITIONAL),
    ("{}", BLOCK),
    (":", "a range is written `1..3`"),
    ("&", "write `and`"),
    ("!", "write `not`, or `!=` for different"),
    ("%", "there is no remainder; write `x - m * floor(x / m)`"),
    ("@", "there is no matrix product; write `dot(v, w)`"),
    ("$", "names have no `$`: give data by a name of its own"),
    ("\\", "a line goes on inside brackets, without a sign"),
    ("µμ", "names are made of a to z, A to Z, 0 to 9 and `_`: write `mu`"),
    ("σ", "names are made of a to z, A to Z, 0 to 9 and `_`: write `sigma`"),
    (
        "αβγδθλρτφ",
        "names are made of a to z, A to Z, 0 to 9 and `_`: write the letter out, as in `beta0`",
    ),
];

/// Characters that cannot be seen: their names, and what to do.
const INVISIBLE: &[(char, &str, &str)] = &[
    ('\u{a0}', "no-break space", "write a plain space"),
    ('\u{202f}', "narrow no-break space", "write a plain space"),
    ('\u{2002}', "en space", "write a plain space"),
    ('\u{2003}', "em space", "write a plain space"),
    ('\u{2009}', "thin space", "write a plain space"),
    ('\u{3000}', "ideographic space", "write a plain space"),
    ('\u{ad}', "soft hyphen", "remove it"),
    ('\u{200b}', "zero-width space", "remove it"),
    ('\u{200d}', "zero-width joiner", "remove it"),
    ('\u{2060}', "word joiner", "remove it"),
    ('\u{feff}', "byte order mark", "remove it"),
];

/// What to write in the place of a distribution of another language.
pub(crate) fn distribution(word: &str) -> Option<&'static str> {
    row(DISTRIBUTIONS, word)
}

/// What to write in the place of a function of another language.
pub(crate) fn function(word: &str) -> Option<&'static str> {
    let is_density = ["_lpdf", "_lpmf", "_lupdf", "_lupmf", "_log"];
    let is_density = is_density.iter().any(|end| word.ends_with(end));
    row(FUNCTIONS, word)
        .or_else(|| row(DISTRIBUTIONS, word).map(|_| DENSITY))
        .or(is_density.then_some(DENSITY))
}

/// What to write in the place of a density.
const DENSITY: &str = "a density is no expression: a line is `name ~ distribution(...)`";

/// Whether a word is a type of Stan or the like.
pub(crate) fn is_type(word: &str) -> bool {
    TYPES.contains(&word)
}

/// The sign that `text` begins with, and what to write.
pub(crate) fn sign(text: &str) -> Option<(&'static str, &'static str)> {
    SIGNS.iter().copied().find(|(sign, _)| text.starts_with(sign))
}

/// The name of a character that cannot be seen.
pub(crate) fn invisible(character: char) -> Option<&'static str> {
    INVISIBLE.iter().find(|(own, ..)| *own == character).map(|(_, name, _)| *name)
}

/// What to write in the place of a character.
pub(crate) fn character(character: char) -> Option<&'static str> {
    let seen = CHARACTERS.iter().find(|(all, _)| all.contains(character)).map(|(_, help)| *help);
    let unseen = INVISIBLE.iter().find(|(own, ..)| *own == character).map(|(_, _, help)| *help);
    seen.or(unseen)
}

fn row(table: &[(&[&str], &'static str)], word: &str) -> Option<&'static str> {
    let word = plain(word);
    table.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, help)| *help)
}

/// A word as it stands in the tables.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('_', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::function::FUNCTIONS as OWN;
    use crate::distribution::TABLE;

    /// Backticks in help that name a distribution or a function name one that there is.
    #[test]
    fn advice_names_what_there_is() {
        let all = DISTRIBUTIONS.iter().chain(FUNCTIONS).map(|(_, help)| *help);
        for help in all.chain(SIGNS.iter().chain(CHARACTERS).map(|(_, help)| *help)) {
            for quoted in help.split('`').skip(1).step_by(2) {
                for (end, _) in quoted.match_indices('(') {
                    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    let word = &quoted[quoted[..end].trim_end_matches(is_word).len()..end];
                    let known = TABLE.iter().any(|(name, _)| *name == word)
                        || OWN.iter().any(|function| function.name == word);
                    assert!(known || word.is_empty() || word == "distribution", "{help}: {word}");
                }
            }
            if let Some(meant) = help.strip_prefix("did you mean `") {
                let meant = meant.split(['`', '(']).next().unwrap();
                let known = TABLE.iter().any(|(name, _)| *name == meant)
                    || OWN.iter().any(|function| function.name == meant);
                assert!(known, "{help}");
            }
        }
    }

    /// No row hides another, and no word is one of this language.
    #[test]
    fn words_stand_in_one_row() {
        for table in [DISTRIBUTIONS, FUNCTIONS] {
            let mut words: Vec<&str> =
                table.iter().flat_map(|(words, _)| *words).copied().collect();
            assert!(words.iter().all(|word| plain(word) == *word), "{words:?}");
            let count = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), count);
        }
        let own = DISTRIBUTIONS.iter().flat_map(|(words, _)| *words);
        assert!(own.clone().all(|word| TABLE.iter().all(|(name, _)| name != word)));
        let own = FUNCTIONS.iter().flat_map(|(words, _)| *words);
        assert!(own.clone().all(|word| OWN.iter().all(|function| function.name != *word)));
        let marks: String = CHARACTERS.iter().map(|(all, _)| *all).collect();
        assert!(marks.chars().all(|c| marks.matches(c).count() == 1), "{marks}");
    }
}
