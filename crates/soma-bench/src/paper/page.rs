//! All items on one self-contained page, with styles and figures inside.

use std::fmt::Write;

use crate::paper::stats::digits;
use crate::paper::{Check, Drawing, Item, Stored, Table};

/// The page. It loads no script, font or picture.
pub(crate) fn page(items: &[(&Item, Stored)]) -> String {
    let mut out = String::new();
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<title>The SOMA paper, reproduced</title>\n");
    out.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    let _ = write!(out, "<style>{STYLE}</style>\n</head>\n<body>\n<main>\n");
    out.push_str("<h1>The SOMA paper, reproduced</h1>\n");
    out.push_str(INTRODUCTION);
    contents(&mut out, items);
    for (item, stored) in items {
        section(&mut out, item, stored);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

const INTRODUCTION: &str = "<p>Each section is a table or a figure of the paper: what the paper \
says, what we find, and every published number with ours beside it. A number <em>agrees</em> if it \
is within three standard errors of the published one (the paper's own error counted in, where it \
can be told); where it is not within three of ours alone, the note says why.</p>\n";

fn contents(out: &mut String, items: &[(&Item, Stored)]) {
    out.push_str("<nav><table><thead><tr><th>In the paper</th><th>Item</th>");
    out.push_str("<th class=\"number\">Numbers</th>");
    out.push_str("<th class=\"number\">Agree</th></tr></thead><tbody>\n");
    for (item, stored) in items {
        let published = stored.findings.checks.iter().filter(|check| check.agrees.is_some());
        let agree = published.clone().filter(|check| check.agrees == Some(true)).count();
        let agree = match published.count() {
            0 => "\u{2013}".to_string(),
            count => format!("{agree} of {count}"),
        };
        let _ = writeln!(
            out,
            "<tr><td>{3}</td><td><a href=\"#{0}\">{1}</a></td><td class=\"number\">{2}</td><td class=\"number\">{agree}</td></tr>",
            item.name,
            escape(item.title),
            stored.findings.checks.len(),
            item.place
        );
    }
    out.push_str("</tbody></table></nav>\n");
}

fn section(out: &mut String, item: &Item, stored: &Stored) {
    let findings = &stored.findings;
    let (name, place, title) = (item.name, item.place, escape(item.title));
    let _ = writeln!(out, "<section id=\"{name}\">\n<h2>{place}. {title}</h2>");
    let _ = writeln!(out, "<p><strong>The paper:</strong> {}</p>", escape(item.claim));
    if !findings.says.is_empty() {
        let said = findings.says.join(" ");
        let _ = writeln!(out, "<p><strong>We find:</strong> {}</p>", escape(&said));
    }
    for drawing in &findings.drawings {
        figure(out, item, drawing);
    }
    numbers(out, &findings.checks);
    for table in &findings.tables {
        show_table(out, item, table);
    }
    let mut settings = findings.settings.clone();
    settings.push(format!(
        "Scale {}, seed {}, {} seconds, version {}.",
        stored.scale.name(),
        stored.seed,
        digits(stored.seconds, 2),
        stored.version
    ));
    let _ = writeln!(out, "<p class=\"settings\">{}</p>\n</section>", escape(&settings.join(" ")));
}

fn figure(out: &mut String, item: &Item, drawing: &Drawing) {
    out.push_str("<figure>\n");
    if let Some(legend) = &drawing.legend {
        let _ = writeln!(out, "<div class=\"legend\">{}</div>", legend.trim());
    }
    out.push_str("<div class=\"panels\">\n");
    for panel in &drawing.panels {
        let _ = writeln!(out, "<div>{}</div>", panel.trim());
    }
    let _ = writeln!(
        out,
        "</div><figcaption>{} <a href=\"{1}/{2}.svg\">SVG</a> <a href=\"{1}/{2}.png\">PNG</a></figcaption></figure>",
        escape(&drawing.caption),
        item.name,
        drawing.name
    );
}

fn numbers(out: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    out.push_str("<div class=\"wide\"><table><thead><tr><th>Quantity</th>");
    out.push_str("<th class=\"number\">Published</th><th class=\"number\">Ours</th>");
    out.push_str("<th>Agrees</th></tr></thead><tbody>\n");
    for check in checks {
        let published = check.published.map_or("\u{2013}".into(), |value| digits(value, 5));
        let agrees = match check.agrees {
            Some(true) => "yes",
            Some(false) => "<strong>no</strong>",
            None => "\u{2013}",
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"number\">{published}</td><td class=\"number\">{}</td><td>{agrees}</td></tr>",
            escape(&check.quantity),
            with_error(check.ours, check.se)
        );
        if !check.note.is_empty() {
            let _ = writeln!(
                out,
                "<tr class=\"note\"><td colspan=\"4\">{}</td></tr>",
                escape(&check.note)
            );
        }
    }
    out.push_str("</tbody></table></div>\n");
}

/// A number to the second digit of its standard error.
fn with_error(value: f64, se: Option<f64>) -> String {
    match se {
        Some(se) if se > 0.0 => {
            let places = (1 - se.log10().floor() as i32).clamp(0, 12) as usize;
            format!("{value:.places$} \u{b1} {se:.places$}")
        }
        _ => digits(value, 5),
    }
}

fn show_table(out: &mut String, item: &Item, table: &Table) {
    let link = format!("<a href=\"{}/{}.csv\">CSV</a>", item.name, table.name);
    if !table.shown {
        let _ = writeln!(out, "<p class=\"settings\">{} {link}</p>", escape(&table.caption));
        return;
    }
    let _ = write!(
        out,
        "<div class=\"wide\"><table><caption>{} {link}</caption><thead><tr>",
        escape(&table.caption)
    );
    for column in &table.header {
        let _ = write!(out, "<th>{}</th>", escape(column));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let class = if cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                " class=\"number\""
            } else {
                ""
            };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const STYLE: &str = "
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0;background:#fff;color:#222;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:1000px;margin:0 auto;padding:16px}
h1{font-size:1.7rem;line-height:1.2}
h2{font-size:1.3rem;line-height:1.25;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid #ccc}
a{color:#0b5394}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:#555;padding:.25rem 0}
th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #e3e3e3;vertical-align:top}
th{border-bottom-color:#888}
.number{text-align:right;white-space:nowrap}
.note td{color:#555;font-size:.85rem;padding-top:0}
tr:has(+ .note) td{border-bottom:0}
.wide{overflow-x:auto;margin:1rem 0}
.settings{color:#555;font-size:.85rem}
figure{margin:1rem 0}
figcaption{color:#444;font-size:.9rem}
.panels{display:flex;flex-wrap:wrap;gap:4px}
.panels>div{flex:1 1 300px;max-width:480px;min-width:0}
.panels svg,.legend svg{display:block;width:100%;height:auto}
.legend{max-width:480px}
";
