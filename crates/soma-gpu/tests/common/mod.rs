//! Problems to run, and the CPU that emulates a GPU.

use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;
use soma::spec::Spec;
use soma_gpu::{Emulated, Options, Program};

/// A spec with this release and model.
pub fn problem(release: &str, model: &str) -> Problem {
    Spec::parse(&format!("[release]\n{release}\n[model]\n{model}\n")).expect("a spec").problem
}

#[allow(dead_code)]
pub fn regression(n: usize, noise: &str) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"mean\"\nvalues = [-0.38, -0.09, 0.26, 0.12, 0.07]\n\
             query = {{ kind = \"gram\", predictors = 1, clamp = [-6.0, 6.0] }}\nmechanism = {noise}"
        ),
        "kind = \"regression\"\npredictors = { mean = [0.9] }\n\
         prior = { kind = \"normal-inverse-gamma\", mean = 0.0, precision = 0.5, shape = 10.0, rate = 10.0 }",
    )
}

#[allow(dead_code)]
pub fn normal(n: usize) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"mean\"\nvalues = [0.4]\n\
             query = {{ kind = \"mean\", clamp = [-3.0, 3.0] }}\n\
             mechanism = {{ kind = \"gaussian\", scale = 0.3 }}"
        ),
        "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.0, lambda = 0.5, shape = 3.0, rate = 3.0 }",
    )
}

#[allow(dead_code)]
pub fn exponential(n: usize) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [6.0]\n\
             query = {{ kind = \"mean\", clamp = [0.0, 4.0] }}\n\
             mechanism = {{ kind = \"laplace\", scale = 2.0 }}"
        ),
        "kind = \"exponential\"\nprior = { kind = \"gamma\", shape = 3.0, rate = 2.0 }",
    )
}

/// A model and statistics as text.
#[allow(dead_code)]
pub fn text(n: usize, statistics: &str, values: &str, parameters: &str, record: &str) -> Problem {
    text_at(4.0, n, statistics, values, parameters, record)
}

/// The same at another epsilon.
#[allow(dead_code)]
pub fn text_at(
    epsilon: f64,
    n: usize,
    statistics: &str,
    values: &str,
    parameters: &str,
    record: &str,
) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"mean\"\nvalues = {values}\nstatistics = {statistics}\n\
             mechanism = {{ kind = \"laplace\", epsilon = {epsilon:?} }}"
        ),
        &format!("parameters = \"\"\"\n{parameters}\n\"\"\"\nrecord = \"\"\"\n{record}\n\"\"\""),
    )
}

/// A mean of clamped normal records.
#[allow(dead_code)]
pub fn normal_text(n: usize) -> Problem {
    text(
        n,
        "[\"clamp(x, -3, 3)\"]",
        "[0.4]",
        "m ~ normal(0, 1)\ns ~ gamma(3, 3)",
        "x ~ normal(m, s)",
    )
}

/// Two variables, one of them skew: records that can be carried.
#[allow(dead_code)]
pub fn bivariate_text(n: usize) -> Problem {
    text(
        n,
        "[\"clamp(x, 0, 8)\", \"clamp(x, 0, 8) * clamp(y, -3, 3)\"]",
        "[1.9, 0.5]",
        "m ~ normal(0, 0.5)\nb ~ normal(0, 1)\ns ~ gamma(4, 4)",
        "x ~ log_normal(m, s)\ny ~ normal(b * x, 1)",
    )
}

/// A mean of indicators.
#[allow(dead_code)]
pub fn bernoulli_text(n: usize) -> Problem {
    text(n, "[\"yes\"]", "[0.3]", "p ~ beta(1, 2)", "yes ~ bernoulli(p)")
}

/// A mean of clamped counts, and the share of zeros.
#[allow(dead_code)]
pub fn poisson_text(n: usize) -> Problem {
    text(n, "[\"clamp(k, 0, 9)\", \"k == 0\"]", "[2.1, 0.2]", "m ~ gamma(2, 1)", "k ~ poisson(m)")
}

