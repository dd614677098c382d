//! Moves under the bounds of any separable potential.

use crate::kernel::SomaScan;
use crate::kernel::soma::tests::chains::{assert_agree, summaries};
use crate::kernel::soma::tests::*;
use crate::release::potential::{Block, Coordinate, Evaluate};

/// The distribution of a move under a potential, from all weights.
fn law_under(potential: &Potential, records: &Records, statistic: &[f64]) -> Vec<f64> {
    let residual = records.residual();
    let cost = |i| potential.cost_after::<Portable, 0>(residual, records.statistic(i), statistic);
    let costs: Vec<f64> = (0..records.n()).map(cost).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = costs.iter().map(|cost| (least - cost).exp()).collect();
    let (total, current) = (weights.iter().sum::<f64>(), (least - potential.cost(residual)).exp());
    let taken = |w: &f64| w / total * (total / (total + (current - w).max(0.0)));
    let mut law: Vec<f64> = weights.iter().map(taken).collect();
    law.push((1.0 - law.iter().sum::<f64>()).max(0.0));
    law
}

/// The distribution of a move is that of the scan: for L1, L2, both in one release, and every
/// state.
#[test]
fn boxes_have_the_law_of_the_scan() {
    let mut rng = rng::stream(15, 0);
    for epsilon in [0.1, 1.0, 10.0, 100.0] {
        for n in [1, 3, 17, 200] {
            for state in [
                State::Typical,
                State::AllEqual,
                State::OneOutlier,
                State::FarFromRelease,
                State::TwoGroups,
            ] {
                for k in [1, 4] {
                    let (records, proposal) = problem(Noise::Laplace, n, k, epsilon, state);
                    let mixed = |c: usize| match c % 2 {
                        0 => Block::Coordinate(Coordinate::L1),
                        _ => Block::Coordinate(Coordinate::L2),
                    };
                    for potential in [
                        Potential::of_norm(Norm::L1, k),
                        Potential::of_norm(Norm::L2, k),
                        Potential::new((0..k).map(mixed).collect()),
                    ] {
                        let law = law_under(&potential, &records, &proposal);
                        let mut separable = Separable::default();
                        let (counts, _) =
                            separable.frozen(&potential, &records, &proposal, 5_000, &mut rng);
                        let off = distance(&counts, &law);
                        let case = (epsilon, n, state, k, &potential);
                        assert!(off < 4.8, "{case:?}: {off} standard deviations off");
                    }
                }
            }
        }
    }
}

/// Whole chains agree with the scan's: boxes and members are correct after every move.
#[test]
fn chains_by_boxes_agree_with_the_scan() {
    for (epsilon, k) in [(3.0, 2), (40.0, 2)] {
        let (start, _) = problem(Noise::Laplace, 40, k, epsilon, State::FarFromRelease);
        let run = |kernel, seed| {
            let mut proposals = Normals { k, unit: start.unit(0) };
            summaries(kernel, start.clone(), &mut proposals, seed)
        };
        let reference = run(Kernel::SomaScan(SomaScan::new()), 1);
        let boxes = run(Kernel::Soma(Soma::with_strategy(Strategy::Boxes)), 2);
        assert_agree(&reference, &boxes, &format!("boxes at epsilon {epsilon}"));
    }
}
