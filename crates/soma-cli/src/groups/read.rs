//! The table of groups: columns group, cell, value, and scale or variance.

use clap::ValueEnum;
use soma::grouped::{Entry, GroupTable, Size};
use soma::release::mechanism::{Budget, Neighbours, Noise, Publishing, scale_of_variance};
use soma::release::query::Categories;

use crate::import::frame::Frame;
use crate::import::noise_named;

/// The scale of the noise of a row.
type ScaleOfRow<'a> = Box<dyn Fn(usize) -> Result<f64, String> + 'a>;

/// The noise of the counts.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Noisy {
    /// The kind of noise that was added.
    #[arg(long, value_name = "KIND", value_parser = noise_name, help = noise_help())]
    pub noise: String,
    /// The scale of the noise of all counts, where the table has no column of it.
    #[arg(long, value_name = "B")]
    pub scale: Option<f64>,
    /// The variance of the noise of all counts.
    #[arg(long, value_name = "V", conflicts_with = "scale")]
    pub variance: Option<f64>,
    /// The epsilon that the table of a group was published with.
    #[arg(long, value_name = "E", conflicts_with_all = ["scale", "variance"])]
    pub epsilon: Option<f64>,
    /// The rho (zero-concentrated privacy) that the table of a group was published with.
    #[arg(long, value_name = "R", conflicts_with_all = ["scale", "variance", "epsilon"])]
    pub rho: Option<f64>,
    /// For --epsilon and --rho: whether a record is replaced, or added or removed.
    #[arg(long, value_name = "WHICH", default_value = "add-remove")]
    pub neighbours: Relation,
    /// Noisy counts below zero were published as 0.
    #[arg(long)]
    pub clamp_at_zero: bool,
    /// Noisy counts up to T are not shown: their value is "suppressed". A column threshold has it
    /// for each count.
    #[arg(long, value_name = "T")]
    pub threshold: Option<f64>,
}

/// What stands for a value that is not shown.
const SUPPRESSED: &str = "suppressed";

/// Which tables are neighbours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Relation {
    /// One record is replaced by another.
    Replace,
    /// One record is added or removed.
    #[default]
    AddRemove,
}

/// Columns that say how large the noise is.
const SPREADS: [&str; 2] = ["scale", "variance"];

impl Noisy {
    /// The groups of a table, with a Dirichlet prior of `alpha` for each cell.
    pub fn table(&self, frame: &Frame, alpha: f64) -> Result<GroupTable, String> {
        let noise = noise_named(&self.noise)?;
        let [group, cell, value] = ["group", "cell", "value"].map(|name| column(frame, name));
        let (group, cell, value) = (group?, cell?, value?);
        let size = Sizes::find(frame)?;
        let mut cells: Vec<&String> = frame.rows.iter().map(|row| &row[cell]).collect();
        cells.sort_unstable();
        cells.dedup();
        let scale = self.scales(frame, noise, cells.len())?;
        let entry = |row: usize| {
            let (value, publishing) = self.value(frame, row, value)?;
            Ok(Entry {
                group: frame.rows[row][group].clone(),
                cell: frame.rows[row][cell].clone(),
                value,
                publishing,
                scale: scale(row)?,
                size: size.read(frame, row, noise)?,
            })
        };
        let entries = (0..frame.rows.len()).map(entry).collect::<Result<Vec<_>, String>>()?;
        GroupTable::new(&entries, noise, alpha)
            .map_err(|invalid| format!("{}: {invalid}", frame.source))
    }

    /// The published value of a row, the threshold if it is suppressed, and what the publisher did.
    fn value(&self, frame: &Frame, row: usize, at: usize) -> Result<(f64, Publishing), String> {
        let threshold = match frame.find("threshold").filter(|&at| !frame.rows[row][at].is_empty())
        {
            Some(at) => Some(frame.number(row, at)?),
            None => self.threshold,
        };
        let zero = self.clamp_at_zero.then_some(0.0);
        let low = threshold.or(zero).unwrap_or(f64::NEG_INFINITY);
        let publishing = Publishing { low, ..Publishing::default() };
        let wrong = |problem: &str, given: &str, allowed: String| {
            let source = &frame.source;
            let row = row + 1;
            Err(format!("{source}, row {row}: {problem} (given: {given}). Allowed: {allowed}."))
        };
        if let (Some(threshold), Some(0.0)) = (threshold, zero)
            && threshold < 0.0
        {
            let allowed = "a threshold from 0 up, or no --clamp-at-zero".into();
            return wrong(
                "no count is below a threshold below zero",
                &threshold.to_string(),
                allowed,
            );
        }
        let text = frame.rows[row][at].as_str();
        if text.eq_ignore_ascii_case(SUPPRESSED) {
            return match threshold {
                Some(threshold) => Ok((threshold, publishing)),
                None => wrong(
                    "a count is not shown, and it is not known up to which noisy count",
                    text,
                    "--threshold T or a column threshold beside it; or a number".into(),
                ),
            };
        }
        let value = frame.number(row, at)?;
        match (threshold, zero) {
            (Some(threshold), _) if value <= threshold => wrong(
                "a count up to the threshold is not shown",
                text,
                format!("{SUPPRESSED}, or a number above {threshold}"),
            ),
            (None, Some(zero)) if value < zero => wrong(
                "with --clamp-at-zero no count is below zero",
                text,
                "a number from 0 up; or no --clamp-at-zero".into(),
            ),
            _ => Ok((value, publishing)),
        }
    }

