//! The figures of a report: one file each, and one table of them.

mod counts;
pub(crate) mod density;
mod ess;
mod intervals;
mod learned;
mod pairs;
mod predictive;
mod rank;
mod trace;

use std::fmt::Write;

use crate::content::Content;
use crate::svg::{Ink, Panel, STYLE, VARIABLES, escape};

/// Panels with one legend.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What the colours stand for.
    pub keys: Vec<(String, Ink)>,
    /// The drawings.
    pub panels: Vec<Panel>,
}

macro_rules! kinds {
    ($($kind:ident, $name:literal, $module:ident, $doc:literal;)*) => {
        /// A kind of figure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = $doc] $kind),*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// The name, as `soma plot` takes it.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),* }
            }

            /// What it shows.
            pub fn about(self) -> &'static str {
                match self { $(Kind::$kind => $doc),* }
            }

            /// The figure; or why there is none.
            pub fn figure(self, content: &Content) -> Result<Figure, String> {
                match self { $(Kind::$kind => $module::figure(content)),* }
            }
        }
    };
}

kinds! {
    Density, "density", density, "The posterior density of each quantity beside its prior.";
    Intervals, "intervals", intervals, "Intervals of the posterior, the prior and the plug-in answer.";
    Learned, "learned", learned, "How much of the prior variance the release removed.";
    Counts, "counts", counts, "True counts with intervals beside the published ones.";
    Predictive, "predictive", predictive, "The release among replicated releases.";
    Pairs, "pairs", pairs, "Pairs of quantities that depend most on each other.";
    Trace, "trace", trace, "The draws of each chain, one after the other.";
    Rank, "rank", rank, "The ranks of each chain's draws among all draws.";
    Ess, "ess", ess, "How the effective sample size grows with the draws.";
}

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// The space around the panels of a drawing that stands alone.
const GAP: f64 = 12.0;

/// The height of a line of the legend.
const LINE: f64 = 20.0;

impl Figure {
    /// A document of its own, with the panels in at most `columns` columns. It begins with an XML
    /// declaration, holds its colours for dark and light, and needs nothing else.
    pub fn document(&self, columns: usize) -> String {
        let variables = VARIABLES.replace("SCOPE", "svg.soma");
        let style = format!("<style>\n{variables}{STYLE}</style>\n");
        self.drawn(columns, &style, " style=\"fill:var(--paper)\"")
    }

    /// The same in the light colours, without a style sheet: for what reads no CSS variables, such as
    /// programs that make pixels of it.
    pub fn plain_document(&self, columns: usize) -> String {
        self.drawn(columns, "", "")
    }

    fn drawn(&self, columns: usize, style: &str, paper: &str) -> String {
        let columns = columns.clamp(1, self.panels.len().max(1));
        let cell = self.panels.iter().map(|panel| panel.width).fold(0.0, f64::max) + GAP;
        let width = (cell * columns as f64 + GAP).max(240.0);
        let (legend, mut top) = self.legend(width);
        let mut body = legend;
        for row in self.panels.chunks(columns) {
            for (column, panel) in row.iter().enumerate() {
                let x = GAP + cell * column as f64;
                let _ = write!(body, "<g transform=\"translate({x:.0} {top:.0})\">");
                let _ = write!(body, "<desc>{}</desc>", escape(&panel.description));
                body += &panel.body;
                body += "</g>";
            }
            top += row.iter().map(|panel| panel.height).fold(0.0, f64::max) + GAP;
        }
        let (title, caption) = (escape(&self.title), escape(&self.caption));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg class=\"soma\" role=\"img\" \
             aria-labelledby=\"t\" aria-describedby=\"d\" width=\"{width:.0}\" height=\"{top:.0}\" \
             viewBox=\"0 0 {width:.0} {top:.0}\" font-size=\"11\" font-family=\"sans-serif\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"t\">{title}</title>\n\
             <desc id=\"d\">{caption}</desc>\n{style}\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"{paper}/>\n\
             {body}\n</svg>\n"
        )
    }

    /// The legend in lines of this width, and the height that it takes.
    fn legend(&self, width: f64) -> (String, f64) {
        let (mut out, mut x, mut y) = (String::new(), GAP + 8.0, 18.0);
        for (name, ink) in &self.keys {
            let long = 30.0 + 6.3 * name.chars().count() as f64;
            if x + long > width && x > GAP + 8.0 {
                (x, y) = (GAP + 8.0, y + LINE);
            }
            let (class, colour, text) = (ink.class(), ink.light(), escape(name));
            let (top, after) = (y - 9.0, x + 16.0);
            let _ = write!(
                out,
                "<rect class=\"mark-fill {class}\" fill=\"{colour}\" x=\"{x:.0}\" y=\"{top:.0}\" \
                 width=\"11\" height=\"11\" rx=\"2\"/><text fill=\"#5a626c\" x=\"{after:.0}\" \
                 y=\"{y:.0}\">{text}</text>"
            );
            x += long;
        }
        (out, if self.keys.is_empty() { GAP } else { y + GAP })
    }
}

/// The window in which draws are drawn: from the smallest to the largest, but for single draws far
/// out, with a little room.
fn window(sorted: &[f64]) -> (f64, f64) {
    use soma::diagnostics::quantile;
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else { return (0.0, 1.0) };
    let (low, high) = (quantile(sorted, 0.002), quantile(sorted, 0.998));
    let room = 0.12 * (high - low);
    (least.max(low - room), most.min(high + room))
}
