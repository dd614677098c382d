//! Updates of models in the language whose records jump preserve the joint distribution.

use soma_language::Data;

use super::*;
use crate::model::Text;
use crate::release::query;

pub(super) fn text_case(
    parameters: &str,
    record: &str,
    statistics: &[&str],
    scale: f64,
    n: usize,
) -> Case {
    let model = Text::new(parameters, record, &Data::new()).unwrap();
    let statistics: Vec<String> = statistics.iter().map(|text| text.to_string()).collect();
    let query = query::Text::new(&statistics, model.text()).unwrap();
    let scales = vec![scale; query.dim()];
    Case {
        query: Arc::new(query),
        model: Arc::new(model),
        mechanism: Mechanism::new(Noise::Laplace, scales).unwrap(),
        other_noise: None,
        n,
    }
}

pub(super) fn jumping() -> [Case; 3] {
    [
        text_case("p ~ beta(2, 3)", "x ~ bernoulli(p)", &["x"], 1.0, 6),
        text_case(
            "b0 ~ normal(0, 1)\nb1 ~ normal(0, 1)\ns ~ gamma(4, 4)",
            "x ~ normal(0.5, s)\ny ~ bernoulli(logistic(b0 + b1 * x))",
            &["y", "clamp(x, -2, 2)", "clamp(x, -2, 2) * y"],
            0.7,
            5,
        ),
        text_case(
            "b0 ~ normal(0.5, 0.5)\nb1 ~ normal(0, 0.5)",
            "x ~ normal(0, 1)\ny ~ poisson(exp(b0 + b1 * x))",
            &["clamp(y, 0, 6)", "clamp(x, -2, 2) * clamp(y, 0, 6)"],
            1.0,
            5,
        ),
    ]
}

const DRAWS: usize = 10_000;

/// The surrogate of the first release that has one.
pub(super) fn surrogate(case: &Case) -> Surrogate {
    let begin = |seed: u64| {
        let mut rng = rng::stream(seed, 0);
        let (problem, mut state) = case.draw(&mut rng);
        Surrogate::begin(&Sums::new(&problem)?, &mut state, &mut rng).unwrap()
    };
    (0..50).find_map(begin).unwrap()
}

#[test]
fn hamiltonian_and_independence_updates_of_discrete_records_keep_the_joint_law() {
    for (i, case) in jumping().iter().enumerate() {
        let surrogate = surrogate(case);
        let (seed, surrogate) = (i as u64, Some(&surrogate));
        let mut made = Hamiltonian::new(Force::Surrogate);
        let (z, rate) = largest_change(case, surrogate, &mut made, DRAWS, seed);
        assert!(z < MOST && rate > 0.01, "hamiltonian, case {i}: {z}, {rate}");
        for walks in [0.0, 1.0] {
            let mut made = Independence::new(false);
            made.walk(walks);
            let (z, rate) = largest_change(case, surrogate, &mut made, DRAWS, 10 + seed);
            assert!(z < MOST && rate > 0.01, "independence, case {i}, {walks}: {z}, {rate}");
        }
    }
}

#[test]
fn centred_and_non_centred_updates_of_texts_keep_the_joint_law() {
    for (i, case) in jumping().iter().enumerate() {
        let (z, _) = largest_change(case, None, &mut Centred::default(), DRAWS, i as u64);
        assert!(z < MOST, "centred, case {i}: {z}");
        let (_, _, mut schedule) = case.warm(MovesChoice::Interwoven, i as u64);
        let made = schedule.slots[1].made.as_move();
        let (z, rate) = largest_change(case, None, made, DRAWS, 10 + i as u64);
        assert!(z < MOST && rate > 0.05, "non-centred, case {i}: {z}, {rate}");
    }
}

/// Records that are affine functions of their noise, and parameters with tails in the logarithm of a
/// standard deviation and in a correlation.
fn affine() -> [Case; 2] {
    [
        text_case(
            "m ~ normal(0, 1)\ns ~ half_normal(1)",
            "x ~ normal(m, s)",
            &["clamp(x, -2, 2)", "clamp(x, -2, 2) ^ 2"],
            2.0,
            6,
        ),
        text_case(
            "m ~ normal(0, 1)\nsd[1..2] ~ half_normal(1)\nL[1..2, 1..2] ~ lkj_cholesky(1)",
            "x[1..2] ~ multi_normal([m, 0], scale_rows(sd, L))",
            &[
                "clamp(x[1], -2, 2)",
                "clamp(x[1], -2, 2) * clamp(x[2], -2, 2)",
                "clamp(x[2], -2, 2) ^ 2",
            ],
            1.5,
            5,
        ),
    ]
}

/// The centred update has the sums of the records, and the Hamiltonian one has walks.
#[test]
fn updates_of_affine_texts_keep_the_joint_law() {
    for (i, case) in affine().iter().enumerate() {
        let surrogate = surrogate(case);
        let (seed, surrogate) = (i as u64, Some(&surrogate));
        let mut made = Hamiltonian::new(Force::Exact);
        let (z, rate) = largest_change(case, surrogate, &mut made, 2 * DRAWS, seed);
        assert!(z < MOST && rate > 0.2, "hamiltonian, case {i}: {z}, {rate}");
        let (z, _) = largest_change(case, None, &mut Centred::new(true), 2 * DRAWS, 10 + seed);
        assert!(z < MOST, "centred, case {i}: {z}");
    }
}
