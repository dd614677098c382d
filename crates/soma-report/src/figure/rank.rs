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

/// For each chain, how many of its draws fall into each bin of ranks among all draws. Ties share the
/// mean of their ranks.
fn ranked(chains: &[Vec<f64>]) -> Vec<[usize; BINS]> {
    let numbered = chains.iter().enumerate();
    let mut all: Vec<(f64, usize)> =
        numbered.flat_map(|(c, chain)| chain.iter().map(move |x| (*x, c))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut counts, mut before) = (vec![[0; BINS]; chains.len()], 0);
    let size = all.len();
    for ties in all.chunk_by(|a, b| a.0 == b.0) {
        let middle = before as f64 + 0.5 * ties.len() as f64;
        let bin = ((middle * BINS as f64 / size as f64) as usize).min(BINS - 1);
        ties.iter().for_each(|(_, c)| counts[*c][bin] += 1);
        before += ties.len();
    }
    counts
}

fn panel(parameter: &Parameter) -> Panel {
    let counts = ranked(&parameter.chains);
    let length = parameter.chains.iter().map(Vec::len).min().unwrap_or(0) as f64;
    let level = length / BINS as f64;
    let most = counts.iter().flatten().copied().max().unwrap_or(0) as f64;
    let size: usize = parameter.chains.iter().map(Vec::len).sum();
    let x = Axis::new("rank among all draws", 0.0, size as f64);
    let mut plot = Plot::new(Size::PLAIN, x, Axis::new("draws", 0.0, 1.1 * most.max(level)));
    let width = size as f64 / BINS as f64;
    for (c, bins) in counts.iter().take(CHAINS).enumerate() {
        let step = |(bin, count): (usize, &usize)| {
            let (from, y) = (bin as f64 * width, *count as f64);
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
        assert!(counts[0][..10].iter().all(|&n| n == 10) && counts[0][10..] == [0; 10]);
        assert!(counts[1][10..].iter().all(|&n| n == 10));
        let tied = ranked(&[vec![1.0; 10], vec![1.0; 10]]);
        assert_eq!((tied[0][10], tied[1][10]), (10, 10));
    }
}
