//! SOMA on m of the n records at a time.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::KernelChoice;
use super::counts::{Counts, SweepCost};
use super::soma_scan::soma_move;
use super::table::{Context, Coupling, KernelOptions, RecordKernel, RecordSizes, some_of};
use crate::error::{Invalid, Outcome};
use crate::records::proposals::for_each_proposal;
use crate::records::{Batch, Proposals, Records};
use crate::release::Release;
use crate::release::potential::{Evaluate, Norm};
use crate::rng::Rng;
use crate::simd::cost::{L1, L2};
use crate::stored::{Check, ensure};

/// The subset of records whose weights a move computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subset {
    /// A new random subset for each move.
    Random,
    /// The next m records, cyclically.
    Cyclic,
}

/// The default size of a subset: about the width of a SIMD register.
const SIZE: usize = 16;

/// SOMA with the weights of a subset M of the records only.
///
/// Reversible with respect to pi for each M (the paper's Lemma on m components), hence for a
/// random M that does not depend on the state; a cyclic M leaves pi invariant. A move costs m
/// weights.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SomaSubset {
    size: usize,
    subset: Subset,
    next: usize,
    order: Vec<usize>,
    #[serde(skip)]
    weights: Vec<f64>,
}

impl SomaSubset {
    /// The kernel on subsets of `size` of the `n` records.
    pub fn new(n: usize, size: usize, subset: Subset) -> Result<Self, Invalid> {
        let size = some_of(n, size, "the size of the subset is out of range")?;
        let order = match subset {
            Subset::Random => (0..n).collect(),
            Subset::Cyclic => Vec::new(),
        };
        Ok(SomaSubset { size, subset, next: 0, order, weights: Vec::new() })
    }

    fn make_moves(
        &mut self,
        potential: &impl Evaluate,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = records.n();
        let mut accepted = 0;
        for_each_proposal(n, proposals, &mut Batch::default(), rng, |_, y, t, rng| {
            let place = match self.subset {
                Subset::Cyclic => {
                    let start = self.next;
                    self.next = (start + self.size) % n;
                    let among = (start..start + self.size).map(|i| i % n);
                    soma_move(potential, records, among, t, &mut self.weights, rng)
                }
                Subset::Random => {
                    for i in 0..self.size {
                        self.order.swap(i, rng.random_range(i..n));
                    }
                    let among = self.order[..self.size].iter().copied();
                    soma_move(potential, records, among, t, &mut self.weights, rng)
                }
            };
            if let Some(i) = place {
                records.replace(i, y, t);
                accepted += 1;
            }
        })?;
        Ok(Counts { moves: n as u64, accepted, evaluations: (n * self.size) as u64 })
    }
}

impl RecordKernel for SomaSubset {
    const NAME: &'static str = "soma-subset";
    const OPTIONS: &'static [&'static str] = &["subset", "order"];

    fn choice(options: KernelOptions, n: usize) -> KernelChoice {
        KernelChoice::SomaSubset {
            size: options.subset.unwrap_or(SIZE.min(n)),
            subset: options.order.unwrap_or(Subset::Random),
        }
    }

    fn options(choice: KernelChoice) -> KernelOptions {
        match choice {
            KernelChoice::SomaSubset { size, subset } => {
                KernelOptions { subset: Some(size), order: Some(subset) }
            }
            _ => KernelOptions::default(),
        }
    }

    fn build(choice: KernelChoice, n: usize) -> Result<Self, Invalid> {
        let KernelOptions { subset, order } = Self::options(choice);
        SomaSubset::new(n, subset.unwrap_or(SIZE.min(n)), order.unwrap_or(Subset::Random))
    }

    fn cost(&self, _: f64) -> SweepCost {
        SweepCost { per_sweep: 5.0, per_move: 10.0, per_weight: 1.2 }
    }

    /// A permutation of all places.
    fn memory(records: RecordSizes) -> u64 {
        (records.n as u64).saturating_mul(size_of::<usize>() as u64)
    }

    fn coupling(&self) -> Coupling {
        Coupling::Subset { size: self.size, subset: self.subset }
    }

    /// Checks the size of the subset and, if it is random, the permutation.
    fn check(&self, release: &Release) -> Check {
        let n = release.n();
        ensure((1..=n).contains(&self.size) && self.next < n, "the subset is out of range")?;
        let mut order = self.order.clone();
        order.sort_unstable();
        let fits = match self.subset {
            Subset::Cyclic => order.is_empty(),
            Subset::Random => order.into_iter().eq(0..n),
        };
        ensure(fits, "the order is not a permutation")
    }

    fn is_chosen_by(&self, options: KernelOptions) -> bool {
        options.subset.is_none_or(|size| size == self.size)
            && options.order.is_none_or(|order| order == self.subset)
    }

    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts> {
        let Context { records, proposals, potential, rng } = at;
        match potential.norm() {
            Some(Norm::L1) => self.make_moves(&L1, records, proposals, rng),
            Some(Norm::L2) => self.make_moves(&L2, records, proposals, rng),
            None => self.make_moves(potential, records, proposals, rng),
        }
    }
}
