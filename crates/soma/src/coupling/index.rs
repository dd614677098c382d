//! Maximal coupling of two choices of a place.

use rand::RngExt;

use crate::rng::Rng;

/// Draws slot i with probability w_i / W and slot j with probability v_j / V, so that i = j with
/// probability sum_k min(w_k / W, v_k / V), the largest there is.
///
/// What each choice has beyond the common part is drawn from one uniform, with the slots for
/// which `is_matched` does not hold first in order: then both choices fall on unmatched places
/// with probability min(sum w / W, sum v / V) over these, as the paper's lemma on the coupled
/// distance needs.
pub(super) fn maximal_slots(
    [first, second]: [&[f64]; 2],
    totals: [f64; 2],
    is_matched: impl Fn(usize) -> bool,
    rng: &mut Rng,
) -> [usize; 2] {
    let scales = totals.map(|total| 1.0 / total);
    let u: f64 = rng.random();
    let mut common = 0.0;
    for (slot, (w, v)) in first.iter().zip(second).enumerate() {
        common += (w * scales[0]).min(v * scales[1]);
        if u < common {
            return [slot; 2];
        }
    }
    let rest = u - common;
    let beyond = |own: &[f64], own_scale: f64, other: &[f64], other_scale: f64| {
        let excess = |slot: usize| (own[slot] * own_scale - other[slot] * other_scale).max(0.0);
        let open = |slot: usize| f64::from(u8::from(!is_matched(slot)));
        // Without a branch, which could not be foretold: the part of the unmatched slots.
        let unmatched: f64 = (0..own.len()).map(|slot| open(slot) * excess(slot)).sum();
        let wanted = rest >= unmatched;
        let mut left = if wanted { rest - unmatched } else { rest };
        let mut chosen = None;
        for slot in 0..own.len() {
            let part = excess(slot);
            if part > 0.0 && is_matched(slot) == wanted {
                chosen = Some(slot);
                left -= part;
                if left < 0.0 {
                    return chosen;
                }
            }
        }
        // Rounding may leave a little: then the last slot there is, of either kind.
        chosen.or_else(|| (0..own.len()).rfind(|&slot| excess(slot) > 0.0))
    };
    let [a, b] = scales;
    // Where rounding has left nothing beyond the common part, the choices are the same.
    let heaviest = |w: &[f64]| (0..w.len()).max_by(|&i, &j| w[i].total_cmp(&w[j])).unwrap_or(0);
    match (beyond(first, a, second, b), beyond(second, b, first, a)) {
        (Some(i), Some(j)) => [i, j],
        _ => [heaviest(first); 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// Both choices have their own law, agree with the probability of the common part, and fall
    /// on unmatched places together as often as they can.
    #[test]
    fn slots_meet_as_often_as_they_can() {
        let first = [0.5, 0.1, 1.2, 0.2, 0.0, 0.6];
        let second = [0.3, 0.4, 0.2, 0.2, 0.5, 0.1];
        let matched = [true, false, true, true, false, false];
        let totals = [first.iter().sum::<f64>(), second.iter().sum::<f64>()];
        let shares = [first.map(|w| w / totals[0]), second.map(|w| w / totals[1])];
        let common: f64 = (0..6).map(|i| shares[0][i].min(shares[1][i])).sum();
        let unmatched = shares.map(|p| (0..6).filter(|&i| !matched[i]).map(|i| p[i]).sum::<f64>());
        let both = unmatched[0].min(unmatched[1]);
        let draws = 200_000;
        let mut counts = [[0.0; 6]; 2];
        let (mut same, mut open) = (0.0, 0.0);
        let mut rng = rng::stream(4, 0);
        for _ in 0..draws {
            let [i, j] = maximal_slots([&first, &second], totals, |i| matched[i], &mut rng);
            counts[0][i] += 1.0;
            counts[1][j] += 1.0;
            same += f64::from(u8::from(i == j));
            open += f64::from(u8::from(!matched[i] && !matched[j]));
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
