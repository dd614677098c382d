//! The kernels on two chains at once.

use pulp::Arch;
use rand::RngExt;

use super::index::maximal_slots;
use super::offers::CoupledOffers;
use super::pair::{Offer, Pair};
use super::rejection::{self, Envelope};
use crate::error::{Invalid, Outcome};
use crate::kernel::exp::exp;
use crate::kernel::shape::{Falloff, log_density_with, log_weight_with, outlasts};
use crate::kernel::specialise::{Work, specialised};
use crate::kernel::vector::Vector;
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
    shares: bool,
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
            choice: choice.settled(),
            soma: if n <= SCAN { Choice::Maximal } else { Choice::Adaptive { left: 0, next: 1 } },
            aligns: true,
            shares: false,
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

    /// The same with or without sharing parts of offers that differ: those whose law does not
    /// depend on theta, such as the predictors of a regression. Without it chains meet sooner; the
    /// paper's seem to be with it.
    pub fn with_shared_parts(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// Whether offers that differ share parts.
    pub(super) fn shares(&self) -> bool {
        self.shares
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
        let k = pair.first.k();
        let sweep = Sweep { kernel: self, pair, offers, rng };
        let counts = specialised(sweep, shape, k, Arch::new());
        self.soma.learn(before, pair.distance());
        counts
    }

    /// Whether the law of the kernel is the same for any order of the records.
    fn treats_places_alike(&self) -> bool {
        match self.choice {
            KernelChoice::Auto | KernelChoice::Soma | KernelChoice::RanImwg => true,
            KernelChoice::SomaSubset { subset, .. } => subset == Subset::Random,
            KernelChoice::SomaBlocks { .. } | KernelChoice::SysImwg => false,
        }
    }
}

struct Sweep<'a, 'o> {
    kernel: &'a mut CoupledKernel,
    pair: &'a mut Pair,
    offers: &'a mut CoupledOffers<'o>,
    rng: &'a mut Rng,
}

impl Work for Sweep<'_, '_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Falloff, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let Sweep { kernel, pair, offers, rng } = self;
        let n = pair.n();
        let by_rejection = kernel.choice == KernelChoice::Soma && kernel.soma.by_rejection();
        if by_rejection {
            kernel.envelopes = pair.records().map(Envelope::new);
        }
        let mut counts = Counts { moves: 2 * n as u64, ..Counts::default() };
        let mut currents = currents::<S, V, K>(pair);
        let mut done = 0;
        while done < n {
            let size = offers.draw(n - done, rng)?;
            for j in 0..size {
                let offer = offers.offer(j);
                let evaluations = &mut counts.evaluations;
                let (taken, relabel) = if by_rejection {
                    let CoupledKernel { envelopes, scratch, .. } = &mut *kernel;
                    let taken = rejection::soma::<S, V, K>(
                        pair,
                        currents,
                        envelopes,
                        &offer,
                        scratch,
                        evaluations,
                        rng,
                    );
                    (taken, true)
                } else {
                    let turn = done + j;
                    kernel.place::<S, V, K>(pair, currents, turn, &offer, evaluations, rng)
                };
                for side in 0..2 {
                    if let Some((_, weight)) = taken[side] {
                        currents[side] = weight;
                        counts.accepted += 1;
                    }
                }
                pair.put::<V, K>(&offer, [place(taken[0]), place(taken[1])], relabel);
            }
            done += size;
        }
        Ok(counts)
    }
}

impl CoupledKernel {
    /// Where each chain takes its offer in move number `turn` of a sweep, and whether the second
    /// chain may then be relabelled.
    #[inline(always)]
    fn place<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        turn: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> ([Taken; 2], bool) {
        let n = pair.n();
        let CoupledKernel { next, order, scratch, .. } = self;
        let (start, size, relabel) = match self.choice {
            KernelChoice::RanImwg => {
                let place = rng.random_range(0..n);
                let taken = metropolis::<S, V, K>(pair, currents, place, offer, evaluations, rng);
                return (taken, true);
            }
            KernelChoice::SysImwg => {
                let taken = metropolis::<S, V, K>(pair, currents, turn, offer, evaluations, rng);
                return (taken, false);
            }
            KernelChoice::SomaSubset { size, subset: Subset::Random } => {
                for i in 0..size {
                    order.swap(i, rng.random_range(i..n));
                }
                let place = |slot: usize| order[slot];
                let taken =
                    soma::<S, V, K>(pair, currents, size, place, offer, scratch, evaluations, rng);
                return (taken, true);
            }
            KernelChoice::Auto | KernelChoice::Soma => (0, n, true),
            KernelChoice::SomaSubset { size, subset: Subset::Cyclic } => {
                let start = std::mem::replace(next, (*next + size) % n);
                (start, size, n.is_multiple_of(size))
            }
            KernelChoice::SomaBlocks { size } => {
                let size = size.unwrap_or(SomaBlocks::usual_size(n));
                let start = turn - turn % size;
                (start, size.min(n - start), false)
            }
        };
        let place = |slot: usize| if start + slot < n { start + slot } else { start + slot - n };
        let taken = soma::<S, V, K>(pair, currents, size, place, offer, scratch, evaluations, rng);
        (taken, relabel)
    }
}

