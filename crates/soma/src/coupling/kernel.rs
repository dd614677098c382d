//! Coupled versions of the kernels.

use pulp::Arch;

use super::pair::Pair;
use super::proposals::CoupledProposals;
use super::select::by_bounds::{Bounded, Bounds};
use super::select::by_cells::{AllByCells, CellDarts};
use super::select::by_darts::Darts;
use super::select::by_scan::{Among, Weighed, Weights};
use super::select::one_place::OnePlace;
use super::select::places::{Move, Places, currents, place, taken};
use crate::error::{Invalid, Outcome};
use crate::interrupt;
use crate::kernel::{Counts, Coupling, KernelChoice, Soma, Strategy, Subset};
use crate::release::potential::{Evaluate, Norm, Potential};
use crate::rng::Rng;
use crate::simd::cost::{Cost, L1, L2};
use crate::simd::specialise::{Work, specialised_little};
use crate::simd::vector::{Portable, Vector};

/// How the places that SOMA selects in the two chains are coupled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The maximal coupling, from all weights of both chains: the reference.
    Maximal,
    /// Nearly maximal couplings, at about twice the cost of the plain kernel: on bounds of all
    /// weights where the plain kernel scans all records, and otherwise on the weights of eight
    /// places at a time.
    Near,
}

impl Choice {
    /// The default for `n` records: maximal up to 16, where it costs no more.
    pub fn usual(n: usize) -> Self {
        if n <= 16 { Choice::Maximal } else { Choice::Near }
    }

    /// The name, as printed.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Maximal => "maximal",
            Choice::Near => "near-maximal",
        }
    }
}

/// If uniform rejection takes more than `FLAT` + n / `PER` trials per place, the weights vary too
/// much for a few of them to represent all, and the chains disagree too often. Then the bounds of
/// all weights are scanned instead, up to `SCANNED` records. Chosen by the run time to the meeting.
const FLAT: f64 = 1.2;
const PER: f64 = 100.0;
const SCANNED: usize = 256;

/// Up to this number, records in bins are weighed in full; beyond it, rejection under one bound.
const FEW: usize = 1_000;

/// A kernel that moves two chains jointly.
///
/// The chains share the proposal (the same if their thetas are equal, and otherwise a maximal
/// coupling of the two distributions), the selection of the place, and the acceptance uniform.
/// Marginally each chain moves by the plain kernel, up to the labels of the records: if both accept
/// the same proposal at different places, the second chain is relabelled so that the proposal has
/// the same place in both. This requires a kernel that is symmetric in the places: SOMA, SOMA on a
/// random subset, Ran-IMwG; SOMA on blocks is symmetric within a block. In Sys-IMwG the place is
/// always the same.
#[derive(Debug, Clone)]
pub struct CoupledKernel {
    coupling: Coupling,
    soma: Choice,
    aligns: bool,
    shares: bool,
    next: usize,
    order: Vec<usize>,
    /// Determines the strategy that the plain kernel would use in the first chain.
    plain: Soma,
    weights: Weights,
    bounds: Bounds,
    darts: Darts,
    cell_darts: CellDarts,
}

impl CoupledKernel {
    /// The coupled kernel for pairs of `n` records.
    pub fn new(choice: KernelChoice, n: usize) -> Result<Self, Invalid> {
        Ok(CoupledKernel {
            coupling: choice.build(n)?.coupling(),
            soma: Choice::usual(n),
            aligns: true,
            shares: false,
            next: 0,
            order: (0..n).collect(),
            plain: Soma::new(),
            weights: Weights::default(),
            bounds: Bounds::default(),
            darts: Darts::default(),
            cell_darts: CellDarts::default(),
        })
    }

    /// Sets how the places of SOMA are coupled.
    pub fn with_choice(mut self, soma: Choice) -> Self {
        self.soma = soma;
        self
    }

    /// Sets the selection strategy of the plain kernel.
    #[cfg(test)]
    pub(super) fn with_strategy(mut self, strategy: Strategy) -> Self {
        (self.soma, self.plain) = (Choice::Near, Soma::with_strategy(strategy));
        self
    }

    /// Sets whether the second chain is relabelled before each sweep, which pairs records with
    /// similar statistics. With alignment chains meet sooner; the paper's couplings do not use it.
    pub fn with_alignment(mut self, aligns: bool) -> Self {
        self.aligns = aligns;
        self
    }

    /// Sets whether proposals that differ share those parts whose distribution does not depend on
    /// theta, such as the predictors of a regression. Without sharing chains meet sooner; the
    /// paper's couplings seem to share.
    pub fn with_shared_parts(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// The name of the coupling of the places, as printed.
    pub fn places(&self) -> &'static str {
        match self.coupling {
            Coupling::AllPlaces => self.soma.name(),
            Coupling::Subset { .. } => Choice::Maximal.name(),
            Coupling::Blocks { .. } => Choice::Near.name(),
            Coupling::OnePlace { .. } => "same",
        }
    }

    /// Whether proposals that differ share parts.
    pub(super) fn shares(&self) -> bool {
        self.shares
    }

    /// n moves of both chains. Counts the moves and weights of both.
    pub(super) fn sweep(
        &mut self,
        pair: &mut Pair,
        proposals: &mut CoupledProposals<'_>,
        potential: &Potential,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        if self.aligns && self.treats_places_alike() {
            pair.align();
        }
        pair.first.refresh();
        pair.second.refresh();
        let k = pair.first.k();
        let sweep = Sweep { kernel: self, pair, proposals, rng };
        match potential.norm() {
            Some(Norm::L1) => specialised_little::<_, L1>(sweep, k, Arch::new()),
            Some(Norm::L2) => specialised_little::<_, L2>(sweep, k, Arch::new()),
            None => sweep.run_plain(potential),
        }
    }

