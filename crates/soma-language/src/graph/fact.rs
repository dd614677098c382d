//! Facts: an interval for a node, valid for all inputs, and whether it is an integer.

use super::op::{Binary, Op, Unary};
use crate::special::Special;

/// An interval that contains every value, and whether every value is an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fact {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether values are whole numbers.
    pub integer: bool,
}

impl Fact {
    /// Nothing is known.
    pub const ANY: Fact = Fact { low: f64::NEG_INFINITY, high: f64::INFINITY, integer: false };
    /// True or false.
    pub const INDICATOR: Fact = Fact { low: 0.0, high: 1.0, integer: true };

    /// Values between `low` and `high`.
    pub fn between(low: f64, high: f64) -> Self {
        Fact { low, high, integer: false }
    }

    /// The one value.
    pub fn constant(value: f64) -> Self {
        if value.is_nan() {
            return Fact::ANY;
        }
        Fact { low: value, high: value, integer: value.is_finite() && value == value.floor() }
    }

    /// Whether values are 0 or 1.
    pub fn is_indicator(self) -> bool {
        self.integer && self.low >= 0.0 && self.high <= 1.0
    }

    /// The interval in words.
    pub fn range(self) -> String {
        // Not -0.
        let (low, high) = (self.low + 0.0, self.high + 0.0);
        match (low.is_finite(), high.is_finite()) {
            (false, false) => "any number".to_string(),
            (true, false) => format!("any number from {low} up"),
            (false, true) => format!("any number up to {high}"),
            (true, true) => format!("between {low} and {high}"),
        }
    }

