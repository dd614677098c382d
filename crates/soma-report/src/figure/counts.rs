//! True counts of a table with their intervals, beside the published ones.

use super::Figure;
use crate::content::{Content, Group, Parameter};
use crate::svg::{Axis, Ink, Panel, Plot, Size, number};

/// As many counts are drawn, in panels of so many.
const MOST: usize = 60;
const ROWS: usize = 20;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let counts: Vec<&Parameter> = content.of(Group::Count).take(MOST).collect();
    if counts.is_empty() {
        return Err("the run has no counts of cells: its release is not a table".into());
    }
    let all = content.of(Group::Count).count();
    let more = match all - counts.len() {
        0 => String::new(),
        more => format!(" {more} more counts are in the table of the draws only."),
    };
    let panels = counts.chunks(ROWS).map(|some| panel(content, some)).collect();
    Ok(Figure {
        title: "True counts".into(),
        caption: format!(
            "The dot is the posterior median of the count before noise, the line its central 90%; \
             the diamond is the published number.{more}"
        ),
        keys: vec![
            ("posterior of the true count".into(), Ink::Posterior),
            ("published, with noise".into(), Ink::Published),
        ],
        panels,
    })
}

fn panel(content: &Content, counts: &[&Parameter]) -> Panel {
    let published: Vec<(&str, Option<f64>)> =
        counts.iter().map(|count| content.published_of(count)).collect();
    let ends = counts.iter().flat_map(|count| [count.summary.q5, count.summary.q95]);
    let ends = ends.chain(published.iter().filter_map(|(_, value)| *value));
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let room = 0.04 * (high - low).max(1.0);
    let x = Axis::new("records", if low < 0.0 { low - room } else { 0.0 }, high + room);
    let y = Axis::new("", 0.5 - counts.len() as f64, 0.5).ticks(Vec::new());
    let names: Vec<String> = published.iter().map(|(label, _)| label.to_string()).collect();
    let mut plot = Plot::with_rows(Size::of_rows(counts.len()), x, y, &names);
    let mut words = Vec::new();
    for (row, (count, (label, value))) in counts.iter().zip(&published).enumerate() {
        let (at, summary) = (-(row as f64), &count.summary);
        let mut said = format!(
            "{label}: median {}, 90% from {} to {}",
            number(summary.q50),
            number(summary.q5),
            number(summary.q95)
        );
        if let Some(value) = value {
            said = format!("{said}; published {}", number(*value));
            plot = plot.diamond((*value, at), 4.0, Ink::Published, &said);
        }
        plot = plot
            .interval((summary.q5, summary.q95), at, (-4.0, 2.5), Ink::Posterior, &said)
            .dot((summary.q50, at), (-4.0, 3.5), Ink::Posterior, &said);
        words.push(said);
    }
    plot.finish("True counts", format!("{}.", words.join(". ")))
}
