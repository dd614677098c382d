//! SOMA on m of the n records at a time.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::offers::for_each_offer;
use super::scan::soma_move;
use super::shape::Falloff;
use super::{Batch, Counts, Offers, Records};
use crate::chain::check::{Check, ensure};
use crate::error::{Invalid, Outcome};
use crate::rng::Rng;

/// Which records an offer is weighed against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subset {
    /// A fresh random subset for each move.
    Random,
    /// The next m in order, around and around.
    Cyclic,
}

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
    pub(super) fn check(n: usize, size: usize) -> Result<(), Invalid> {
        if size < 1 || size > n {
            return Err(Invalid::new(
                "subset",
                "the subset must hold some of the records",
                size,
                format!("a whole number from 1 to n = {n}"),
            ));
        }
        Ok(())
    }

    /// The kernel on subsets of `size` of the `n` records.
    pub fn new(n: usize, size: usize, subset: Subset) -> Result<Self, Invalid> {
        SomaSubset::check(n, size)?;
        let order = match subset {
            Subset::Random => (0..n).collect(),
            Subset::Cyclic => Vec::new(),
        };
        Ok(SomaSubset { size, subset, next: 0, order, weights: Vec::new() })
    }

    /// Whether what is kept from sweep to sweep fits `n` records: a subset of their places, and, if
    /// it is random, all places in some order.
    pub(super) fn check_state(&self, n: usize) -> Check {
        SomaSubset::check(n, self.size).map_err(|invalid| invalid.to_string())?;
        ensure(self.next < n, "the subset begins behind the last record")?;
        let mut order = self.order.clone();
        order.sort_unstable();
        let fits = match self.subset {
            Subset::Cyclic => order.is_empty(),
            Subset::Random => order.into_iter().eq(0..n),
        };
        ensure(fits, "the order of the records is none")
    }

    pub(super) fn is_of(&self, size: usize, subset: Subset) -> bool {
        (self.size, self.subset) == (size, subset)
    }

    pub(super) fn sweep<S: Falloff>(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = records.n();
        let mut accepted = 0;
        for_each_offer(n, offers, &mut Batch::default(), rng, |_, y, t, rng| {
            let place = match self.subset {
                Subset::Cyclic => {
                    let start = self.next;
                    self.next = (start + self.size) % n;
                    let among = (start..start + self.size).map(|i| i % n);
                    soma_move::<S>(records, among, t, &mut self.weights, rng)
                }
                Subset::Random => {
                    for i in 0..self.size {
                        self.order.swap(i, rng.random_range(i..n));
                    }
                    let among = self.order[..self.size].iter().copied();
                    soma_move::<S>(records, among, t, &mut self.weights, rng)
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
