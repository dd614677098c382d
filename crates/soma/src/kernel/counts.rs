//! Counts of a sweep, and its cost.

use serde::{Deserialize, Serialize};

/// Counts of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records proposed.
    pub moves: u64,
    /// Proposals accepted.
    pub accepted: u64,
    /// Weights computed from a record's statistic.
    pub evaluations: u64,
}

impl Counts {
    /// The acceptance rate.
    pub fn acceptance_rate(&self) -> f64 {
        self.accepted as f64 / self.moves.max(1) as f64
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.moves += other.moves;
        self.accepted += other.accepted;
        self.evaluations += other.evaluations;
    }
}

impl std::ops::Sub for Counts {
    type Output = Counts;

    fn sub(self, other: Counts) -> Counts {
        Counts {
            moves: self.moves - other.moves,
            accepted: self.accepted - other.accepted,
            evaluations: self.evaluations - other.evaluations,
        }
    }
}

/// The cost of a sweep, of a move and of a weight, in units of about ten nanoseconds: one pass over
/// a record and its statistic. Counted and not timed, so that the same seed chooses the same kernel
/// on every machine.
///
/// The costs were measured with `soma bench --kernel draw,sys-imwg,soma,soma-blocks --epsilon
/// 3,30`, on the regression (the histogram, for bins). They exclude the time in which a model draws
/// a record, which is the same for all kernels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweepCost {
    /// Per sweep.
    pub(crate) per_sweep: f64,
    /// Per move.
    pub(crate) per_move: f64,
    /// Per weight computed.
    pub(crate) per_weight: f64,
}

impl SweepCost {
    /// The cost of a sweep with these `counts`, in passes over one record.
    pub(crate) fn of(self, counts: Counts) -> f64 {
        let [moves, weights] = [counts.moves, counts.evaluations].map(|count| count as f64);
        self.per_sweep + self.per_move * moves + self.per_weight * weights
    }
}
