//! The diagnostics agree with ArviZ on stored chains of many shapes.

use serde_json::Value;
use soma::diagnostics::{
    Summary, ess_bulk, ess_mean, ess_quantile, ess_tail, mcse_mean, mcse_quantile, rhat,
};

/// JSON has no NaN and no infinities: they are stored as strings.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn chains(case: &Value) -> Vec<Vec<f64>> {
    let chains = case["chains"].as_array().unwrap().iter();
    chains.map(|chain| chain.as_array().unwrap().iter().map(number).collect()).collect()
}

fn agree(ours: f64, theirs: f64) -> bool {
    ours == theirs
        || (ours.is_nan() && theirs.is_nan())
        || (ours - theirs).abs() <= 1e-6 * theirs.abs()
}

#[test]
fn all_numbers_are_arviz_s() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("fixtures/arviz.json")).unwrap();
    assert!(cases.len() >= 35);
    let mut wrong = Vec::new();
    for case in &cases {
        let chains = chains(case);
        let summary = Summary::of(&chains);
        let ours = [
            ("rhat", rhat(&chains)),
            ("rhat", summary.rhat),
            ("ess_bulk", ess_bulk(&chains)),
            ("ess_bulk", summary.ess_bulk),
            ("ess_tail", ess_tail(&chains)),
            ("ess_tail", summary.ess_tail),
            ("ess_mean", ess_mean(&chains)),
            ("ess_median", ess_quantile(&chains, 0.5)),
            ("mcse_mean", mcse_mean(&chains)),
            ("mcse_mean", summary.mcse_mean),
            ("mcse_q5", mcse_quantile(&chains, 0.05)),
            ("mcse_q50", mcse_quantile(&chains, 0.5)),
            ("mcse_q90", mcse_quantile(&chains, 0.9)),
            ("mean", summary.mean),
            ("sd", summary.sd),
            ("q5", summary.q5),
            ("q50", summary.q50),
            ("q95", summary.q95),
        ];
        for (what, ours) in ours {
            let theirs = number(&case[what]);
            // For draws that are all equal ArviZ counts each as effective; we return NaN.
            let unmoved =
                summary.sd == 0.0 && (what.starts_with("ess") || what.starts_with("mcse"));
            if unmoved && ours.is_nan() {
                continue;
            }
            if !agree(ours, theirs) {
                wrong.push(format!("{}, {what}: {ours}, ArviZ {theirs}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn long_stuck_chains_are_no_trouble() {
    let chains: Vec<Vec<f64>> =
        (0..4).map(|c| (0..100_000).map(|t| f64::from(t) + f64::from(c)).collect()).collect();
    let summary = Summary::of(&chains);
    assert!(summary.rhat > 1.5 && summary.ess_bulk < 10.0);
}

#[test]
fn nothing_to_tell_from_is_nan() {
    let none: [Vec<f64>; 0] = [];
    assert!(rhat(&none).is_nan() && ess_bulk(&none).is_nan() && mcse_mean(&none).is_nan());
    assert!(Summary::of(&none).mean.is_nan());
    assert!(ess_mean(&[[1.0, f64::INFINITY, 2.0, 3.0, 4.0]]).is_nan());
    assert!(mcse_quantile(&[[1.0, 2.0, 3.0, 4.0]], 1.5).is_nan());
}

/// Equal draws have no effective draws, in every unit and with a rounded mean; draws that move
/// have, in every unit.
#[test]
fn equal_draws_are_not_effective() {
    for value in [0.0, 0.1, 1e-17, 1e8 + 0.1, -3e300] {
        let summary = Summary::of(&vec![vec![value; 501]; 4]);
        assert_eq!((summary.mean, summary.sd), (value, 0.0));
        assert!(summary.ess_bulk.is_nan() && summary.ess_tail.is_nan(), "{value}: {summary:?}");
        assert!(summary.rhat.is_nan() && summary.mcse_mean.is_nan(), "{value}: {summary:?}");
    }
    let moving = |unit: f64| -> Vec<Vec<f64>> {
        let draw = |c: usize, t: usize| unit * ((t * 7919 + c * 104_729) % 1009) as f64;
        (0..4).map(|c| (0..500).map(|t| draw(c, t)).collect()).collect()
    };
    let (plain, small) = (moving(1.0), moving(1e-17));
    assert!((ess_mean(&plain) / ess_mean(&small) - 1.0).abs() < 1e-9);
}

#[test]
fn chains_are_cut_to_the_shortest() {
    let (long, short) = (vec![1.0, 3.0, 2.0, 5.0, 4.0, 9.0], vec![2.0, 4.0, 1.0, 5.0]);
    let cut = [long[..4].to_vec(), short.clone()];
    assert_eq!(rhat(&[long.clone(), short.clone()]), rhat(&cut));
    assert_eq!(ess_tail(&[long, short]), ess_tail(&cut));
}