/// A yes with a predictor.
#[allow(dead_code)]
pub fn logistic_text(n: usize) -> Problem {
    text(
        n,
        "[\"y\", \"u\", \"u * y\"]",
        "[0.4, 0.1, 0.15]",
        "b0 ~ normal(0, 1)\nb1 ~ normal(0, 1)\ns ~ gamma(8, 8)",
        "x ~ normal(0, s)\ny ~ bernoulli(logistic(b0 + b1 * x))\nu = clamp(x, -2, 2)",
    )
}

/// Two groups, whose standard deviation may be near 0: centred updates alone are slow there.
#[allow(dead_code)]
pub fn groups_text(n: usize) -> Problem {
    text(
        n,
        "[\"treated\", \"clamp(y, 0, 12) * treated\", \"clamp(y, 0, 12) * (1 - treated)\"]",
        "[0.4, 2.0, 3.0]",
        "share ~ beta(1, 1)\nuntreated ~ normal(6, 3)\ndifference ~ normal(0, 2)\nsd ~ half_normal(3)",
        "treated ~ bernoulli(share)\ny ~ normal(untreated + difference * treated, sd)",
    )
}

/// Durations and their logarithms.
#[allow(dead_code)]
pub fn gamma_text(n: usize) -> Problem {
    text(
        n,
        "[\"clamp(t, 0.1, 8)\", \"log(clamp(t, 0.1, 8))\"]",
        "[1.9, 0.3]",
        "shape ~ gamma(4, 2)\nrate ~ gamma(3, 2)",
        "t ~ gamma(shape, rate)",
    )
}

#[allow(dead_code)]
pub fn categorical(n: usize) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [5.0, 3.0, 0.5]\n\
             query = {{ kind = \"categories\", labels = [\"a\", \"b\", \"c\"] }}\n\
             mechanism = {{ kind = \"laplace\", scale = 1.0 }}"
        ),
        "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 0.8 }",
    )
}

#[allow(dead_code)]
pub fn beta(n: usize) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [2.0, 1.1]\n\
             query = {{ kind = \"moments\", degree = 2, clamp = [0.0, 1.0] }}\n\
             mechanism = {{ kind = \"laplace\", scale = 0.3 }}"
        ),
        "kind = \"beta\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 2.0 }",
    )
}

/// Compositions of three shares.
#[allow(dead_code)]
pub fn shares(n: usize) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"mean\"\nvalues = [-0.9, -2.6, -1.0]\n\
             query = {{ kind = \"log-sum\", clamp = [0.01, 1.0] }}\n\
             mechanism = {{ kind = \"laplace\", epsilon = 20.0 }}"
        ),
        "kind = \"dirichlet\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 1.0 }",
    )
}

/// A histogram of uniform records; `summaries` of them are drawn.
#[allow(dead_code)]
pub fn histogram(n: usize, summaries: &str) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [0.3, 2.2, 1.4, -0.2]\n\
             query = {{ kind = \"histogram\", range = [0.0, 1.0], bins = 4 }}\n\
             mechanism = {{ kind = \"laplace\", scale = 0.7 }}"
        ),
        &format!("kind = \"uniform\"\nrange = [0.0, 1.0]\nsummaries = {summaries}"),
    )
}

/// The emulated device of a program; nothing, with a message, where there is no C++ compiler.
#[allow(dead_code)]
pub fn emulated(program: &Program) -> Option<Emulated> {
    if !Emulated::is_there() {
        eprintln!("skipped: there is no C++ compiler (c++, or the variable CXX)");
        return None;
    }
    Some(Emulated::new(program).unwrap_or_else(|error| panic!("{error}")))
}

/// A program of chains.
#[allow(dead_code)]
pub fn program(problem: &Problem, kernel: KernelChoice, moves: MovesChoice) -> Program {
    Program::new(problem, Options::new(kernel, moves)).expect("a program")
}
