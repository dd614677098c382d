//! Statistics in single precision, and the error of costs computed from them.

use crate::numeric::most;
use crate::records::Records;
use crate::simd::cost::{Cost, L1, known, sum_over};
use crate::simd::vector::Vector;

/// Absolute rounding error of a small cost, rounded up.
const ROUNDING: f64 = 4e-5;

/// Statistics in single precision relative to a central origin; the range is their largest distance
/// from it.
///
/// If the released value is outside the range in a coordinate, the cost up to the nearest point of
/// the range is the same for all records. This constant is left out, so that costs are small enough
/// for single precision wherever the chain starts.
#[derive(Debug, Clone, Default)]
pub(crate) struct SinglePrecision {
    origin: Vec<f64>,
    reach: Vec<f64>,
    /// Released value minus sum minus the statistic of the proposal.
    pub(crate) apart: Vec<f64>,
    /// The same plus the origin, clamped to the range, and the excess; padded with zeros.
    pub(crate) within: Vec<f32>,
    pub(crate) beyond: Vec<f32>,
    /// The error bound of the costs.
    pub(crate) slack: f64,
}

impl SinglePrecision {
    /// Sets the origin to the means of `records`, with an empty range.
    #[inline(always)]
    pub(crate) fn begin<const K: usize>(&mut self, records: &Records) {
        let k = if K == 0 { records.k() } else { K };
        self.origin.clear();
        self.origin.extend((0..k).map(|c| records.mean(c)));
        self.reach.clear();
        self.reach.resize(k, 0.0);
        self.apart.resize(k, 0.0);
        for padded in [&mut self.within, &mut self.beyond] {
            padded.clear();
            padded.resize(k.next_multiple_of(8), 0.0);
        }
    }

    /// Rounds a statistic, and extends the range to include it.
    #[inline(always)]
    pub(crate) fn round<V: Vector, const K: usize>(&mut self, statistic: &[f64], to: &mut [f32]) {
        let statistic = known::<K>(statistic);
        let k = statistic.len();
        let (origin, reach, to) = (&self.origin[..k], &mut self.reach[..k], &mut to[..k]);
        let mut c = 0;
        while c + 4 <= k {
            let t = V::sub(V::load(&statistic[c..]), V::load(&origin[c..]));
            let far = V::max(V::cost::<L1>(t), V::load(&reach[c..]));
            V::store(&mut reach[c..], far);
            V::narrow(&mut to[c..], t);
            c += 4;
        }
        while c < k {
            let t = statistic[c] - origin[c];
            reach[c] = most(t.abs(), reach[c]);
            to[c] = t as f32;
            c += 1;
        }
    }

    /// Sets the proposal. Returns the cost common to all records because the released value is out
    /// of range.
    #[inline(always)]
    pub(crate) fn aim<S: Cost, V: Vector, const K: usize>(
        &mut self,
        residual: &[f64],
        proposal: &[f64],
    ) -> f64 {
        let k = if K == 0 { self.apart.len() } else { K };
        let (residual, proposal) = (&residual[..k], &proposal[..k]);
        let (origin, reach, apart) = (&self.origin[..k], &self.reach[..k], &mut self.apart[..k]);
        let padded = k.next_multiple_of(8);
        let (within, beyond) = (&mut self.within[..padded], &mut self.beyond[..padded]);
        let zero = V::load(&[0.0; 4]);
        let (mut paid, mut c) = (zero, 0);
        // Stores of eight: a load that spans several stores defeats store forwarding.
        while c < k {
            let (mut inside, mut outside) = ([zero; 2], [zero; 2]);
            for h in 0..2 {
                let at = c + 4 * h;
                if at < k {
                    let away = V::sub(V::load_some(&residual[at..]), V::load_some(&proposal[at..]));
                    V::store_some(&mut apart[at..], away);
                    let all = V::add(away, V::load_some(&origin[at..]));
                    let far = V::load_some(&reach[at..]);
                    inside[h] = V::max(V::min(all, far), V::sub(zero, far));
                    outside[h] = V::sub(all, inside[h]);
                    paid = V::add(paid, V::cost::<S>(outside[h]));
                }
            }
            V::narrow_both(&mut within[c..], inside);
            if S::IS_CURVED {
                V::narrow_both(&mut beyond[c..], outside);
            }
            c += 8;
        }
        let paid = V::total(paid);
        let size = if S::IS_CURVED {
            (0..k).map(|c| reach[c] * (reach[c] + f64::from(beyond[c].abs()))).sum()
        } else {
            sum_over!(V, k, c => V::load(&reach[c..]), reach[c])
        };
        // Statistics, `within` and distances each have a rounding error of at most 2^-24 of twice
        // the range; each sum and product one of 2^-24 of the result.
        self.slack = ROUNDING + size * (k as f64 + 8.0) / f64::from(1 << 21);
        paid
    }
}
