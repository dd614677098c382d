//! Invalid texts: each error has its message, and no text makes the parser panic.
//!
//! After a change of messages: `INSTA_UPDATE=always cargo test -p soma-mcmc-language --test
//! mistakes`, and read the difference. The long run of mangled texts: `SOMA_MANGLED=100000 cargo
//! test --release -p soma-mcmc-language --test mistakes mangled`.

mod common;

use common::{MODELS, data, rng};
use rand::RngExt;
use soma_language::{Model, Statistics, Workspace};

const PARAMETERS: &str = "m ~ normal(0, 1)
s ~ half_normal(1)
b[1..3] ~ normal(0, 1)
w[1..3] ~ dirichlet([1, 1, 1])
L[1..2, 1..2] ~ lkj_cholesky(2)";

const RECORD: &str = "x ~ normal(m, s)
v[1..2] ~ normal(0, 1)
k ~ categorical(w)
voted ~ bernoulli(0.3)
y ~ beta(2, 3)
twice = 2 * x
scaled = x / s";

/// Mistakes in the text of the parameters.
const BAD_PARAMETERS: &[&str] = &[
    "m",
    "m ~",
    "m =",
    "~ normal(0, 1)",
    "= 3",
    "m normal(0, 1)",
    "m ~ normal",
    "m ~ normal(0, 1",
    "m ~ normal(0, 1))",
    "m ~ normal[0, 1]",
    "m ~ normal(0, 1) extra",
    "m ~ normal(0 1)",
    "m ~ normal(0,, 1)",
    "m ~ normal(, 1)",
    "m ~ normal(0, )",
    "m ~ normal()",
    "m ~ normal(0)",
    "m ~ normal(0, 1, 2)",
    "m ~ normal(mean = 0, sd = 1)",
    "m ~ 3",
    "m ~ exp(1)",
    "m ~ gaussian(0, 1)",
    "m ~ nromal(0, 1)",
    "m ~ Normal(0, 1)",
    "m ~ halfnormal(1)",
    "m ~ cauchy(0, 1)",
    "m = normal(0, 1)",
    "m ~ normal(0, -1)",
    "m ~ normal(0, 0)",
    "m ~ half_normal(-2)",
    "s ~ normal(0, 1)\nm ~ normal(0, s)",
    "m ~ gamma(1)",
    "m ~ gamma(0, 1)",
    "m ~ beta(1, -1)",
    "m ~ uniform(3, 1)",
    "m ~ uniform(2, 2)",
    "low ~ normal(0.5, 0.5)\nhigh ~ normal(0.5, 0.5)\nm ~ uniform(low, high)",
    "low ~ half_normal(1)\nm ~ uniform(2 * low, low)",
    "a ~ normal(1, 1)\nm ~ normal(log(a), 1)",
    "a ~ normal(1, 1)\nc ~ normal(2 + sqrt(a), 1)",
    "a ~ normal(1, 1)\nc ~ normal(a ^ 1.5, 1)",
    "a ~ half_normal(1)\nc ~ normal(logit(a), 1)",
    "a ~ normal(1, 1)\nc ~ normal(normal_quantile(a), 1)",
    "m ~ bernoulli(0.5)",
    "m ~ poisson(3)",
    "m ~ categorical([1, 2])",
    "m ~ binomial(3, 0.2)",
    "m ~ normal(a, 1)",
    "m ~ normal(a, 1)\na ~ normal(0, 1)",
    "m ~ normal(m, 1)",
    "a = c + 1\nc = a + 1",
    "a = c\nc = e\ne = a",
    "m ~ normal(0, 1)\nm ~ normal(0, 2)",
    "d ~ normal(0, 1)",
    "exp ~ normal(0, 1)",
    "if ~ normal(0, 1)",
    "then = 3",
    "m ~ normal(x, 1)",
    "2m ~ normal(0, 1)",
    "m-1 ~ normal(0, 1)",
    "m ~ normal(0, 1); s ~ half_normal(1)",
    "m <- normal(0, 1)",
    "m ∼ normal(0, 1)",
    "größe ~ normal(0, 1)",
    "m ~ normal(0, 1,5)",
    "m ~ normal(1.2.3, 1)",
    "m ~ normal(0, 1) # fine\ns ~ half_normal(1)) # not",
    "b[3] ~ normal(0, 1)",
    "b[0..2] ~ normal(0, 1)",
    "b[1..0] ~ normal(0, 1)",
    "b[1..2.5] ~ normal(0, 1)",
    "b[1..5000] ~ normal(0, 1)",
    "b[1..q] ~ normal(0, 1)",
    "b[1:3] ~ normal(0, 1)",
    "b[1..3 ~ normal(0, 1)",
    "b[] ~ normal(0, 1)",
    "b[1..3] ~ normal([1, 2], 1)",
    "b ~ normal([1, 2], 1)",
    "b[1..2, 1..2, 1..2] ~ normal(0, 1)",
    "n ~ normal(0, 1)\nb[1..n] ~ normal(0, 1)",
    "p[1..3] ~ dirichlet([1, 1])",
    "p ~ dirichlet([1, 1])",
    "p[1..2] ~ dirichlet(1)",
    "p[1..1] ~ dirichlet([1])",
    "p[1..2] ~ dirichlet([1, 0])",
    "R ~ lkj_cholesky(2)",
    "R[1..3] ~ lkj_cholesky(2)",
    "R[1..2, 1..3] ~ lkj_cholesky(2)",
    "R[1..2, 1..2] ~ lkj(2)",
    "z[1..2] ~ multi_normal(centre, spread)",
    "z[1..3] ~ multi_normal(centre, cholesky(spread))",
    "z ~ multi_normal(centre, cholesky(spread))",
    "z[1..2] ~ multi_normal(0, cholesky(spread))",
    "z[1..2] ~ multi_normal(centre, 1)",
    "z[1..3] ~ multi_normal([0, 0, 0], cholesky(spread))",
    "c[1..2] = [1, 2, 3]",
    "c = []",
    "c = [1, [2, 3]]",
    "c = 1 +",
    "c = * 2",
    "c = (1 + 2",
    "c = 1 + 2)",
    "c = [1, 2)",
    "c = 2(3 + 1)",
    "c = centre(1)",
    "c = exp",
    "c = normal",
    "c = exp()",
    "c = exp(1, 2)",
    "c = exq(1)",
    "c = ln(2)",
    "c = sigmoid(2)",
    "c = 1 / 0",
    "c = 3 % 2",
    "c = 'text'",
    "c = 1 & 2",
    "c = !1",
    "c = 1 < 2 < 3 < 4",
    "c = if 1 then 2",
    "c = if 1 else 2",
    "c = if 3 then 2 else 1",
    "c = 1 + if 1 > 0 then 2 else 1",
    "c = not 3",
    "c = 2 and 1",
    "c = centre[3]",
    "c = centre[0]",
    "c = centre[1.5]",
    "c = centre[1, 2]",
    "c = centre[2..1]",
    "c = d[1]",
    "c = spread[1, 3]",
    "c = spread[3]",
    "c = centre + [1, 2, 3]",
    "c = dot(centre, [1, 2, 3])",
    "c = dot(centre, 1)",
    "c = clamp(1, 3, 2)",
    "c = clamp(1, 2)",
    "c = cholesky(centre)",
    "c = cholesky([1, 2])",
    "c = scale_rows([1, 2, 3], spread)",
    "c = correlation(centre)",
    "c = correlation(2)",
    "c = correlation(spread, spread)",
    "c = softmax(3)",
    "c = .",
    "c = 1e",
    "c = 1..2",
    "m ~ normal(0, 1)\n\n\n   c = mm",
    "\tm ~ normal(0, q)",
];

