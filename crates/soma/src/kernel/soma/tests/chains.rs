//! Whole chains, and the state that the kernel caches between moves.

use crate::kernel::SomaScan;
use crate::kernel::soma::tests::*;

/// The number of batches of sweeps.
const BATCHES: usize = 100;

/// The acceptance rate, a residual and the sum of squares of the records of a chain, averaged over
/// each of [`BATCHES`] batches of sweeps, after one batch of warm-up.
pub(super) fn summaries(
    mut kernel: Kernel,
    mut records: Records,
    proposals: &mut dyn Proposals,
    seed: u64,
) -> Vec<[f64; 3]> {
    let mut rng = rng::stream(seed, 3);
    let mut batch = || {
        let mut sums = [0.0; 3];
        for _ in 0..100 {
            let potential = l1(records.k());
            let counts = kernel.sweep(&mut records, proposals, &potential, &mut rng).unwrap();
            let squares: f64 = records.all().iter().map(|x| x * x).sum();
            let terms = [counts.acceptance_rate(), records.residual()[0], squares];
            sums.iter_mut().zip(terms).for_each(|(s, t)| *s += t / 100.0);
        }
        sums
    };
    batch();
    (0..BATCHES).map(|_| batch()).collect()
}

/// Two chains have the same batch means, within their Monte Carlo error.
pub(super) fn assert_agree(reference: &[[f64; 3]], fast: &[[f64; 3]], case: &str) {
    for c in 0..3 {
        let moments = |all: &[[f64; 3]]| {
            let mean = all.iter().map(|b| b[c]).sum::<f64>() / BATCHES as f64;
            let squares = all.iter().map(|b| (b[c] - mean) * (b[c] - mean));
            (mean, squares.sum::<f64>() / (BATCHES * (BATCHES - 1)) as f64)
        };
        let ((a, va), (b, vb)) = (moments(reference), moments(fast));
        let gap = (a - b).abs() / (va + vb).sqrt();
        assert!(gap < 4.5, "{case}, {c}: {a} by scan, {b}: {gap} errors");
    }
}

/// Whole chains agree with the scan's in acceptance rate and in moments of the records.
#[test]
fn chains_agree_with_the_scan() {
    let strategies = [Strategy::Uniform, Strategy::Scan, Strategy::Cells(4), Strategy::Cells(64)];
    for (epsilon, k) in [(3.0, 2), (40.0, 2)] {
        let (start, _) = problem(Noise::Laplace, 12, k, epsilon, State::FarFromRelease);
        let run = |kernel, seed| {
            let mut proposals = Normals { k, unit: start.unit(0) };
            summaries(kernel, start.clone(), &mut proposals, seed)
        };
        let reference = run(Kernel::SomaScan(SomaScan::new()), 1);
        for strategy in strategies {
            let fast = run(eager(strategy), 2);
            assert_agree(&reference, &fast, &format!("{epsilon} {strategy:?}"));
        }
    }
}

/// A kernel that was stored and read back continues bit for bit, in every strategy.
#[test]
fn stored_kernels_go_on_bit_for_bit() {
    for (n, k, epsilon) in [(50, 9, 1.0), (300, 9, 60.0), (3_000, 1, 60.0)] {
        let (records, _) = problem(Noise::Laplace, n, k, epsilon, State::Typical);
        let (mut kernel, mut records) = (Kernel::Soma(Soma::new()), records);
        sweep(&mut kernel, &mut records, 3, 1);
        let text = serde_json::to_string(&kernel).unwrap();
        let (mut stored, mut same) =
            (serde_json::from_str::<Kernel>(&text).unwrap(), records.clone());
        sweep(&mut kernel, &mut records, 3, 2);
        sweep(&mut stored, &mut same, 3, 2);
        assert_eq!(records, same);
    }
}

/// The cells keep track of the records through replacements, near in memory and far.
#[test]
fn cells_follow_the_records() {
    for n in [300, 9_000] {
        let (mut records, _) = problem(Noise::Laplace, n, 9, 30.0, State::Typical);
        let mut kernel = Kernel::Soma(Soma::with_strategy(Strategy::Cells(32)));
        sweep(&mut kernel, &mut records, 1, 4);
        let Kernel::Soma(soma) = &kernel else { unreachable!() };
        let members = &soma.cells.members;
        let mut places: Vec<usize> =
            members.all(0).map(|(cell, slot)| members.place(cell, slot)).collect();
        places.sort_unstable();
        assert_eq!(places, (0..n).collect::<Vec<_>>());
        soma.cells.check::<L1>(&records);
    }
}

/// The cached residual is the released value minus the sum, both if records are written with each
/// move and if they exceed the cache and are written later.
#[test]
fn the_residual_follows_the_records() {
    for n in [300, 9_000] {
        for strategy in [Strategy::Uniform, Strategy::Cells(32)] {
            let (mut records, _) = problem(Noise::Laplace, n, 9, 3.0, State::Typical);
            let mut kernel = eager(strategy);
            sweep(&mut kernel, &mut records, 1, 5);
            let kept = records.residual().to_vec();
            records.refresh();
            for (kept, right) in kept.iter().zip(records.residual()) {
                assert!((kept - right).abs() < 1e-9, "{n} {strategy:?}: {kept}, {right}");
            }
        }
    }
}
