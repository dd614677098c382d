//! What the text of the parameters computes from theta.

use soma_language::{Data, Model, Workspace};

fn model(parameters: &str) -> Model {
    let data = Data::new().matrix("M", 2, vec![2.0, 0.0, 3.0, 4.0]);
    Model::new(parameters, "x ~ normal(0, 1)", &data).unwrap()
}

/// The numbers by name.
fn derived(model: &Model, theta: &[f64]) -> Vec<(String, f64)> {
    let mut values = vec![0.0; model.derived_names().len()];
    model.derived(theta, &mut values, &mut Workspace::new());
    model.derived_names().iter().cloned().zip(values).collect()
}

fn assert_close(found: &[(String, f64)], right: &[(&str, f64)]) {
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, right.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for ((name, value), (_, right)) in found.iter().zip(right) {
        assert!((value - right).abs() < 1e-12, "{name}: {value} for {right}");
    }
}

#[test]
fn remaining_shares_and_definitions_are_derived() {
    let text = "low ~ normal(0, 1)\nhigh ~ normal(0, 1)\np[1..3] ~ dirichlet([1, 1, 1])\n\
                constant = 2 * 3\ndifference = high - low\nboth = [low, 1, 2 * high]\nis_above = high > low";
    let model = model(text);
    let quantities = ["p", "difference", "both", "is_above"].map(String::from);
    let counted: Vec<(String, usize)> = quantities.into_iter().zip([1, 1, 2, 1]).collect();
    assert_eq!(model.derived_quantities(), counted);
    let indicators: Vec<bool> = model.derived_facts().iter().map(|f| f.is_indicator()).collect();
    assert_eq!(indicators, [false, false, false, false, true]);
    let right = [
        ("p[3]", 0.5),
        ("difference", 1.5),
        ("both[1]", -0.5),
        ("both[3]", 2.0),
        ("is_above", 1.0),
    ];
    assert_close(&derived(&model, &[-0.5, 1.0, 0.2, 0.3]), &right);
}

/// Each pair once, without the diagonal; of a factor of a covariance too.
#[test]
fn correlations_are_those_of_the_factor() {
    let text = "sd[1..3] ~ half_normal(1)\nL[1..3, 1..3] ~ lkj_cholesky(2)\nR = correlation(L)";
    let theta = [0.5, 2.0, 3.0, 0.6, -0.3, 0.4];
    let (second, third) = ((1.0_f64 - 0.36).sqrt(), (1.0_f64 - 0.09 - 0.16).sqrt());
    let right = [
        ("L[2,2]", second),
        ("L[3,3]", third),
        ("R[2,1]", 0.6),
        ("R[3,1]", -0.3),
        ("R[3,2]", -0.3 * 0.6 + 0.4 * second),
    ];
    assert_close(&derived(&model(text), &theta), &right);
    let scaled = model(&text.replace("(L)", "(scale_rows(sd, L))"));
    assert_close(&derived(&scaled, &theta), &right);
    // Of constants: 2 * 3 / (2 * 5), with rows of length 2 and 5.
    let constant = model("m ~ normal(0, 1)\nR = correlation(M)\ntimes = m * R[2, 1]");
    assert_close(&derived(&constant, &[5.0]), &[("times", 3.0)]);
}
