//! Estimates of the US Census by generalised least squares: geocode, query, estimate, std_dev.

use soma::release::mechanism::Noise;

use super::frame::Frame;
use super::write::{Part, numbers, texts};
use super::{Imported, Options, kind_of, of_geocode, one_frame};

/// The release of one geographic unit: the number of records, and counts of disjoint groups.
pub fn read(frames: &[Frame], options: &Options) -> Result<Imported, String> {
    let frame = one_frame(frames)?;
    let (geocode, rows) = of_geocode(frame, options)?;
    let [query, estimate, sd] = ["query", "estimate", "std_dev"].map(|name| frame.need(name));
    let (query, estimate, sd) = (query?, estimate?, sd?);
    let name = |&row: &usize| frame.rows[row][query].clone();
    let wanted = |row: &&usize| options.columns.is_empty() || options.columns.contains(&name(row));
    let is_total = |row: &&usize| name(row).eq_ignore_ascii_case("total");
    let rows: Vec<usize> = rows.iter().filter(wanted).copied().collect();
    let part = |rows: &[usize], part: &str, query: String| {
        let column = |column: usize| {
            rows.iter().map(|&row| frame.number(row, column)).collect::<Result<Vec<_>, _>>()
        };
        Ok::<_, String>(Part {
            name: part.to_string(),
            query,
            is_sum: true,
            values: column(estimate)?.into_iter().map(Some).collect(),
            mechanism: vec![kind_of(Noise::Gaussian), ("scale", numbers(&column(sd)?))],
        })
    };
    let mut parts = Vec::new();
    for row in rows.iter().filter(is_total) {
        parts.push(part(&[*row], "total", "query = { kind = \"count\" }".to_string())?);
    }
    let groups: Vec<usize> = rows.iter().filter(|row| !is_total(row)).copied().collect();
    if !groups.is_empty() {
        let labels: Vec<String> = groups.iter().map(name).collect();
        let query = format!("query = {{ kind = \"categories\", labels = {} }}", texts(&labels));
        parts.push(part(&groups, "groups", query)?);
    }
    let remarks = vec![
        format!("From estimates by generalised least squares: geocode {geocode}."),
        "The groups are taken to be disjoint and all of the records, and errors independent."
            .to_string(),
    ];
    Ok(Imported { parts, remarks })
}
