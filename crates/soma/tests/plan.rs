//! Plans of releases: what they simulate, and what they make of it.

use std::num::NonZeroUsize;

use soma::plan::{Fitted, Made, Plan, PlanReport, Quantity, Unobserved, floor, replicate, run};
use soma::spec::PlanOptions;

/// Ten normal records, of which a clamped mean is released.
const MEAN: &str = r#"
[release]
n = 10
statistic = "mean"
query = { kind = "mean", clamp = [-3.0, 3.0] }
mechanism = { kind = "laplace", epsilon = 4.0 }

[model]
kind = "normal"
prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 1.0, shape = 4.0, rate = 3.0 }
"#;

/// Two parts, of which the second has three times the budget of the first.
const PARTS: &str = r#"
[release]
n = 50
[[release.parts]]
statistic = "mean"
query = { kind = "mean", clamp = [0.0, 1.0] }
mechanism = { kind = "laplace", epsilon = 0.5 }
[[release.parts]]
statistic = "sum"
query = { kind = "histogram", range = [0.0, 1.0], bins = 4 }
mechanism = { kind = "laplace", epsilon = 1.5 }

[model]
kind = "beta"
prior = { kind = "gamma", shape = 2.0, rate = 1.0 }
"#;

fn plan(text: &str, options: PlanOptions) -> Plan {
    Plan::parse(text, options).unwrap()
}

fn made(plan: &Plan) -> PlanReport {
    let made = run(plan, NonZeroUsize::new(2).unwrap(), &Unobserved).unwrap();
    PlanReport::of(plan, &made)
}

fn scales(plan: &Plan, setting: usize) -> Vec<f64> {
    let parts = plan.settings[setting].problem.release().parts();
    parts.iter().map(|part| part.mechanism().unwrap().scales()[0]).collect()
}

/// A budget is shared out as the spec shares its own: the noise of each part falls with it.
#[test]
fn a_budget_is_shared_out_among_parts() {
    let budgets = Some(vec![2.0, 8.0]);
    let text = format!(
        "{PARTS}\n[plan]\n[[plan.designs]]\n[[plan.designs]]\n\
         [[plan.designs.parts]]\nstatistic = \"mean\"\n\
         query = {{ kind = \"mean\", clamp = [0.0, 1.0] }}\nmechanism = {{ kind = \"laplace\" }}\n\
         [[plan.designs.parts]]\nstatistic = \"sum\"\n\
         query = {{ kind = \"histogram\", range = [0.0, 1.0], bins = 4 }}\n\
         mechanism = {{ kind = \"laplace\" }}\n"
    );
    let plan = plan(&text, PlanOptions { budgets, ..PlanOptions::default() });
    // Replacing a record changes the mean of 50 by 1/50, and two counts by 1.
    let near = |found: Vec<f64>, budgets: [f64; 2]| {
        let expected = [1.0 / 50.0 / budgets[0], 2.0 / budgets[1]];
        found
            .iter()
            .zip(expected)
            .for_each(|(a, b)| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}"));
    };
    near(scales(&plan, 0), [0.5, 1.5]);
    near(scales(&plan, 1), [2.0, 6.0]);
    // A design whose mechanisms say nothing: equal shares.
    near(scales(&plan, 2), [1.0, 1.0]);
    near(scales(&plan, 3), [4.0, 4.0]);
    assert_eq!(plan.settings[3].budget, Some(8.0));
}

#[test]
fn numbers_of_records_and_the_stated_budget() {
    let n = Some(vec![10, 40]);
    let sized = plan(MEAN, PlanOptions { n, ..PlanOptions::default() });
    let of = |i: usize| sized.settings[i].problem.release();
    assert_eq!((of(0).n(), of(1).n()), (10, 40));
    assert!((scales(&sized, 0)[0] / scales(&sized, 1)[0] - 4.0).abs() < 1e-9);
    assert_eq!(sized.settings[0].budget, Some(4.0));
}

/// Over the prior, 90% intervals hold the truth in 90% of releases, and the mean squared error of
/// the posterior mean is the mean posterior variance: of fits, and of the floor.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let replications = 300;
    let options = PlanOptions {
        replications: Some(replications),
        warmup: Some(200),
        draws: Some(300),
        ..PlanOptions::default()
    };
    let plan = plan(MEAN, options);
    let setting = &plan.settings[0];
    for of in [replicate, floor] {
        let fits = (0..replications).map(|number| of(&plan, setting, number).unwrap());
        let fits: Vec<Fitted> = fits.collect();
        for k in 0..2 {
            let all = || fits.iter().map(|fit| fit.quantities[k]);
            let count = replications as f64;
            let held = all().filter(|q| q.low <= q.truth && q.truth <= q.high).count() as f64;
            let error = (0.9 * 0.1 / count).sqrt();
            assert!((held / count - 0.9).abs() < 4.0 * error, "{k}: {}", held / count);
            let gaps: Vec<f64> =
                all().map(|q| (q.mean - q.truth).powi(2) / (q.sd * q.sd) - 1.0).collect();
            let mean = gaps.iter().sum::<f64>() / count;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
            // The variance of sigma2 has heavy tails: four of its own errors, and not of another's.
            assert!(mean.abs() < 4.0 * (variance / count).sqrt(), "{k}: {mean}");
        }
    }
}

