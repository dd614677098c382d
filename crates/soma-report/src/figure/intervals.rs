//! Intervals of quantities of one kind under each other.

use soma::diagnostics::quantile;

use super::density::{interval_words, plug_in_words};
use super::{Figure, window};
use crate::content::{Content, Group, Parameter};
use crate::svg::{Axis, Ink, Panel, Plot, Size, number};

/// As many quantities are drawn.
const MOST: usize = 60;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let drawn = content.drawn(MOST);
    let mut kinds: Vec<(String, Vec<&Parameter>)> = Vec::new();
    for parameter in drawn.into_iter().filter(|parameter| parameter.group != Group::Count) {
        let kind = base(&parameter.name);
        match kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, members)) => members.push(parameter),
            None => kinds.push((kind, vec![parameter])),
        }
    }
    if kinds.is_empty() {
        return Err("the run has no parameters to draw intervals of".into());
    }
    let all = || kinds.iter().flat_map(|(_, members)| members);
    let mut keys = vec![("posterior".to_string(), Ink::Posterior)];
    if all().any(|parameter| parameter.prior_interval().is_some()) {
        keys.push(("prior".into(), Ink::Prior));
    }
    if all().any(|parameter| parameter.plug_in.is_some()) {
        keys.push(("plug-in answer".into(), Ink::PlugIn));
    }
    Ok(Figure {
        title: "Intervals".into(),
        caption:
            "Thick: the central 50% of the posterior; thin: 90%; the dot is the median. Below \
                  it the central 90% of the prior, cut off where it is far wider, and the plug-in \
                  answer."
                .into(),
        keys,
        panels: kinds.iter().map(|(_, members)| panel(members)).collect(),
    })
}

/// What the members of a family have in common: `p[]` of `p[a]`, `alpha#` of `alpha2`. What has no sign of
/// a family, such as `sigma` beside `sigma2`, is one of its own.
fn base(name: &str) -> String {
    if let Some((head, _)) = name.split_once('[') {
        return format!("{head}[]");
    }
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        head if head.len() < name.len() && !head.is_empty() => format!("{head}#"),
        _ => name.to_string(),
    }
}

/// The title of a family: all names of two, the first and the last of more, `p[...]` of what has
/// labels.
fn title(names: &[String]) -> String {
    match names {
        [only] => only.clone(),
        [first, ..] if first.contains('[') => {
            first.split('[').next().unwrap_or("").to_string() + "[\u{2026}]"
        }
        [first, second] => format!("{first}, {second}"),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    }
}

fn panel(members: &[&Parameter]) -> Panel {
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    let sorted: Vec<Vec<f64>> = members.iter().map(|parameter| parameter.sorted()).collect();
    for draws in &sorted {
        let (low, high) = window(draws);
        (from, to) = (from.min(low), to.max(high));
    }
    let span = (to - from).max(f64::MIN_POSITIVE);
    for plug_in in members.iter().filter_map(|parameter| parameter.plug_in) {
        let ends = plug_in.interval.unwrap_or((plug_in.estimate, plug_in.estimate));
        for x in [ends.0, ends.1].into_iter().filter(|x| x.is_finite()) {
            from = from.min(x.max(from - 0.5 * span));
            to = to.max(x.min(to + 0.5 * span));
        }
    }
    // As much of a wide prior as shows that it goes on.
    for (low, high) in members.iter().filter_map(|parameter| parameter.prior_interval()) {
        from = from.min(low.max(from - 0.2 * span));
        to = to.max(high.min(to + 0.2 * span));
    }
    let names: Vec<String> = members.iter().map(|parameter| parameter.name.clone()).collect();
    let count = members.len();
    let x = Axis::new("", from - 0.02 * span, to + 0.02 * span);
    let y = Axis::new("", 0.5 - count as f64, 0.5).ticks(Vec::new());
    let mut plot = Plot::with_rows(Size::of_rows(count + count / 2), x, y, &names);
    let mut words = Vec::new();
    for (row, (parameter, draws)) in members.iter().zip(&sorted).enumerate() {
        let (at, summary) = (-(row as f64), &parameter.summary);
        let said = interval_words(parameter);
        let half = (quantile(draws, 0.25), quantile(draws, 0.75));
        plot = plot
            .interval((summary.q5, summary.q95), at, (-5.0, 2.0), Ink::Posterior, &said)
            .interval(half, at, (-5.0, 6.0), Ink::Posterior, &said)
            .dot((summary.q50, at), (-5.0, 4.5), Ink::Posterior, &said);
        words.push(said);
        if let Some((low, high)) = parameter.prior_interval() {
            let said = format!("prior 90% from {} to {}", number(low), number(high));
            plot = plot.interval((low, high), at, (2.0, 2.5), Ink::Prior, &said);
        }
        if let Some(plug_in) = &parameter.plug_in {
            let said = plug_in_words(plug_in);
            if let Some(interval) = plug_in.interval {
                plot = plot.interval(interval, at, (8.0, 2.0), Ink::PlugIn, &said);
            }
            plot = plot.diamond((plug_in.estimate, at), 8.0, Ink::PlugIn, &said);
            words.push(said);
        }
    }
    plot.finish(title(&names), words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{base, title};

    #[test]
    fn families_have_one_name() {
        let names = ["p[a 1]", "p[b]", "alpha12", "mu", "7", "log_x", "sigma", "sigma2"];
        let families = ["p[]", "p[]", "alpha#", "mu", "7", "log_x", "sigma", "sigma#"];
        assert_eq!(names.map(base), families);
    }

    #[test]
    fn titles_are_names_of_what_is_drawn() {
        let said =
            |names: &[&str]| title(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(said(&["sigma2"]), "sigma2");
        assert_eq!(said(&["smoking at 30", "smoking at 60"]), "smoking at 30, smoking at 60");
        assert_eq!(said(&["beta0", "beta1", "beta2"]), "beta0 to beta2");
        assert_eq!(said(&["p[a]", "p[b]"]), "p[\u{2026}]");
    }
}