    /// The scale of the noise of each row.
    fn scales<'a>(
        &self,
        frame: &'a Frame,
        noise: Noise,
        cells: usize,
    ) -> Result<ScaleOfRow<'a>, String> {
        let own: Vec<(&str, usize)> =
            SPREADS.into_iter().filter_map(|name| Some((name, frame.find(name)?))).collect();
        let common = self.common(noise, cells)?;
        match (common, &own[..]) {
            (Some(scale), []) => Ok(Box::new(move |_| Ok(scale))),
            (None, &[("scale", at)]) => Ok(Box::new(move |row| frame.number(row, at))),
            (None, &[(_, at)]) => {
                Ok(Box::new(move |row| Ok(scale_of_variance(noise, frame.number(row, at)?))))
            }
            (common, own) => {
                let mut given: Vec<String> =
                    own.iter().map(|(name, _)| format!("a column {name}")).collect();
                given.extend(common.map(|_| "an option".to_string()));
                let given = if given.is_empty() { "nothing".into() } else { given.join(" and ") };
                Err(format!(
                    "scale: the noise needs one scale (given: {given}). Allowed: a column scale or \
                     variance in the table; or one of --scale, --variance, --epsilon, --rho."
                ))
            }
        }
    }

    /// The scale of all rows, where an option gives it.
    fn common(&self, noise: Noise, cells: usize) -> Result<Option<f64>, String> {
        let said = |invalid: soma::Invalid| invalid.to_string();
        let budget = match (self.epsilon, self.rho) {
            (Some(epsilon), _) => Budget::Epsilon(epsilon),
            (_, Some(rho)) => Budget::Rho(rho),
            _ => return Ok(self.scale.or(self.variance.map(|v| scale_of_variance(noise, v)))),
        };
        let neighbours = match self.neighbours {
            Relation::Replace => Neighbours::Replace,
            Relation::AddRemove => Neighbours::AddRemove,
        };
        let query = Categories::new(cells).map_err(said)?;
        budget.scale(noise, neighbours.sensitivity(&query)).map(Some).map_err(said)
    }
}

/// The name of a kind of noise.
fn noise_name(text: &str) -> Result<String, String> {
    noise_named(text).map(|noise| noise.name().to_string())
}

fn noise_help() -> String {
    format!("The kind of noise that was added: {}", Noise::any())
}

/// The place of a column of the table.
fn column(frame: &Frame, name: &str) -> Result<usize, String> {
    frame.find(name).ok_or_else(|| {
        format!(
            "{}: the column {name} is missing (given: {}). Allowed: columns group, cell and value, \
             and scale or variance unless an option gives it; n, where it is public; noisy_n with \
             n_scale or n_variance; threshold.",
            frame.source,
            frame.columns.join(", ")
        )
    })
}

/// The columns of what was published of the number of records of a group.
struct Sizes {
    public: Option<usize>,
    noisy: Option<usize>,
    scale: Option<usize>,
    variance: Option<usize>,
}

/// What stands for a number of records that is not public, beside nothing.
const UNKNOWN: &str = "unknown";

impl Sizes {
    fn find(frame: &Frame) -> Result<Self, String> {
        let [public, noisy, scale, variance] =
            ["n", "noisy_n", "n_scale", "n_variance"].map(|name| frame.find(name));
        let given = [noisy, scale, variance].map(|column| column.is_some());
        if matches!(given, [false, false, false] | [true, true, false] | [true, false, true]) {
            return Ok(Sizes { public, noisy, scale, variance });
        }
        Err(format!(
            "{}: a noisy number of records needs one scale of its noise (given: {}). Allowed: \
             columns noisy_n and n_scale, or noisy_n and n_variance.",
            frame.source,
            frame.columns.join(", ")
        ))
    }

    fn read(&self, frame: &Frame, row: usize, noise: Noise) -> Result<Size, String> {
        let is_given = |at: &usize| !frame.rows[row][*at].is_empty();
        let public = self
            .public
            .filter(is_given)
            .filter(|&at| !frame.rows[row][at].eq_ignore_ascii_case(UNKNOWN));
        match (public, self.noisy.filter(is_given)) {
            (None, None) => Ok(Size::Unknown),
            (Some(at), None) => whole(frame, row, at).map(Size::Public),
            (None, Some(at)) => {
                let value = frame.number(row, at)?;
                let scale = match (self.scale, self.variance) {
                    (Some(scale), _) => frame.number(row, scale)?,
                    (_, Some(variance)) => scale_of_variance(noise, frame.number(row, variance)?),
                    _ => f64::NAN,
                };
                Ok(Size::Noisy { value, scale })
            }
            (Some(public), Some(noisy)) => Err(format!(
                "{}, row {}: the number of records is public and noisy (given: {} and {}). Allowed: \
                 n, where it is public, or noisy_n.",
                frame.source,
                row + 1,
                frame.rows[row][public],
                frame.rows[row][noisy]
            )),
        }
    }
}

/// A number of records.
fn whole(frame: &Frame, row: usize, at: usize) -> Result<u64, String> {
    let number = frame.number(row, at)?;
    if number < 0.0 || number.fract() != 0.0 || number > 9e15 {
        return Err(format!(
            "{}, row {}: n is not a number of records (given: {number}). Allowed: a whole number \
             from 0 up; empty or {UNKNOWN}, where n is not public.",
            frame.source,
            row + 1
        ));
    }
    Ok(number as u64)
}
