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

/// The emulated device of a program; nothing, with a message, where there is no C++ compiler.
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
