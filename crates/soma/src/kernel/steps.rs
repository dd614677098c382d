//! A SOMA move by a scan in whole numbers: a bound of every weight, and few weights in full.

use std::hint::select_unpredictable;
use std::ops::Range;

use rand::{Rng as _, RngExt};

use super::Records;
use super::columns::{Scanned, draw_by_cost, is_enough, least, most};
use super::exp::{LOOSE, exp, exp_above};
use super::shape::{Absolute, Falloff, cost_with, known};
use super::vector::{LANES, Portable, STEPS_OF_ONE, Stepping, Vector};
use crate::rng::Rng;

/// A step is 1/256 of a factor 2 of the weight: costs in steps are the bits of a float, with 8 bits
/// of mantissa.
const STEP: f64 = std::f64::consts::LN_2 / 256.0;
/// Statistics of one coordinate are no farther from the origin than this, and those of all no
/// farther together than that, in steps, so that no whole number comes to its end.
const FARTHEST: [f64; 2] = [16_000.0, 28_000.0];
/// The reach is so many times what it has to be for some records, of which there are so many, so
/// that hardly any is beyond it.
const MARGIN: f64 = 1.5;
const SOME: usize = 64;
/// The mass of w_0, as a power of 2, if that suits.
const STANDING: f64 = 14.0;
/// The most that a mass may be, as a power of 2, where there are up to 128 records.
const TOP: u32 = 24;
/// The sum of the masses is at least so many times what rounding up adds to it.
const FEWEST: u32 = 64;
/// The largest exponent that is used: weights are only compared, so that more is no more.
const MOST: f64 = 600.0;
/// After so many trials all records are weighed in full. Trials are independent of each other, so
/// that the law does not change if they are given up after a number that is fixed beforehand.
const TRIALS: usize = 64;

/// The statistics of consecutive records in whole steps, those of one coordinate side by side, for
/// noise whose cost is the distance.
///
/// The mass of a record is a bound of its weight, in parts of which w_0 has about 2^14. It is
/// computed from costs that are too small by no more than one step for each coordinate, with
/// 2^i (1 + f) >= 2^(i + f) for the exponential, and rounded up. A point is drawn uniformly on the
/// line on which all masses stand side by side; the record that it falls to is kept if the point is
/// no farther into its mass than its weight, in full precision: then the record kept has
/// probability w_i / W. Sums of whole numbers are exact. It takes about 1.07 trials.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    places: Range<usize>,
    /// Statistics are counted from an origin amid them, of which none is farther than the reach;
    /// zeros follow.
    origin: Vec<f64>,
    reach: Vec<f64>,
    /// Whether a whole number may have come to its end: then masses mean nothing.
    is_wide: bool,
    columns: Vec<i16>,
    /// Zeros, and what no record can cost where there is none.
    none: Vec<u16>,
    /// A statistic on its way into the columns.
    entry: Vec<i16>,
    /// Released minus sum minus the statistic of the offer.
    apart: Vec<f64>,
    /// The same plus the origin, brought within reach, in steps.
    aim: Vec<i16>,
    /// Eight zeros, and then rows of eight masses, each with those above it; what follows makes the
    /// number of LANES a power of 2.
    sums: Vec<u32>,
    /// Where each of the eight columns of sums begins, one standing after the other, and where the
    /// last one ends.
    starts: [u32; 9],
    /// The cost of which the weight is one part.
    unit: f64,
    /// By how many steps the lightest record may be below that, and the least sum of the masses.
    room: f64,
    fewest: u32,
}