/// Words and signs of other languages and of typography, in the text of the parameters.
const FOREIGN: &[&str] = &[
    "real<lower=0> s;",
    "vector[3] b;",
    "int k;",
    "array[2] real<lower=0, upper=1> p;",
    "real<lower=0> s;\ns ~ half_normal(20);\nm ~ normal(0, s)",
    "s ~ half_normal(20);",
    "s ~ half_normal(20); # the spread",
    "parameters {\n  real s;\n}",
    "for (i in 1:3) b[i] ~ dnorm(0, 1)",
    "target += normal_lpdf(b | 0, 1)",
    "age | m ~ normal(m, s)",
    "c = normal_lpdf(1, 0, 1)",
    "c = 1 < 2 | 2 < 3",
    "c = 1 < 2 || 2 < 3",
    "c = 1 < 2 && 2 < 3",
    "m ~ dnorm(0, 0.001)",
    "m ~ dlnorm(0, 1)",
    "m ~ dt(0, 1, 4)",
    "m ~ dgamma(1, 1)",
    "m ~ dunif(0, 1)",
    "m ~ dexp(1)",
    "m ~ dbeta(1, 1)",
    "m ~ dbern(0.5)",
    "m ~ dpois(3)",
    "m ~ dbin(0.5, 10)",
    "m ~ HalfCauchy(1)",
    "m ~ flat()",
    "m ~ N(0, 1)",
    "m ~ multinomial([1, 2])",
    "m ~ wishart(3, 1)",
    "m ~ pm.Normal(0, 1)",
    "s ~ normal(0, 1) T(0,)",
    "s ~ normal(0, 1) T[0,]",
    "c = 2 ** 3",
    "c = 2 %*% 3",
    "m ~ normal(0, 1) // (the mean\ns ~ normal(q, 1)",
    "// the mean\nm ~ normal(q, 1)",
    "c = c(1, 2)",
    "c = ifelse(1 < 2, 1, 2)",
    "c = 1 < 2 ? 1 : 2",
    "c = 1 if 1 < 2 else 2",
    "c <- 3",
    "c = e = 3",
    "c := 3",
    "c = 3 =< 4",
    "c = square(3)",
    "c = I(3 > 2)",
    "c = dnorm(0, 1)",
    "c = 3 − 2",
    "c = 3 × 2",
    "m ~ normal(“0”, 1)",
    "c = 3 ≤ 4",
    "m\u{a0}~ normal(0, 1)",
    "m ~ normal(0,\u{200b} 1)",
    "σ ~ half_normal(1)",
    "c = 3 § 2",
    "c = exp(1,)",
];

