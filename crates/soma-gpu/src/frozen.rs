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

/// The records that a move chooses among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// So many, the first ones.
    First(usize),
    /// So many at random.
    Random(usize),
}

/// The most subsets that are enumerated for a move among records at random.
const MOST_SUBSETS: f64 = 10_000.0;

impl Among {
    /// Whether the probabilities of a move among `n` records can be enumerated.
    pub fn is_enumerable(self, n: usize) -> bool {
        match self {
            Among::First(_) => true,
            Among::Random(m) => {
                let choices = (0..m.min(n - m)).map(|i| (n - i) as f64 / (i + 1) as f64);
                choices.product::<f64>() <= MOST_SUBSETS
            }
        }
    }

    /// The sets of records, each as likely as any other.
    fn sets(self, n: usize) -> Vec<Vec<usize>> {
        match self {
            Among::First(m) => vec![(0..m).collect()],
            Among::Random(m) => subsets(n, m),
        }
    }
}

/// All subsets of `m` of the numbers below `n`.
fn subsets(n: usize, m: usize) -> Vec<Vec<usize>> {
    if m == 0 {
        return vec![Vec::new()];
    }
    let with = |last: usize| {
        let mut all = subsets(last, m - 1);
        all.iter_mut().for_each(|set| set.push(last));
        all
    };
    (m - 1..n).flat_map(with).collect()
}

/// Makes the first move of a sweep from `records` at `theta`, `moves` times, and compares the places that the
/// proposals take with their probabilities.
#[expect(clippy::too_many_arguments, reason = "each is one thing, named at the call")]
pub fn frozen(
    device: &mut dyn Device,
    program: &Program,
    problem: &Problem,
    theta: &[f64],
    records: &[f64],
    among: Among,
    moves: usize,
    seed: u64,
) -> Outcome<Frozen> {
    let release = problem.release();
    let published = program.published(problem);
    let all: Vec<f64> = std::iter::repeat_n(theta, moves).flatten().copied().collect();
    let mut chains = Chains::start(device, program, seed, 0, 0, 1, &published, &all)?;
    chains.set_records(device, program, records)?;
    chains.advance(device, 1, false)?;
    let (places, proposals) = chains.frozen(device, program)?;
    let n = release.n();
    let sets = among.sets(n);
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
        let each = probabilities(problem, records, proposal, &sets)?;
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

/// The probability that `proposal` takes each place, by the definition of SOMA on each of `sets`.
fn probabilities(
    problem: &Problem,
    records: &[f64],
    proposal: &[f64],
    sets: &[Vec<usize>],
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
    let mut each = vec![0.0; n];
    let logs: Vec<f64> = (0..n).map(log_weight).collect();
    for set in sets {
        // Relative to the largest of them, or to the current one.
        let top = set.iter().map(|&i| logs[i]).fold(0.0, f64::max);
        let weight = |i: usize| (logs[i] - top).exp();
        let all: f64 = set.iter().map(|&i| weight(i)).sum();
        let now = (-top).exp();
        for &i in set.iter().filter(|_| all > 0.0) {
            let w = weight(i);
            each[i] += w / all * (all / (all - w + now)).min(1.0) / sets.len() as f64;
        }
    }
    Ok(each)
}
