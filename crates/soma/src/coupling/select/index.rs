//! Maximal coupling of two categorical distributions.

use crate::simd::vector::{Portable, Vector};

/// Slots per vector step: masses are padded with zeros to a multiple of this.
pub(crate) const TOGETHER: usize = 8;

/// Two slots with probabilities w_i / W and v_j / V, coupled so that i = j with the largest
/// possible probability, sum_k min(w_k / W, v_k / V).
///
/// The residuals are sampled with one uniform, by inversion, with the open slots (unmatched places)
/// first. Then both selections are unmatched places with probability min(sum w / W, sum v / V) over
/// these, as required by the paper's lemma on the coupled distance.
pub(crate) struct Coupled<'a> {
    masses: [&'a [f64]; 2],
    scales: [f64; 2],
}

impl<'a> Coupled<'a> {
    /// The coupling of the distributions with these masses and totals.
    #[inline(always)]
    pub fn new(masses: [&'a [f64]; 2], totals: [f64; 2]) -> Self {
        Coupled { masses, scales: totals.map(|total| 1.0 / total) }
    }

    /// The two slots, as a function of `uniform`. `open` gives the order within the residuals:
    /// slots with 1 first, then those with 0.
    #[inline(always)]
    pub fn slots<V: Vector, O: AsRef<[f64]>>(
        &self,
        uniform: f64,
        open: impl FnOnce() -> O,
    ) -> [usize; 2] {
        match self.common::<V>(uniform) {
            Ok(slot) => [slot; 2],
            Err(rest) => self.apart::<V>(rest, open().as_ref()),
        }
    }

    /// The common slot, if `uniform` falls into the common part. Otherwise the remainder of the
    /// uniform.
    #[inline(always)]
    fn common<V: Vector>(&self, uniform: f64) -> Result<usize, f64> {
        let mut left = uniform;
        for chunk in 0..self.chunks() {
            let mut parts = [zero::<V>(); 2];
            for (half, part) in parts.iter_mut().enumerate() {
                let [w, v] = self.shares::<V>(chunk, half);
                *part = V::min(w, v);
            }
            if let Some(slot) = find::<V>(parts, &mut left) {
                return Ok(chunk * TOGETHER + slot);
            }
        }
        Err(left)
    }

    /// The two slots from the residuals. `rest` is the remainder of the uniform; `open` is 1 for
    /// slots that come first and 0 for the others.
    #[inline(always)]
    fn apart<V: Vector>(&self, rest: f64, open: &[f64]) -> [usize; 2] {
        // The residual masses of the open slots.
        let (mut first, mut second) = (zero::<V>(), zero::<V>());
        for chunk in 0..self.chunks() {
            for half in 0..2 {
                let [w, v] = self.shares::<V>(chunk, half);
                let common = V::min(w, v);
                let open = V::load(&open[at(chunk, half)..]);
                first = V::add(first, V::mul(V::sub(w, common), open));
                second = V::add(second, V::mul(V::sub(v, common), open));
            }
        }
        // If rounding leaves no residual, the slots are the same.
        match [
            self.beyond::<V>(0, rest, V::total(first), open),
            self.beyond::<V>(1, rest, V::total(second), open),
        ] {
            [Some(i), Some(j)] => [i, j],
            _ => [heaviest(self.masses[0]); 2],
        }
    }

    /// The slot at which the cumulative residual of one side passes `rest`, open slots first, whose
    /// total is `first`. If rounding leaves a remainder, the last slot.
    #[inline(always)]
    fn beyond<V: Vector>(&self, side: usize, rest: f64, first: f64, open: &[f64]) -> Option<usize> {
        let (kind, mut left) = if rest < first { (OPEN, rest) } else { (CLOSED, rest - first) };
        for chunk in 0..self.chunks() {
            let parts = self.excess::<V>(side, open, kind, chunk);
            if let Some(slot) = find::<V>(parts, &mut left) {
                return Some(chunk * TOGETHER + slot);
            }
        }
        let other = if kind == OPEN { CLOSED } else { OPEN };
        self.last(side, open, kind).or_else(|| self.last(side, open, other))
    }

    /// The residual of one side at a few slots of a kind.
    #[inline(always)]
    fn excess<V: Vector>(
        &self,
        side: usize,
        open: &[f64],
        [a, b]: Kind,
        chunk: usize,
    ) -> [V::Four; 2] {
        let (a, b) = (V::load(&[a; 4]), V::load(&[b; 4]));
        let mut parts = [zero::<V>(); 2];
        for (half, part) in parts.iter_mut().enumerate() {
            let shares = self.shares::<V>(chunk, half);
            let excess = V::max(V::sub(shares[side], shares[1 - side]), zero::<V>());
            let open = V::load(&open[at(chunk, half)..]);
            *part = V::mul(excess, V::add(a, V::mul(b, open)));
        }
        parts
    }

    /// The last slot of a kind at which the residual of one side is positive.
    #[cold]
    fn last(&self, side: usize, open: &[f64], kind: Kind) -> Option<usize> {
        let parts = |chunk| listed::<Portable>(self.excess::<Portable>(side, open, kind, chunk));
        (0..self.masses[0].len()).rfind(|&slot| parts(slot / TOGETHER)[slot % TOGETHER] > 0.0)
    }

    /// The probabilities of four slots under both distributions.
    #[inline(always)]
    fn shares<V: Vector>(&self, chunk: usize, half: usize) -> [V::Four; 2] {
        let ([w, v], [a, b]) = (self.masses, self.scales);
        let at = at(chunk, half);
        [V::mul(V::load(&w[at..]), V::load(&[a; 4])), V::mul(V::load(&v[at..]), V::load(&[b; 4]))]
    }

    #[inline(always)]
    fn chunks(&self) -> usize {
        self.masses[0].len() / TOGETHER
    }
}

/// The first slot of half a chunk.
#[inline(always)]
fn at(chunk: usize, half: usize) -> usize {
    chunk * TOGETHER + half * (TOGETHER / 2)
}

#[inline(always)]
fn zero<V: Vector>() -> V::Four {
    V::load(&[0.0; 4])
}

/// The elements as an array.
#[inline(always)]
fn listed<V: Vector>(parts: [V::Four; 2]) -> [f64; TOGETHER] {
    let mut list = [0.0; TOGETHER];
    V::store(&mut list, parts[0]);
    V::store(&mut list[TOGETHER / 2..], parts[1]);
    list
}

/// The slot at which the cumulative sum of `parts` passes `left`; subtracts the sum from `left`.
#[inline(always)]
fn find<V: Vector>(parts: [V::Four; 2], left: &mut f64) -> Option<usize> {
    let sum = V::total(V::add(parts[0], parts[1]));
    if *left >= sum {
        *left -= sum;
        return None;
    }
    let mut slot = 0;
    for (at, part) in listed::<V>(parts).into_iter().enumerate() {
        slot = if part > 0.0 { at } else { slot };
        if *left < part {
            break;
        }
        *left -= part;
    }
    Some(slot)
}

/// A kind [a, b]: a + b open is 1 for slots of the kind and 0 for the others.
type Kind = [f64; 2];
const OPEN: Kind = [0.0, 1.0];
const CLOSED: Kind = [1.0, -1.0];

#[cold]
fn heaviest(masses: &[f64]) -> usize {
    (0..masses.len()).max_by(|&i, &j| masses[i].total_cmp(&masses[j])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::rng;

    /// Both slots have their marginal distribution, agree with the probability of the common part,
    /// and are both open with the largest possible probability.
    #[test]
    fn slots_meet_as_often_as_they_can() {
        let first =
            [0.5, 0.1, 1.2, 0.2, 0.0, 0.6, 0.0, 0.1, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let second =
            [0.3, 0.4, 0.2, 0.2, 0.5, 0.1, 0.2, 0.1, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let is_matched = |i: usize| ![1, 4, 5, 8].contains(&i);
        let totals = [first.iter().sum::<f64>(), second.iter().sum::<f64>()];
        let shares = [first.map(|w| w / totals[0]), second.map(|w| w / totals[1])];
        let common: f64 = (0..16).map(|i| shares[0][i].min(shares[1][i])).sum();
        let unmatched = shares.map(|p| (0..16).filter(|&i| !is_matched(i)).map(|i| p[i]).sum());
        let both = f64::min(unmatched[0], unmatched[1]);
        let draws = 200_000;
        let mut counts = [[0.0; 16]; 2];
        let (mut same, mut open) = (0.0, 0.0);
        let mut rng = rng::stream(4, 0);
        let coupled = Coupled::new([&first, &second], totals);
        let opens: Vec<f64> = (0..16).map(|i| f64::from(u8::from(!is_matched(i)))).collect();
        for _ in 0..draws {
            let [i, j] = coupled.slots::<Portable, _>(rng.random(), || &opens);
            counts[0][i] += 1.0;
            counts[1][j] += 1.0;
            same += f64::from(u8::from(i == j));
            open += f64::from(u8::from(!is_matched(i) && !is_matched(j)));
        }
        let near = |count: f64, p: f64| {
            let error = (p * (1.0 - p) / draws as f64).sqrt();
            (count / draws as f64 - p).abs() <= 4.5 * error
        };
        assert!(near(same, common), "met {}, common part {common}", same / draws as f64);
        assert!(near(open, both), "both unmatched {}, at most {both}", open / draws as f64);
        for (counts, shares) in counts.iter().zip(&shares) {
            assert!(counts.iter().zip(shares).all(|(&c, &p)| near(c, p)), "{counts:?}");
        }
    }
}