/// Texts with mistakes in several lines: each line is read, whatever is wrong above it.
const SEVERAL: &[&str] = &[
    "m ~ normal(0, − 1)\ns ~ half_normal(q)\nb[1..2 ~ normal(0, 1)\nc = 1 +\ne ~ nromal(0, 1)",
    "m ~ normal(0,\n  1\ns ~ half_normal(q)",
    "m = max(1,\n  d\nc = r",
    "m ~ normal(mean = 0,\n  sd = 1)\ns ~ half_normal(q)",
    "m ~ normal(0 ; 1,\n  q)\ns ~ half_normal(q)",
    "m ~ nromal(0, 1)\ns ~ half_normal(exp(m))\ne ~ normal(if m > 0 then m else m + q, 1)",
    "2m ~ normal(0, 1)\ns ~ half_normal(1]\nw ~ half_normal(q)",
];

/// Mistakes in the text of the record, after [`PARAMETERS`].
const BAD_RECORD: &[&str] = &[
    "",
    "z = m + 1",
    "x ~ normal(mm, s)",
    "x ~ normal(m, S)",
    "x ~ normal(m, m)",
    "x ~ normal(m, b)",
    "x ~ bernoulli(m)",
    "x ~ bernoulli(1.2)",
    "x ~ bernoulli(s)",
    "x ~ poisson(m)",
    "x ~ poisson(-1)",
    "x ~ binomial(2.5, 0.5)",
    "x ~ binomial(s, 0.5)",
    "x ~ binomial(-1, 0.5)",
    "x ~ binomial(10, 2)",
    "x ~ categorical(0.5)",
    "x ~ categorical(m)",
    "x ~ categorical([1, -1])",
    "x ~ categorical(b)",
    "m ~ normal(0, 1)",
    "x ~ normal(y, 1)\ny ~ normal(x, 1)",
    "x ~ normal(y, 1)\ny ~ normal(0, 1)",
    "x ~ normal(x, 1)",
    "x ~ normal(b[4], 1)",
    "k ~ categorical([1, 1, 1, 1])\nx ~ normal(b[k], 1)",
    "k ~ bernoulli(0.5)\nx ~ normal(b[k], 1)",
    "z ~ normal(0, 1)\nx ~ normal(b[z], 1)",
    "z ~ poisson(3)\nx ~ normal(b[z], 1)",
    "x[1..2] ~ normal(b, 1)",
    "x ~ normal(dot(b, centre), 1)",
    "x[1..2] ~ multi_normal(centre, L + L)\ny ~ normal(x, 1)",
    "M[1..2, 1..2] ~ lkj_cholesky(2)",
    "x[1..2] ~ multi_normal(b, L)",
    "x[1..2] ~ multi_normal(centre, scale_rows(centre, L))",
    "x ~ normal(if m then 1 else 0, 1)",
    "x ~ student_t(m, 0, 1)",
    "x ~ weibull(1)",
    "x ~ negative_binomial(s, 0)",
    "x ~ uniform(1, 0)",
    "x ~ uniform(m, s)",
    "x ~ normal(sqrt(m), s)",
    "z ~ normal(0, 1)\nx ~ normal(log(z), 1)",
    "x ~ normal(0, 1)\nx = 3",
    "x ~ normal(0, 1) y ~ normal(0, 1)",
    "x ~ normal(0, q)\ny ~ normal(x, 1)\nz ~ normal(0, r)",
    "x ~ normal(L[2, 3], 1)",
    "x ~ normal(L[3, 1], 1)",
    "x ~ normal(b[2..4], 1)",
    "x ~ normal(mu_of_age, 1)",
];