/// With a wide prior all records may lie beyond a clamp, where neither the release nor the model has a
/// slope. The start of this chain was flung across both clamps, and theta went to 1e18 from there.
#[test]
fn data_beyond_a_clamp_do_not_make_a_chain_run_away() {
    let text = r#"
        [release]
        n = 400
        statistic = "mean"
        query = { kind = "moments", degree = 2, clamp = [7.0, 13.0] }
        mechanism = { kind = "laplace", epsilon = 8.0 }

        [model]
        kind = "normal"
        prior = { kind = "normal-inverse-gamma", mean = 10.0, lambda = 0.1, shape = 3.0, rate = 2.0 }
    "#;
    let plan = plan(text, PlanOptions::default());
    let fit = replicate(&plan, &plan.settings[0], 28).unwrap();
    let mu = fit.quantities[0];
    // The records are at 17 and look like 13: the posterior is the prior above some 14.
    assert!(mu.truth > 17.0 && mu.low > 13.0 && mu.high < 40.0, "{mu:?}");
}

/// Settings share their data: the truths are the same, and the floor is of the same records.
#[test]
fn settings_share_their_data() {
    let budgets = Some(vec![1.0, 1e6]);
    let options =
        PlanOptions { budgets, warmup: Some(200), draws: Some(400), ..Default::default() };
    let plan = plan(&MEAN.replace("[-3.0, 3.0]", "[-300.0, 300.0]"), options);
    for number in 0..5 {
        let [coarse, fine] = [0, 1].map(|i| replicate(&plan, &plan.settings[i], number).unwrap());
        let known = floor(&plan, &plan.settings[0], number).unwrap();
        let truths = |fit: &Fitted| fit.quantities.iter().map(|q| q.truth).collect::<Vec<_>>();
        assert_eq!(truths(&coarse), truths(&fine));
        assert_eq!(truths(&coarse), truths(&known));
        // With the mean as good as published, its interval is near that without privacy.
        let [fine, known] = [&fine, &known].map(|fit| fit.quantities[0]);
        assert!((fine.mean - known.mean).abs() < 0.5 * known.sd, "{fine:?} {known:?}");
    }
}

fn fitted(low: f64, high: f64, is_settled: bool) -> Fitted {
    let (mean, sd) = (0.5 * (low + high), 0.25 * (high - low));
    let quantity = Quantity { truth: 0.0, mean, sd, low, high, plug_in: None };
    Fitted { quantities: vec![quantity; 2], is_settled }
}

/// One chain that ran away spoils nothing: it is counted, and left out.
#[test]
fn what_has_not_settled_is_counted_and_left_out() {
    let target = soma::plan::Target::parse("width(mu) < 3").unwrap();
    let options = PlanOptions {
        targets: Some(vec![target]),
        replications: Some(4),
        ..PlanOptions::default()
    };
    let plan = plan(MEAN, options);
    let fits = [
        fitted(-1.0, 1.0, true),
        fitted(-1e17, 3e17, false),
        fitted(1.0, 5.0, true),
        fitted(-3.0, 3.0, true),
    ];
    let floors = [1.0, 100.0, 2.0, 3.0].map(|width| fitted(-0.5 * width, 0.5 * width, true));
    let numbered = |fits: &[Fitted]| (0..).zip(fits.iter().cloned()).collect::<Vec<_>>();
    let all = Made { fits: vec![numbered(&fits)], floors: vec![(0, numbered(&floors))] };
    let report = PlanReport::of(&plan, &all);
    let setting = &report.settings[0];
    assert_eq!((setting.replications, setting.unsettled), (4, 1));
    assert_eq!(setting.target_met, Some(1.0 / 3.0));
    let mu = &setting.quantities[0];
    assert_eq!((mu.sd, mu.width, mu.coverage), (1.0, 4.0, 2.0 / 3.0));
    // Beside the floors of the same data sets, whose widths are 1, 2 and 3.
    assert_eq!(mu.times_floor, 2.0);
    assert!((mu.rmse - 3f64.sqrt()).abs() < 1e-12);

    let none = Made { fits: vec![numbered(&fits[1..2])], floors: all.floors };
    let report = PlanReport::of(&plan, &none);
    assert_eq!(report.settings[0].target_met, None);
    assert!(report.settings[0].quantities[0].width.is_nan());
    assert!(report.answer.starts_with("No fit has settled"), "{}", report.answer);
}

/// The cheapest budget that is enough is the answer; where none is, what would help.
#[test]
fn the_answer_names_the_cheapest_that_is_enough() {
    let asked = |target: &str| {
        let options = PlanOptions {
            budgets: Some(vec![100.0, 1.0, 10.0]),
            targets: Some(vec![soma::plan::Target::parse(target).unwrap()]),
            replications: Some(4),
            warmup: Some(100),
            draws: Some(200),
            ..PlanOptions::default()
        };
        made(&plan(MEAN, options)).answer
    };
    assert!(
        asked("sd(mu) < 1000").starts_with("Epsilon 1 is enough"),
        "{}",
        asked("sd(mu) < 1000")
    );
    let never = asked("sd(mu) < 0.000001");
    assert!(never.contains("Nothing tried") && never.contains("more records"), "{never}");
}
