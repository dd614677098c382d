//! The output of PipelineDP with `output_noise_stddev=True`: each metric with the standard
//! deviation of its noise.

use soma::release::mechanism::Noise;

use super::cells::Cells;
use super::frame::Frame;
use super::write::{Part, numbers};
use super::{Imported, Options, kind_of, law_of_sd, one_frame, variable};

/// The suffix of columns of standard deviations.
const SD: &str = "_noise_stddev";

/// The release of the table: a row for each partition, or one row for all records.
pub fn read(frames: &[Frame], options: &Options) -> Result<Imported, String> {
    let frame = one_frame(frames)?;
    let sd_of = |column: &String| frame.find(&format!("{column}{SD}"));
    let is_metric = |column: &&String| sd_of(column).is_some();
    let wanted = |column: &&String| options.columns.is_empty() || options.columns.contains(column);
    let metrics: Vec<&String> = frame.columns.iter().filter(is_metric).filter(wanted).collect();
    if metrics.is_empty() {
        return Err(format!(
            "{}: no metric has its noise beside it (given: {}). Allowed: count and \
             count{SD}, and so on: AggregateParams(output_noise_stddev=True, ...).",
            frame.source,
            frame.columns.join(", ")
        ));
    }
    let is_key = |&at: &usize| {
        let name = &frame.columns[at];
        !is_metric(&name) && !name.ends_with(SD)
    };
    let keys: Vec<usize> = (0..frame.columns.len()).filter(is_key).collect();
    let sums = metrics.iter().filter(|metric| metric.as_str() == "sum").count();
    let part = |metric: &&String| {
        let values = frame.numbers(frame.need(metric)?)?;
        let sd = frame.numbers(sd_of(metric).unwrap_or_default())?;
        let is_count = ["count", "privacy_id_count"].contains(&metric.as_str());
        // Integers have rounded noise; PipelineDP itself also publishes others.
        let is_whole = is_count && values.iter().all(|value| value.fract() == 0.0);
        // The printed standard deviation is that of the noise before rounding.
        let before_rounding = options.noise.as_deref().and_then(Noise::named);
        let (noise, of_sd) = match (before_rounding, is_whole) {
            (Some(Noise::Laplace), true) => (Noise::RoundedLaplace, Noise::Laplace),
            (Some(noise @ (Noise::Laplace | Noise::Gaussian)), false) => (noise, noise),
            _ => {
                return Err(format!(
                    "noise: {metric} needs the kind of noise, which PipelineDP does not print \
                     (given: {}). Allowed: --noise laplace or --noise gaussian, as \
                     AggregateParams(noise_kind=...) had it.",
                    options.noise.as_deref().unwrap_or("nothing")
                ));
            }
        };
        let shown: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        let (query, values, sd) = if keys.is_empty() {
            let query = match is_count {
                true => "query = { kind = \"count\" }".to_string(),
                false => variable(metric, sums > 1, options)?,
            };
            (query, shown, sd)
        } else if is_count {
            let cells = Cells::new(&frame.keys(&keys), options)?;
            let values = cells.values(&shown, options.threshold)?;
            let own = |row: &Option<usize>| row.map_or(sd[0], |row| sd[row]);
            (cells.query.clone(), values, cells.rows.iter().map(own).collect())
        } else {
            return Err(format!(
                "{metric}: of partitions, counts are imported (given: {metric}). Allowed: \
                 --columns count."
            ));
        };
        let (key, scales) = law_of_sd(of_sd, &sd);
        let mut mechanism = vec![kind_of(noise), (key, numbers(&scales))];
        if let Some(threshold) = options.threshold {
            mechanism.push(("threshold", super::write::number(threshold)));
        }
        Ok(Part { name: metric.to_string(), query, is_sum: true, values, mechanism })
    };
    let parts = metrics.iter().map(part).collect::<Result<_, _>>()?;
    let remarks = vec![
        "From PipelineDP: scales are those of the printed standard deviations.".to_string(),
        "A record is one contribution: right where each privacy unit contributed one.".to_string(),
    ];
    Ok(Imported { parts, remarks })
}