/// Mistakes in a statistic, after [`PARAMETERS`] and [`RECORD`].
const BAD_STATISTICS: &[&str] = &[
    "",
    "x",
    "x ^ 2",
    "abs(x)",
    "x * voted",
    "clamp(x, 0, 1) * v[1]",
    "v",
    "max(x, 0)",
    "min(x, 0)",
    "log(y)",
    "1 / y",
    "exp(x)",
    "twice",
    "scaled",
    "clamp(scaled, 0, 1)",
    "m",
    "clamp(x, 0, 1) + m",
    "clamp(x, m, 1)",
    "3",
    "d",
    "z",
    "vote",
    "votd",
    "x ~ normal(0, 1)",
    "t = clamp(x, 0, 1)",
    "clamp(x, 0, 1",
    "clamp(x, 0, 1))",
    "clamp(x, 1, 0)",
    "clamp(x, 0)",
    "clip(x, 0, 1)",
    "x > 0 > 1 > 2",
    "histogram(x, 3)",
    "histogram(x, [1])",
    "histogram(x, [2, 1])",
    "histogram(v, [1, 2])",
    "histogram(x, [0, m])",
    "histogram(x, [0, inf, 3])",
    "clamp(x, 0, inf)",
    "one_hot(k, 0)",
    "one_hot(k, 2.5)",
    "one_hot(k, b)",
    "v[3]",
    "voted[1]",
    "y y",
    "voted and x",
    "voted | x > 0",
    "x > 0 | voted",
    "unheard_of",
    "clamp(x, 0, 1); voted",
    "voted ? 1 : 0",
    "clamp(x, 0, 1,)",
    "voted, y",
    "if x then 1 else 0",
];

