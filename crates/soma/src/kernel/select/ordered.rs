//! Places drawn by way of sums along the line, for a single statistic under Laplace noise.

use rand::RngExt;

use super::accept::{Selected, Threshold, by_weighing_all, most_trials};
use super::cells::members::Members;
use super::envelope::Envelope;
use super::{Selector, Turn};
use crate::numeric::accept::accepts_exp_neg;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::prefix::blocked::BlockedPrefix;
use crate::simd::vector::Vector;

/// How wide a bucket is at least, in noise units.
const WIDTH: f64 = 0.4;
/// How many buckets there are at most.
const MOST_BUCKETS: usize = 128;
/// So many buckets on either side are beyond the statistics as the sweep finds them.
const MARGIN: usize = 2;
/// BlockedPrefix of statistics that are wider apart than this, in noise units, might overflow.
pub(crate) const MOST_RANGE: f64 = 300.0;

/// Statistics t in buckets of equal width, from left to right.
///
/// A proposal's weights are exp(-|t - p|) for a point p: exp(-p) exp(t) on its left, and
/// exp(p) exp(-t) on its right. So the masses of the buckets (their members times a bound of their
/// weights, from the edge that is nearest to p) need p only by two factors, and are summed up from
/// the left and from the right whatever p is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    low: f64,
    high: f64,
    width: f64,
    members: Members,
    /// The buckets of the records as the sweep begins.
    entries: Vec<u16>,
    /// exp((j + 1) width).
    rise: Vec<f64>,
    /// Members times exp(right edge - low), from the left.
    from_left: BlockedPrefix,
    /// Members times exp(high - left edge), from the right.
    from_right: BlockedPrefix,
    /// Whether a member may be beyond the outer edges.
    beyond: bool,
}

impl Order {
    #[inline(always)]
    fn fit<V: Vector, const K: usize>(&mut self, records: &Records, envelope: &mut Envelope) {
        envelope.fit::<V, K>(records);
        let (low, range) = (envelope.low()[0], envelope.width());
        let inner = ((range / WIDTH).ceil() as usize).clamp(1, MOST_BUCKETS - 2 * MARGIN);
        let buckets = inner + 2 * MARGIN;
        self.width = (range / inner as f64).max(1e-3 * WIDTH);
        self.low = low - MARGIN as f64 * self.width;
        self.high = self.low + buckets as f64 * self.width;
        self.rise.clear();
        self.rise.extend((1..=buckets).map(|j| exp(j as f64 * self.width)));
        self.beyond = false;
        let row = |place| records.statistic_known::<1>(place);
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        entries.extend((0..records.n()).map(|place| self.bucket(row(place)[0]) as u16));
        self.entries = entries;
        self.members.sort::<1>(buckets, &self.entries, 1, row);
        self.from_left.resize(buckets);
        self.from_right.resize(buckets);
        (0..buckets).for_each(|j| self.weigh(j));
        self.from_left.total_up(0);
        self.from_right.total_up(0);
    }

    /// The bucket that a number is in; the outer ones have no end.
    #[inline(always)]
    fn bucket(&self, t: f64) -> usize {
        (((t - self.low) / self.width).max(0.0) as usize).min(self.rise.len() - 1)
    }

    /// Brings the masses of bucket j up to date.
    #[inline(always)]
    fn weigh(&mut self, j: usize) {
        let (count, opposite) = (self.members.len(j) as f64, self.rise.len() - 1 - j);
        self.from_left.set(j, count * self.rise[j]);
        self.from_right.set(opposite, count * self.rise[opposite]);
    }

    /// Every record is in its bucket, and the masses are those of the members.
    #[cfg(test)]
    pub(crate) fn check(&self, records: &Records) {
        let mut places = Vec::new();
        for j in 0..self.members.groups() {
            for slot in 0..self.members.len(j) {
                let (place, row) = (self.members.place(j, slot), self.members.row::<1>(j, slot));
                assert_eq!((row, self.bucket(row[0])), (records.statistic(place), j));
                places.push(place);
            }
            let before: f64 =
                (0..j).map(|i| self.members.len(i) as f64 * self.rise[i]).sum::<f64>();
            assert!((self.from_left.before(j) - before).abs() <= 1e-12 * before);
        }
        places.sort_unstable();
        assert_eq!(places, (0..records.n()).collect::<Vec<_>>());
    }

    /// How far bucket j is from the point p, which is in bucket `centre`.
    #[inline(always)]
    fn distance(&self, j: usize, centre: usize, p: f64) -> f64 {
        let edge = |j: usize| self.low + j as f64 * self.width;
        let (left, right) = (edge(j) - p, p - edge(j + 1));
        if j == centre { 0.0 } else { left.max(right) }
    }
}

/// Draws a bucket with probability proportional to its mass, a member of it uniformly, and keeps
/// it with probability w_i / bound: then the place kept has probability w_i / W. The number of
/// trials has mean mass / W, at most the factor by which weights differ in a bucket.
pub(crate) struct OrderedSelector<'a> {
    order: &'a mut Order,
    /// The cost that no record can fall below.
    least: f64,
    /// The bucket of the point that weights fall from.
    centre: usize,
    /// The masses of all buckets together.
    total: f64,
}

/// The masses to the left of, in and to the right of the bucket of p, in units of the weight at p.
struct Sides {
    p: f64,
    factors: [f64; 2],
    masses: [f64; 3],
}

