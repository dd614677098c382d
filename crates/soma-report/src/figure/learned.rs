//! What the data say and what the prior says: the share of variance that the release removed.

use super::Figure;
use crate::content::{Content, Group};
use crate::svg::{Axis, Ink, Plot, Size, fixed};

/// As many quantities are drawn.
const MOST: usize = 40;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let known = content.parameters.iter();
    let known = known.filter_map(|parameter| Some((parameter, parameter.learned()?)));
    let mut known: Vec<_> = known.collect();
    // Counts tell the same as the shares of their cells.
    if known.iter().any(|(parameter, _)| parameter.group != Group::Count) {
        known.retain(|(parameter, _)| parameter.group != Group::Count);
    }
    known.truncate(MOST);
    if known.is_empty() {
        return Err("no quantity of this run has a proper prior to compare with".into());
    }
    let names: Vec<String> = known.iter().map(|(parameter, _)| parameter.name.clone()).collect();
    let parts = [0.0, 0.25, 0.5, 0.75, 1.0].map(|x| (x, format!("{}%", fixed(100.0 * x, 0))));
    let x = Axis::new("", 0.0, 1.0).ticks(parts.to_vec());
    let y = Axis::new("", 0.5 - known.len() as f64, 0.5).ticks(Vec::new());
    let mut plot = Plot::with_rows(Size::of_rows(known.len()), x, y, &names);
    let mut words = Vec::new();
    for (row, (parameter, learned)) in known.iter().enumerate() {
        let (at, share) = (-(row as f64), learned.clamp(0.0, 1.0));
        let percent = fixed(100.0 * learned, if *learned > 0.99 { 2 } else { 0 });
        let said = format!("{}: {percent}% of the prior variance removed", parameter.name);
        plot = plot.interval((share, 1.0), at, (0.0, 10.0), Ink::Prior, &said);
        plot = plot.interval((0.0, share), at, (0.0, 10.0), Ink::Posterior, &said);
        words.push(said);
    }
    let panel =
        plot.finish("Share of the prior variance removed", format!("{}.", words.join("; ")));
    Ok(Figure {
        title: "What the release says, and what the prior says".into(),
        caption: "A full bar: what is known of the quantity comes from the release. An empty one: it \
                  comes from the prior, and another prior would give another answer. The share is 1 \
                  minus the squared ratio of the widths of the central 90%."
            .into(),
        keys: vec![
            ("said by the release".into(), Ink::Posterior),
            ("left to the prior".into(), Ink::Prior),
        ],
        panels: vec![panel],
    })
}
