//! The law of a move: from a frozen state, places and acceptances against their enumerated
//! probabilities, for each kernel, number of lanes and potential. The generated text runs on the CPU.

mod common;

use common::{emulated, exponential, normal, regression};
use soma::chain::{MovesChoice, Problem};
use soma::kernel::{KernelChoice, Subset};
use soma::rng::stream;
use soma_gpu::frozen::{Among, frozen};
use soma_gpu::{Options, Program};

const MOVES: usize = 4_000;

/// With the records in shared memory, where they fit, and in global memory.
fn check(problem: &Problem, kernel: KernelChoice, lanes: usize, among: Among, shift: f64) {
    for most_shared in [99 << 10, 16 << 10] {
        let mut options = Options::new(kernel, MovesChoice::Centred);
        (options.is_frozen, options.lanes, options.most_shared) = (true, Some(lanes), most_shared);
        check_with(problem, options, None, among, shift);
    }
}

/// At `theta`, or at the start of a chain, with records from the model that are moved by `shift`.
fn check_with(
    problem: &Problem,
    options: Options,
    theta: Option<&[f64]>,
    among: Among,
    shift: f64,
) {
    let at = theta;
    let (kernel, lanes) = (options.kernel, options.lanes);
    let program = Program::new(problem, options).unwrap();
    let Some(mut device) = emulated(&program) else { return };
    let model = problem.model();
    let mut rng = stream(7, 0);
    let mut theta = vec![0.0; program.parameters];
    match at {
        Some(at) => theta.copy_from_slice(at),
        None => model.start(problem.release(), &mut theta, &mut rng).unwrap(),
    }
    let mut records = vec![0.0; program.records * program.dim];
    model.propose(&theta, &mut records, &mut rng).unwrap();
    records.iter_mut().for_each(|x| *x += shift);
    let found = frozen(&mut device, &program, problem, &theta, &records, among, MOVES, 3).unwrap();
    let worst = found.worst();
    let (taken, expected) = (found.taken.iter().sum::<u64>(), found.expected.iter().sum::<f64>());
    assert!(worst < 4.5, "{kernel:?} on {lanes:?} lanes: {worst}, {taken} against {expected}");
    // Proposals follow the model: standard normal noise, here by its mean and variance.
    let Some(transport) = model.transport() else { return };
    let gap = |y: &Vec<f64>| {
        let mut noise = vec![0.0; transport.noise_dim()];
        transport.inverse(&theta, y, &mut noise).unwrap();
        noise
    };
    for d in 0..transport.noise_dim() {
        let noise: Vec<f64> = found.proposals.iter().map(|y| gap(y)[d]).collect();
        let count = noise.len() as f64;
        let mean = noise.iter().sum::<f64>() / count.sqrt();
        let square = (noise.iter().map(|e| e * e - 1.0).sum::<f64>()) / (2.0 * count).sqrt();
        assert!(mean.abs() < 4.5 && square.abs() < 4.5, "coordinate {d}: {mean}, {square}");
    }
}

const LAPLACE: &str = "{ kind = \"laplace\", epsilon = 10.0 }";
const GAUSSIAN: &str = "{ kind = \"gaussian\", scale = 0.1 }";

#[test]
fn soma_chooses_places_by_their_weights() {
    for lanes in [1, 2, 8] {
        check(&regression(10, LAPLACE), KernelChoice::Soma, lanes, Among::First(10), 0.0);
    }
    check(&regression(7, GAUSSIAN), KernelChoice::Soma, 4, Among::First(7), 0.0);
    check(&exponential(6), KernelChoice::Soma, 1, Among::First(6), 0.0);
}

#[test]
fn blocks_and_single_records_have_their_probabilities() {
    let blocks = KernelChoice::SomaBlocks { size: Some(4) };
    check(&regression(10, LAPLACE), blocks, 1, Among::First(4), 0.0);
    check(&regression(10, GAUSSIAN), blocks, 2, Among::First(4), 0.0);
    let subset = KernelChoice::SomaSubset { size: 4, subset: Subset::Cyclic };
    check(&regression(10, LAPLACE), subset, 2, Among::First(4), 0.0);
    check(&regression(10, LAPLACE), KernelChoice::SysImwg, 1, Among::First(1), 0.0);
    check(&normal(5), KernelChoice::RanImwg, 1, Among::Random(1), 0.0);
}

/// All subsets of three of seven records, each as likely as any other.
#[test]
fn random_subsets_have_their_probabilities() {
    let subset = KernelChoice::SomaSubset { size: 3, subset: Subset::Random };
    for lanes in [1, 2, 4] {
        check(&regression(7, LAPLACE), subset, lanes, Among::Random(3), 0.0);
    }
    let five = KernelChoice::SomaSubset { size: 5, subset: Subset::Random };
    check(&regression(6, GAUSSIAN), five, 1, Among::Random(5), 0.0);
}

/// Two parts with noise of their own: L1 and L2 in one potential.
#[test]
fn mixed_potentials_have_their_probabilities() {
    let mixed = common::problem(
        "n = 6\n\
         [[release.parts]]\nstatistic = \"sum\"\nvalues = [3.0]\n\
         query = { kind = \"mean\", clamp = [-3.0, 3.0] }\nmechanism = { kind = \"laplace\", scale = 1.5 }\n\
         [[release.parts]]\nstatistic = \"mean\"\nvalues = [0.2]\n\
         query = { kind = \"mean\", clamp = [-1.0, 1.0] }\nmechanism = { kind = \"gaussian\", scale = 0.2 }",
        "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.0, lambda = 0.5, shape = 3.0, rate = 3.0 }",
    );
    check(&mixed, KernelChoice::Soma, 2, Among::First(6), 0.0);
}

/// Far from the release weights relative to the current one overflow: every proposal that
/// comes nearer is taken, and the law is still that of the move.
#[test]
fn far_states_do_not_freeze() {
    let sharp = "{ kind = \"laplace\", scale = 1e-3 }";
    for lanes in [1, 4] {
        check(&regression(8, sharp), KernelChoice::Soma, lanes, Among::First(8), 5.0);
    }
    check(&regression(8, sharp), KernelChoice::SysImwg, 1, Among::First(1), 5.0);
}

/// Records far from the release: all weights are below the range of single precision, and
/// comparable with each other. With few records the current weight counts as well.
#[test]
fn weights_that_all_underflow_keep_their_ratios() {
    let far = common::problem(
        "n = 12\nstatistic = \"sum\"\nvalues = [220.0]\n\
         query = { kind = \"mean\", clamp = [-100.0, 100.0] }\nmechanism = { kind = \"laplace\", scale = 2.0 }",
        "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.0, lambda = 0.5, shape = 3.0, rate = 3.0 }",
    );
    for (kernel, lanes, among) in [
        (KernelChoice::Soma, 1, Among::First(12)),
        (KernelChoice::Soma, 2, Among::First(12)),
        (KernelChoice::Soma, 4, Among::First(12)),
        (KernelChoice::SysImwg, 1, Among::First(1)),
    ] {
        let mut options = Options::new(kernel, MovesChoice::Centred);
        (options.is_frozen, options.lanes) = (true, Some(lanes));
        check_with(&far, options, Some(&[0.0, 1.0]), among, 0.0);
    }
}
