//! Rows of group, cell and noisy count, as one problem for each group.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use crate::counts::{CountProblem, Likelihood, Published, Shares, Table};
use crate::error::Invalid;
use crate::release::mechanism::{Noise, Publishing};
use crate::release::{SizePrior, Total};

/// A noisy count.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The group, such as a region.
    pub group: String,
    /// The cell of the group's table.
    pub cell: String,
    /// What was published; of a suppressed count the threshold, which is the lower end of the clamp.
    pub value: f64,
    /// The scale of its noise.
    pub scale: f64,
    /// What became of the noisy count: clamped at zero, suppressed up to a threshold, rounded.
    pub publishing: Publishing,
    /// What is known of the number of records of the group.
    pub size: Size,
}

/// What was published of the number of records of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Size {
    /// Nothing.
    #[default]
    Unknown,
    /// The number itself.
    Public(u64),
    /// The number with additive noise of the same kind as that of the counts.
    Noisy {
        /// The noisy number.
        value: f64,
        /// The scale of its noise.
        scale: f64,
    },
}

impl Size {
    /// As in a message.
    fn given(self) -> String {
        match self {
            Size::Unknown => "nothing".into(),
            Size::Public(n) => n.to_string(),
            Size::Noisy { value, scale } => format!("noisy {value}, of scale {scale}"),
        }
    }
}

/// Groups with the same cells.
#[derive(Debug, Clone)]
pub struct GroupTable {
    names: Vec<String>,
    problems: Vec<CountProblem>,
}

impl GroupTable {
    /// The groups of these rows, in the order in which they come, with additive noise of this kind
    /// and a Dirichlet prior of the shares with `alpha` for each cell. Every group must have every
    /// cell once. A group whose n is not public has a flat prior of it,
    /// beside a noisy n if there is one.
    pub fn new(entries: &[Entry], noise: Noise, alpha: f64) -> Result<Self, Invalid> {
        let mut cells = Names::default();
        let mut groups = Names::default();
        for entry in entries {
            cells.add(&entry.cell);
            groups.add(&entry.group);
        }
        let table = Table::list(cells.all.clone())?;
        let mut laws = Laws::default();
        let mut rows = vec![vec![None; cells.all.len()]; groups.all.len()];
        let mut sizes: Vec<Option<Size>> = vec![None; groups.all.len()];
        for (number, entry) in entries.iter().enumerate() {
            let (group, cell) = (groups.places[&entry.group], cells.places[&entry.cell]);
            let under = |invalid: Invalid| invalid.under(&format!("row {}", number + 1));
            let law = laws.of(noise, entry).map_err(under)?;
            if rows[group][cell].replace(Published::sum(&*entry.cell, &[cell], law)).is_some() {
                return Err(Invalid::new(
                    format!("row {}", number + 1),
                    "the cell of this group is there twice",
                    format!("group {}, cell {}", entry.group, entry.cell),
                    "one row for each cell of each group",
                ));
            }
            match sizes[group] {
                None => sizes[group] = Some(entry.size),
                Some(size) if size != entry.size => {
                    return Err(Invalid::new(
                        format!("row {}: n", number + 1),
                        "the group has another n in another row",
                        entry.size.given(),
                        "the same n in all rows of a group",
                    ));
                }
                Some(_) => {}
            }
        }
        let shares = Shares::Dirichlet(vec![alpha; cells.all.len()]);
        let problem = |(group, rows): (usize, Vec<Option<Published>>)| {
            if let Some(missing) = rows.iter().position(Option::is_none) {
                return Err(Invalid::new(
                    "cell",
                    format!("group {} has no row of a cell that others have", groups.all[group]),
                    &cells.all[missing],
                    "one row for each cell of each group",
                ));
            }
            let under = |invalid: Invalid| invalid.under(&format!("group {}", groups.all[group]));
            let mut rows: Vec<Published> = rows.into_iter().flatten().collect();
            let total = match sizes[group].unwrap_or_default() {
                Size::Public(n) => Total::Known(i64::try_from(n).unwrap_or(i64::MAX)),
                Size::Unknown => Total::Unknown(SizePrior::Flat),
                Size::Noisy { value, scale } => {
                    let plain = Publishing::default();
                    let law = Likelihood::processed(noise, scale, plain, value);
                    let all: Vec<usize> = (0..cells.all.len()).collect();
                    rows.push(Published::sum("", &all, law.map_err(under)?));
                    Total::Unknown(SizePrior::Flat)
                }
            };
            CountProblem::new(table.clone(), rows, total, shares.clone()).map_err(under)
        };
        let problems = rows.into_iter().enumerate().map(problem).collect::<Result<_, _>>()?;
        Ok(GroupTable { names: groups.all, problems })
    }

    /// The names of the groups.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The problem of each group.
    pub fn problems(&self) -> &[CountProblem] {
        &self.problems
    }
}

/// Likelihoods, those at an end of a clamp once for all counts that have the same: they have a table
/// of log densities.
#[derive(Default)]
struct Laws(HashMap<[u64; 4], Likelihood>);

impl Laws {
    fn of(&mut self, noise: Noise, entry: &Entry) -> Result<Likelihood, Invalid> {
        let Entry { value, scale, publishing, .. } = *entry;
        let law = || Likelihood::processed(noise, scale, publishing, value);
        let is_end = value <= publishing.low || value >= publishing.high;
        if !(is_end && publishing.is_clamp()) {
            return law();
        }
        let key = [value, scale, publishing.low, publishing.high].map(f64::to_bits);
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let law = law()?;
        self.0.insert(key, law.clone());
        Ok(law)
    }
}

/// Names in the order in which they come, each once.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if let Slot::Vacant(slot) = self.places.entry(name.to_string()) {
            slot.insert(self.all.len());
            self.all.push(name.to_string());
        }
    }
}
