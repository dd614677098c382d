//! A plain table of noisy counts: columns of labels, the value, and its scale.

use soma::release::mechanism::Noise;

use super::cells::Cells;
use super::frame::Frame;
use super::write::{Part, number, numbers};
use super::{Imported, Options, kind_of, law_of_sd, noise_named, one_frame};

/// Names of the column of values.
const VALUES: [&str; 4] = ["value", "count", "estimate", "noisy_count"];

/// Texts of a suppressed cell.
const HIDDEN: [&str; 7] = ["", "*", "x", "s", "suppressed", "null", "na"];

/// The release of the table.
pub fn read(frames: &[Frame], options: &Options) -> Result<Imported, String> {
    let frame = one_frame(frames)?;
    let value = VALUES.iter().find_map(|name| frame.find(name)).ok_or_else(|| {
        format!(
            "{}: no column has the counts (given: {}). Allowed: columns of labels, then {}, and \
             scale, variance or std_dev.",
            frame.source,
            frame.columns.join(", "),
            VALUES.join(" or ")
        )
    })?;
    let spread = ["scale", "variance", "std_dev"].map(|name| (name, frame.find(name)));
    let spread = spread.into_iter().find_map(|(name, at)| at.map(|at| (name, at)));
    let is_key = |&at: &usize| at != value && spread.is_none_or(|(_, own)| at != own);
    let keys: Vec<usize> = (0..frame.columns.len()).filter(is_key).collect();
    if keys.is_empty() {
        return Err(format!(
            "{}: no column has labels (given: {}). Allowed: a column of labels before the values.",
            frame.source,
            frame.columns.join(", ")
        ));
    }
    let published = |row: usize| {
        let hidden = HIDDEN.contains(&frame.rows[row][value].to_ascii_lowercase().as_str());
        if hidden { Ok(None) } else { frame.number(row, value).map(Some) }
    };
    let published: Vec<Option<f64>> =
        (0..frame.rows.len()).map(published).collect::<Result<_, _>>()?;
    let cells = Cells::new(&frame.keys(&keys), options)?;
    let values = cells.values(&published, options.threshold)?;
    let Some(name) = options.noise.as_deref() else {
        return Err(format!(
            "noise: the table does not say which noise was added (given: nothing). Allowed: \
             --noise {}.",
            Noise::any()
        ));
    };
    let noise = noise_named(name)?;
    let (key, spreads) = match (options.scale, spread) {
        (Some(scale), None) => ("scale", vec![scale]),
        (None, Some((name, at))) => {
            let own = frame.numbers(at)?;
            let of_cell = |row: &Option<usize>| row.map_or(own[0], |row| own[row]);
            let own: Vec<f64> = cells.rows.iter().map(of_cell).collect();
            match name {
                "std_dev" => law_of_sd(noise, &own),
                name => (name, own),
            }
        }
        (given, _) => {
            return Err(format!(
                "scale: the noise needs one scale (given: {}). Allowed: a column scale, variance or \
                 std_dev; or --scale.",
                if given.is_some() { "both" } else { "none" }
            ));
        }
    };
    let mut mechanism = vec![kind_of(noise), (key, numbers(&spreads))];
    if let Some(threshold) = options.threshold {
        mechanism.push(("threshold", number(threshold)));
    }
    let part = Part { name: "counts".into(), query: cells.query, is_sum: true, values, mechanism };
    Ok(Imported { parts: vec![part], remarks: vec!["From a table of counts.".into()] })
}
