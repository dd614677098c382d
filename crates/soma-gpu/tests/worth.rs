//! What theta updates are worth: effective draws for the work of the CPU that emulates the device. Prints, and asserts
//! nothing of times: `cargo test --release -p soma-mcmc-gpu --test worth -- --ignored --nocapture`, some minutes.

mod common;

use common::emulated;
use soma::chain::{MovesChoice, Settings};
use soma::kernel::KernelChoice;
use soma::spec::Spec;
use soma_gpu::{Fit, Options, Program};

/// 30 records of a beta, or of a Dirichlet, distribution.
const BETA: &str = "[release]\nn = 30\nstatistic = \"sum\"\nvalues = [12.0, 6.1]\n\
    query = { kind = \"moments\", degree = 2, clamp = [0.0, 1.0] }\n\
    mechanism = { kind = \"laplace\", scale = 1.0 }\n\
    [model]\nkind = \"beta\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 0.5 }\n";
const SHARES: &str = "[release]\nn = 30\nstatistic = \"mean\"\nvalues = [-0.9, -2.6, -1.0]\n\
    query = { kind = \"log-sum\", clamp = [0.01, 1.0] }\n\
    mechanism = { kind = \"laplace\", epsilon = 20.0 }\n\
    [model]\nkind = \"dirichlet\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 1.0 }\n";

/// The text of a shipped example.
macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("../../../examples/", $name, ".toml"))
    };
}

/// Seconds of the processor that this process has had.
fn processor() -> Option<f64> {
    let all = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = all.rsplit_once(") ")?.1.split(' ').nth(11)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

#[test]
#[ignore = "takes minutes, and asserts nothing of times"]
fn effective_draws_for_the_work() {
    println!(
        "| spec | non-centred updates | effective draws per draw | per second | nested R-hat |"
    );
    let (short, long) = ((300, 200), (1_000, 500));
    for (name, spec, updates, (warmup, draws)) in [
        ("beta, n = 30", BETA, &[0, 1, 4][..], long),
        ("Dirichlet, n = 30", SHARES, &[0, 1, 4], long),
        ("`gamma-durations`", example!("gamma-durations"), &[0, 1, 4], short),
        ("`heavy-tails`", example!("heavy-tails"), &[0, 1], short),
        ("`regression-n100-eps30`", example!("regression-n100-eps30"), &[0, 4, 8, 16], long),
        ("`regression-n100-eps3`", example!("regression-n100-eps3"), &[0, 4, 8, 16], long),
    ] {
        let problem = Spec::parse(spec).unwrap().problem;
        for &count in updates {
            let both = if count == 0 { MovesChoice::Centred } else { MovesChoice::Interwoven };
            let kernel = KernelChoice::SysImwg;
            let mut options = Options::new(kernel, both);
            options.non_centred = Some(count);
            let program = Program::new(&problem, options).unwrap();
            let Some(mut device) = emulated(&program) else { return };
            let chains = 64;
            let settings =
                Settings { kernel, moves: both, chains, warmup, draws, thin: 1, seed: 2 };
            let fit = Fit { problem: &problem, program: &program, settings: &settings };
            let Some(begun) = processor() else { return };
            let fitted = fit.run(&mut device, &|| false).unwrap();
            let seconds = processor().unwrap() - begun;
            let worst = |value: fn(&soma_gpu::Row) -> f64| {
                fitted.rows.iter().map(value).fold(f64::NEG_INFINITY, f64::max)
            };
            let (ess, rhat) = (-worst(|row| -row.ess), worst(|row| row.nested_rhat));
            let (per_draw, own) = (ess / (chains as u64 * draws) as f64, draws as f64);
            let per_second = ess / (seconds * own / (warmup as f64 + own));
            println!("| {name} | {count} | {per_draw:.3} | {per_second:.0} | {rhat:.3} |");
        }
    }
}
