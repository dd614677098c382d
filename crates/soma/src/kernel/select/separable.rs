//! Selection under the bounds of any separable potential, for potentials without a fast path.

use rand::RngExt;

use super::accept::most_trials;
use super::cells::members::Members;
use super::cells::partition::Partition;
use super::cells::tree::Tree;
use super::scan::columns::draw_by_cost;
use crate::error::Outcome;
use crate::kernel::Counts;
use crate::kernel::soma_scan::soma_move;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::records::proposals::Batches;
use crate::release::potential::Potential;
use crate::rng::Rng;

/// Records per cell, and the largest number of cells. A cell costs about as much as two weights.
const PER_CELL: usize = 8;
const MOST_CELLS: usize = 64;
/// If the acceptance rate under one box is about this or more, cells gain nothing.
const LOOSE: f64 = 0.6;

/// Cells of similar records, each with its bounding box. For a proposal the box of cell c gives
/// bounds l_c and u_c of the costs of its members, summed over coordinates. A cell is drawn with
/// probability proportional to (its members) exp(-l_c), a member uniformly, and it is accepted with
/// probability exp(l_c - its cost). So place i is selected with probability w_i / W. W lies between
/// the sums of (members) exp(-u_c) and (members) exp(-l_c), which nearly always decide the
/// acceptance test; otherwise all weights are summed.
///
/// A move costs about two weights per cell and a few more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Separable {
    tree: Tree,
    members: Members,
    /// The boxes, cell by cell: lower edges, then upper edges.
    edges: Vec<f64>,
    entries: Vec<u16>,
    /// The residual minus the statistic of the proposal.
    apart: Vec<f64>,
    /// Lower and upper bounds of the costs of each cell.
    bounds: Vec<(f64, f64)>,
    masses: Vec<f64>,
    weights: Vec<f64>,
}

/// A member of a cell, and the cost of the proposal in its place.
struct Drawn {
    cell: usize,
    slot: usize,
    cost: f64,
}

impl Separable {
    /// SOMA moves under bounds.
    pub(crate) fn make_moves(
        &mut self,
        potential: &Potential,
        records: &mut Records,
        mut batches: Batches,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        self.begin(records);
        let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
        let mut current = potential.cost(records.residual());
        while let Some(places) = batches.next(rng)? {
            for j in 0..places.len() {
                let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
                let Some(unit) = self.bound(potential, records, t) else { continue };
                let drawn = self.draw(potential, records, &mut counts.evaluations, rng);
                let costs = (drawn.cost, current);
                if !self.accepts(potential, records, unit, costs, &mut counts.evaluations, rng) {
                    continue;
                }
                let place = self.members.swap_remove::<0>(drawn.cell, drawn.slot);
                self.add(place, t);
                records.replace(place as usize, y, t);
                current = drawn.cost;
                counts.accepted += 1;
            }
        }
        Ok(counts)
    }

    /// SOMA moves by computing all weights, for a potential without bounds.
    pub(crate) fn weigh_all(
        &mut self,
        potential: &Potential,
        records: &mut Records,
        mut batches: Batches,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let n = records.n();
        let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
        while let Some(places) = batches.next(rng)? {
            for j in 0..places.len() {
                let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
                counts.evaluations += n as u64;
                if let Some(i) = soma_move(potential, records, 0..n, t, &mut self.weights, rng) {
                    records.replace(i, y, t);
                    counts.accepted += 1;
                }
            }
        }
        Ok(counts)
    }

    /// Sorts the records into cells. The cells depend on the records alone, so a resumed chain is
    /// unchanged.
    fn begin(&mut self, records: &Records) {
        let (n, k) = (records.n(), records.k());
        let (whole, parts) = Partition::grow(records, 1);
        let looked_at: usize = parts.iter().map(|part| part.count).sum();
        let trials = parts.iter().map(|part| part.trials()).sum::<f64>() / looked_at as f64;
        let is_narrow = trials * LOOSE < 1.0;
        let cells = (n / PER_CELL).clamp(1, MOST_CELLS);
        let partition = if is_narrow { whole } else { Partition::grow(records, cells).0 };
        self.tree.fit(&partition, k);
        self.entries.clear();
        self.edges.clear();
        for _ in 0..partition.cells() {
            self.edges.extend(std::iter::repeat_n(f64::INFINITY, k));
            self.edges.extend(std::iter::repeat_n(f64::NEG_INFINITY, k));
        }
        for place in 0..n {
            let row = records.statistic(place);
            let cell = self.tree.cell_of::<0>(row);
            self.entries.push(cell as u16);
            self.widen(cell, row);
        }
        self.members.sort::<0>(partition.cells(), &self.entries, 0, |_| &[]);
        self.masses.resize(partition.cells(), 0.0);
        self.bounds.resize(partition.cells(), (0.0, 0.0));
    }

    fn widen(&mut self, cell: usize, row: &[f64]) {
        let k = row.len();
        let (low, high) = self.edges[2 * cell * k..][..2 * k].split_at_mut(k);
        for c in 0..k {
            (low[c], high[c]) = (low[c].min(row[c]), high[c].max(row[c]));
        }
    }

    fn add(&mut self, place: u32, row: &[f64]) {
        let cell = self.tree.cell_of::<0>(row);
        self.widen(cell, row);
        self.members.push::<0>(cell, place, &[]);
    }

