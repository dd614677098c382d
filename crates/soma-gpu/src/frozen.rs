//! Frozen-state tests: many single moves from one state. The places that proposals take are compared with
//! the enumerated probabilities of the move given the proposal.

use soma::Outcome;
use soma::chain::Problem;

use crate::chains::Chains;
use crate::device::Device;
use crate::program::Program;

/// Counts of places taken, and their expectations.
#[derive(Debug, Clone, PartialEq)]
pub struct Frozen {
    /// The number of moves.
    pub moves: usize,
    /// Moves that took each place.
    pub taken: Vec<u64>,
    /// Their expected number given the proposals.
    pub expected: Vec<f64>,
    /// The variance of that number.
    pub variance: Vec<f64>,
    /// The variance of the number of all moves that were accepted.
    pub total_variance: f64,
    /// The proposals.
    pub proposals: Vec<Vec<f64>>,
}

impl Frozen {
    /// The largest deviation of a count in standard deviations: over places, all rare places pooled, and the
    /// total.
    pub fn worst(&self) -> f64 {
        let mut rest = (0.0, 0.0, 0.0);
        let mut worst: f64 = 0.0;
        let score = |taken: f64, expected: f64, variance: f64| {
            // Plus 1: a count with little variance may be off by one.
            (taken - expected).abs() / (variance + 1.0).sqrt()
        };
        for (i, &taken) in self.taken.iter().enumerate() {
            let (taken, expected, variance) = (taken as f64, self.expected[i], self.variance[i]);
            if variance < 10.0 {
                rest = (rest.0 + taken, rest.1 + expected, rest.2 + variance);
            } else {
                worst = worst.max(score(taken, expected, variance));
            }
        }
        let taken = self.taken.iter().sum::<u64>() as f64;
        let all = score(taken, self.expected.iter().sum(), self.total_variance);
        worst.max(score(rest.0, rest.1, rest.2)).max(all)
    }
}

/// Makes the first move of a sweep from `records` at `theta`, `moves` times. `block` is the number of records
/// that the move chooses among (the first ones); `None` is one record at random.
#[expect(clippy::too_many_arguments, reason = "each is one thing, named at the call")]
pub fn frozen(
    device: &mut dyn Device,
    program: &Program,
    problem: &Problem,
    theta: &[f64],
    records: &[f64],
    block: Option<usize>,
    moves: usize,
    seed: u64,
) -> Outcome<Frozen> {
    let release = problem.release();
    let published = program.published(release);
    let all: Vec<f64> = std::iter::repeat_n(theta, moves).flatten().copied().collect();
    let mut chains = Chains::start(device, program, seed, 0, 0, 1, &published, &all)?;
    chains.set_records(device, program, records)?;
    chains.advance(device, 1, false)?;
    let (places, proposals) = chains.frozen(device, program)?;
    let n = release.n();
    let mut found = Frozen {
        moves,
        taken: vec![0; n],
        expected: vec![0.0; n],
        variance: vec![0.0; n],
        total_variance: 0.0,
        proposals: Vec::new(),
    };
    for (place, proposal) in places.iter().zip(&proposals) {
        if let Ok(place) = usize::try_from(*place) {
            found.taken[place] += 1;
        }
        let each = probabilities(problem, records, proposal, block)?;
        let any: f64 = each.iter().sum();
        found.total_variance += any * (1.0 - any);
        for (i, p) in each.into_iter().enumerate() {
            found.expected[i] += p;
            found.variance[i] += p * (1.0 - p);
        }
    }
    found.proposals = proposals;
    Ok(found)
}

/// The probability that `proposal` takes each place, by the definition of SOMA.
fn probabilities(
    problem: &Problem,
    records: &[f64],
    proposal: &[f64],
    block: Option<usize>,
) -> Outcome<Vec<f64>> {
    let release = problem.release();
    let (query, n) = (release.query(), release.n());
    let (d, k) = (query.record_dim(), query.dim());
    let (mut statistics, mut proposed) = (vec![0.0; n * k], vec![0.0; k]);
    query.statistics(records, &mut statistics)?;
    query.statistics(proposal, &mut proposed)?;
    let (sums, scales) = (release.sums(), release.sum_scales());
    let cost = |of: &dyn Fn(usize) -> f64| {
        let residual: Vec<f64> = (0..k).map(|c| (sums[c] - of(c)) / scales[c]).collect();
        release.potential().cost(&residual)
    };
    debug_assert_eq!(records.len(), n * d);
    let total = |c: usize| statistics.iter().skip(c).step_by(k).sum::<f64>();
    let now: Vec<f64> = (0..k).map(total).collect();
    let current = cost(&|c| now[c]);
    let log_weight = |i: usize| current - cost(&|c| now[c] - statistics[i * k + c] + proposed[c]);
    Ok(match block {
        Some(block) => {
            // Relative to the largest of them, or to the current one.
            let logs: Vec<f64> = (0..block).map(log_weight).collect();
            let top = logs.iter().copied().fold(0.0, f64::max);
            let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
            let all: f64 = weights.iter().sum();
            let now = (-top).exp();
            let taken = |w: &f64| match all > 0.0 {
                true => w / all * (all / (all - w + now)).min(1.0),
                false => 0.0,
            };
            let mut each: Vec<f64> = weights.iter().map(taken).collect();
            each.resize(n, 0.0);
            each
        }
        None => (0..n).map(|i| log_weight(i).exp().min(1.0) / n as f64).collect(),
    })
}