impl Steps {
    /// Begins a sweep of `records`; returns whether it can well be made in whole steps.
    #[inline(always)]
    pub(super) fn suit<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
    ) -> bool {
        if !S::BENDS {
            self.begin::<V, K>(records);
        }
        !S::BENDS && !self.is_wide
    }

    /// Takes the means of `records` as the origin, and some of them within reach.
    #[inline(always)]
    fn begin<V: Vector, const K: usize>(&mut self, records: &Records) {
        let (n, k) = (records.n(), if K == 0 { records.k() } else { K });
        let padded = k.next_multiple_of(4);
        self.origin.clear();
        self.origin.extend((0..k).map(|c| records.mean(c)));
        for numbers in [&mut self.origin, &mut self.reach, &mut self.apart] {
            numbers.resize(padded, 0.0);
        }
        self.entry.resize(padded, 0);
        self.aim.resize(padded, 0);
        let some = SOME.min(n);
        let mut c = 0;
        while c < k {
            let origin = V::load(&self.origin[c..]);
            let mut far = V::load(&[0.0; 4]);
            for j in 0..some {
                let row = records.statistic_known::<K>(j * n / some);
                far = V::max(V::cost::<Absolute>(V::sub(V::load_some(&row[c..]), origin)), far);
            }
            V::store(&mut self.reach[c..], V::mul(far, V::load(&[MARGIN; 4])));
            c += 4;
        }
        self.measure();
    }

    /// Sees whether statistics are too far apart.
    fn measure(&mut self) {
        let farthest = self.reach.iter().copied().fold(0.0, most);
        let all: f64 = self.reach.iter().sum();
        self.is_wide = farthest > FARTHEST[0] * STEP || all > FARTHEST[1] * STEP;
    }

    /// Makes an entry of a statistic; returns whether it is out of reach.
    #[inline(always)]
    fn enter<V: Vector, const K: usize>(&mut self, statistic: &[f64]) -> bool {
        let statistic = known::<K>(statistic);
        let padded = statistic.len().next_multiple_of(4);
        let (origin, reach) = (&self.origin[..padded], &self.reach[..padded]);
        let entry = &mut self.entry[..padded];
        let (mut c, mut beyond) = (0, 0);
        while c < statistic.len() {
            let t = V::sub(V::load_some(&statistic[c..]), V::load(&origin[c..]));
            beyond |= V::below(V::load(&reach[c..]), V::cost::<Absolute>(t));
            V::steps(&mut entry[c..], V::mul(t, V::load(&[1.0 / STEP; 4])));
            c += 4;
        }
        beyond != 0
    }

    /// Takes a statistic within reach.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, statistic: &[f64]) {
        for ((reach, t), origin) in self.reach.iter_mut().zip(statistic).zip(&self.origin) {
            *reach = most(*reach, (t - origin).abs());
        }
        self.measure();
    }

    /// Takes an offer; returns what all pay alike for the release being out of reach.
    #[inline(always)]
    fn aim<V: Vector, const K: usize>(&mut self, residual: &[f64], offer: &[f64]) -> f64 {
        let residual = known::<K>(residual);
        let k = residual.len();
        let (offer, padded) = (&offer[..k], k.next_multiple_of(4));
        let (origin, reach) = (&self.origin[..padded], &self.reach[..padded]);
        let (apart, aim) = (&mut self.apart[..padded], &mut self.aim[..padded]);
        let zero = V::load(&[0.0; 4]);
        let (mut paid, mut c) = (zero, 0);
        while c < k {
            let away = V::sub(V::load_some(&residual[c..]), V::load_some(&offer[c..]));
            V::store(&mut apart[c..], away);
            let all = V::add(away, V::load(&origin[c..]));
            let far = V::load(&reach[c..]);
            let inside = V::max(V::min(all, far), V::sub(zero, far));
            paid = V::add(paid, V::cost::<Absolute>(V::sub(all, inside)));
            V::steps(&mut aim[c..], V::mul(inside, V::load(&[1.0 / STEP; 4])));
            c += 4;
        }
        V::total(paid)
    }

    /// Computes all masses for an offer.
    #[inline(always)]
    fn weigh<V: Vector, const K: usize>(&mut self, residual: &[f64], offer: &[f64], current: f64) {
        let paid = self.aim::<V, K>(residual, offer);
        let ones = (current - paid) * (1.0 / STEP) + (STEPS_OF_ONE + 256.0 * STANDING);
        let mut ones = least(most(ones, 0.0), 65_535.0);
        // Twice, with the heaviest record as heavy as it may be, where masses relative to w_0
        // overflow or vanish.
        for _ in 0..2 {
            let most = f64::from(self.fill::<V, K>(paid, ones as u16)) + self.room;
            if ones <= most && self.starts[8] >= self.fewest {
                break;
            }
            ones = least(most, 65_535.0);
        }
    }

    /// Computes the masses, that of a cost of `ones` steps beyond what is paid being about 1;
    /// returns the least cost, in steps.
    #[inline(always)]
    fn fill<V: Vector, const K: usize>(&mut self, paid: f64, ones: u16) -> u16 {
        let k = if K == 0 { self.columns.len() / self.none.len() } else { K };
        let (ends, lightest) = V::weigh_steps::<K>(Stepping {
            columns: &self.columns,
            none: &self.none,
            aim: &self.aim,
            ones,
            sums: &mut self.sums[8..],
        });
        self.starts[1..].copy_from_slice(&ends);
        self.unit = paid + (f64::from(ones) - STEPS_OF_ONE - slack(k)) * STEP;
        lightest
    }

    /// The number of records.
    #[inline(always)]
    fn len(&self) -> usize {
        self.places.len()
    }

    /// The cost of the residual if record `i` is replaced.
    #[inline(always)]
    fn cost<S: Falloff, V: Vector, const K: usize>(&self, records: &Records, i: usize) -> f64 {
        let old = records.statistic_known::<K>(self.places.start + i);
        cost_with::<S, V, K>(&self.apart[..old.len()], old)
    }

    /// The weight of a cost, in parts.
    #[inline(always)]
    fn parts(&self, cost: f64) -> f64 {
        exp((self.unit - cost).min(MOST))
    }

    /// The record that a point on the line of all masses falls to, and how far into its mass that
    /// is. There may be no record.
    #[inline(always)]
    fn find(&self, point: u32) -> (usize, u32) {
        let column: usize =
            self.starts[1..8].iter().map(|&start| usize::from(start <= point)).sum();
        let left = point - self.starts[column & 7];
        let sums = &self.sums[8..];
        let (mut at, mut half) = (column & 7, sums.len() / 2);
        while half >= LANES {
            at += select_unpredictable(sums[at + half - 8] <= left, half, 0);
            half /= 2;
        }
        let row = usize::from(sums[at] <= left);
        // A row holds four records of each of two eights.
        let i = at - column + 8 * (column / 4) + 4 * row + column % 4;
        (i, left - self.sums[at + 8 * row])
    }

    /// A record drawn with probability w_i / W by weighing all in full.
    #[cold]
    #[inline(never)]
    fn select_in_full<S: Falloff, const K: usize>(
        &self,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64) {
        *evaluations += self.len() as u64;
        let cost = |i| self.cost::<S, Portable, K>(records, i);
        let costs: Vec<f64> = (0..self.len()).map(cost).collect();
        draw_by_cost(&costs, rng)
    }

    /// Whether the offer is put in the place of a record, where that is not plain.
    #[cold]
    #[inline(never)]
    fn is_taken<S: Falloff, const K: usize>(
        &self,
        uniform: f64,
        (cost, current): (f64, f64),
        within: [f64; 2],
        records: &Records,
        evaluations: &mut u64,
    ) -> bool {
        let within = if self.is_wide { [0.0, f64::INFINITY] } else { within };
        let short = self.parts(current) - self.parts(cost);
        cost <= current
            || is_enough(uniform, short, within, || {
                *evaluations += self.len() as u64;
                let cost = |i| self.cost::<S, Portable, K>(records, i);
                (0..self.len()).map(|i| self.parts(cost(i))).sum()
            })
    }
}

