//! Ranks of each chain's draws among all draws: uniform, where the chains agree.

use super::{Figure, trace};
use crate::content::{Content, Parameter};
use crate::svg::{Axis, Ink, Panel, Plot, Size, fixed, number};

/// As many quantities are drawn.
const MOST: usize = 12;

/// Ranks are counted in so many bins.
const BINS: usize = 20;

/// Chains that are drawn.
const CHAINS: usize = 8;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let drawn = content.drawn(MOST);
    let drawn: Vec<&Parameter> = drawn.into_iter().filter(|p| p.chains.len() > 1).collect();
    if drawn.is_empty() {
        return Err("ranks compare chains, and there is one chain only".into());
    }
    Ok(Figure {
        title: "Ranks".into(),
        caption: format!(
            "How the draws of each chain rank among all draws, in {BINS} bins: level lines, where the \
             chains agree (Vehtari et al. 2021). Dashed: the level."
        ),
        keys: trace::keys(drawn[0].chains.len()),
        panels: drawn.iter().map(|parameter| panel(parameter)).collect(),
    })
}

/// For each chain, how many of its draws fall into each bin of ranks among all draws. Draws that are equal, as those
/// of counts are, share their ranks in equal parts: whichever of them came first would be chance.
fn ranked(chains: &[Vec<f64>]) -> Vec<[f64; BINS]> {
    let numbered = chains.iter().enumerate();
    let mut all: Vec<(f64, usize)> =
        numbered.flat_map(|(c, chain)| chain.iter().map(move |x| (*x, c))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut counts, mut before) = (vec![[0.0; BINS]; chains.len()], 0);
    let width = all.len() as f64 / BINS as f64;
    for ties in all.chunk_by(|a, b| a.0 == b.0) {
        let (from, to) = (before as f64, (before + ties.len()) as f64);
        let touched = (from / width) as usize..((to / width).ceil() as usize).min(BINS);
        for bin in touched {
            let (low, high) = (bin as f64 * width, (bin + 1) as f64 * width);
            let share = (to.min(high) - from.max(low)).max(0.0) / (to - from);
            ties.iter().for_each(|(_, c)| counts[*c][bin] += share);
        }
        before += ties.len();
    }
    counts
}

fn panel(parameter: &Parameter) -> Panel {
    let counts = ranked(&parameter.chains);
    let length = parameter.chains.iter().map(Vec::len).min().unwrap_or(0) as f64;
    let level = length / BINS as f64;
    let most = counts.iter().flatten().copied().fold(0.0, f64::max);
    let size: usize = parameter.chains.iter().map(Vec::len).sum();
    let x = Axis::new("rank among all draws", 0.0, size as f64);
    let mut plot = Plot::new(Size::PLAIN, x, Axis::new("draws", 0.0, 1.1 * most.max(level)));
    let width = size as f64 / BINS as f64;
    for (c, bins) in counts.iter().take(CHAINS).enumerate() {
        let step = |(bin, count): (usize, &f64)| {
            let (from, y) = (bin as f64 * width, *count);
            [(from, y), (from + width, y)]
        };
        let points: Vec<(f64, f64)> = bins.iter().enumerate().flat_map(step).collect();
        plot = plot.line(&points, Ink::Chain(c), &format!("chain {}", c + 1));
    }
    let said = format!("level of agreement: {} draws", number(level));
    let words = format!(
        "{}: R-hat {}. Draws of a chain in a bin of ranks: {} if all agree, at most {}.",
        parameter.name,
        fixed(parameter.summary.rhat, 3),
        number(level),
        number(most)
    );
    plot.level(level, Ink::Muted, &said).finish(parameter.name.clone(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_chains_apart_fill_half_the_bins() {
        let (low, high): (Vec<f64>, Vec<f64>) =
            ((0..100).map(f64::from).collect(), (100..200).map(f64::from).collect());
        let counts = ranked(&[low, high]);
        let all = |bins: &[f64], wanted: f64| bins.iter().all(|n| (n - wanted).abs() < 1e-9);
        assert!(all(&counts[0][..10], 10.0) && all(&counts[0][10..], 0.0));
        assert!(all(&counts[1][10..], 10.0));
    }

    #[test]
    fn equal_draws_of_chains_that_agree_are_level() {
        // 30 draws of 0 and 70 of 1 in either chain; bins of 10 ranks.
        let chain = [vec![0.0; 30], vec![1.0; 70]].concat();
        let level = ranked(&[chain.clone(), chain]);
        assert!(level.iter().flatten().all(|n| (n - 5.0).abs() < 1e-9), "{level:?}");
        // One chain has no 0: its first six bins are empty.
        let apart = ranked(&[[vec![0.0; 60], vec![1.0; 40]].concat(), vec![1.0; 100]]);
        assert!(apart[1][..6].iter().all(|n| *n == 0.0) && apart[1][6] > 7.0);
        assert!((apart[0].iter().sum::<f64>() - 100.0).abs() < 1e-9);
    }
}
