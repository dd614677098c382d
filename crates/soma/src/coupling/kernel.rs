//! The kernels on two chains at once.

use rand::RngExt;

use super::index::maximal_slots;
use super::offers::CoupledOffers;
use super::pair::{Offer, Pair};
use super::rejection::{self, Envelope};
use crate::error::{Invalid, Outcome};
use crate::kernel::shape::{Absolute, Falloff, Square, log_density, log_weight};
use crate::kernel::{Counts, KernelChoice, Records, SomaBlocks, Subset};
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// How SOMA's places are chosen in the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// By the maximal coupling, which needs all weights of both chains: fewest iterations to meet.
    Maximal,
    /// By rejection with shared candidates: at a cost that does not grow with n, but the chains
    /// part about twice as often, and at large n and sharp releases never meet.
    Rejection,
    /// By rejection as long as that brings the chains nearer to each other, and otherwise by the
    /// maximal coupling, for twice as many sweeps each time.
    Adaptive {
        /// Sweeps still to be made by the maximal coupling.
        left: u32,
        /// How many there will be next time.
        next: u32,
    },
}

/// Up to this many records all weights are cheap enough to look at.
const SCAN: usize = 256;

/// What a sweep by rejection has to make of the distance.
const NEARER: f64 = 0.8;

impl Choice {
    fn by_rejection(self) -> bool {
        matches!(self, Choice::Rejection | Choice::Adaptive { left: 0, .. })
    }

    /// The choice for the next sweep, after one that took the distance from `before` to `after`.
    fn learn(&mut self, before: usize, after: usize) {
        if let Choice::Adaptive { left, next } = self {
            if *left > 0 {
                *left -= 1;
            } else if after as f64 > NEARER * before as f64 {
                *left = *next;
                *next = next.saturating_mul(2);
            }
        }
    }
}

/// A kernel at work on two chains.
///
/// The chains share the offer (the same one where their thetas are equal, and otherwise a maximal
/// coupling of the two laws), the choice of the place, and the uniform that decides on the offer.
/// Each chain alone moves by exactly the plain kernel, up to the labels of the records: where
/// both take the same offer at different places, the second chain is relabelled so that it stands
/// at the same place in both. Only kernels that treat places alike allow that: SOMA, SOMA on a
/// random subset, Ran-IMwG; and SOMA on blocks within a block. In Sys-IMwG the place is always
/// the same.
#[derive(Debug, Clone)]
pub struct CoupledKernel {
    choice: KernelChoice,
    soma: Choice,
    aligns: bool,
    next: usize,
    order: Vec<usize>,
    scratch: [Vec<f64>; 2],
    envelopes: [Envelope; 2],
}

impl CoupledKernel {
    /// The kernel at work on pairs of `n` records.
    pub fn new(choice: KernelChoice, n: usize) -> Result<Self, Invalid> {
        choice.build(n)?;
        Ok(CoupledKernel {
            choice,
            soma: if n <= SCAN { Choice::Maximal } else { Choice::Adaptive { left: 0, next: 1 } },
            aligns: true,
            next: 0,
            order: (0..n).collect(),
            scratch: Default::default(),
            envelopes: Default::default(),
        })
    }

    /// The same with another choice of SOMA's places.
    pub fn with_choice(mut self, soma: Choice) -> Self {
        self.soma = soma;
        self
    }

    /// The same with or without a relabelling of the second chain before each sweep, by which
    /// records of like statistics stand side by side. With it chains meet sooner; the paper's
    /// couplings are without it.
    pub fn with_alignment(mut self, aligns: bool) -> Self {
        self.aligns = aligns;
        self
    }

