//! The tables of the page.

use soma::diagnostics::Summary;

use crate::content::{Content, Group, Parameter, PlugIn};
use crate::svg::{decimals, escape, fixed, number, probability_decimals};

/// A table with names in the first column.
fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: String = header.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let row = |cells: Vec<String>| {
        let mut cells = cells.into_iter().map(|cell| escape(&cell));
        let first = cells.next().unwrap_or_default();
        let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr><th scope=\"row\">{first}</th>{rest}</tr>\n")
    };
    let body: String = rows.map(row).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n\
         </table></div>\n"
    )
}

/// How many rows are left out, in words.
fn left_out(all: usize, most: usize) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => format!("<p class=\"soft\">{more} more rows are not shown.</p>\n"),
    }
}

fn interval((low, high): (f64, f64), digits: usize) -> String {
    format!("{} to {}", fixed(low, digits), fixed(high, digits))
}

/// The answer: the posterior of each quantity that is no count, beside its prior and the plug-in answer.
pub fn posterior(content: &Content, most: usize) -> String {
    let is_count = |parameter: &&Parameter| parameter.group == Group::Count;
    let mut shown: Vec<&Parameter> =
        content.parameters.iter().filter(|parameter| !is_count(parameter)).collect();
    if shown.is_empty() {
        shown = content.parameters.iter().collect();
    }
    let has_prior = shown.iter().any(|parameter| !parameter.prior.is_empty());
    let has_plug_in = shown.iter().any(|parameter| parameter.plug_in.is_some());
    let mut header = vec!["quantity", "mean", "median", "sd", "central 90%"];
    header.extend(has_prior.then_some("prior, central 90%"));
    header.extend(has_plug_in.then_some("plug-in answer"));
    header.extend(has_plug_in.then_some("plug-in, 90%"));
    let rows = shown.iter().take(most).map(|parameter| {
        if parameter.is_comparison {
            return comparison(content, parameter, has_prior, has_plug_in);
        }
        let summary = &parameter.summary;
        let digits = decimals(summary.sd);
        let mut cells = vec![
            parameter.name.clone(),
            fixed(summary.mean, digits),
            fixed(summary.q50, digits),
            fixed(summary.sd, digits),
            interval((summary.q5, summary.q95), digits),
        ];
        if has_prior {
            let said = parameter.prior_interval();
            cells.push(said.map_or_else(dash, |(a, b)| format!("{} to {}", number(a), number(b))));
        }
        if has_plug_in {
            let plug_in = parameter.plug_in;
            cells.push(plug_in.map_or_else(dash, |it| fixed(it.estimate, digits)));
            let ends = plug_in.and_then(|it| it.interval);
            cells.push(ends.map_or_else(dash, |ends| interval(ends, digits)));
        }
        cells
    });
    table(&header, rows) + &left_out(shown.len(), most)
}

fn dash() -> String {
    "\u{2013}".into()
}

/// The row of a comparison: its probability, in the place of mean, median and sd.
fn comparison(
    content: &Content,
    parameter: &Parameter,
    has_prior: bool,
    has_plug_in: bool,
) -> Vec<String> {
    let settled = content.settled.iter().find(|one| one.parameter == parameter.name);
    let Summary { mean, mcse_mean, .. } = parameter.summary;
    let said = match settled {
        Some(settled) => settled.bound(),
        None => fixed(mean, probability_decimals(mcse_mean)),
    };
    let mut cells = vec![parameter.name.clone(), format!("probability {said}")];
    cells.resize(5, dash());
    if has_prior {
        let said = parameter.prior_probability();
        cells.push(said.map_or_else(dash, |share| format!("probability {}", fixed(share, 2))));
    }
    if has_plug_in {
        let word = |it: PlugIn| if it.estimate == 0.0 { "no" } else { "yes" };
        cells.push(parameter.plug_in.map_or_else(dash, |it| word(it).into()));
        cells.push(dash());
    }
    cells
}

/// The published values.
pub fn published(content: &Content, most: usize) -> String {
    let rows = content.published.iter().take(most);
    let rows = rows.map(|value| vec![value.label.clone(), number_in_full(value.value)]);
    table(&["what was published", "value"], rows) + &left_out(content.published.len(), most)
}

/// A number with all of its digits.
fn number_in_full(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e12 {
        fixed(x, 0)
    } else {
        format!("{x}").replace('-', "\u{2212}")
    }
}

/// Counts with their intervals.
pub fn counts(content: &Content, most: usize) -> String {
    let all = content.of(Group::Count).count();
    let rows = content.of(Group::Count).take(most).map(|count| {
        let (summary, (label, published)) = (&count.summary, content.published_of(count));
        vec![
            label.to_string(),
            published.map_or_else(dash, number_in_full),
            fixed(summary.q50, 0),
            interval((summary.q5, summary.q95), 0),
        ]
    });
    table(&["cell", "published", "median of the true count", "central 90%"], rows)
        + &left_out(all, most)
}

/// What the diagnostics say of each quantity.
pub fn diagnostics(content: &Content, most: usize) -> String {
    let rows = content.parameters.iter().take(most).map(|parameter| {
        let summary = &parameter.summary;
        vec![
            parameter.name.clone(),
            fixed(summary.rhat, 3),
            fixed(summary.ess_bulk, 0),
            fixed(summary.ess_tail, 0),
            fixed(summary.mcse_mean, decimals(summary.sd) + 1),
        ]
    });
    table(&["quantity", "R-hat", "ESS bulk", "ESS tail", "Monte Carlo error of the mean"], rows)
        + &left_out(content.parameters.len(), most)
}

/// How the run was made.
pub fn settings(content: &Content) -> String {
    let row = |(name, value): &(String, String)| {
        let (name, value) = (escape(name), escape(value));
        format!("<tr><th scope=\"row\">{name}</th><td class=\"words\">{value}</td></tr>\n")
    };
    let rows: String = content.settings.iter().map(row).collect();
    format!("<div class=\"wide\"><table>\n<tbody>\n{rows}</tbody>\n</table></div>\n")
}