/// The place where a chain takes its offer, with the log weight there, if it takes it.
pub(super) type Taken = Option<(usize, f64)>;

/// The place alone.
#[inline(always)]
pub(super) fn place(taken: Taken) -> Option<usize> {
    taken.map(|(place, _)| place)
}

/// log w_0 of both chains.
#[inline(always)]
pub(super) fn currents<S: Falloff, V: Vector, const K: usize>(pair: &Pair) -> [f64; 2] {
    let [first, second] = pair.records();
    [log_density_with::<S, V, K>(first.residual()), log_density_with::<S, V, K>(second.residual())]
}

/// One SOMA move of both chains on `size` places, by the maximal coupling: where each takes its
/// offer. `currents` are the log w_0 of both.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn soma<S: Falloff, V: Vector, const K: usize>(
    pair: &Pair,
    currents: [f64; 2],
    size: usize,
    place: impl Fn(usize) -> usize + Copy,
    offer: &Offer<'_>,
    weights: &mut [Vec<f64>; 2],
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Taken; 2] {
    let mut totals = [0.0; 2];
    let mut tops = [0.0; 2];
    let both = pair.records();
    for side in 0..2 {
        (totals[side], tops[side]) =
            weigh::<S, V, K>(both[side], size, place, offer.statistics[side], &mut weights[side]);
    }
    *evaluations += 2 * size as u64;
    let slices = [weights[0].as_slice(), weights[1].as_slice()];
    let slots = maximal_slots(slices, totals, |slot| pair.is_matched(place(slot)), rng);
    let u: f64 = rng.random();
    let mut taken = [None; 2];
    for side in 0..2 {
        let weight = weights[side][slots[side]];
        // Beyond exp(600) an offer is refused all the same.
        let excess = exp((currents[side] - tops[side]).min(600.0)) - weight;
        if excess <= 0.0 || u * (totals[side] + excess) < totals[side] {
            let at = place(slots[side]);
            let old = both[side].statistic_known::<K>(at);
            let residual = both[side].residual();
            let weight = log_weight_with::<S, V, K>(residual, old, offer.statistics[side]);
            taken[side] = Some((at, weight));
        }
    }
    taken
}

/// The weights of an offer at the first `size` places, relative to the largest of them. Returns
/// their sum, and the logarithm of the largest.
#[inline(always)]
pub(super) fn weigh<S: Falloff, V: Vector, const K: usize>(
    records: &Records,
    size: usize,
    place: impl Fn(usize) -> usize,
    statistic: &[f64],
    weights: &mut Vec<f64>,
) -> (f64, f64) {
    let residual = records.residual();
    weights.resize(size, 0.0);
    let mut top = f64::NEG_INFINITY;
    for (slot, weight) in weights.iter_mut().enumerate() {
        let old = records.statistic_known::<K>(place(slot));
        *weight = log_weight_with::<S, V, K>(residual, old, statistic);
        top = if *weight > top { *weight } else { top };
    }
    for weight in weights.iter_mut() {
        *weight = exp(*weight - top);
    }
    // Four sums side by side need not wait for each other.
    let mut sums = [0.0; 4];
    let fours = weights.chunks_exact(4);
    let rest: f64 = fours.remainder().iter().sum();
    for four in fours {
        for (sum, weight) in sums.iter_mut().zip(four) {
            *sum += weight;
        }
    }
    ((sums[0] + sums[1]) + (sums[2] + sums[3]) + rest, top)
}

/// One independent Metropolis step of both chains at the same place, with the same uniform.
/// `currents` are the log w_0 of both.
#[inline(always)]
pub(super) fn metropolis<S: Falloff, V: Vector, const K: usize>(
    pair: &Pair,
    currents: [f64; 2],
    place: usize,
    offer: &Offer<'_>,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Taken; 2] {
    *evaluations += 2;
    let u: f64 = rng.random();
    let both = pair.records();
    let mut taken = [None; 2];
    for side in 0..2 {
        let old = both[side].statistic_known::<K>(place);
        let residual = both[side].residual();
        let offered = log_weight_with::<S, V, K>(residual, old, offer.statistics[side]);
        if outlasts(currents[side] - offered, u) {
            taken[side] = Some((place, offered));
        }
    }
    taken
}