    /// Bounds the costs of all cells for a proposal. Returns the smallest bound, which is the unit
    /// of the masses; `None` if the density is zero at every place.
    fn bound(&mut self, potential: &Potential, records: &Records, new: &[f64]) -> Option<f64> {
        let k = new.len();
        self.apart.clear();
        self.apart.extend(records.residual().iter().zip(new).map(|(r, t)| r - t));
        let mut unit = f64::INFINITY;
        for (cell, edges) in self.edges.chunks_exact(2 * k).enumerate() {
            let (mut least, mut most) = (0.0, 0.0);
            if self.members.len(cell) > 0 {
                for (c, &apart) in self.apart.iter().enumerate() {
                    let Some(coordinate) = potential.coordinate(c) else { continue };
                    let (below, above) = coordinate.bounds(apart + edges[c], apart + edges[k + c]);
                    (least, most) = (least + below, most + above);
                }
                // A margin for rounding: costs are summed in another order elsewhere.
                let off = 1e-12 * f64::abs(most);
                (least, most) = (least - off, most + off);
                unit = unit.min(least);
            }
            self.bounds[cell] = (least, most);
        }
        for (cell, (least, _)) in self.bounds.iter().enumerate() {
            let count = self.members.len(cell);
            let mass = count as f64 * exp(unit - least);
            self.masses[cell] = if count > 0 { mass } else { 0.0 };
        }
        unit.is_finite().then_some(unit)
    }

    /// The cost if the proposal replaces a record.
    fn cost(&self, potential: &Potential, records: &Records, place: usize) -> f64 {
        potential.cost_apart(&self.apart, records.statistic(place))
    }

    /// Selects a place with probability w_i / W.
    fn draw(
        &self,
        potential: &Potential,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Drawn {
        let total: f64 = self.masses.iter().sum();
        for _ in 0..most_trials(records.n()) {
            let mut left = rng.random::<f64>() * total;
            let mut cell = 0;
            for (c, &mass) in self.masses.iter().enumerate() {
                cell = if mass > 0.0 { c } else { cell };
                left -= mass;
                if left < 0.0 {
                    break;
                }
            }
            let slot = rng.random_range(0..self.members.len(cell));
            let cost = self.cost(potential, records, self.members.place(cell, slot));
            *evaluations += 1;
            if rng.random::<f64>() < exp(self.bounds[cell].0 - cost) {
                return Drawn { cell, slot, cost };
            }
        }
        // Trials are independent, so stopping after a fixed number does not change the
        // distribution.
        *evaluations += records.n() as u64;
        let all: Vec<(usize, usize)> = self.members.all(0).collect();
        let costs: Vec<f64> = all
            .iter()
            .map(|&(cell, slot)| self.cost(potential, records, self.members.place(cell, slot)))
            .collect();
        let (index, cost) = draw_by_cost(&costs, rng);
        Drawn { cell: all[index].0, slot: all[index].1, cost }
    }

    /// The acceptance test at the selected place, with probability min(1, W / (W + w_0 - w_i)).
    fn accepts(
        &self,
        potential: &Potential,
        records: &Records,
        unit: f64,
        (cost, current): (f64, f64),
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        if cost <= current {
            return true;
        }
        let uniform: f64 = rng.random();
        // Relative to the smallest cost, so that nothing overflows. If w_0 underflows, as it may
        // under loose bounds far from the release, the bounds do not decide.
        let lightest = unit.min(current);
        let is_met = |lightest: f64, total: f64| {
            let short = exp(lightest - current) - exp(lightest - cost);
            total * (1.0 - uniform) >= short * uniform
        };
        if exp(lightest - current) > 0.0 {
            let sum = |bound: fn(&(f64, f64)) -> f64| -> f64 {
                let weight = |(cell, bounds): (usize, &(f64, f64))| {
                    self.members.len(cell) as f64 * exp((lightest - bound(bounds)).min(0.0))
                };
                self.bounds.iter().enumerate().map(weight).sum()
            };
            if is_met(lightest, sum(|bounds| bounds.1)) {
                return true;
            }
            if !is_met(lightest, sum(|bounds| bounds.0)) {
                return false;
            }
        }
        *evaluations += records.n() as u64;
        let costs: Vec<f64> =
            (0..records.n()).map(|place| self.cost(potential, records, place)).collect();
        let lightest = costs.iter().copied().fold(current, f64::min);
        is_met(lightest, costs.iter().map(|cost| exp(lightest - cost)).sum())
    }

    /// Counts the places selected for a proposal in `draws` draws, with the records fixed, and the
    /// rejections, last; also returns the number of weights computed.
    #[cfg(test)]
    pub(crate) fn frozen(
        &mut self,
        potential: &Potential,
        records: &Records,
        statistic: &[f64],
        draws: usize,
        rng: &mut Rng,
    ) -> (Vec<u64>, u64) {
        self.begin(records);
        let current = potential.cost(records.residual());
        let (mut taken, mut evaluations) = (vec![0; records.n() + 1], 0);
        let unit = self.bound(potential, records, statistic).unwrap();
        for _ in 0..draws {
            let drawn = self.draw(potential, records, &mut evaluations, rng);
            let costs = (drawn.cost, current);
            let place = self.members.place(drawn.cell, drawn.slot);
            let is_taken = self.accepts(potential, records, unit, costs, &mut evaluations, rng);
            taken[if is_taken { place } else { records.n() }] += 1;
        }
        (taken, evaluations)
    }
}
