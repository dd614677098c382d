//! One bin: what its number of members makes of the weights.

use crate::numeric::exp::exp;
use crate::release::potential::Evaluate;

/// Exponents are cut here: weights are only compared.
pub(crate) const MOST: f64 = 600.0;
/// Weights with exponents up to this can be multiplied and summed as they are.
pub(crate) const MILD: f64 = 150.0;

/// What the weights of the records of one bin are made of.
///
/// Let g(c) be what leaving the bin makes of a weight where there are c members. Arriving at c
/// members undoes the leaving of c + 1, and so makes 1 / g(c + 1) of it. The cost is convex, so
/// that g grows with c.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bin {
    /// How many records there are.
    pub(crate) count: i64,
    /// g of one member less, of as many as there are, and of one more.
    factors: [f64; 3],
    /// By how much the mass, `count` g(`count`), changes when a member leaves, and when one comes.
    pub(crate) loses: f64,
    pub(crate) gains: f64,
    /// What was released, and what a record has of it, in noise units.
    pub(crate) target: f64,
    pub(crate) unit: f64,
    /// The residual is `offset + (full - count) unit`, with 0 <= offset < unit.
    offset: f64,
    full: i64,
    /// Where the cost is linear on either side of zero: g of `full - 2` members, and so on up to
    /// `full + 4`. It is the same for all below, and for all above.
    linear: [f64; 7],
}

impl Bin {
    /// The bin of the records that are in none: they weigh the same whoever leaves or arrives.
    pub(crate) const OUTSIDE: Bin = Bin {
        count: 0,
        factors: [1.0; 3],
        loses: -1.0,
        gains: 1.0,
        target: 0.0,
        unit: 0.0,
        offset: 0.0,
        full: 0,
        linear: [1.0; 7],
    };

    /// An empty bin for which `target` was released, in noise units, of which a record has `unit`.
    pub(crate) fn new(target: f64, unit: f64) -> Self {
        let full = (target / unit).floor();
        let offset = target - full * unit;
        let [down, between, up] = [-unit, unit - 2.0 * offset, unit].map(bounded_exp);
        let linear = [down, down, down, between, up, up, up];
        Bin { target, unit, offset, full: full as i64, linear, ..Bin::OUTSIDE }
    }

    /// Brings all up to date with the number of members. Returns whether weights may be multiplied.
    #[inline(always)]
    pub(crate) fn weigh<P: Evaluate>(&mut self, b: usize, potential: &P) -> bool {
        let mut is_mild = true;
        if !P::IS_L1 {
            for (members, factor) in self.factors.iter_mut().enumerate() {
                let count = self.count + members as i64 - 1;
                let r = self.offset + (self.full - count) as f64 * self.unit;
                let cost = |r| potential.coordinate_cost(b, r);
                let log = cost(r) - cost(r + self.unit);
                *factor = bounded_exp(log);
                is_mild &= log.abs() < MILD;
            }
        } else {
            let first = (self.count - self.full + 1).clamp(0, 4) as usize;
            self.factors.copy_from_slice(&self.linear[first..first + 3]);
        }
        let (count, mass) = (self.count as f64, self.mass());
        self.loses = (count - 1.0) * self.factors[0] - mass;
        self.gains = (count + 1.0) * self.factors[2] - mass;
        is_mild
    }

    /// All members, each with what leaving makes of its weight.
    #[inline(always)]
    pub(crate) fn mass(&self) -> f64 {
        self.count as f64 * self.factors[1]
    }

    /// What leaving makes of a weight.
    #[inline(always)]
    pub(crate) fn leaving(&self) -> f64 {
        self.factors[1]
    }

    /// One over what arriving makes of a weight.
    #[inline(always)]
    pub(crate) fn undone(&self) -> f64 {
        self.factors[2]
    }

    /// The logarithms of what leaving and arriving make of a weight.
    pub(crate) fn logs(&self, b: usize, potential: &impl Evaluate) -> [f64; 2] {
        let r = self.offset + (self.full - self.count) as f64 * self.unit;
        let cost = |r| potential.coordinate_cost(b, r);
        [cost(r) - cost(r + self.unit), cost(r) - cost(r - self.unit)]
    }
}

#[inline(always)]
fn bounded_exp(log: f64) -> f64 {
    exp(log.clamp(-MOST, MOST))
}