/// By how many steps a cost may be off in whole numbers: statistics and aims are rounded by half a
/// step each, and a little is added for the rounding of what they come from.
#[inline(always)]
fn slack(k: usize) -> f64 {
    k as f64 + 1.0
}

impl Scanned for Steps {
    #[inline(always)]
    fn load<V: Vector, const K: usize>(&mut self, records: &Records, places: Range<usize>) {
        let k = if K == 0 { records.k() } else { K };
        let padded = places.len().next_multiple_of(LANES);
        if self.none.len() != padded || self.columns.len() != padded * k {
            self.columns.resize(padded * k, 0);
            self.sums.clear();
            self.sums.resize(8, 0);
            self.sums.resize(8 + padded.next_power_of_two(), u32::MAX);
        }
        self.none.clear();
        self.none.resize(places.len(), 0);
        self.none.resize(padded, u16::MAX);
        let top = TOP.min(31 - padded.next_power_of_two().trailing_zeros());
        (self.room, self.fewest) = (STEPS_OF_ONE + f64::from(256 * top), FEWEST * padded as u32);
        for (i, place) in places.clone().enumerate() {
            let row = records.statistic_known::<K>(place);
            if self.enter::<V, K>(row) {
                self.widen(row);
            }
            let entry = &self.entry[..k];
            let columns = &mut self.columns[i / LANES * LANES * k..][..LANES * k];
            for (column, &t) in columns.chunks_exact_mut(LANES).zip(entry) {
                column[i % LANES] = t;
            }
        }
        self.places = places;
    }

