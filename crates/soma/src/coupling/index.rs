//! Maximal coupling of two choices of a place.

use crate::kernel::columns::least;

/// So many slots are looked at together: masses come in multiples of this, the last ones zero.
pub(super) const TOGETHER: usize = 8;

/// Two choices of a slot, with probabilities w_i / W and v_j / V, so that i = j with probability
/// sum_k min(w_k / W, v_k / V), the largest there is.
///
/// What each choice has beyond the common part is drawn from one uniform, with the slots that are
/// open (those of unmatched places) first in order: then both choices fall on unmatched places
/// with probability min(sum w / W, sum v / V) over these, as the paper's lemma on the coupled
/// distance needs.
pub(super) struct Coupled<'a> {
    masses: [&'a [f64]; 2],
    scales: [f64; 2],
}

impl<'a> Coupled<'a> {
    /// The choices with these masses, and their sums.
    #[inline(always)]
    pub fn new(masses: [&'a [f64]; 2], totals: [f64; 2]) -> Self {
        Coupled { masses, scales: totals.map(|total| 1.0 / total) }
    }

    /// The slot of both choices, if it is the same one, as `uniform` decides. Otherwise what is
    /// left of the uniform.
    #[inline(always)]
    pub fn common(&self, uniform: f64) -> Result<usize, f64> {
        let [first, second] = self.masses;
        let mut left = uniform;
        for (chunk, (w, v)) in
            first.chunks_exact(TOGETHER).zip(second.chunks_exact(TOGETHER)).enumerate()
        {
            let mut parts = [0.0; TOGETHER];
            for l in 0..TOGETHER {
                parts[l] = least(w[l] * self.scales[0], v[l] * self.scales[1]);
            }
            if let Some(slot) = find(&parts, &mut left) {
                return Ok(chunk * TOGETHER + slot);
            }
        }
        Err(left)
    }

    /// The slots of the two choices where they are not the same one; `rest` is what was left of the
    /// uniform, `open` is 1 for slots that come first and 0 for the others.
    #[inline(always)]
    pub fn apart(&self, rest: f64, open: &[f64], scratch: &mut Vec<[f64; 2]>) -> [usize; 2] {
        let [a, b] = self.scales;
        let [w, v] = self.masses;
        // Where rounding has left nothing beyond the common part, the choices are the same.
        match [
            beyond([w, v], [a, b], rest, open, scratch),
            beyond([v, w], [b, a], rest, open, scratch),
        ] {
            [Some(i), Some(j)] => [i, j],
            _ => [heaviest(w); 2],
        }
    }
}

/// The slot of a few at which the sum of their `parts` passes `left`, from which it is taken.
#[inline(always)]
fn find(parts: &[f64; TOGETHER], left: &mut f64) -> Option<usize> {
    let sum = sum(parts);
    if *left >= sum {
        *left -= sum;
        return None;
    }
    let mut slot = 0;
    for (at, &part) in parts.iter().enumerate() {
        slot = if part > 0.0 { at } else { slot };
        if *left < part {
            break;
        }
        *left -= part;
    }
    Some(slot)
}

/// The slot at which the sum of what the own law has beyond the other passes `rest`, open slots
/// first. Rounding may leave a little: then the last slot there is.
#[inline(always)]
fn beyond(
    masses: [&[f64]; 2],
    scales: [f64; 2],
    rest: f64,
    open: &[f64],
    sums: &mut Vec<[f64; 2]>,
) -> Option<usize> {
    let chunks = masses[0].len() / TOGETHER;
    // Of each few slots together, those that are open and those that are not.
    sums.resize(chunks, [0.0; 2]);
    let mut first = 0.0;
    for (chunk, sums) in sums.iter_mut().enumerate() {
        let parts = excess(masses, scales, open, chunk);
        *sums = [sum(&parts[0]), sum(&parts[1])];
        first += sums[0];
    }
    let (kind, mut left) = if rest < first { (0, rest) } else { (1, rest - first) };
    for (chunk, sums) in sums.iter().enumerate() {
        if left < sums[kind] {
            let parts = excess(masses, scales, open, chunk);
            return find(&parts[kind], &mut left).map(|slot| chunk * TOGETHER + slot);
        }
        left -= sums[kind];
    }
    last(masses, scales, open, kind).or_else(|| last(masses, scales, open, 1 - kind))
}

/// What the own law has beyond the other at a few slots, those that are open and those that are
/// not. No closure: its body would not be compiled for the vector instructions.
#[inline(always)]
fn excess(
    [own, other]: [&[f64]; 2],
    scales: [f64; 2],
    open: &[f64],
    chunk: usize,
) -> [[f64; TOGETHER]; 2] {
    let at = chunk * TOGETHER;
    let (own, other) = (&own[at..][..TOGETHER], &other[at..][..TOGETHER]);
    let open = &open[at..][..TOGETHER];
    let mut parts = [[0.0; TOGETHER]; 2];
    for l in 0..TOGETHER {
        let excess = own[l] * scales[0] - other[l] * scales[1];
        let excess = if excess > 0.0 { excess } else { 0.0 };
        parts[0][l] = excess * open[l];
        parts[1][l] = excess - parts[0][l];
    }
    parts
}

/// The last slot of a kind at which the own law has anything beyond the other.
#[cold]
fn last(masses: [&[f64]; 2], scales: [f64; 2], open: &[f64], kind: usize) -> Option<usize> {
    (0..masses[0].len())
        .rfind(|&slot| excess(masses, scales, open, slot / TOGETHER)[kind][slot % TOGETHER] > 0.0)
}

/// The sum of a few parts.
#[inline(always)]
fn sum(p: &[f64; TOGETHER]) -> f64 {
    ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))
}

#[cold]
fn heaviest(masses: &[f64]) -> usize {
    (0..masses.len()).max_by(|&i, &j| masses[i].total_cmp(&masses[j])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::rng;

    /// Both choices have their own law, agree with the probability of the common part, and fall
    /// on unmatched places together as often as they can.
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
        let mut scratch = Vec::new();
        let coupled = Coupled::new([&first, &second], totals);
        let opens: Vec<f64> = (0..16).map(|i| f64::from(u8::from(!is_matched(i)))).collect();
        for _ in 0..draws {
            let [i, j] = match coupled.common(rng.random()) {
                Ok(slot) => [slot; 2],
                Err(rest) => coupled.apart(rest, &opens, &mut scratch),
            };
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
