//! The sections of the page, in the order of a reader.

use super::{drawn, tables};
use crate::content::{Content, Group};
use crate::figure::{Figure, Kind, density};
use crate::svg::{escape, fixed};

/// Rows of a table.
const ROWS: usize = 200;

/// A section: what links go to, its title, and what it says.
type Section = (&'static str, &'static str, String);

/// All sections.
pub fn all(content: &Content) -> Vec<Section> {
    let sections = [
        Some(("answer", "The answer", answer(content))),
        published(content),
        posterior(content),
        derived(content),
        counts(content),
        learned(content),
        predictive(content),
        pairs(content),
        Some(("trust", "Can the draws be trusted?", trust(content))),
        Some(("made", "How it was made", made(content))),
    ];
    sections.into_iter().flatten().collect()
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// The figure, or a sentence on why there is none.
fn figure(found: Result<Figure, String>, id: &str) -> String {
    match found {
        Ok(figure) => drawn(&figure, id),
        Err(why) => {
            format!("<p class=\"soft\">No figure: {}.</p>\n", escape(why.trim_end_matches('.')))
        }
    }
}

fn answer(content: &Content) -> String {
    let mut text = paragraph(
        "What the published values say of each quantity, once the noise that was added to them and \
         what was done to the records before are accounted for. A central 90% interval holds the \
         quantity with probability 0.9, given the model, the prior and the release.",
    );
    text += &meanings(content);
    if content.parameters.iter().any(|parameter| parameter.plug_in.is_some()) {
        text += &paragraph(
            "The plug-in answer takes the published values for the truth: what an analyst would \
             say who ignores noise and clamping. Published counts have no interval then.",
        );
    }
    text + &tables::posterior(content, ROWS)
}

/// What the names of shares and counts stand for, where there are both.
fn meanings(content: &Content) -> String {
    let has = |head: &str| content.parameters.iter().any(|p| p.name.starts_with(head));
    if !(has("p[") || has("p0")) || !has("count[") {
        return String::new();
    }
    let n = match content.parameters.iter().any(|parameter| parameter.name == "n") {
        true => ", and n is their number",
        false => "",
    };
    paragraph(&format!(
        "p[...] is a share among people like these, of whom these records are a sample; count[...] is \
         the true count among these records{n}. The share among these records is count[...] / n."
    ))
}

fn published(content: &Content) -> Option<Section> {
    let release = content.release.as_ref()?;
    let mut text = String::from("<p>Published: ");
    let mut lines = release.lines();
    text += &escape(lines.next().unwrap_or_default());
    text += ".</p>\n";
    let parts: String = lines.map(|line| format!("<li>{}</li>\n", escape(line.trim()))).collect();
    if !parts.is_empty() {
        text += &format!("<ul>\n{parts}</ul>\n");
    }
    if let Some(model) = &content.model {
        text += &match model.contains('\n') {
            true => format!("<p>The model of a record:</p>\n<pre>{}</pre>\n", escape(model)),
            false => paragraph(&format!("The model of a record: {model}.")),
        };
    }
    Some(("published", "What was published", text + &tables::published(content, ROWS)))
}

fn posterior(content: &Content) -> Option<Section> {
    let group = match content.of(Group::Parameter).next() {
        Some(_) => Group::Parameter,
        None => Group::Count,
    };
    let mut text = figure(density::of_group(content, group), "density");
    text += &figure(Kind::Intervals.figure(content), "intervals");
    Some(("posterior", "Posterior beside prior", text))
}

fn derived(content: &Content) -> Option<Section> {
    content.of(Group::Derived).find(|parameter| !parameter.is_comparison)?;
    let text = figure(density::of_group(content, Group::Derived), "derived");
    Some(("derived", "Derived quantities", text))
}

fn counts(content: &Content) -> Option<Section> {
    content.of(Group::Count).next()?;
    let text = figure(Kind::Counts.figure(content), "counts") + &tables::counts(content, ROWS);
    Some(("counts", "True counts", text))
}

fn learned(content: &Content) -> Option<Section> {
    let found = Kind::Learned.figure(content).ok()?;
    Some(("learned", "What the release says, and what the prior says", drawn(&found, "learned")))
}

fn predictive(content: &Content) -> Option<Section> {
    content.release.as_ref()?;
    let found = Kind::Predictive.figure(content);
    let mut text = String::new();
    if let (Ok(_), Ok(predicted)) = (&found, &content.predicted) {
        let least = predicted.iter().min_by(|a, b| a.p_value().total_cmp(&b.p_value()));
        if let Some(least) = least {
            let chance = least.p_value() * predicted.len() as f64;
            let says =
                if chance < 0.05 { "The model does not explain" } else { "The model explains" };
            text = paragraph(&format!(
                "{says} the release by this check: the smallest p is {}, that of {}, among {} \
                 value{}.",
                fixed(least.p_value(), 3),
                least.label,
                predicted.len(),
                if predicted.len() == 1 { "" } else { "s" }
            ));
        }
    }
    Some(("check", "Does the model explain the release?", text + &figure(found, "check")))
}

fn pairs(content: &Content) -> Option<Section> {
    let found = Kind::Pairs.figure(content).ok()?;
    Some(("pairs", "Pairs", drawn(&found, "pairs")))
}

fn trust(content: &Content) -> String {
    let mut text = paragraph(&content.verdict);
    text += &tables::diagnostics(content, ROWS);
    for kind in [Kind::Trace, Kind::Rank, Kind::Ess] {
        text += &figure(kind.figure(content), kind.name());
    }
    text
}

fn made(content: &Content) -> String {
    let mut text = tables::settings(content);
    if let Some(spec) = &content.spec {
        text += &format!("<p>The spec of the run:</p>\n<pre>{}</pre>\n", escape(spec.trim_end()));
    }
    text += &format!(
        "<p>To cite: The SOMA developers. <i>SOMA: honest Bayesian inference from differentially \
         private data</i>, version {}; and the paper of the SOMA sampler. R-hat, effective sample \
         sizes and rank plots are those of Vehtari, Gelman, Simpson, Carpenter and B\u{fc}rkner \
         (Bayesian Analysis, 2021); replicated releases follow Rubin (Annals of Statistics, 1984).</p>\n",
        escape(&content.version)
    );
    text
}
