//! Validation of stored states of a chain of counts.

use super::chain::{CountMoves, CountSnapshot, MoveCounts, partitions_of};
use super::problem::CountProblem;
use super::shares::Shares;
use crate::release::Total;
use crate::rng;
use crate::stored::{Check, MOST_COUNTED, ensure, finite};

impl MoveCounts {
    fn check(self) -> Check {
        // Seven kinds of moves are summed.
        let most = MOST_COUNTED / 8;
        let fits = self.accepted <= self.proposed && self.proposed < most && self.work < most;
        ensure(fits, "the tally of a move is inconsistent")
    }
}

impl CountMoves {
    fn check(&self) -> Check {
        self.named().into_iter().try_for_each(|(_, made)| made.check())
    }
}

impl CountSnapshot {
    /// Whether this is a valid state of a chain of `problem`; otherwise the error says what is
    /// wrong.
    pub fn check(&self, problem: &CountProblem) -> Check {
        let cells = problem.table().cells();
        let (dim, drawn) = match problem.shares() {
            Shares::Dirichlet(_) => (0, cells),
            Shares::Model(model) => (model.dim(), 0),
        };
        ensure(self.counts.len() == cells, "the stored counts are of another table")?;
        let imputed = if problem.synthetic().is_some() { cells } else { 0 };
        finite("theta", dim + imputed, &self.theta)?;
        let (theta, noisy) = self.theta.split_at(dim);
        let fits = problem.synthetic().is_none_or(|synthetic| synthetic.holds(noisy));
        ensure(fits, "the noisy counts cannot be those of the synthetic records")?;
        finite("the shares", drawn, &self.shares)?;
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        ensure(self.shares.iter().all(is_share), "a share is out of range")?;
        if let Shares::Model(model) = problem.shares() {
            let prior = model.log_prior(theta);
            ensure(prior.is_finite(), "theta is none of the model")?;
        }
        let each = self.counts.iter().all(|count| (0..=Total::MOST).contains(count));
        ensure(each, "a stored count is not a number of records")?;
        let n = self.counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count));
        let fits = n.is_some_and(|n| match problem.total().known() {
            Some(known) => known == n,
            None => problem.total().nearest(n as f64) == n as f64,
        });
        ensure(fits, "the stored counts do not sum to the number of records")?;
        let ways = 1 + partitions_of(problem).len();
        let fits = self.tuning.is_valid(cells, dim, ways);
        ensure(fits, "the adapted state is of another problem")?;
        self.moves.check()?;
        self.taken.check()?;
        let done = self.moves.total();
        let since = self.taken.proposed <= done.proposed
            && self.taken.accepted <= done.accepted
            && self.taken.work <= done.work
            && done.accepted - self.taken.accepted <= done.proposed - self.taken.proposed;
        ensure(since, "the counts exceed the moves made")
    }

    /// Whether the random stream is that of chain number `index` under `seed`.
    pub(crate) fn check_stream(&self, seed: u64, index: u64) -> Check {
        let begun = rng::stream(seed, index);
        let streams = [&begun, &self.rng].map(|rng| (rng.get_seed(), rng.get_stream()));
        ensure(streams[0] == streams[1], "its random stream is that of another seed or chain")
    }
}
