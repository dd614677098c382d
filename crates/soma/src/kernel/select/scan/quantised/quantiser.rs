//! Statistics quantised to 16-bit steps.

use std::ops::Range;

use crate::numeric::most;
use crate::records::Records;
use crate::simd::cost::{L1, known};
use crate::simd::vector::{LANES, Vector};

/// The step: 1/256 of a factor 2 of the weight, so that costs in steps are the bits of a float with
/// 8 bits of mantissa.
pub(crate) const STEP: f64 = std::f64::consts::LN_2 / 256.0;
/// Limits of the distance from the origin, in steps, of one coordinate and of all together: within
/// them no 16-bit integer overflows.
const FARTHEST: [f64; 2] = [16_000.0, 28_000.0];
/// Quantisation range: 1.5 times the largest deviation of all records, or of a sample of 64.
const MARGIN: f64 = 1.5;
const SOME: usize = 64;
/// Records transposed at a time.
const TOGETHER: usize = 8;

/// The origin and the range of quantised statistics.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quantiser {
    /// A central origin, and the largest distance from it; padded with zeros.
    origin: Vec<f64>,
    reach: Vec<f64>,
    /// Whether a 16-bit integer may have overflowed: then costs in steps are invalid.
    is_wide: bool,
    /// A statistic before it is written to the columns.
    entry: Vec<i16>,
}

impl Quantiser {
    /// Whether a 16-bit integer may have overflowed.
    #[inline(always)]
    pub(crate) fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// Sets the origin to the means of `records`, with an empty range.
    pub(crate) fn centre(&mut self, records: &Records) {
        let k = records.k();
        let padded = k.next_multiple_of(4);
        self.origin.clear();
        self.origin.extend((0..k).map(|c| records.mean(c)));
        self.origin.resize(padded, 0.0);
        self.reach.clear();
        self.reach.resize(padded, 0.0);
        self.entry.resize(padded, 0);
    }

    /// Extends the range by a sample of the records.
    #[inline(always)]
    pub(crate) fn probe<V: Vector, const K: usize>(&mut self, records: &Records) {
        let (n, k) = (records.n(), if K == 0 { records.k() } else { K });
        let some = SOME.min(n);
        let mut c = 0;
        while c < k {
            let origin = V::load(&self.origin[c..]);
            let mut far = V::load(&[0.0; 4]);
            for j in 0..some {
                let row = records.statistic_known::<K>(j * n / some);
                far = V::max(V::cost::<L1>(V::sub(V::load_some(&row[c..]), origin)), far);
            }
            V::store(&mut self.reach[c..], far);
            c += 4;
        }
        self.allow();
    }

    /// Extends the range by the factor [`MARGIN`].
    pub(crate) fn allow(&mut self) {
        self.reach.iter_mut().for_each(|reach| *reach *= MARGIN);
        self.measure();
    }

    /// Checks whether the range is too wide for 16 bits.
    fn measure(&mut self) {
        let farthest = self.reach.iter().copied().fold(0.0, most);
        let all: f64 = self.reach.iter().sum();
        self.is_wide = farthest > FARTHEST[0] * STEP || all > FARTHEST[1] * STEP;
    }

    /// Extends the range by a statistic.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, statistic: &[f64]) {
        for ((reach, t), origin) in self.reach.iter_mut().zip(statistic).zip(&self.origin) {
            *reach = most(*reach, (t - origin).abs());
        }
        self.measure();
    }

    /// Writes the statistics of the records in `places` to columns, and extends the range if
    /// necessary. The last record is repeated up to a multiple of eight.
    #[inline(always)]
    pub(crate) fn lay_out<V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        places: Range<usize>,
        columns: &mut [i16],
    ) {
        let k = if K == 0 { records.k() } else { K };
        let padded = k.next_multiple_of(4);
        let (origin, reach) = (&self.origin[..padded], &mut self.reach[..padded]);
        let (mut c, mut beyond) = (0, 0);
        while c < k {
            let from = V::load(&origin[c..]);
            let mut far = V::load(&[0.0; 4]);
            let mut first = 0;
            while first < places.len() {
                let mut values = [from; TOGETHER];
                for (j, value) in values.iter_mut().enumerate() {
                    let place = (places.start + first + j).min(places.end - 1);
                    let row = records.statistic_known::<K>(place);
                    let t = V::sub(V::load_some(&row[c..]), from);
                    far = V::max(V::cost::<L1>(t), far);
                    *value = V::mul(t, V::load(&[1.0 / STEP; 4]));
                }
                let at = first / LANES * LANES * k + c * LANES + first % LANES;
                V::turn_steps(&mut columns[at..], (k - c).min(4), values);
                first += TOGETHER;
            }
            let before = V::load(&reach[c..]);
            beyond |= V::below(before, far);
            V::store(&mut reach[c..], V::max(far, before));
            c += 4;
        }
        if beyond != 0 {
            self.measure();
        }
    }

    /// A statistic in steps; extends the range if necessary.
    #[inline(always)]
    pub(crate) fn enter<V: Vector, const K: usize>(&mut self, statistic: &[f64]) -> &[i16] {
        let statistic = known::<K>(statistic);
        let padded = statistic.len().next_multiple_of(4);
        let (origin, reach) = (&self.origin[..padded], &self.reach[..padded]);
        let entry = &mut self.entry[..padded];
        let (mut c, mut beyond) = (0, 0);
        while c < statistic.len() {
            let t = V::sub(V::load_some(&statistic[c..]), V::load(&origin[c..]));
            beyond |= V::below(V::load(&reach[c..]), V::cost::<L1>(t));
            V::steps(&mut entry[c..], V::mul(t, V::load(&[1.0 / STEP; 4])));
            c += 4;
        }
        if beyond != 0 {
            self.widen(statistic);
        }
        &self.entry[..statistic.len()]
    }

    /// Sets the proposal: `apart` is the residual minus its statistic, and `aim` the same plus the
    /// origin, clamped to the range, in steps. Returns the cost common to all records because the
    /// released value is out of range.
    #[inline(always)]
    pub(crate) fn aim<V: Vector, const K: usize>(
        &self,
        residual: &[f64],
        proposal: &[f64],
        apart: &mut [f64],
        aim: &mut [i16],
    ) -> f64 {
        let residual = known::<K>(residual);
        let k = residual.len();
        let (proposal, padded) = (&proposal[..k], k.next_multiple_of(4));
        let (origin, reach) = (&self.origin[..padded], &self.reach[..padded]);
        let (apart, aim) = (&mut apart[..padded], &mut aim[..padded]);
        let zero = V::load(&[0.0; 4]);
        let (mut paid, mut c) = (zero, 0);
        while c < k {
            let away = V::sub(V::load_some(&residual[c..]), V::load_some(&proposal[c..]));
            V::store(&mut apart[c..], away);
            let all = V::add(away, V::load(&origin[c..]));
            let far = V::load(&reach[c..]);
            let inside = V::max(V::min(all, far), V::sub(zero, far));
            paid = V::add(paid, V::cost::<L1>(V::sub(all, inside)));
            V::steps(&mut aim[c..], V::mul(inside, V::load(&[1.0 / STEP; 4])));
            c += 4;
        }
        V::total(paid)
    }
}