fn messages(cases: &[&str], read: impl Fn(&str) -> Option<String>) -> String {
    let report = |text: &&str| {
        let message = read(text).unwrap_or_else(|| panic!("no mistake is found in:\n{text}"));
        assert!(message.contains("line") && message.contains('^'), "{message}");
        format!("{message}\n")
    };
    cases.iter().map(report).collect::<Vec<_>>().join("\n")
}

fn snapshot(name: &str, text: String) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn the_corpus_is_whole() {
    let all = [BAD_PARAMETERS, FOREIGN, SEVERAL, BAD_RECORD, BAD_STATISTICS];
    assert!(all.iter().map(|cases| cases.len()).sum::<usize>() >= 260);
}

#[test]
fn mistakes_in_parameters() {
    let read =
        |text: &str| Model::new(text, "x ~ normal(0, 1)", &data()).err().map(|m| m.to_string());
    snapshot("parameters", messages(BAD_PARAMETERS, read));
}

#[test]
fn words_of_other_languages() {
    let read =
        |text: &str| Model::new(text, "x ~ normal(0, 1)", &data()).err().map(|m| m.to_string());
    snapshot("foreign", messages(FOREIGN, read));
}

#[test]
fn all_lines_are_read() {
    let read = |text: &str| {
        let record = "x ~ normal(unknown, 1)";
        Model::new(text, record, &data()).err().map(|m| m.to_string())
    };
    snapshot("several", messages(SEVERAL, read));
}

/// The span of a mistake is the bytes that are underlined, in the text as it was given.
#[test]
fn spans_are_bytes_of_the_text() {
    let text = "größe = 1\n\tm ~ normal(0, × 1)\ns ~ half_normal(unheard)\n";
    let mistakes = Model::new(text, "x ~ normal(0, 1)", &data()).unwrap_err().0;
    let underlined: Vec<&str> =
        mistakes.iter().map(|mistake| &text[mistake.span.start..mistake.span.end]).collect();
    assert_eq!(underlined, ["ö", "×", "unheard"]);
}

#[test]
fn mistakes_in_the_record() {
    let read = |text: &str| Model::new(PARAMETERS, text, &data()).err().map(|m| m.to_string());
    snapshot("record", messages(BAD_RECORD, read));
}

#[test]
fn mistakes_in_statistics() {
    let model = Model::new(PARAMETERS, RECORD, &data()).unwrap();
    let read = |text: &str| Statistics::new(&[text], &model).err().map(|m| m.to_string());
    snapshot("statistics", messages(BAD_STATISTICS, read));
}

/// What is inside its domain is accepted: ends with common terms, and branches.
#[test]
fn what_is_inside_its_domain_is_accepted() {
    for text in [
        "m ~ normal(0, 1)\ns ~ half_normal(1)\na ~ uniform(m - s, m + 2 * s)",
        "s ~ half_normal(1)\na ~ uniform(-s, s)",
        "s ~ half_normal(1)\na ~ uniform(0.2 * s - 1, s)",
        "m ~ normal(0, 1)\na ~ normal(if m > 0 then log(m) else 0, 1)",
        "m ~ normal(0, 1)\na = log(max(m, 1e-6)) + sqrt(max(m, 0))",
        "p ~ beta(1, 1)\na = logit(p) + normal_quantile(p)\nr ~ uniform(-1, 1)\nc = sqrt(1 - r ^ 2)",
    ] {
        let model = Model::new(text, "x ~ normal(0, 1)", &data());
        assert!(model.is_ok(), "{text}: {}", model.unwrap_err());
    }
}

#[test]
fn data_with_mistakes_is_refused() {
    use soma_language::{Data, Datum};
    let bad = [
        Data::new().scalar("2x", 1.0),
        Data::new().scalar("x", f64::NAN),
        Data::new().vector("x", vec![]),
        Data::new().matrix("x", 2, vec![1.0, 2.0, 3.0]),
        Data::new().with("x", Datum::Matrix(0, vec![])),
    ];
    for data in bad {
        let message = Model::new("", "y ~ normal(0, 1)", &data).unwrap_err().to_string();
        assert!(message.starts_with("data"), "{message}");
    }
}

