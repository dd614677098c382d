//! Outliers that are tried separately, and proposals that are nearly always accepted.

use crate::kernel::soma::tests::*;

/// The list of outliers follows the records through replacements.
#[test]
fn outliers_follow_the_records() {
    for k in [1, 3, 6, 9] {
        let (mut records, _) = problem(Noise::Laplace, 302, k, 5.0, State::Typical);
        let mut kernel = eager(Strategy::Uniform);
        for seed in 0..3 {
            sweep(&mut kernel, &mut records, 1, seed);
            let Kernel::Soma(soma) = &kernel else { unreachable!() };
            soma.outliers.check(&records);
        }
    }
}

/// The distance of the counts of groups of places, and of the rejections, last, from their
/// distribution.
fn groups_off(
    records: &Records,
    proposal: &[f64],
    group: impl Fn(usize) -> usize,
    draws: usize,
) -> f64 {
    let mut rng = rng::stream(21, 0);
    let law = law_of(Noise::Laplace, records, proposal);
    let strategy = Strategy::Uniform;
    let (counts, _) = frozen(strategy, false, Norm::L1, records, proposal, draws, &mut rng);
    let groups = (0..records.n()).map(&group).max().unwrap() + 2;
    let (mut sums, mut seen) = (vec![0.0; groups], vec![0; groups]);
    for (i, (part, count)) in law.iter().zip(&counts).enumerate() {
        let g = if i < records.n() { group(i) } else { groups - 1 };
        sums[g] += part;
        seen[g] += count;
    }
    distance(&seen, &sums)
}

/// Some records are at the edge of the core that is nearest to their best value, others farther,
/// and a few are outside the core, with about the same total weight. The test detects a bound of
/// the core that is slightly too low, and a wrong mixture of the two kinds of trials.
#[test]
fn outliers_have_the_law_of_the_scan() {
    let n = 192;
    let group = |i: usize| if i % 16 == 3 { 2 } else { i % 2 };
    // The core is the box of every eighth record.
    let row = |i: usize| [[0.0, -0.7, 2.0][group(i)], if i % 16 == 8 { -0.2 } else { 0.0 }, 0.0];
    let rows: Vec<f64> = (0..n).flat_map(row).collect();
    let sums: Vec<f64> = (0..3).map(|c| rows.iter().skip(c).step_by(3).sum()).collect();
    // A proposal in the middle; the released value requires the sum to fall by the value of an
    // outlier.
    let values = vec![sums[0] - 2.0, sums[1], sums[2]];
    let query = Arc::new(Mean::new(vec![(-3.0, 3.0); 3]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![1.0; 3]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Sum, n, values).unwrap();
    let records = Records::new(&release, rows).unwrap();
    let off = groups_off(&records, &[0.0; 3], group, 3_000_000);
    assert!(off < 4.5, "{off} standard deviations off");
}

/// A proposal beyond all records is mostly rejected, by sums of bounds of the weights or, if these
/// do not decide, of the weights.
#[test]
fn proposals_from_afar_are_refused_as_by_the_scan() {
    for (n, afar) in [(40, 2.0), (300, 4.0)] {
        let (records, mut proposal) = problem(Noise::Laplace, n, 3, 20.0, State::Typical);
        proposal[0] -= afar;
        let off = groups_off(&records, &proposal, |_| 0, 300_000);
        assert!(off < 4.5, "{n} records: {off} standard deviations off");
    }
}
