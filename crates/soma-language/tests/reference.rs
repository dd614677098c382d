//! Densities, distribution functions, scores and quantiles compared with SciPy.
//!
//! `scripts/language_reference.py` writes the table.

use std::cell::RefCell;
use std::f64::consts::TAU;

use serde_json::Value;
use soma_language::distribution::{Family, find};
use soma_language::graph::{Fact, Graph, Input, Term};
use soma_language::program::{Inputs, Program, Widths};
use soma_language::{Workspace, special};

fn table() -> Value {
    serde_json::from_str(include_str!("reference.json")).unwrap()
}

/// 1e-10 in the body, 1e-6 relative in the tails.
fn assert_close(what: &str, ours: f64, theirs: f64, tail: f64) {
    let error = (ours - theirs).abs();
    let ok = error <= 1e-10 * theirs.abs().max(1.0) || tail < 1e-5 && error <= 1e-6 * theirs.abs();
    assert!(ok, "{what}: {ours:e} against {theirs:e}, error {error:e}");
}

/// Log density, distribution function and, if the distribution is continuous, score and quantile of
/// the score, at x: of one record, or of many of them.
fn evaluate(law: &str, args: &[f64], x: f64, records: usize) -> Vec<f64> {
    let Some(Family::Univariate(family)) = find(law) else { panic!("{law}") };
    let graph = RefCell::new(Graph::default());
    let node = graph.borrow_mut().input(Input::Record, 0, Fact::ANY);
    let x_term = Term::new(&graph, node);
    let args: Vec<Term> = args.iter().map(|&value| x_term.constant(value)).collect();
    let mut outputs = vec![family.log_density(x_term, &args), family.cdf(x_term, &args)];
    if !family.is_discrete() {
        let score = family.score(x_term, &args);
        outputs.extend([score, family.quantile(score, &args)]);
    }
    let nodes: Vec<_> = outputs.iter().map(|term| term.node).collect();
    let widths = Widths { record: 1, ..Widths::default() };
    let program = Program::new(&graph.borrow(), &[], &nodes, widths);
    let mut out = vec![0.0; records * nodes.len()];
    let inputs = Inputs { records: &vec![x; records], ..Inputs::default() };
    program.run(inputs, records, &mut Workspace::new(), &mut [], &mut out);
    out.split_off((records - 1) * nodes.len())
}

#[test]
fn laws_agree_with_scipy() {
    let table = table();
    let rows = table["laws"].as_array().unwrap();
    assert!(rows.len() > 350);
    // Of one record by the functions themselves; of many by a table, if there is one.
    for (row, records) in rows.iter().flat_map(|row| [(row, 1), (row, 64)]) {
        let law = row["law"].as_str().unwrap();
        let number = |key: &str| row[key].as_f64().unwrap();
        let args: Vec<f64> =
            row["args"].as_array().unwrap().iter().map(|a| a.as_f64().unwrap()).collect();
        let (x, tail) = (number("x"), number("tail"));
        let ours = evaluate(law, &args, x, records);
        let what = format!("{law}{args:?} at {x:e} of {records}");
        assert_close(&format!("{what}: log density"), ours[0], number("log_density"), tail);
        let cdf = number("cdf");
        let relative = (ours[1] - cdf).abs() / cdf;
        assert!(
            (ours[1] - cdf).abs() < 1e-10 && (relative < 1e-6 || cdf < 1e-290),
            "{what}: cdf {:e} against {cdf:e}",
            ours[1]
        );
        if ours.len() > 2 {
            // x is rounded, which affects the score by its slope, density / phi(score).
            let slope = (number("log_density") + 0.5 * ours[2] * ours[2]).exp() * TAU.sqrt();
            let slack = f64::EPSILON * x.abs() * slope;
            if (ours[2] - number("score")).abs() > slack {
                assert_close(&format!("{what}: score"), ours[2], number("score"), tail);
            }
            let error = (ours[3] - x).abs() / x.abs().max(1e-300);
            assert!(error < 1e-8, "{what}: back from the score {:e}", ours[3]);
        }
    }
}

#[test]
fn functions_agree_with_scipy() {
    for row in table()["functions"].as_array().unwrap() {
        let name = row["function"].as_str().unwrap();
        let (x, theirs) = (row["x"].as_f64().unwrap(), row["value"].as_f64().unwrap());
        let ours = match name {
            "log_gamma" => special::log_gamma(x),
            "digamma" => special::digamma(x),
            "trigamma" => special::trigamma(x),
            "normal_cdf" => special::normal_cdf(x),
            "normal_log_cdf" => special::normal_log_cdf(x),
            "normal_quantile" => special::normal_quantile(x),
            other => panic!("{other}"),
        };
        let error = (ours - theirs).abs();
        assert!(
            error < 1e-13 || error < 1e-12 * theirs.abs(),
            "{name}({x}): {ours:e} against {theirs:e}"
        );
    }
}

#[test]
fn discrete_quantiles_are_the_smallest_with_enough_below() {
    type Function<'a> = &'a dyn Fn(f64) -> f64;
    let cases: [(Function, Function); 4] = [
        (&|u| special::poisson_quantile(3.7, u), &|k| special::poisson_cdf(3.7, k)),
        (&|u| special::poisson_quantile(2000.0, u), &|k| special::poisson_cdf(2000.0, k)),
        (&|u| special::binomial_quantile(40.0, 0.3, u), &|k| special::binomial_cdf(40.0, 0.3, k)),
        (&|u| special::negative_binomial_quantile(5.0, 0.7, u), &|k| {
            special::negative_binomial_cdf(5.0, 0.7, k)
        }),
    ];
    for (quantile, cdf) in cases {
        for j in 1..400 {
            let u = f64::from(j) / 400.0;
            let k = quantile(u);
            assert!(cdf(k) >= u && cdf(k - 1.0) < u, "{u}: {k}");
        }
        assert!(cdf(quantile(1e-12)) >= 1e-12);
        assert!(cdf(quantile(1.0 - 1e-12)) >= 1.0 - 1e-12);
    }
}
