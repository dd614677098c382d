//! Models that together use every distribution, and helpers.

#![allow(dead_code)]

use rand::SeedableRng;
use soma_language::{Data, Model};

pub type Rng = rand::rngs::ChaCha8Rng;

pub fn rng(seed: u64) -> Rng {
    Rng::seed_from_u64(seed)
}

pub fn data() -> Data {
    Data::new().scalar("d", 2.0).scalar("trials", 9.0).vector("centre", vec![0.9, -1.17]).matrix(
        "spread",
        2,
        vec![1.0, 0.3, 0.3, 0.8],
    )
}

/// Name, parameters, record.
pub const MODELS: &[(&str, &str, &str)] = &[
    ("normal", "m ~ normal(0, 2)\ns ~ half_normal(3)", "x ~ normal(m, s)"),
    (
        "voters",
        "b0 ~ normal(0, 2.5)\nb1 ~ normal(0, 2.5)\nm ~ normal(50, 20)\ns ~ half_normal(20)",
        "age ~ normal(m, s)\nvoted ~ bernoulli(logistic(b0 + b1 * (age - 50) / 15))",
    ),
    (
        "regression",
        "b[1..3] ~ normal(0, 2)\ns2 ~ inverse_gamma(3, 2)",
        "x[1..d] ~ multi_normal(centre, cholesky(spread))\ny ~ normal(b[1] + dot(b[2..3], x), sqrt(s2))",
    ),
    ("beta", "a ~ gamma(4, 1)\nb ~ gamma(6, 1.5)", "x ~ beta(a, b)"),
    ("log_normal", "m ~ student_t(4, 0, 2)\ns ~ log_normal(-1, 0.5)", "x ~ log_normal(m, s)"),
    (
        "student",
        "v ~ gamma(8, 1)\nm ~ laplace(1, 2)\ns ~ exponential(0.5)",
        "x ~ student_t(v, m, s)",
    ),
    ("laplace", "m ~ logistic(0, 1)\ns ~ weibull(2, 1)", "x ~ laplace(m, s)\ny ~ logistic(x, s)"),
    (
        "waiting",
        "r ~ gamma(3, 2)\nk ~ uniform(0.8, 3)",
        "x ~ exponential(r)\ny ~ weibull(k, 1 + x)",
    ),
    (
        "gamma",
        "k ~ gamma(5, 2)\nr ~ beta(2, 3)",
        "x ~ gamma(k, r)\ny ~ inverse_gamma(k + 1, 2 * r)\nz ~ half_normal(r)",
    ),
    (
        "counts",
        "l ~ normal(0.5, 0.5)\np ~ beta(3, 4)\nsize ~ gamma(4, 1)",
        "x ~ normal(0, 1)\nk ~ poisson(exp(l + 0.3 * x))\nh ~ binomial(trials, p)\nj ~ negative_binomial(exp(l), size)",
    ),
    (
        "mixture",
        "w[1..3] ~ dirichlet([2, 3, 4])\nm[1..3] ~ normal([-2, 0, 2], 1)\ns ~ half_normal(1)",
        "k ~ categorical(w)\nx ~ normal(m[k], s)",
    ),
    ("shares", "a[1..3] ~ gamma([4, 5, 6], 2)", "x[1..3] ~ dirichlet(a)"),
    (
        "multivariate",
        "m[1..3] ~ normal(0, 1)\ns[1..3] ~ half_normal(1)\nL[1..3, 1..3] ~ lkj_cholesky(2)",
        "x[1..3] ~ multi_normal(m, scale_rows(s, L))",
    ),
    ("powers", "b ~ normal(0.5, 0.3)", "x ~ normal(b, 1)\ny ~ normal((1 + x ^ 2) ^ b, 1)"),
    ("bounded", "a ~ normal(0, 1)\nw ~ half_normal(2)", "x ~ uniform(a, a + w)"),
    (
        "branches",
        "b ~ normal(0, 1)\nc ~ uniform(-1, 2)",
        "g ~ bernoulli(0.4)\nx ~ normal(if g == 1 then b else c, 1 + 0.5 * g)\ny ~ normal(max(x, b) + abs(x - c) + tanh(b * x) + min(x, 2) + x ^ 2 / 10, exp(0.1 * c))",
    ),
];

pub fn model(name: &str) -> Model {
    let (_, parameters, record) = MODELS.iter().find(|(known, ..)| *known == name).unwrap();
    Model::new(parameters, record, &data()).unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"))
}
