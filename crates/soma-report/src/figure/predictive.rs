//! The release among replicated releases: whether the model explains it.

use soma::diagnostics::quantile;

use super::{Figure, window};
use crate::content::{Content, Predicted};
use crate::density::Density;
use crate::svg::{Axis, Ink, Panel, Plot, Size, number};

/// With more values than this, they are drawn in rows.
const MOST_PANELS: usize = 9;

/// Values in rows, and rows of a panel.
const MOST: usize = 60;
const ROWS: usize = 20;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let predicted = content.predicted.as_ref().map_err(String::clone)?;
    if predicted.is_empty() {
        return Err("the release has no values".into());
    }
    let panels: Vec<Panel> = match predicted.len() > MOST_PANELS {
        false => predicted.iter().map(panel).collect(),
        true => {
            let shown = &predicted[..predicted.len().min(MOST)];
            shown.chunks(ROWS).map(rows).collect()
        }
    };
    let more = match predicted.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" {more} more values are not drawn."),
    };
    let scale = if predicted.len() > MOST_PANELS {
        " Each row is in units of the standard deviation of its replicated values."
    } else {
        ""
    };
    Ok(Figure {
        title: "The release among replicated releases".into(),
        caption: format!(
            "What would be published of new records at parameters of the posterior, with new noise \
             ({} times). A published value outside of them is one that the model does not explain. \
             p is twice the smaller share of replicated values on one side of it; since the posterior \
             has seen the values, it is larger than uniform where the model fits.{scale}{more}",
            content.replications
        ),
        keys: vec![("replicated".into(), Ink::Posterior), ("published".into(), Ink::Published)],
        panels,
    })
}

fn words(predicted: &Predicted) -> String {
    let [low, high] = [0.05, 0.95].map(|p| quantile(&predicted.replicated, p));
    format!(
        "{}: published {}; 90% of replicated values from {} to {}; p = {:.2}",
        predicted.label,
        number(predicted.published),
        number(low),
        number(high),
        predicted.p_value()
    )
}

fn panel(predicted: &Predicted) -> Panel {
    let draws = &predicted.replicated;
    let (low, high) = window(draws);
    let room = 0.04 * (high - low);
    let (from, to) = (low.min(predicted.published - room), high.max(predicted.published + room));
    let density = Density::of(draws, (from, to));
    let most = density.highest();
    let side = if matches!(density, Density::Bars(_)) { 0.6 } else { 0.0 };
    let x = Axis::new("", from - side, to + side);
    let y = Axis::new("density", 0.0, 1.06 * most).ticks(Vec::new());
    let mut plot = Plot::new(Size::PLAIN, x, y);
    plot = match &density {
        Density::Curve(points) => {
            plot.area(points, Ink::Posterior).line(points, Ink::Posterior, "replicated")
        }
        Density::Bars(bars) => bars.iter().fold(plot, |plot, &(value, share)| {
            let said = format!("{}: share {}", number(value), number(share));
            plot.bar((value - 0.4, value + 0.4), (0.0, share), Ink::Posterior, 0.55, &said)
        }),
    };
    let said = words(predicted);
    plot.upright(predicted.published, Ink::Published, &said)
        .finish(format!("p = {:.2}, {}", predicted.p_value(), predicted.label), format!("{said}."))
}

fn rows(some: &[Predicted]) -> Panel {
    let names: Vec<String> = some.iter().map(|predicted| predicted.label.clone()).collect();
    let x = Axis::new("standard deviations from the median", -4.0, 4.0);
    let y = Axis::new("", 0.5 - some.len() as f64, 0.5).ticks(Vec::new());
    let mut plot = Plot::with_rows(Size::of_rows(some.len()), x, y, &names);
    let mut all = Vec::new();
    for (row, predicted) in some.iter().enumerate() {
        let draws = &predicted.replicated;
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        let (sd, median) = (variance.sqrt().max(f64::MIN_POSITIVE), quantile(draws, 0.5));
        let unit = |x: f64| (x - median) / sd;
        let (at, said) = (-(row as f64), words(predicted));
        let ends = (unit(quantile(draws, 0.05)), unit(quantile(draws, 0.95)));
        let half = (unit(quantile(draws, 0.25)), unit(quantile(draws, 0.75)));
        plot = plot
            .interval(ends, at, (0.0, 3.0), Ink::Posterior, &said)
            .interval(half, at, (0.0, 7.0), Ink::Posterior, &said)
            .diamond((unit(predicted.published).clamp(-4.0, 4.0), at), 0.0, Ink::Published, &said);
        all.push(said);
    }
    plot.finish("Published among replicated values", format!("{}.", all.join(". ")))
}
