//! Tables of one kind, such as those of regions, with a common prior that is learned from all of
//! them: partial pooling.
//!
//! The shares of group g are Dirichlet(k m), with the concentration k and the mean shares m common
//! to all groups: ln k is normal, m is Dirichlet. The shares are integrated out, so that given
//! alpha = k m the counts of each group are Dirichlet-multinomial, and the target is
//!
//! p(k) p(m) x product over g of DirichletMultinomial(c_g | n_g, k m) x law(y_g | A c_g).
//!
//! Given alpha the groups are independent, and their counts move as in a [chain of
//! counts](super::CountChain). Given the counts alpha moves by [slices](super::shared), and
//! alpha and counts [move together](super::follow). Each leaves the target invariant, and so does
//! the iteration. It costs what the groups' iterations cost one by one.

use super::chain::CountMoves;
use super::follow::Follow;
use super::problem::CountProblem;
use super::shared::{Shared, SharedPrior};
use super::shares::{Shares, sample_shares};
use super::simulate::Truth;
use super::start::start;
use super::state::State;
use super::sweep::Sweep;
use super::table::Table;
use super::tuning::Tuning;
use crate::error::{Invalid, Outcome};
use crate::rng::{self, Rng};

/// Groups with a common prior.
#[derive(Debug, Clone)]
pub struct PooledProblem {
    groups: Vec<CountProblem>,
    prior: SharedPrior,
}

impl PooledProblem {
    /// These groups, all of the same cells. What prior each of them has is not used.
    pub fn new(groups: Vec<CountProblem>, prior: SharedPrior) -> Result<Self, Invalid> {
        prior.check()?;
        let Some(first) = groups.first() else {
            return Err(Invalid::new("groups", "there are none", 0, "at least one group"));
        };
        let same = |group: &&CountProblem| group.table() == first.table();
        if let Some(odd) = groups.iter().position(|group| !same(&group)) {
            return Err(Invalid::new(
                "groups",
                "groups that are pooled must have the same cells",
                format!("group number {odd} has others than the first"),
                "the same cells in every group",
            ));
        }
        Ok(PooledProblem { groups, prior })
    }

    /// The groups.
    pub fn groups(&self) -> &[CountProblem] {
        &self.groups
    }

    /// The cells that every group has.
    pub fn table(&self) -> &Table {
        self.groups[0].table()
    }

    /// The names of what a draw holds of the common prior: the concentration and the mean shares.
    pub fn shared_outputs(&self) -> Vec<String> {
        let means = self.table().labels().iter().map(|label| format!("mean[{label}]"));
        std::iter::once("concentration".to_string()).chain(means).collect()
    }

    /// The names of what a draw holds of group number `group`.
    pub fn outputs(&self, group: usize) -> Vec<String> {
        self.groups[group].with_alpha(&vec![1.0; self.table().cells()]).outputs()
    }

    /// The common prior, and for each group its truth, drawn from the prior.
    pub fn simulate(&self, rng: &mut Rng) -> Outcome<(Vec<f64>, Vec<Truth>)> {
        let shared = Shared::sample(&self.prior, self.table().cells(), rng);
        let alpha = shared.alpha();
        let truth = |group: &CountProblem| group.with_alpha(&alpha).simulate(rng);
        let truths: Vec<Truth> = self.groups.iter().map(truth).collect::<Outcome<_>>()?;
        Ok((shared.output(), truths))
    }
}

/// A group of a chain.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) problem: CountProblem,
    pub(super) state: State,
    sweep: Sweep,
    tuning: Tuning,
}

/// One chain: the common prior and the counts of all groups.
#[derive(Debug)]
pub struct PooledChain {
    members: Vec<Member>,
    shared: Shared,
    follow: Follow,
    warmup: u64,
    iteration: u64,
    moves: CountMoves,
    rng: Rng,
}

impl PooledChain {
    /// Chain number `index` under `seed`, at its start; it learns in the first `warmup` iterations.
    pub fn new(problem: &PooledProblem, seed: u64, index: u64, warmup: u64) -> Self {
        let mut rng = rng::stream(seed, index);
        let flat = vec![1.0; problem.table().cells()];
        let member = |group: &CountProblem| {
            let problem = group.with_alpha(&flat);
            let (state, variances) = start(&problem, &mut rng);
            let tuning = Tuning::new(warmup, variances, Vec::new(), 1);
            Member { sweep: Sweep::new(&problem), problem, state, tuning }
        };
        let members: Vec<Member> = problem.groups.iter().map(member).collect();
        let shared = Shared::start(&problem.prior, &members, &mut rng);
        let mut chain = PooledChain {
            members,
            shared,
            follow: Follow::new(),
            warmup,
            iteration: 0,
            moves: CountMoves::default(),
            rng,
        };
        chain.spread();
        chain
    }

    /// One iteration.
    pub fn step(&mut self) -> Outcome {
        let learns = self.iteration < self.warmup;
        let rng = &mut self.rng;
        for member in &mut self.members {
            let Member { problem, state, sweep, tuning } = member;
            sweep.run(problem, state, tuning, learns, &mut self.moves, rng)?;
            if learns {
                tuning.learn(self.iteration, &state.counts, &[]);
            }
        }
        self.shared.run(&self.members, learns, rng)?;
        self.follow.run(&mut self.shared, &mut self.members, learns, rng)?;
        self.spread();
        self.iteration += 1;
        Ok(())
    }

    /// Gives the groups the present prior, and draws their shares for the output.
    fn spread(&mut self) {
        let alpha = self.shared.alpha();
        for Member { problem, state, .. } in &mut self.members {
            problem.set_alpha(&alpha);
            sample_shares(&alpha, &state.counts, &mut state.shares, &mut self.rng);
        }
    }

    /// What a draw holds of the common prior, in the order of [`PooledProblem::shared_outputs`].
    pub fn shared(&self) -> Vec<f64> {
        self.shared.output()
    }

    /// What a draw holds of group number `group`, in the order of [`PooledProblem::outputs`].
    pub fn group(&self, group: usize) -> Vec<f64> {
        let Member { problem, state, .. } = &self.members[group];
        problem.output(state)
    }

    /// The log density of all that was published, given the counts of all groups.
    pub fn log_density(&self) -> f64 {
        self.members.iter().map(|m| m.problem.log_density(&m.state.sums)).sum()
    }
}

impl CountProblem {
    /// The same release with a Dirichlet prior of these parameters.
    fn with_alpha(&self, alpha: &[f64]) -> Self {
        let mut problem = self.clone();
        problem.set_alpha(alpha);
        problem
    }

    /// Takes a Dirichlet prior of these parameters.
    fn set_alpha(&mut self, alpha: &[f64]) {
        self.set_shares(Shares::Dirichlet(alpha.to_vec()));
    }
}