    /// Whether both ends are finite.
    pub fn is_bounded(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    fn map(self, increasing: impl Fn(f64) -> f64) -> Fact {
        hull([increasing(self.low), increasing(self.high)], false)
    }

    /// Whether there is one value only.
    pub(crate) fn is_point(self) -> bool {
        self.low == self.high
    }

    /// Whether there is no number among the values.
    pub(crate) fn is_undefined(self) -> bool {
        self.low.is_nan()
    }

    /// Whether there is no value at all.
    pub(crate) fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub(super) fn holds_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// Whether values are different from 0, if that is the same for all.
    pub(super) fn truth(self) -> Option<bool> {
        match (self.holds_zero(), self.is_point()) {
            (false, _) => Some(true),
            (true, true) => Some(false),
            (true, false) => None,
        }
    }

    /// What is in both intervals.
    pub(crate) fn intersection(self, other: Fact) -> Fact {
        let integer = self.integer || other.integer;
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        if integer {
            return Fact { low: low.ceil(), high: high.floor(), integer };
        }
        Fact { low, high, integer }
    }

    /// An interval that contains both.
    pub(crate) fn union(self, other: Fact) -> Fact {
        Fact {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            integer: self.integer && other.integer,
        }
    }
}

/// The interval of the values; everything if one is NaN.
fn hull<const N: usize>(values: [f64; N], integer: bool) -> Fact {
    if values.iter().any(|value| value.is_nan()) {
        return Fact { integer, ..Fact::ANY };
    }
    Fact {
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        integer,
    }
}

/// Widens bounds computed by a function that need not be monotone in its last digits. Sums,
/// products, quotients and roots are correctly rounded, and so monotone: the values of a program
/// stay between the bounds computed in the same way.
fn outward(fact: Fact) -> Fact {
    let ulps = |x: f64| if x.is_finite() { 4.0 * f64::EPSILON * x.abs() } else { 0.0 };
    Fact { low: fact.low - ulps(fact.low), high: fact.high + ulps(fact.high), ..fact }
}

/// Widens the bounds of a sum of `args` that may have been rounded once less than these.
pub(super) fn widened(fact: Fact, args: &[Fact]) -> Fact {
    let sizes = args.iter().chain([&fact]).flat_map(|fact| [fact.low.abs(), fact.high.abs()]);
    let largest = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
    let slack = 4.0 * f64::EPSILON * largest;
    Fact { low: fact.low - slack, high: fact.high + slack, ..fact }
}

/// The fact of a square.
pub(super) fn square(a: Fact) -> Fact {
    let ends = [a.low * a.low, a.high * a.high];
    let low = if a.low <= 0.0 && a.high >= 0.0 { 0.0 } else { ends[0].min(ends[1]) };
    Fact { low, high: ends[0].max(ends[1]), integer: a.integer }
}

/// The fact of a cube. Unless it is `plain`, its factors are multiplied in another order, with
/// constants moved out, so that its values may exceed the cubes of the bounds by a few units in the
/// last place.
pub(super) fn cube(a: Fact, plain: bool) -> Fact {
    let [low, high] = [a.low, a.high].map(|end| end * end * end);
    let fact = Fact { low, high, integer: a.integer };
    if plain { fact } else { outward(fact) }
}

/// The fact of `op` given the facts of its arguments.
pub(super) fn fact_of(op: Op, args: &[Fact]) -> Fact {
    match op {
        Op::Constant(bits) => Fact::constant(f64::from_bits(bits)),
        Op::Unary(unary) => unary_fact(unary, args[0]),
        Op::Binary(binary) => binary_fact(binary, args[0], args[1]),
        Op::Select => args[1].union(args[2]),
        Op::Special(special) => special_fact(special, args),
        Op::Count => Fact { low: 0.0, high: f64::INFINITY, integer: true },
        Op::Input(..) | Op::Draw(..) | Op::Sum => Fact::ANY,
    }
}

fn unary_fact(op: Unary, a: Fact) -> Fact {
    let positive = Fact::between(0.0, f64::INFINITY);
    match op {
        Unary::Neg => Fact { low: -a.high, high: -a.low, integer: a.integer },
        Unary::Exp => Fact { low: a.low.exp().max(0.0), ..outward(a.map(f64::exp)) },
        Unary::Log => outward(Fact { low: a.low.max(0.0), ..a }.map(f64::ln)),
        Unary::Sqrt if a.low < 0.0 => Fact::ANY,
        Unary::Sqrt => Fact { low: a.low.max(0.0), ..a }.map(f64::sqrt),
        Unary::Abs => {
            let high = a.low.abs().max(a.high.abs());
            let low =
                if a.low <= 0.0 && a.high >= 0.0 { 0.0 } else { a.low.abs().min(a.high.abs()) };
            Fact { low, high, integer: a.integer }
        }
        Unary::Floor => Fact { integer: true, ..a.map(f64::floor) },
        Unary::Log1p => outward(Fact { low: a.low.max(-1.0), ..a }.map(f64::ln_1p)),
        Unary::Expm1 => Fact { low: a.low.exp_m1().max(-1.0), ..outward(a.map(f64::exp_m1)) },
        Unary::Tanh => clip(outward(a.map(f64::tanh)), -1.0, 1.0),
        Unary::Logistic => clip(outward(a.map(|x| 1.0 / (1.0 + (-x).exp()))), 0.0, 1.0),
        Unary::Softplus => positive,
        Unary::NormalCdf => clip(outward(a.map(crate::special::normal_cdf)), 0.0, 1.0),
        Unary::NormalLogCdf => Fact::between(f64::NEG_INFINITY, 0.0),
        Unary::Sin | Unary::Cos => Fact::between(-1.0, 1.0),
        Unary::LogGamma | Unary::Digamma | Unary::NormalQuantile => Fact::ANY,
        Unary::Trigamma => positive,
    }
}

fn clip(fact: Fact, low: f64, high: f64) -> Fact {
    Fact { low: fact.low.clamp(low, high), high: fact.high.clamp(low, high), ..fact }
}

/// 0 times infinity is 0 at the end of an interval.
fn end_product(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

fn binary_fact(op: Binary, a: Fact, b: Fact) -> Fact {
    let integer = a.integer && b.integer;
    match op {
        Binary::Add => sum(a, b, integer),
        Binary::Sub => sum(a, unary_fact(Unary::Neg, b), integer),
        Binary::Mul => {
            let ends = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
            hull(ends.map(|(x, y)| end_product(x, y)), integer)
        }
        Binary::Div => {
            if b.low < 0.0 && b.high > 0.0 || b.low == 0.0 && b.high == 0.0 {
                return Fact::ANY;
            }
            let reciprocal = |x: f64, at_zero: f64| if x == 0.0 { at_zero } else { 1.0 / x };
            let inverse = Fact {
                low: reciprocal(b.high, f64::NEG_INFINITY),
                high: reciprocal(b.low, f64::INFINITY),
                integer: false,
            };
            let exact = b.low == b.high;
            let fact = binary_fact(Binary::Mul, Fact { integer: false, ..a }, inverse);
            if exact && a.is_bounded() {
                hull([a.low / b.low, a.high / b.low], false)
            } else {
                outward(fact)
            }
        }
        Binary::Pow => power_fact(a, b),
        Binary::Min => Fact { low: a.low.min(b.low), high: a.high.min(b.high), integer },
        Binary::Max => Fact { low: a.low.max(b.low), high: a.high.max(b.high), integer },
        Binary::Lt if a.high < b.low => Fact::constant(1.0),
        Binary::Lt if a.low >= b.high => Fact::constant(0.0),
        Binary::Le if a.high <= b.low => Fact::constant(1.0),
        Binary::Le if a.low > b.high => Fact::constant(0.0),
        Binary::Lt | Binary::Le | Binary::Eq => Fact::INDICATOR,
    }
}

fn sum(a: Fact, b: Fact, integer: bool) -> Fact {
    let low = a.low + b.low;
    let high = a.high + b.high;
    Fact {
        low: if low.is_nan() { f64::NEG_INFINITY } else { low },
        high: if high.is_nan() { f64::INFINITY } else { high },
        integer,
    }
}

fn power_fact(a: Fact, b: Fact) -> Fact {
    let whole = b.low == b.high && b.integer && b.low >= 0.0;
    if a.low >= 0.0 {
        let ends = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
        let fact = outward(hull(ends.map(|(x, y)| x.powf(y)), a.integer && whole));
        let crosses_one = a.low < 1.0 && a.high > 1.0;
        let fact = if crosses_one {
            fact.union(Fact { integer: fact.integer, ..Fact::constant(1.0) })
        } else {
            fact
        };
        return Fact { low: fact.low.max(0.0), ..fact };
    }
    if !whole {
        return Fact::ANY;
    }
    let ends = hull([a.low.powf(b.low), a.high.powf(b.low)], a.integer);
    let even = b.low % 2.0 == 0.0;
    let fact = if even && a.high >= 0.0 { Fact { low: 0.0, ..ends } } else { ends };
    let fact = if fact.integer { fact } else { outward(fact) };
    if even { Fact { low: fact.low.max(0.0), ..fact } } else { fact }
}

fn special_fact(special: Special, args: &[Fact]) -> Fact {
    use Special::*;
    match special {
        GammaQuantile | HalfNormalQuantile => Fact::between(0.0, f64::INFINITY),
        BetaQuantile | GammaCdf | BetaCdf | StudentCdf | PoissonCdf | BinomialCdf
        | NegativeBinomialCdf | NegativeBinomialSf => Fact::between(0.0, 1.0),
        PoissonQuantile | NegativeBinomialQuantile => {
            Fact { low: 0.0, high: f64::INFINITY, integer: true }
        }
        BinomialQuantile => Fact { low: 0.0, high: args[0].high, integer: true },
        _ => Fact::ANY,
    }
}