    #[inline(always)]
    fn replace<V: Vector, const K: usize>(&mut self, i: usize, statistic: &[f64]) {
        let k = if K == 0 { statistic.len() } else { K };
        if self.enter::<V, K>(statistic) {
            self.widen(statistic);
        }
        let entry = &self.entry[..k];
        let columns = &mut self.columns[i / LANES * LANES * k..][..LANES * k];
        for (column, &t) in columns.chunks_exact_mut(LANES).zip(entry) {
            V::put_step(column, i % LANES, t);
        }
    }

    #[inline(always)]
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        offer: &[f64],
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64) {
        self.weigh::<V, K>(records.residual(), offer, current);
        if self.is_wide {
            return self.select_in_full::<S, K>(records, evaluations, rng);
        }
        for _ in 0..TRIALS {
            let product = u128::from(rng.next_u64()) * u128::from(self.starts[8]);
            let (i, into) = self.find((product >> 64) as u32);
            if i >= self.len() {
                continue;
            }
            let cost = self.cost::<S, V, K>(records, i);
            *evaluations += 1;
            let rest = (product as u64 >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            let (into, log) = (f64::from(into) + rest, (self.unit - cost).min(MOST));
            if into * LOOSE < exp_above(log) || into < exp(log) {
                return (i, cost);
            }
        }
        self.select_in_full::<S, K>(records, evaluations, rng)
    }

    #[inline(always)]
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &self,
        records: &Records,
        cost: f64,
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        let k = if K == 0 { records.k() } else { K };
        let uniform: f64 = rng.random();
        let most = f64::from(self.starts[8]);
        // Of what is left of a mass where it was not rounded up, so much is surely weight.
        let surely = (1.0 - 2.0 * slack(k) * STEP) / LOOSE;
        let least = (most - self.none.len() as f64) * surely;
        let standing = exp_above((self.unit - current).min(MOST));
        // What hardly ever fails comes first: a branch that goes either way is dear.
        if !self.is_wide && least * (1.0 - uniform) >= standing * uniform {
            return true;
        }
        let costs = (cost, current);
        self.is_taken::<S, K>(uniform, costs, [least, most], records, evaluations)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pulp::Arch;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::kernel::specialise::{Work, specialised};
    use crate::release::mechanism::{Mechanism, Noise, Shape};
    use crate::release::query::Mean;
    use crate::release::{Aggregate, Release};
    use crate::rng;

    /// n records of which the release is `far` noise scales away.
    fn problem(n: usize, k: usize, scale: f64, far: f64, rng: &mut Rng) -> Records {
        let rows = (0..n * k).map(|_| rng.sample::<f64, _>(StandardNormal)).collect();
        let query = Arc::new(Mean::new(vec![(-5.0, 5.0); k]).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![scale; k]).unwrap();
        let values = (0..k).map(|c| far * scale * (1.0 - 2.0 * (c % 2) as f64)).collect();
        let release = Release::new(query, mechanism, Aggregate::Sum, n, values).unwrap();
        Records::new(&release, rows).unwrap()
    }

    /// Offers are weighed, and put in places, one after the other.
    struct Weighed<'a>(Records, &'a mut Rng);

    impl Work for Weighed<'_> {
        /// How many offers could be weighed in steps.
        type Output = usize;

        #[inline(always)]
        fn run<S: Falloff, V: Vector, const K: usize>(self) -> usize {
            let Weighed(mut records, rng) = self;
            let (mut steps, mut weighed) = (Steps::default(), 0);
            steps.suit::<S, V, K>(&records);
            let (n, k) = (records.n(), records.k());
            steps.load::<V, K>(&records, 0..n);
            for i in 0..n.min(40) {
                let unit = records.unit(0);
                let offer: Vec<f64> =
                    (0..k).map(|_| unit * rng.sample::<f64, _>(StandardNormal)).collect();
                let current: f64 = records.residual().iter().map(|r| r.abs()).sum();
                steps.weigh::<V, K>(records.residual(), &offer, current);
                if !steps.is_wide {
                    check::<S>(&steps, &records, &offer);
                    weighed += 1;
                }
                records.replace(i, &vec![0.0; k], &offer);
                steps.replace::<V, K>(i, &offer);
            }
            weighed
        }
    }

    /// The masses stand above the weights, and not far; the line of all masses is complete.
    fn check<S: Falloff>(steps: &Steps, records: &Records, offer: &[f64]) {
        let k = records.k();
        let surely = (1.0 - 2.0 * slack(k) * STEP) / LOOSE;
        let mut total = steps.none.len() - records.n();
        for i in 0..records.n() {
            let (column, row) = (i % 16 / 8 * 4 + i % 4, i % 8 / 4);
            let at = i / LANES * LANES + row * 8 + column;
            let (start, mass) = (steps.sums[at], steps.sums[at + 8] - steps.sums[at]);
            total += mass as usize;
            let apart = records.residual().iter().zip(offer).map(|(r, y)| r - y);
            let cost: f64 =
                apart.zip(records.statistic(i)).map(|(apart, t)| S::cost(apart + t)).sum();
            let weight = steps.parts(cost);
            assert!(weight <= f64::from(mass), "{i}: mass {mass}, weight {weight}");
            assert!(f64::from(mass - 1) * surely <= weight, "{i}: mass {mass}, weight {weight}");
            for into in [0, mass / 2, mass - 1] {
                let point = steps.starts[column] + start + into;
                assert_eq!(steps.find(point), (i, into));
            }
        }
        assert_eq!(total, steps.starts[8] as usize);
        assert!(steps.starts[8] >= steps.fewest, "little is lost by rounding up");
    }

    #[test]
    fn masses_stand_above_the_weights() {
        let mut rng = rng::stream(15, 0);
        for n in [1, 7, 16, 17, 100, 700] {
            for k in [1, 2, 3, 4, 9, 13] {
                for (scale, far) in [(10.0, 0.1), (1.0, 3.0), (0.5, 0.0), (0.5, 1e4), (0.01, 0.0)] {
                    for arch in [Arch::new(), Arch::Scalar] {
                        let work = Weighed(problem(n, k, scale, far, &mut rng), &mut rng);
                        let weighed = specialised(work, Shape::Absolute, k, arch);
                        let is_wide = n > 1 && scale < 0.1;
                        if k <= 4 {
                            let all = if is_wide { 0 } else { n.min(40) };
                            assert_eq!(weighed, all, "n = {n}, k = {k}, scale {scale}");
                        }
                    }
                }
            }
        }
    }
}