/// Valid texts with characters deleted, doubled, swapped or replaced are parsed without a panic,
/// and accepted texts can be evaluated.
#[test]
fn mangled_texts_do_not_panic() {
    const PIECES: &[&str] = &[
        "(", ")", "[", "]", "..", "~", "=", "==", "<", ",", "+", "-", "*", "/", "^", "#", "\n",
        " ", "1", "0", "1e308", "1e-320", "-1", "x", "normal", "exp", "if", "then", "else", "not",
        "and", "é", "\u{0}", "\t", "log(", "−", "|", "?", ";", "<-", "//", "**", "real ", "T(0,)",
    ];
    let count: usize =
        std::env::var("SOMA_MANGLED").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let (mut rng, mut w) = (rng(11), Workspace::new());
    let mut accepted = 0;
    for round in 0..count {
        let (_, parameters, record) = MODELS[round % MODELS.len()];
        let mut texts =
            [parameters.to_string(), record.to_string(), "clamp(x, 0, 1) + (x > 2)".to_string()];
        let which = rng.random_range(0..3);
        for _ in 0..rng.random_range(1..4) {
            let mut characters: Vec<char> = texts[which].chars().collect();
            let at = rng.random_range(0..characters.len().max(1));
            let piece: Vec<char> = PIECES[rng.random_range(0..PIECES.len())].chars().collect();
            match rng.random_range(0..4) {
                0 if !characters.is_empty() => drop(characters.remove(at)),
                1 => drop(characters.splice(at..at, piece)),
                2 if !characters.is_empty() => {
                    characters.splice(at..=at, piece);
                }
                _ if !characters.is_empty() => {
                    let other = rng.random_range(0..characters.len());
                    characters.swap(at, other);
                }
                _ => {}
            }
            texts[which] = characters.into_iter().collect();
        }
        match Model::new(&texts[0], &texts[1], &data()) {
            Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
            Ok(model) => {
                accepted += 1;
                let mut theta = vec![0.5; model.theta_dim()];
                model.sample_prior(&mut theta, &mut rng, &mut w);
                let mut records = vec![0.0; 3 * model.record_dim()];
                model.propose(&theta, &mut records, &mut rng, &mut w);
                let mut gradient = vec![0.0; theta.len()];
                model.log_likelihood_gradient(&theta, &records, &mut gradient, &mut w);
                if let Ok(statistics) = Statistics::new(&[&texts[2]], &model) {
                    let mut out = vec![0.0; 3 * statistics.dim()];
                    statistics.evaluate(&records, &mut out, &mut w);
                    for (value, (low, high)) in out.iter().zip(statistics.bounds().iter().cycle()) {
                        let finite = records.iter().all(|x| x.is_finite());
                        assert!(
                            !finite || value >= low && value <= high,
                            "{texts:?}: {value} {low} {high}"
                        );
                    }
                }
            }
        }
    }
    assert!(accepted > count / 10, "{accepted}");
}

#[test]
fn deep_texts_are_refused() {
    let deep = format!("x = {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Model::new(&deep, "y ~ normal(0, 1)", &data()).is_err());
    let long = format!("x = 1{}", " + 1".repeat(5000));
    assert!(Model::new(&long, "y ~ normal(0, 1)", &data()).is_err());
    let signs = format!("x = {}1", "-".repeat(5000));
    assert!(Model::new(&signs, "y ~ normal(0, 1)", &data()).is_err());
    let growth: String =
        (0..40).map(|k| format!("v{} = [{}]\n", k, vec!["1"; 999].join(","))).collect();
    assert!(Model::new(&growth, "y ~ normal(0, 1)", &data()).is_ok());
}
