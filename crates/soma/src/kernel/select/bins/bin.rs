//! One bin: the factors of the weights as functions of its number of members.

use crate::numeric::exp::exp;
use crate::release::potential::Evaluate;

/// Exponents are truncated here: weights are only compared.
pub(crate) const MOST: f64 = 600.0;
/// Weights with exponents up to this can be multiplied and summed directly.
pub(crate) const MILD: f64 = 150.0;

/// The factors of the weights of the records of one bin.
///
/// Let g(c) be the factor of the weight if one of c members leaves the bin. Arriving at c members
/// is the inverse of leaving c + 1, with factor 1 / g(c + 1). The cost is convex, so g is
/// increasing in c.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bin {
    /// The number of members.
    pub(crate) count: i64,
    /// g of `count - 1`, `count` and `count + 1` members.
    factors: [f64; 3],
    /// The changes of the mass, `count` g(`count`), when a member leaves and when one arrives.
    pub(crate) loses: f64,
    pub(crate) gains: f64,
    /// The released value, and the contribution of one record to it, in noise units.
    pub(crate) target: f64,
    pub(crate) unit: f64,
    /// The residual is `offset + (full - count) unit`, with 0 <= offset < unit.
    offset: f64,
    full: i64,
    /// If the cost is piecewise linear: g of `full - 2` members, ..., `full + 4`. It is constant
    /// below and above.
    linear: [f64; 7],
}

impl Bin {
    /// The bin of records in no bin: leaving and arriving have factor 1.
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

    /// An empty bin with released value `target` and contribution `unit` of a record, in noise
    /// units.
    pub(crate) fn new(target: f64, unit: f64) -> Self {
        let full = (target / unit).floor();
        let offset = target - full * unit;
        let [down, between, up] = [-unit, unit - 2.0 * offset, unit].map(bounded_exp);
        let linear = [down, down, down, between, up, up, up];
        Bin { target, unit, offset, full: full as i64, linear, ..Bin::OUTSIDE }
    }

    /// Updates the factors for the number of members. Returns whether weights can be multiplied.
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

    /// The number of members times the factor of leaving.
    #[inline(always)]
    pub(crate) fn mass(&self) -> f64 {
        self.count as f64 * self.factors[1]
    }

    /// The factor of leaving.
    #[inline(always)]
    pub(crate) fn leaving(&self) -> f64 {
        self.factors[1]
    }

    /// One over the factor of arriving.
    #[inline(always)]
    pub(crate) fn undone(&self) -> f64 {
        self.factors[2]
    }

    /// The logarithms of the factors of leaving and arriving.
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
