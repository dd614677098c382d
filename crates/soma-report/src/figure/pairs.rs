//! Pairs of quantities that depend most on each other.

use super::{Figure, window};
use crate::content::{Content, Group, Parameter};
use crate::svg::{Axis, Ink, Panel, Plot, Size, number};

/// As many quantities are looked at, and as many pairs drawn.
const LOOKED_AT: usize = 16;
const MOST: usize = 12;

/// Points of a pair.
const POINTS: usize = 400;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    // Counts move with the shares of their cells: they are drawn where there is nothing else.
    let mut drawn = content.drawn(LOOKED_AT);
    if drawn.iter().filter(|parameter| parameter.group != Group::Count).count() > 1 {
        drawn.retain(|parameter| parameter.group != Group::Count);
    }
    let draws: Vec<Vec<f64>> = drawn.iter().map(|parameter| parameter.chains.concat()).collect();
    let mut pairs = Vec::new();
    for second in 0..drawn.len() {
        for first in 0..second {
            let r = correlation(&draws[first], &draws[second]);
            if r.is_finite() {
                pairs.push((r, first, second));
            }
        }
    }
    if pairs.is_empty() {
        return Err("there are no two quantities that move".into());
    }
    pairs.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let shown = pairs.len().min(MOST);
    let more = match pairs.len() - shown {
        0 => String::new(),
        _ => format!(" The {shown} pairs with the largest correlation of {}.", pairs.len()),
    };
    let panel = |&(r, first, second): &(f64, usize, usize)| {
        panel((drawn[first], &draws[first]), (drawn[second], &draws[second]), r)
    };
    Ok(Figure {
        title: "Pairs".into(),
        caption: format!(
            "Draws of two quantities against each other, with their correlation r.{more}"
        ),
        keys: Vec::new(),
        panels: pairs[..shown].iter().map(panel).collect(),
    })
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let size = a.len().min(b.len()) as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / size, b.iter().sum::<f64>() / size);
    let sum = |f: &dyn Fn(f64, f64) -> f64| {
        a.iter().zip(b).map(|(x, y)| f(x - mean_a, y - mean_b)).sum::<f64>()
    };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

fn panel((one, a): (&Parameter, &[f64]), (other, b): (&Parameter, &[f64]), r: f64) -> Panel {
    let (x, y) = (window(&one.sorted()), window(&other.sorted()));
    let every = a.len().div_ceil(POINTS).max(1);
    let points: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).step_by(every).collect();
    let plot = Plot::new(
        Size::SMALL,
        Axis::new(one.name.clone(), x.0, x.1),
        Axis::new(other.name.clone(), y.0, y.1),
    );
    let words = format!("{} and {}: correlation {}.", one.name, other.name, number(r));
    plot.cloud(&points, Ink::Posterior)
        .finish(format!("r = {r:.2}").replace('-', "\u{2212}"), words)
}

#[cfg(test)]
mod tests {
    use super::correlation;

    #[test]
    fn correlations_are_right() {
        let a = [1.0, 2.0, 3.0, 4.0];
        assert!((correlation(&a, &[2.0, 4.0, 6.0, 8.0]) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &[1.0, -1.0, -1.0, 1.0])).abs() < 1e-12);
        assert!(correlation(&a, &[1.0; 4]).is_nan());
    }
}
