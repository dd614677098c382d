//! A table that is printed line by line as results come, with a progress line on standard error; or
//! as JSON at the end.

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::exit::{self, Outcome};

/// A column: its name, its width, and whether it holds text, which is left-aligned.
pub type Column = (&'static str, usize, bool);

/// The table.
pub struct Lines<T> {
    columns: Vec<Column>,
    bar: ProgressBar,
    json: bool,
    all: Vec<T>,
}

impl<T: Serialize> Lines<T> {
    /// Prints the header, unless the output is `json`.
    pub fn begin(columns: &[Column], steps: usize, json: bool) -> Result<Self, exit::Failed> {
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("[{pos} of {len}] {msg}  {elapsed}") {
            bar.set_style(style);
        }
        let lines = Lines { columns: columns.to_vec(), bar, json, all: Vec::new() };
        let names: Vec<String> = columns.iter().map(|(name, ..)| name.to_string()).collect();
        lines.row(&names)?;
        Ok(lines)
    }

    /// Called when the next step begins.
    pub fn next(&self, what: &str) {
        self.bar.inc(1);
        self.bar.set_message(what.to_string());
        self.bar.tick();
    }

    /// Adds a result, which is printed as these `cells`.
    pub fn add(&mut self, line: T, cells: &[String]) -> Outcome {
        self.all.push(line);
        self.row(cells)
    }

    fn row(&self, cells: &[String]) -> Outcome {
        if self.json {
            return Ok(());
        }
        let mut text = String::new();
        for (cell, &(_, width, words)) in cells.iter().zip(&self.columns) {
            text += &if words { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
        }
        self.bar.suspend(|| exit::print(text.trim_end()))
    }

    /// Ends the table.
    pub fn end(self) -> Outcome {
        self.bar.finish_and_clear();
        if self.json { exit::print(&exit::json(&self.all)) } else { Ok(()) }
    }
}
