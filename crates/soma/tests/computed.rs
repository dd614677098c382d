//! What the text of the parameters computes is an output, as a quantity of `[derived]` is.

use std::num::NonZeroUsize;

use soma::chain::{Collected, Draw, Settings, run};
use soma::kernel::KernelChoice;
use soma::plug_in::plug_in;
use soma::predictive;
use soma::rng::stream;
use soma::spec::{Spec, comparisons};

const PARAMETERS: &str = "low ~ normal(0, 1)\nrise ~ half_normal(1)\nshare ~ beta(2, 2)";

const COMPUTED: &str = "high = low + rise\nis_large = rise > 0.8\nboth = [exp(low), exp(high)]";

const DERIVED: &str = "[derived]\nhigh = \"low + rise\"\nis_large = \"rise > 0.8\"\n\
                       \"both[1]\" = \"exp(low)\"\n\"both[2]\" = \"exp(low + rise)\"\n";

/// A spec with these parameters, of a public n or not, with what follows `[derived]`.
fn spec(parameters: &str, n: &str, rest: &str) -> Spec {
    let text = text(parameters, n, rest);
    Spec::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn text(parameters: &str, n: &str, rest: &str) -> String {
    let count = match n {
        "40" => "",
        _ => {
            "[[release.parts]]\nname = \"people\"\nquery = { kind = \"count\" }\nstatistic = \"sum\"\n\
              values = [38]\nmechanism = { kind = \"laplace\", scale = 3.0 }\n"
        }
    };
    format!(
        "[model]\nparameters = \"\"\"\n{parameters}\n\"\"\"\nrecord = \"\"\"\ntreated ~ bernoulli(share)\n\
         y ~ normal(low + rise * treated, 1)\n\"\"\"\n[release]\nn = {n}\n[[release.parts]]\nname = \"y\"\n\
         statistic = \"sum\"\nvalues = [14.0, 18.5]\n\
         statistics = [\"clamp(y, -4, 4)\", \"clamp(y, -4, 4) * treated\"]\n\
         mechanism = {{ kind = \"laplace\", scale = 2.0 }}\n{count}{rest}\n"
    )
}

fn draws(spec: &Spec, kernel: KernelChoice) -> Vec<Draw> {
    let settings =
        Settings { kernel, chains: 1, warmup: 60, draws: 40, seed: 5, ..spec.settings().unwrap() };
    let collected = Collected::new(1);
    run(&spec.problem, &settings, NonZeroUsize::MIN, &collected).unwrap();
    collected.into_draws().concat()
}

/// The same columns with the same values as expressions of the user, and the draws of theta, of n and
/// of the counts of a text without either.
#[test]
fn computed_and_derived_quantities_are_the_same() {
    for n in ["40", "\"unknown\""] {
        let plain = spec(PARAMETERS, n, "");
        let computed = spec(&format!("{PARAMETERS}\n{COMPUTED}"), n, "");
        let derived = spec(PARAMETERS, n, DERIVED);
        let (ours, theirs) = (&computed.problem, &derived.problem);
        assert_eq!(ours.outputs(), theirs.outputs());
        assert_eq!(ours.output_count(), theirs.output_count());
        assert_eq!(ours.plain_outputs(), plain.problem.outputs());
        assert_eq!(ours.derived_names(), ["high", "is_large", "both[1]", "both[2]"]);
        assert_eq!(ours.comparisons(), ["is_large"]);
        assert_eq!(theirs.comparisons(), ours.comparisons());
        let count = plain.problem.output_count();
        let all = draws(&computed, KernelChoice::Auto);
        let others = draws(&derived, KernelChoice::Auto);
        let alone = draws(&plain, KernelChoice::Auto);
        for ((one, other), alone) in all.iter().zip(&others).zip(&alone) {
            assert_eq!(one.values, other.values);
            assert_eq!(
                (&one.values[..count], one.log_density),
                (&alone.values[..], alone.log_density)
            );
        }
        let prior = |spec: &Spec| spec.problem.draw_prior(&mut stream(3, 0)).unwrap();
        // NaN where a flat n has no prior, in the same places.
        assert_eq!(format!("{:?}", prior(&computed)), format!("{:?}", prior(&derived)));
        let thetas: Vec<Vec<f64>> = all.iter().map(|draw| draw.values.clone()).collect();
        let predicted = predictive::releases(ours, &thetas, 4).unwrap();
        assert_eq!(predicted, predictive::releases(theirs, &thetas, 4).unwrap());
    }
}

/// A plug-in answer has what is computed, with the interval of its slope: that of a log is the
/// relative one.
#[test]
fn plug_in_answers_have_what_is_computed() {
    let text = "[model]\nparameters = \"\"\"\np ~ beta(2, 2)\nlog_p = log(p)\nmost = p > 0.5\n\"\"\"\n\
                record = \"yes ~ bernoulli(p)\"\n[release]\nn = 100\nstatistic = \"sum\"\nvalues = [31]\n\
                statistics = [\"yes\"]\nmechanism = { kind = \"laplace\", scale = 2.0 }\n";
    let said = |text: &str| plug_in(&Spec::parse(text).unwrap().problem, 0.9).unwrap();
    let by_hand = text.replace("log_p = log(p)\nmost = p > 0.5\n", "");
    let derived = format!("{by_hand}[derived]\nlog_p = \"log(p)\"\nmost = \"p > 0.5\"\n");
    assert_eq!(said(text), said(&derived));
    let said = said(text);
    let of = |name: &str| said.iter().find(|one| one.name == name).unwrap();
    let (p, log_p, most) = (of("p"), of("log_p"), of("most"));
    assert!((log_p.estimate - p.estimate.ln()).abs() < 1e-12);
    let ratio = (log_p.high - log_p.low) / (p.high - p.low) * p.estimate;
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    assert_eq!((most.low, most.estimate, most.high), (0.0, 0.0, 0.0));
}

/// A model that is sampled as counts computes the same from its draws.
#[test]
fn counts_have_what_the_text_computes() {
    let text = "[model]\nparameters = \"\"\"\np ~ beta(2, 2)\nw[1..3] ~ dirichlet([1, 1, 1])\n\
                odds = p / (1 - p)\n\"\"\"\nrecord = \"\"\"\nyes ~ bernoulli(p)\nk ~ categorical(w)\n\"\"\"\n\
                [release]\nn = 50\nstatistic = \"sum\"\nvalues = [31, 12]\nstatistics = [\"yes\", \"k == 1\"]\n\
                mechanism = { kind = \"discrete-laplace\", scale = 2.0 }\n[derived]\nlog_odds = \"log(odds)\"\n\
                \"first\" = \"w[3] < w[1]\"\n";
    let spec = Spec::parse(text).unwrap();
    assert!(spec.settings().unwrap().samples_counts(&spec.problem));
    let names = spec.problem.outputs();
    assert_eq!(names[..3], ["p", "w[1]", "w[2]"]);
    assert_eq!(names[names.len() - 4..], ["w[3]", "odds", "log_odds", "first"]);
    for kernel in [KernelChoice::Auto, KernelChoice::Soma] {
        for draw in draws(&spec, kernel) {
            let [p, first, second, .., last, odds, log_odds, is_first] = draw.values[..] else {
                panic!("{} values", draw.values.len())
            };
            assert!((first + second + last - 1.0).abs() < 1e-12);
            assert_eq!(odds, p / (1.0 - p));
            assert!((log_odds - odds.ln()).abs() < 1e-12);
            assert_eq!(is_first, f64::from(last < first));
        }
    }
}

#[test]
fn outputs_choose_among_names() {
    let parameters = format!("{PARAMETERS}\n{COMPUTED}");
    let outputs = |names: &str| {
        let text = text(&parameters, "40", "");
        Spec::parse(&text.replace("record = ", &format!("outputs = {names}\nrecord = ")))
    };
    let derived = |names: &str| outputs(names).unwrap().problem.derived_names().join(" ");
    assert_eq!(derived("[]"), "");
    assert_eq!(derived("[\"both\", \"high\"]"), "high both[1] both[2]");
    let error = outputs("[\"low\"]").unwrap_err();
    assert_eq!(
        (error.invalid.field.as_str(), error.invalid.given.as_str()),
        ("model.outputs", "\"low\"")
    );
    assert!(outputs("[\"higher\"]").is_err());
    // Those of built-in models are no names of a text.
    let built_in = "[release]\nn = 9\nstatistic = \"mean\"\nvalues = [0.4]\n\
                    query = { kind = \"mean\", clamp = [-5.0, 5.0] }\n\
                    mechanism = { kind = \"laplace\", epsilon = 1.0 }\n[model]\nkind = \"exponential\"\n\
                    prior = { kind = \"gamma\", shape = 1.0, rate = 1.0 }\noutputs = [\"rate\"]\n";
    assert_eq!(Spec::parse(built_in).unwrap_err().invalid.field, "model.outputs");
}

/// A name that is taken is refused; theta that is held fixed computes nothing.
#[test]
fn names_are_not_taken_twice() {
    let unknown = text(&format!("{PARAMETERS}\nn = 2 * low"), "\"unknown\"", "");
    let error = Spec::parse(&unknown).unwrap_err();
    assert_eq!(
        (error.invalid.field.as_str(), error.invalid.given.as_str()),
        ("model.parameters", "n")
    );
    let twice = text(&format!("{PARAMETERS}\n{COMPUTED}"), "40", DERIVED);
    assert_eq!(Spec::parse(&twice).unwrap_err().invalid.field, "derived.high");
    let fixed = text(&format!("{PARAMETERS}\n{COMPUTED}"), "40", "");
    let fixed = fixed.replace("record = ", "fixed = { low = 0, rise = 1, share = 0.5 }\nrecord = ");
    let problem = Spec::parse(&fixed).unwrap().problem;
    assert!(problem.derived_names().is_empty() && problem.outputs()[0] == "mean_x1");
    assert_eq!(problem.output_count(), problem.outputs().len());
}

/// Comparisons are known from a spec alone, as diagnoses of stored runs need them.
#[test]
fn comparisons_are_known_from_the_text() {
    let text =
        text(&format!("{PARAMETERS}\n{COMPUTED}"), "40", "[derived]\nbelow = \"both[1] < 1\"");
    let names = Spec::parse(&text).unwrap().problem.outputs();
    assert_eq!(comparisons(&text, &names), ["is_large", "below"]);
    assert_eq!(comparisons(&text, &names[..3]), Vec::<String>::new());
}
