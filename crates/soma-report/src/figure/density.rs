//! The posterior density of each quantity, with its prior, its plug-in answer and its interval.

use super::{Figure, window};
use crate::content::{Content, Group, Parameter};
use crate::density::{Density, thinned};
use crate::svg::{Axis, Ink, Panel, Plot, Size, number};

/// As many quantities are drawn.
const MOST: usize = 24;

/// As many draws are looked at for a curve.
const DRAWS: usize = 20_000;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    of(&content.drawn(MOST))
}

/// The same for the quantities of a group.
pub(crate) fn of_group(content: &Content, group: Group) -> Result<Figure, String> {
    of(&content.of(group).filter(|p| p.is_drawn()).take(MOST).collect::<Vec<_>>())
}

fn of(parameters: &[&Parameter]) -> Result<Figure, String> {
    if parameters.is_empty() {
        return Err("no draws of this run can be drawn as a density".into());
    }
    let mut keys = vec![("posterior".to_string(), Ink::Posterior)];
    if parameters.iter().any(|parameter| parameter.prior_interval().is_some()) {
        keys.push(("prior".into(), Ink::Prior));
    }
    if parameters.iter().any(|parameter| parameter.plug_in.is_some()) {
        keys.push(("plug-in: as if noise and clamping were not there".into(), Ink::PlugIn));
    }
    Ok(Figure {
        title: "Posterior densities".into(),
        caption:
            "The curve is the posterior density, the bar at its foot the central 90% with the \
                  median; dashed: the prior, on the same scale."
                .into(),
        keys,
        panels: parameters.iter().map(|parameter| panel(parameter)).collect(),
    })
}

fn panel(parameter: &Parameter) -> Panel {
    let draws = thinned(parameter.sorted(), DRAWS);
    let summary = &parameter.summary;
    let (mut from, mut to) = window(&draws);
    let span = to - from;
    // What is said beside the posterior is shown where it is not too far away.
    if let Some(plug_in) = &parameter.plug_in {
        let ends = plug_in.interval.unwrap_or((plug_in.estimate, plug_in.estimate));
        for x in [plug_in.estimate, ends.0, ends.1] {
            if x.is_finite() && x > from - 1.5 * span && x < to + 1.5 * span {
                (from, to) = (from.min(x - 0.03 * span), to.max(x + 0.03 * span));
            }
        }
    }
    if let Some((low, high)) = parameter.prior_interval() {
        from = from.min(low.max(from - 0.25 * span));
        to = to.max(high.min(to + 0.25 * span));
    }
    let posterior = Density::of(&draws, (from, to));
    let prior = parameter.prior_interval().map(|_| Density::of(&parameter.prior, (from, to)));
    let most = posterior
        .highest()
        .max(prior.as_ref().map_or(0.0, Density::highest).min(2.0 * posterior.highest()));
    let room = if matches!(posterior, Density::Bars(_)) { 0.6 } else { 0.0 };
    let x = Axis::new("", from - room, to + room);
    let y = Axis::new("density", -0.09 * most, 1.06 * most).ticks(Vec::new());
    let mut plot = Plot::new(Size::PLAIN, x, y);
    plot = match &posterior {
        Density::Curve(points) => {
            plot.area(points, Ink::Posterior).line(points, Ink::Posterior, "posterior")
        }
        Density::Bars(bars) => bars.iter().fold(plot, |plot, &(value, share)| {
            let said = format!("{}: posterior probability {}", number(value), number(share));
            plot.bar((value - 0.4, value + 0.4), (0.0, share), Ink::Posterior, 0.55, &said)
        }),
    };
    plot = match &prior {
        Some(Density::Curve(points) | Density::Bars(points)) => {
            plot.dashed(points, Ink::Prior, "prior")
        }
        None => plot,
    };
    let foot = -0.045 * most;
    let said = interval_words(parameter);
    plot = plot.interval((summary.q5, summary.q95), foot, (0.0, 4.0), Ink::Posterior, &said);
    plot = plot.dot((summary.q50, foot), (0.0, 4.0), Ink::Posterior, &said);
    let mut words = said;
    if let Some(plug_in) = &parameter.plug_in {
        let said = plug_in_words(plug_in);
        plot = plot.upright(plug_in.estimate, Ink::PlugIn, &said);
        words = format!("{words} {said}");
    }
    if let Some((low, high)) = parameter.prior_interval() {
        words = format!("{words} Prior 90%: {} to {}.", number(low), number(high));
    }
    plot.finish(parameter.name.clone(), words)
}

/// The posterior in a sentence.
pub(super) fn interval_words(parameter: &Parameter) -> String {
    let summary = &parameter.summary;
    format!(
        "{}: posterior median {}, 90% from {} to {}.",
        parameter.name,
        number(summary.q50),
        number(summary.q5),
        number(summary.q95)
    )
}

/// The plug-in answer in a sentence.
pub(super) fn plug_in_words(plug_in: &crate::content::PlugIn) -> String {
    match plug_in.interval {
        Some((low, high)) => format!(
            "Plug-in answer {}, 90% from {} to {}.",
            number(plug_in.estimate),
            number(low),
            number(high)
        ),
        None => format!("Plug-in answer {}.", number(plug_in.estimate)),
    }
}
