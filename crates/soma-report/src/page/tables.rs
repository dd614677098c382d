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

/// The central 90% of a prior, with three digits of its spread; with digits of each end, where one of
/// them would be rounded to nothing.
fn prior_words((low, high): (f64, f64)) -> String {
    let digits = decimals((high - low) / CENTRAL);
    let vanishes = |x: f64| x != 0.0 && x.abs() < 0.5 * 10f64.powi(-(digits as i32));
    match vanishes(low) || vanishes(high) {
        true => format!("{} to {}", number(low), number(high)),
        false => interval((low, high), digits),
    }
}

/// Standard deviations between the ends of the central 90% of a normal law.
const CENTRAL: f64 = 3.29;

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
    let mut header = vec!["quantity", "mean", "central 90%", "median", "sd"];
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
            interval((summary.q5, summary.q95), digits),
            fixed(summary.q50, digits),
            fixed(summary.sd, digits),
        ];
        if has_prior {
            cells.push(parameter.prior_interval().map_or_else(dash, prior_words));
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
    let written = format!("{x}");
    if !x.is_finite() || x.abs() >= 1e12 {
        return written.replace('-', "\u{2212}");
    }
    fixed(x, written.split_once('.').map_or(0, |(_, decimals)| decimals.len()))
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
    table(&["cell", "published", "true count", "central 90%"], rows) + &left_out(all, most)
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

#[cfg(test)]
mod tests {
    use super::{number_in_full, prior_words};

    #[test]
    fn published_values_keep_their_digits() {
        let said = [-3.0, 70671.15, 0.0018717, 1234567.0, -0.5120269, 1e20].map(number_in_full);
        let wanted = ["\u{2212}3", "70,671.15", "0.0018717", "1,234,567", "\u{2212}0.5120269"];
        assert_eq!(said[..5], wanted);
        assert_eq!(said[5], "100000000000000000000");
    }

    #[test]
    fn both_ends_of_a_prior_have_the_same_digits() {
        assert_eq!(prior_words((-4.20713, 4.13921)), "\u{2212}4.21 to 4.14");
        assert_eq!(prior_words((0.012321, 0.542)), "0.012 to 0.542");
        assert_eq!(prior_words((0.0001, 5000.0)), "0.0001 to 5000");
    }
}
