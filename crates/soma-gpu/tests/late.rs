//! Whether chains of shipped examples have forgotten their starts after a short warm-up. The generated text runs on the
//! CPU, for some minutes: `cargo test --release -p soma-mcmc-gpu --test late -- --ignored --nocapture`.

mod common;

use common::{emulated, program};
use soma::chain::{MovesChoice, Settings};
use soma::kernel::KernelChoice;
use soma::spec::Spec;
use soma_gpu::Fit;

#[test]
#[ignore = "takes minutes"]
fn chains_come_in() {
    let specs = [
        include_str!("../../../examples/multivariate-normal.toml"),
        include_str!("../../../examples/two-groups.toml"),
        include_str!("../../../examples/regression-unknown-predictors.toml"),
    ];
    for spec in specs {
        let problem = Spec::parse(spec).unwrap().problem;
        let (kernel, moves) = (KernelChoice::SysImwg, MovesChoice::Auto);
        let program = program(&problem, kernel, moves);
        let Some(mut device) = emulated(&program) else { return };
        let settings =
            Settings { kernel, moves, chains: 128, warmup: 1_000, draws: 100, thin: 2, seed: 1 };
        let fit = Fit { problem: &problem, program: &program, settings: &settings };
        let fitted = fit.run(&mut device, &|| false).unwrap();
        let all: Vec<String> =
            fitted.rows.iter().map(|row| format!("{} {:.3}", row.name, row.nested_rhat)).collect();
        eprintln!("nested R-hat after 1,000 iterations: {}", all.join(", "));
        assert!(fitted.rows.iter().all(|row| row.nested_rhat < 1.1));
    }
}
