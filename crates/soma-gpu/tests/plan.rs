//! Plans whose fits run on a device. The generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;

use soma::plan::{Plan, Unobserved, run};
use soma::spec::PlanOptions;
use soma_gpu::{Device, Emulated, Program, plan_programs, run_plan};

const SPEC: &str = r#"
[release]
n = 12
statistic = "mean"
values = [0.4]
query = { kind = "mean", clamp = [-3.0, 3.0] }
mechanism = { kind = "laplace", epsilon = 2.0 }

[model]
kind = "normal"
prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 1.0, shape = 3.0, rate = 3.0 }

[plan]
epsilon = [1, 8]
replications = 60
warmup = 300
draws = 600
"#;

/// The same data as on the CPU, and posteriors that agree over the replications.
#[test]
fn a_plan_says_what_the_cpu_says() {
    if !Emulated::is_there() {
        return eprintln!("skipped: there is no C++ compiler (c++, or the variable CXX)");
    }
    let plan = Plan::parse(SPEC, PlanOptions::default()).unwrap();
    let programs = plan_programs(&plan, 99 << 10).unwrap();
    let open = |program: &Program| Ok(Box::new(Emulated::new(program)?) as Box<dyn Device>);
    let here = run_plan(&plan, &programs, NonZeroUsize::MIN, &Unobserved, &open).unwrap();
    let there = run(&plan, NonZeroUsize::MIN, &Unobserved).unwrap();
    assert_eq!(here.floors, there.floors);
    for (ours, theirs) in here.fits.iter().zip(&there.fits) {
        assert_eq!(ours.len(), 60);
        for k in 0..2 {
            let pairs =
                || ours.iter().zip(theirs).map(|(a, b)| (a.1.quantities[k], b.1.quantities[k]));
            assert!(pairs().all(|(a, b)| a.truth == b.truth && a.plug_in == b.plug_in));
            // Differences of means, in standard deviations of the posterior: two chains of 600 draws.
            let gaps: Vec<f64> = pairs().map(|(a, b)| (a.mean - b.mean) / b.sd).collect();
            let mean = gaps.iter().sum::<f64>() / 60.0;
            let spread = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 59.0;
            assert!(mean.abs() < 4.5 * (spread / 60.0).sqrt(), "parameter {k}: {mean}");
            assert!(spread < 0.5, "parameter {k}: {spread}");
            let ratio = pairs().map(|(a, b)| (a.sd / b.sd).ln()).sum::<f64>() / 60.0;
            assert!(ratio.abs() < 0.15, "parameter {k}: {ratio}");
        }
    }
}

/// Quantities of `[derived]` are computed from the draws of the device.
#[test]
fn derived_quantities_are_planned() {
    if !Emulated::is_there() {
        return eprintln!("skipped: there is no C++ compiler (c++, or the variable CXX)");
    }
    let spec = SPEC.replace("[plan]", "[derived]\nsigma = \"sqrt(sigma2)\"\n\n[plan]");
    let spec = spec.replace("replications = 60", "replications = 3");
    let plan = Plan::parse(&spec, PlanOptions::default()).unwrap();
    let programs = plan_programs(&plan, 99 << 10).unwrap();
    let open = |program: &Program| Ok(Box::new(Emulated::new(program)?) as Box<dyn Device>);
    let made = run_plan(&plan, &programs, NonZeroUsize::MIN, &Unobserved, &open).unwrap();
    for (_, fitted) in made.fits.iter().flatten() {
        let [_, variance, sigma] = fitted.quantities[..] else { panic!("three quantities") };
        assert!((sigma.truth.powi(2) - variance.truth).abs() < 1e-12);
        // The mean of the squares is the square of the mean and the variance.
        let moment = sigma.mean.powi(2) + sigma.sd.powi(2) * (1.0 - 1.0 / 600.0);
        assert!((moment / variance.mean - 1.0).abs() < 1e-9, "{moment} {}", variance.mean);
    }
}
