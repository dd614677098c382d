//! What runs on the GPU of the shipped examples, and what is said of the others.

use soma::chain::MovesChoice;
use soma::kernel::KernelChoice;
use soma::spec::Spec;
use soma_gpu::{Options, Program};

/// The kernel that `auto` is, or the field that is in the way.
const TOLD: &[(&str, Result<&str, &str>)] = &[
    ("atus-female", Ok("sys-imwg")),
    ("atus-male", Ok("sys-imwg")),
    ("binomial-successes", Ok("sys-imwg")),
    ("category-counts", Ok("counts")),
    ("clamped-counts", Ok("counts")),
    ("count-and-sum", Ok("sys-imwg")),
    ("cross-table", Ok("counts")),
    ("gamma-durations", Ok("sys-imwg")),
    ("heavy-tails", Ok("sys-imwg")),
    ("histogram-n20", Ok("sys-imwg")),
    ("histogram-n50", Ok("sys-imwg")),
    ("log-normal-mean", Ok("sys-imwg")),
    ("logistic-regression", Ok("sys-imwg")),
    ("mean-and-variance", Err("release.query")),
    ("median", Err("release.query")),
    ("multivariate-normal", Ok("sys-imwg")),
    ("normal-gaussian-noise", Ok("sys-imwg")),
    ("overdispersed-counts", Ok("sys-imwg")),
    ("plan-a-survey", Ok("sys-imwg")),
    ("plan-regression", Ok("sys-imwg")),
    ("plan-time-use", Ok("sys-imwg")),
    ("poisson-counts", Ok("sys-imwg")),
    ("poisson-regression", Ok("sys-imwg")),
    ("private-mean-n2", Ok("sys-imwg")),
    ("proportion", Ok("sys-imwg")),
    ("randomised-response", Err("release.mechanism")),
    ("ratio-mean", Err("release.mechanism")),
    ("regression-n10-eps3", Ok("sys-imwg")),
    ("regression-n10-eps30", Ok("sys-imwg")),
    ("regression-n100-eps3", Ok("sys-imwg")),
    ("regression-n100-eps30", Ok("sys-imwg")),
    ("regression-unknown-predictors", Ok("sys-imwg")),
    ("suppressed-counts", Ok("counts")),
    ("synthetic-records", Err("release.mechanism")),
    ("two-groups", Ok("sys-imwg")),
    ("voters-three-sums", Ok("sys-imwg")),
];

#[test]
fn examples_run_or_say_why_not() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|file| {
            file.unwrap().file_name().to_str()?.strip_suffix(".toml").map(Into::into)
        })
        .collect();
    names.sort();
    assert_eq!(names, TOLD.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, expected) in TOLD {
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        let problem = Spec::parse(&text).unwrap().problem;
        let options = Options::new(KernelChoice::Auto, MovesChoice::Auto);
        match (Program::new(&problem, options), expected) {
            (Ok(program), Ok(kernel)) => {
                assert_eq!(program.kernel, *kernel, "{name}");
                let outputs: Vec<String> = problem.outputs();
                assert_eq!(program.outputs, outputs[..program.outputs.len()], "{name}");
            }
            (Err(invalid), Err(field)) => assert_eq!(invalid.field, *field, "{name}: {invalid}"),
            (found, _) => panic!("{name}: {:?}, expected {expected:?}", found.map(|p| p.kernel)),
        }
    }
}
