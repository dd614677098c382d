//! Mangled specs: always an error or a result, never a panic.
//!
//! `SOMA_MANGLED=100000 cargo test --release -p soma-mcmc-cli --test mangled` sets their number.

mod common;

use proptest::prelude::*;
use soma::chain::{Engine, Problem};
use soma::spec::{Sampler, Spec};

/// Replacements of words, accidental or malicious.
const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "2",
    "0.0",
    "-0.0",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "99999999999999999999",
    "9223372036854775807",
    "1000000000",
    "0x10",
    "true",
    "\"\"",
    "\"soma\"",
    "[]",
    "[[]]",
    "{}",
    "[1, 2]",
    "[[0.0, 1.0]]",
    "[[1, 0], [0, 1]]",
    "1979-05-27",
    "kind",
    "=",
    ",",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "#",
    "\n",
    "\u{0}",
    "\u{e9}",
    "[release]",
    "[model]",
    "n = 3",
    "fixed = { a = 1 }",
    "\"mean\"",
    "\"sum\"",
    "\"gaussian\"",
    "\"laplace\"",
    "\"discrete-gaussian\"",
    "\"discrete-laplace\"",
    "\"histogram\"",
    "\"categories\"",
    "\"gram\"",
    "\"log-sum\"",
    "\"beta\"",
    "\"normal\"",
    "\"uniform\"",
    "\"categorical\"",
    "\"exponential\"",
    "\"dirichlet\"",
    "\"regression\"",
    "\"soma-subset\"",
    "scale",
    "epsilon",
    "rho",
    "edges",
    "bins",
    "range",
    "clamp",
    "labels",
    "alpha",
    "predictors",
    "subset",
    "\"unknown\"",
    "n = \"unknown\"",
    "n = { prior = \"poisson\", mean = 30 }",
    "{ prior = \"uniform\", low = 0, high = 5 }",
    "slots",
    "neighbours",
    "\"add-remove\"",
    "\"replace\"",
    "[[release.parts]]",
    "\"ratio\"",
    "\"rounded-laplace\"",
    "\"randomised-response\"",
    "\"synthetic-records\"",
    "\"moments\"",
    "\"variance\"",
    "\"quantile\"",
    "\"table\"",
    "\"count\"",
    "\"log-linear\"",
    "\"counts\"",
    "\"suppressed\"",
    "clamp = [0, inf]",
    "granularity",
    "within",
    "threshold",
    "rounding",
    "margin",
    "axes",
    "powers",
    "degree",
    "candidates",
    "statistics",
    "parameters",
    "record",
    "\"\"\"",
    "x ~ normal(0, 1)",
    "clamp(x, 0, 1)",
    "[1..3]",
    "~",
    "[derived]",
    "[output]",
    "records = true",
    "[data]",
    "budget",
    "contributions",
];

/// One change of a text: kind, position and replacement.
type Edit = (u8, usize, usize);

fn mangled(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_string();
    for &(kind, place, choice) in edits {
        let words = words(&text);
        if words.is_empty() {
            break;
        }
        let (start, end) = words[place % words.len()];
        let word = WORDS[choice % WORDS.len()];
        match kind % 7 {
            0 | 1 => text.replace_range(start..end, word),
            2 => text.replace_range(start..end, ""),
            3 => text.insert_str(start, word),
            4 => {
                let (start, end) = words[choice % words.len()];
                let other = text[start..end].to_string();
                let (start, end) = words[place % words.len()];
                text.replace_range(start..end, &other);
            }
            5 => {
                let mut bytes = text.into_bytes();
                let at = place % bytes.len();
                bytes[at] = choice as u8;
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
            _ => {
                let mut lines: Vec<&str> = text.lines().collect();
                let line = lines.remove(place % lines.len());
                lines.insert(choice % (lines.len() + 1), line);
                text = lines.join("\n");
            }
        }
    }
    text
}

/// The positions of words: runs of letters, digits and the like; and of single other characters.
fn words(text: &str) -> Vec<(usize, usize)> {
    let inside = |c: char| c.is_alphanumeric() || "_.-+\"".contains(c);
    let mut words: Vec<(usize, usize)> = Vec::new();
    let mut open = false;
    for (at, c) in text.char_indices() {
        if inside(c) && open {
            words.last_mut().unwrap().1 = at + c.len_utf8();
        } else if !c.is_whitespace() {
            words.push((at, at + c.len_utf8()));
        }
        open = inside(c);
    }
    words
}

/// The number of specs.
fn cases() -> u32 {
    let wanted = std::env::var("SOMA_MANGLED").ok();
    wanted.map_or(30_000, |count| count.parse().expect("SOMA_MANGLED is a number of specs"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_mangled_spec_is_an_error_or_an_answer(
        which in 0usize..100,
        edits in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 1..6),
    ) {
        thread_local!(static SPECS: Vec<(String, String)> = common::examples());
        let text = SPECS.with(|specs| mangled(&specs[which % specs.len()].1, &edits));
        match Spec::parse(&text) {
            Ok(spec) => {
                spec.settings().unwrap();
                prop_assert!(!spec.problem.outputs().is_empty());
            }
            Err(error) => {
                prop_assert!(error.line >= 1);
                prop_assert!(error.span.start <= text.len());
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// Whether a chain of the problem takes little memory and time.
fn is_small(problem: &Problem) -> bool {
    let release = problem.release();
    release.n() * problem.model().record_dim().max(1) <= 20_000 && problem.outputs().len() <= 1000
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases() / 20))]

    /// What is accepted has chains: some iterations of warm-up and some draws, or an error.
    #[test]
    fn a_mangled_spec_that_is_accepted_runs(
        which in 0usize..100,
        edits in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 1..4),
    ) {
        thread_local!(static SPECS: Vec<(String, String)> = common::examples());
        let text = SPECS.with(|specs| mangled(&specs[which % specs.len()].1, &edits));
        let Ok(spec) = Spec::parse(&text) else { return Ok(()) };
        let problem = &spec.problem;
        if !is_small(problem) {
            return Ok(());
        }
        let given = Sampler { warmup: Some(12), ..spec.sampler };
        let Ok(settings) = given.settings(problem.release().n()) else { return Ok(()) };
        let Ok(mut chain) = Engine::new(problem, &settings, 0) else { return Ok(()) };
        for _ in 0..16 {
            if chain.step().is_err() {
                break;
            }
            prop_assert_eq!(chain.draw().len(), problem.outputs().len());
        }
    }
}