    /// n moves of both chains. Counts both chains' moves and the weights of both.
    pub(super) fn sweep(
        &mut self,
        pair: &mut Pair,
        offers: &mut CoupledOffers<'_>,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        if self.aligns && self.treats_places_alike() {
            pair.align();
        }
        pair.first.refresh();
        pair.second.refresh();
        let before = pair.distance();
        let counts = match shape {
            Shape::Absolute => self.sweep_shaped::<Absolute>(pair, offers, rng),
            Shape::Square => self.sweep_shaped::<Square>(pair, offers, rng),
        };
        self.soma.learn(before, pair.distance());
        counts
    }

    /// Whether the law of the kernel is the same for any order of the records.
    fn treats_places_alike(&self) -> bool {
        match self.choice {
            KernelChoice::Soma | KernelChoice::RanImwg => true,
            KernelChoice::SomaSubset { subset, .. } => subset == Subset::Random,
            KernelChoice::SomaBlocks { .. } | KernelChoice::SysImwg => false,
        }
    }

    fn sweep_shaped<S: Falloff>(
        &mut self,
        pair: &mut Pair,
        offers: &mut CoupledOffers<'_>,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = pair.n();
        let by_rejection = self.choice == KernelChoice::Soma && self.soma.by_rejection();
        if by_rejection {
            self.envelopes = pair.records().map(Envelope::new);
        }
        let CoupledKernel { next, order, scratch, envelopes, .. } = self;
        let mut counts = Counts::default();
        offers.for_each(n, rng, |turn, offer, rng| {
            let evaluations = &mut counts.evaluations;
            let (taken, relabel) = match self.choice {
                KernelChoice::Soma if by_rejection => {
                    let taken =
                        rejection::soma::<S>(pair, envelopes, offer, scratch, evaluations, rng);
                    (taken, true)
                }
                KernelChoice::Soma => {
                    (soma::<S>(pair, n, |slot| slot, offer, scratch, evaluations, rng), true)
                }
                KernelChoice::SomaSubset { size, subset: Subset::Cyclic } => {
                    let start = std::mem::replace(next, (*next + size) % n);
                    let place = |slot| (start + slot) % n;
                    let taken = soma::<S>(pair, size, place, offer, scratch, evaluations, rng);
                    (taken, n.is_multiple_of(size))
                }
                KernelChoice::SomaSubset { size, subset: Subset::Random } => {
                    (0..size).for_each(|i| order.swap(i, rng.random_range(i..n)));
                    let place = |slot: usize| order[slot];
                    (soma::<S>(pair, size, place, offer, scratch, evaluations, rng), true)
                }
                KernelChoice::SomaBlocks { size } => {
                    let size = size.unwrap_or(SomaBlocks::usual_size(n));
                    let start = turn - turn % size;
                    let place = |slot| start + slot;
                    let size = size.min(n - start);
                    let taken = soma::<S>(pair, size, place, offer, scratch, evaluations, rng);
                    (taken, false)
                }
                KernelChoice::RanImwg => {
                    let place = rng.random_range(0..n);
                    (metropolis::<S>(pair, place, offer, evaluations, rng), true)
                }
                KernelChoice::SysImwg => {
                    (metropolis::<S>(pair, turn, offer, evaluations, rng), false)
                }
            };
            counts.moves += 2;
            counts.accepted += taken.iter().flatten().count() as u64;
            pair.put(offer, taken, relabel);
        })?;
        Ok(counts)
    }
}

/// One SOMA move of both chains on `size` places, by the maximal coupling: where each takes its
/// offer.
pub(super) fn soma<S: Falloff>(
    pair: &Pair,
    size: usize,
    place: impl Fn(usize) -> usize + Copy,
    offer: &Offer<'_>,
    weights: &mut [Vec<f64>; 2],
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Option<usize>; 2] {
    let places = (0..size).map(place);
    let mut totals = [0.0; 2];
    let mut currents = [0.0; 2];
    for (side, records) in pair.records().into_iter().enumerate() {
        let statistic = offer.statistics[side];
        (totals[side], currents[side]) =
            weigh::<S>(records, places.clone(), statistic, &mut weights[side]);
    }
    *evaluations += 2 * size as u64;
    let both = [weights[0].as_slice(), weights[1].as_slice()];
    let slots = maximal_slots(both, totals, |slot| pair.is_matched(place(slot)), rng);
    let u: f64 = rng.random();
    std::array::from_fn(|side| {
        let excess = (currents[side] - weights[side][slots[side]]).max(0.0);
        (u < totals[side] / (totals[side] + excess)).then(|| place(slots[side]))
    })
}

/// The weights of an offer at `places`, relative to the largest of them. Returns their sum, and
/// w_0 relative to the same; it may be infinite, and the offer is then refused.
pub(super) fn weigh<S: Falloff>(
    records: &Records,
    places: impl Iterator<Item = usize>,
    statistic: &[f64],
    weights: &mut Vec<f64>,
) -> (f64, f64) {
    let residual = records.residual();
    weights.clear();
    weights.extend(places.map(|i| log_weight::<S>(residual, records.statistic(i), statistic)));
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for weight in weights.iter_mut() {
        *weight = (*weight - top).exp();
        total += *weight;
    }
    (total, (log_density::<S>(residual) - top).exp())
}

/// One independent Metropolis step of both chains at the same place, with the same uniform.
pub(super) fn metropolis<S: Falloff>(
    pair: &Pair,
    place: usize,
    offer: &Offer<'_>,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Option<usize>; 2] {
    *evaluations += 2;
    let u: f64 = rng.random();
    let records = pair.records();
    std::array::from_fn(|side| {
        let residual = records[side].residual();
        let old = records[side].statistic(place);
        let offered = log_weight::<S>(residual, old, offer.statistics[side]);
        let gain = offered - log_density::<S>(residual);
        (gain >= 0.0 || u < gain.exp()).then_some(place)
    })
}