impl<'a> OrderedSelector<'a> {
    #[inline(always)]
    pub(crate) fn begin<V: Vector, const K: usize>(
        order: &'a mut Order,
        records: &Records,
        envelope: &mut Envelope,
    ) -> Self {
        order.fit::<V, K>(records, envelope);
        OrderedSelector { order, least: 0.0, centre: 0, total: 0.0 }
    }

    /// Looks at the point from which the weights of the proposal fall. If it is beyond all
    /// statistics it is moved to the nearest, all weights changing by the same factor.
    #[inline(always)]
    fn look(&mut self, envelope: &Envelope) -> Sides {
        let wanted = -envelope.apart()[0];
        let p = wanted.max(envelope.low()[0]).min(envelope.high()[0]);
        self.least = (wanted - p).abs();
        let order = &*self.order;
        let centre = order.bucket(p);
        let factors = [exp((order.low - p).min(0.0)), exp((p - order.high).min(0.0))];
        let masses = [
            factors[0] * order.from_left.before(centre),
            order.members.len(centre) as f64,
            factors[1] * order.from_right.before(order.rise.len() - 1 - centre),
        ];
        self.centre = centre;
        self.total = masses[0] + masses[1] + masses[2];
        Sides { p, factors, masses }
    }

    /// Draws a bucket. Rounding may lead to one without members, or to the wrong side, though
    /// hardly ever: then there is none.
    #[inline(always)]
    fn draw(&self, sides: &Sides, uniform: f64) -> Option<usize> {
        let Sides { factors, masses, .. } = sides;
        let left = uniform * self.total;
        let (bucket, right_side) = if left < masses[0] {
            let bucket = self.order.from_left.at(left / factors[0]).0;
            (bucket, bucket < self.centre)
        } else if left < masses[0] + masses[1] {
            (self.centre, true)
        } else {
            let left = (left - masses[0] - masses[1]) / factors[1];
            let opposite = self.order.from_right.at(left).0;
            let bucket = (self.order.rise.len() - 1).checked_sub(opposite)?;
            (bucket, bucket > self.centre)
        };
        (right_side && self.order.members.len(bucket) > 0).then_some(bucket)
    }

    /// The statistics of all, from the centre to the right, and then the others.
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        let members = &self.order.members;
        members.all(self.centre).map(|(bucket, slot)| members.row::<1>(bucket, slot))
    }
}

impl Selector for OrderedSelector<'_> {
    #[inline(always)]
    fn defers(&self) -> bool {
        true
    }

    #[inline(always)]
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        proposal: &[f64],
        envelope: &mut Envelope,
        at: Turn<'_>,
    ) -> Selected {
        let Turn { records, evaluations, rng, .. } = at;
        envelope.propose::<V, K>(records.residual(), proposal);
        let sides = self.look(envelope);
        for _ in 0..most_trials(records.n()) {
            let Some(cell) = self.draw(&sides, rng.random()) else { continue };
            let members = &self.order.members;
            let slot = rng.random_range(0..members.len(cell) as u32) as usize;
            let cost = envelope.cost::<S, V, K>(members.row::<1>(cell, slot));
            *evaluations += 1;
            let loss = cost - self.least - self.order.distance(cell, self.centre, sides.p);
            if accepts_exp_neg(loss, rng) {
                return Selected { place: members.place(cell, slot), cost, cell, slot };
            }
        }
        let (index, cost) = by_weighing_all::<S, K>(envelope, self.rows(), evaluations, rng);
        let members = &self.order.members;
        let (cell, slot) = members.all(self.centre).nth(index).expect("one of the rows");
        Selected { place: members.place(cell, slot), cost, cell, slot }
    }

    #[inline(always)]
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        envelope: &Envelope,
        at: Turn<'_>,
    ) -> bool {
        let Turn { current, records, evaluations, rng } = at;
        if choice.cost <= current {
            return true;
        }
        let threshold = Threshold::draw(current, rng).for_place(choice.cost);
        let unit = threshold.weight(self.least);
        // In a bucket no weight falls below the bound by more than its width. A little is taken
        // off for rounding.
        let at_least = (1.0 - 1e-9) / self.order.rise[0] * self.total;
        if !self.order.beyond && threshold.is_met_by(unit * at_least) {
            return true;
        }
        if !threshold.is_met_by(unit * self.total * (1.0 + 1e-9)) {
            return false;
        }
        threshold.is_met_by_sum::<S, V, K>(envelope, records.n(), self.rows(), unit, evaluations)
    }

    #[inline(always)]
    fn old<const K: usize>(&self, choice: &Selected) -> Option<&[f64]> {
        Some(self.order.members.row::<1>(choice.cell, choice.slot))
    }

    #[inline(always)]
    fn replaced<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        _: usize,
        new: &[f64],
        envelope: &mut Envelope,
        _: &mut Rng,
    ) {
        envelope.widen::<V, K>(new);
        let order = &mut *self.order;
        let (from, to) = (choice.cell, order.bucket(new[0]));
        order.beyond |= new[0] < order.low || new[0] > order.high;
        let place = order.members.swap_remove::<1>(from, choice.slot);
        order.members.push::<1>(to, place, new);
        order.weigh(from);
        order.weigh(to);
        order.from_left.total_up(from.min(to));
        order.from_right.total_up(order.rise.len() - 1 - from.max(to));
    }
}