    /// Whether the kernel is symmetric in the places.
    fn treats_places_alike(&self) -> bool {
        match self.coupling {
            Coupling::AllPlaces => true,
            Coupling::Subset { subset, .. } => subset == Subset::Random,
            Coupling::Blocks { .. } => false,
            Coupling::OnePlace { at_random } => at_random,
        }
    }
}

struct Sweep<'a, 'o> {
    kernel: &'a mut CoupledKernel,
    pair: &'a mut Pair,
    proposals: &'a mut CoupledProposals<'o>,
    rng: &'a mut Rng,
}

impl Sweep<'_, '_> {
    /// The sweep for a potential that is neither L1 nor L2: by the maximal coupling of all weights.
    fn run_plain(self, potential: &Potential) -> Outcome<Counts> {
        let Sweep { kernel, pair, proposals, rng } = self;
        let CoupledKernel { coupling, weights, next, order, .. } = kernel;
        match *coupling {
            Coupling::OnePlace { at_random } => {
                let place = OnePlace::of(at_random);
                make_moves::<_, Portable, 0, _>(potential, place, pair, proposals, rng)
            }
            Coupling::Subset { size, subset } => {
                let among = Among::Subset { size, subset, next, order };
                let part = Weighed { among, weights };
                make_moves::<_, Portable, 0, _>(potential, part, pair, proposals, rng)
            }
            Coupling::Blocks { size } => {
                let block = Weighed { among: Among::Block { size }, weights };
                make_moves::<_, Portable, 0, _>(potential, block, pair, proposals, rng)
            }
            Coupling::AllPlaces => {
                let all = Weighed { among: Among::All, weights };
                make_moves::<_, Portable, 0, _>(potential, all, pair, proposals, rng)
            }
        }
    }
}

impl Work for Sweep<'_, '_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Cost, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let Sweep { kernel, pair, proposals, rng } = self;
        let potential = &S::default();
        let n = pair.n();
        let CoupledKernel {
            coupling,
            soma,
            plain,
            weights,
            bounds,
            darts,
            cell_darts,
            next,
            order,
            ..
        } = kernel;
        match *coupling {
            Coupling::OnePlace { at_random } => {
                let place = OnePlace::of(at_random);
                make_moves::<S, V, K, _>(potential, place, pair, proposals, rng)
            }
            Coupling::Subset { size, subset } => {
                let among = Among::Subset { size, subset, next, order };
                let part = Weighed { among, weights };
                make_moves::<S, V, K, _>(potential, part, pair, proposals, rng)
            }
            Coupling::Blocks { size } => {
                let places = Bounded { size: Some(size), bounds };
                make_moves::<S, V, K, _>(potential, places, pair, proposals, rng)
            }
            Coupling::AllPlaces => {
                if *soma == Choice::Maximal {
                    let all = Weighed { among: Among::All, weights };
                    return make_moves::<S, V, K, _>(potential, all, pair, proposals, rng);
                }
                let strategy = match plain.choose::<S, V, K>(&pair.first) {
                    Strategy::Uniform
                        if n <= SCANNED && plain.usual_trials() > FLAT + n as f64 / PER =>
                    {
                        Strategy::Scan
                    }
                    Strategy::Bins if n > FEW => Strategy::Uniform,
                    strategy => strategy,
                };
                match strategy {
                    Strategy::Uniform => {
                        darts.begin::<V, K>(pair);
                        make_moves::<S, V, K, _>(potential, darts, pair, proposals, rng)
                    }
                    Strategy::Scan => {
                        let places = Bounded { size: None, bounds };
                        make_moves::<S, V, K, _>(potential, places, pair, proposals, rng)
                    }
                    Strategy::Cells(_) => {
                        let places =
                            AllByCells::begin::<S, V, K>(cell_darts, plain.partition(), pair);
                        make_moves::<S, V, K, _>(potential, places, pair, proposals, rng)
                    }
                    Strategy::Bins | Strategy::Boxes | Strategy::Weights => {
                        let all = Weighed { among: Among::All, weights };
                        make_moves::<S, V, K, _>(potential, all, pair, proposals, rng)
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn make_moves<P: Evaluate, V: Vector, const K: usize, T: Places<P>>(
    potential: &P,
    mut places: T,
    pair: &mut Pair,
    proposals: &mut CoupledProposals<'_>,
    rng: &mut Rng,
) -> Outcome<Counts> {
    let n = pair.n();
    let relabels = places.relabels();
    let mut counts = Counts { moves: 2 * n as u64, ..Counts::default() };
    let mut currents = currents::<P, V, K>(potential, pair);
    let mut done = 0;
    while done < n {
        interrupt::check()?;
        let size = proposals.draw(n - done, rng)?;
        places.prepare::<V, K>(pair, proposals, size);
        for j in 0..size {
            let proposal = proposals.proposal(j);
            let at = Move { potential, pair, currents, turn: done + j, proposal };
            let taken = taken::<P, V, K>(&mut places, &at, &mut counts.evaluations, rng);
            for side in 0..2 {
                if let Some((_, cost)) = taken[side] {
                    currents[side] = cost;
                    counts.accepted += 1;
                }
            }
            pair.put::<V, K>(&proposal, taken.map(place), relabels);
            places.moved::<V, K>(pair, taken, &proposal);
        }
        done += size;
    }
    Ok(counts)
}
