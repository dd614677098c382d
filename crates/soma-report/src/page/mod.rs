//! The report as HTML: one page with everything in it, or a short one for a notebook.

mod sections;
mod tables;

use crate::content::{Content, Trust};
use crate::figure::Figure;
use crate::svg::{STYLE, VARIABLES, escape};

const PAGE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The report as a page that needs nothing else: no network, no font, no other file.
///
/// ```
/// # let content = soma_report::Content {
/// #     title: "counts".into(), release: None, published: Vec::new(), model: None,
/// #     parameters: Vec::new(), log_density: Vec::new(), predicted: Err("none".into()),
/// #     replications: 0, trust: soma_report::Trust::Trusted, verdict: "The chains agree.".into(),
/// #     settled: Vec::new(), settings: Vec::new(), spec: None, version: "0.1.0".into(), notes: Vec::new(),
/// # };
/// let page = soma_report::page(&content);
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("The chains agree."));
/// ```
pub fn page(content: &Content) -> String {
    let sections = sections::all(content);
    let links: String = sections
        .iter()
        .map(|(id, title, _)| format!("<a href=\"#{id}\">{}</a>", escape(title)))
        .collect();
    let body: String = sections.iter().map(section).collect();
    let title = escape(&content.title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"generator\" content=\"soma {}\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title} \u{2013} SOMA report</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <main class=\"soma-report\">\n{}<nav aria-label=\"Contents\">{links}</nav>\n{body}</main>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escape(&content.version),
        style(":root"),
        head(content, "h1"),
    )
}

/// A short report for a notebook: the verdict, the table and the densities. `id` sets it apart from
/// other reports on the same page.
pub fn compact(content: &Content, id: &str) -> String {
    let density = crate::Kind::Density.figure(content).ok();
    let density = density.map(|figure| drawn(&figure, id)).unwrap_or_default();
    format!(
        "<div class=\"soma-report\" id=\"{id}\"><style>\n{}.soma-report#{id}{{padding:.6rem}}\n\
         </style>{}{}{density}<script>\n{SCRIPT}</script></div>",
        style(".soma-report").replace("body{", ".soma-none{").replace("html{", ".soma-none{"),
        head(content, "h3"),
        tables::posterior(content, 30),
    )
}

/// The style, with its colours defined on `scope`; on paper they are the light ones.
fn style(scope: &str) -> String {
    let variables = VARIABLES.replace("SCOPE", scope);
    let screen = variables.replace("@media (prefers-", "@media screen and (prefers-");
    format!("{screen}{STYLE}{PAGE}")
}

fn section((id, title, body): &(&str, &str, String)) -> String {
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{body}</section>\n", escape(title))
}

/// The title, the verdict and what a reader has to know before all else.
fn head(content: &Content, heading: &str) -> String {
    let (class, word) = match content.trust {
        Trust::Trusted => ("trusted", "The draws can be trusted"),
        Trust::Unknown => ("unknown", "It cannot be known"),
        Trust::Untrusted => ("untrusted", "Not to be trusted"),
    };
    let notes: String = content
        .notes
        .iter()
        .map(|note| format!("<p><b>Note:</b> {}</p>\n", escape(note)))
        .collect();
    format!(
        "<{heading}>{}</{heading}>\n{notes}<div class=\"verdict {class}\"><b>{word}</b>\
         <span>{}</span></div>\n",
        escape(&content.title),
        escape(&content.verdict),
    )
}

/// A figure with its legend and caption. `id` is one that nothing else on the page has.
fn drawn(figure: &Figure, id: &str) -> String {
    let key = |(name, ink): &(String, crate::svg::Ink)| {
        format!("<span class=\"{}\">{}</span>", ink.class(), escape(name))
    };
    let keys: String = figure.keys.iter().map(key).collect();
    let keys = if keys.is_empty() { keys } else { format!("<div class=\"keys\">{keys}</div>\n") };
    let panel = |(k, panel): (usize, &crate::svg::Panel)| {
        format!("<div>{}</div>\n", panel.inline(&format!("{id}-{k}")))
    };
    let panels: String = figure.panels.iter().enumerate().map(panel).collect();
    let width = figure.panels.iter().map(|panel| panel.width).fold(0.0, f64::max);
    format!(
        "<figure>\n<figcaption>{}</figcaption>\n{keys}<div class=\"panels\" \
         style=\"--panel:{width:.0}px\">\n{panels}</div>\n</figure>\n",
        escape(&figure.caption)
    )
}
