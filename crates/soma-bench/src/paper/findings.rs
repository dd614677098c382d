//! The findings of an item: tables, figures, and published numbers with ours.

use serde::{Deserialize, Serialize};
use soma::Outcome;
use soma_plot::Figure;

/// A published number with ours, or a number of ours where the paper has a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The name of the quantity.
    pub quantity: String,
    /// The published value.
    pub published: Option<f64>,
    /// Our value.
    pub ours: f64,
    /// The standard error of ours.
    pub se: Option<f64>,
    /// Whether ours is within three standard errors of the published number, including the paper's
    /// own error if known; `None` if nothing was published.
    pub agrees: Option<bool>,
    /// How ours was computed, and the reason for a difference.
    pub note: String,
}

impl Check {
    /// A number of ours with its standard error.
    pub fn ours(quantity: impl Into<String>, (ours, se): (f64, f64)) -> Self {
        let se = se.is_finite().then_some(se);
        Check {
            quantity: quantity.into(),
            published: None,
            ours,
            se,
            agrees: None,
            note: String::new(),
        }
    }

    /// Adds the published number, exact to half of `unit`, the unit of its last digit, and with its
    /// own standard error if it can be inferred from the paper (0 otherwise).
    pub fn published(mut self, published: f64, unit: f64, their_se: f64) -> Self {
        let error = self.se.unwrap_or(0.0).hypot(their_se);
        self.published = Some(published);
        self.agrees = Some((self.ours - published).abs() <= 3.0 * error + 0.5 * unit);
        self
    }

    /// With a note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.add(note.into());
        self
    }

    /// Adds a note if the numbers differ by more than three of our own standard errors, regardless
    /// of the paper's own error.
    pub fn if_not(mut self, note: impl Into<String>) -> Self {
        let room = 3.0 * self.se.unwrap_or(0.0);
        if self.published.is_some_and(|published| (self.ours - published).abs() > room) {
            self.add(note.into());
        }
        self
    }

    fn add(&mut self, note: String) {
        if !self.note.is_empty() {
            self.note.push(' ');
        }
        self.note.push_str(&note);
    }
}

/// A table, kept as a CSV file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The name of its file, without `.csv`.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// Whether it is short enough for the page.
    pub shown: bool,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(name: &str, caption: impl Into<String>, header: &[&str]) -> Self {
        Table {
            name: name.into(),
            caption: caption.into(),
            shown: false,
            header: header.iter().map(|column| (*column).to_string()).collect(),
            rows: Vec::new(),
        }
    }

    /// The same, to be shown on the page.
    pub fn shown(mut self) -> Self {
        self.shown = true;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.header.len());
        self.rows.push(cells);
    }

    /// The table as CSV.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            out.push_str(&cells.join(","));
            out.push('\n');
        }
        out
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
}

/// A figure as drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    /// The name of its files, without `.svg` and `.png`.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// The whole figure as SVG.
    pub svg: String,
    /// The legend alone, for the page.
    pub legend: Option<String>,
    /// The panels one by one, for the page.
    pub panels: Vec<String>,
}

/// The findings of an item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The settings of the run, a sentence each.
    pub settings: Vec<String>,
    /// The findings, a sentence each, generated from the numbers.
    pub says: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The figures.
    pub drawings: Vec<Drawing>,
    /// The numbers.
    pub checks: Vec<Check>,
}

impl Findings {
    /// Empty findings.
    pub fn new() -> Self {
        Findings::default()
    }

    /// Adds a sentence about the settings.
    pub fn setting(&mut self, sentence: impl Into<String>) {
        self.settings.push(sentence.into());
    }

    /// Adds a sentence about what was found.
    pub fn say(&mut self, sentence: impl Into<String>) {
        self.says.push(sentence.into());
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds a figure.
    pub fn figure(&mut self, name: &str, caption: impl Into<String>, figure: &Figure) -> Outcome {
        self.drawings.push(Drawing {
            name: name.into(),
            caption: caption.into(),
            svg: figure.svg()?,
            legend: figure.legend_svg()?,
            panels: figure.panel_svgs()?,
        });
        Ok(())
    }

    /// Adds a number.
    pub fn check(&mut self, check: Check) {
        self.checks.push(check);
    }
}
