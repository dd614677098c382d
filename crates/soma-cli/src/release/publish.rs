//! The file to publish: what was computed, the law of the noise and the guarantee, and nothing of the
//! data but the noisy values.

use soma::error::rounded;
use toml::{Table, Value};

/// What is guaranteed between neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guarantee {
    /// Pure differential privacy.
    Epsilon(f64),
    /// Zero-concentrated differential privacy.
    Rho(f64),
}

/// What a part came to.
pub struct Published {
    /// The noisy values; none for one that is not shown.
    pub values: Vec<Option<f64>>,
    /// The scale that was used.
    pub scale: f64,
    /// What is guaranteed for it.
    pub guarantee: Guarantee,
    /// Whether values are whole numbers.
    pub is_whole: bool,
}

/// What all parts together guarantee: budgets of one kind add up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Total {
    /// Of parts with pure differential privacy.
    pub epsilon: f64,
    /// Of parts with zero-concentrated differential privacy.
    pub rho: f64,
}

impl Total {
    /// Of guarantees of parts about the same records.
    pub fn of(parts: impl Iterator<Item = Guarantee>) -> Self {
        parts.fold(Total::default(), |total, own| match own {
            Guarantee::Epsilon(epsilon) => Total { epsilon: total.epsilon + epsilon, ..total },
            Guarantee::Rho(rho) => Total { rho: total.rho + rho, ..total },
        })
    }

    /// The same as one number of rho, where both kinds were spent: epsilon-DP is epsilon^2/2-zCDP
    /// (Bun and Steinke 2016).
    pub fn rho_of_all(self) -> f64 {
        self.rho + 0.5 * self.epsilon * self.epsilon
    }

    /// In words.
    pub fn said(self) -> String {
        match (self.epsilon > 0.0, self.rho > 0.0) {
            (true, true) => format!(
                "rho {} (zCDP): epsilon {} and rho {}",
                guaranteed(self.rho_of_all()),
                guaranteed(self.epsilon),
                guaranteed(self.rho)
            ),
            (false, true) => format!("rho {} (zCDP)", guaranteed(self.rho)),
            _ => format!("epsilon {}", guaranteed(self.epsilon)),
        }
    }

    fn table(self) -> Table {
        let mut table = Table::new();
        match (self.epsilon > 0.0, self.rho > 0.0) {
            (_, true) => table.insert("rho".into(), Value::Float(guaranteed(self.rho_of_all()))),
            _ => table.insert("epsilon".into(), Value::Float(guaranteed(self.epsilon))),
        };
        table.insert("by".into(), Value::String("OpenDP".into()));
        table
    }
}

/// A guarantee for people and files: rounded up, and not below it by more than one in 10^9.
fn guaranteed(x: f64) -> f64 {
    let near = rounded(x).parse().unwrap_or(x);
    if near >= x * (1.0 - 1e-9) { near } else { up(x, 6) }
}

/// The least number of so many significant digits that is not below x.
pub fn up(x: f64, digits: i32) -> f64 {
    let power = digits - 1 - x.abs().log10().floor() as i32;
    let unit = format!("{}e{}", (x * 10f64.powi(power)).ceil(), -power);
    unit.parse().ok().filter(|found| *found >= x).unwrap_or(x)
}

/// Whether a text is a release that was written here.
pub fn is_ours(text: &str) -> bool {
    let root: Table = text.parse().unwrap_or_default();
    let guarantee = root.get("release").and_then(|release| release.get("guarantee"));
    guarantee.is_some_and(|own| own.get("by").is_some()) && soma::spec::is_release(text)
}

/// The lines of the model that say what the variables of a record are, as comments: statistics as
/// text are about them.
fn declared(spec: &Table, labels: &[(String, Vec<String>)]) -> String {
    let record = spec.get("model").and_then(|model| model.get("record")).and_then(Value::as_str);
    let lines = record.unwrap_or_default().lines();
    let lines = lines.map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines: Vec<String> =
        lines.filter(|line| !line.is_empty()).map(|line| format!("#   {line}\n")).collect();
    if lines.is_empty() {
        return String::new();
    }
    let named = labels.iter().map(|(name, labels)| {
        format!("# The labels of {name}, in the order of its codes: {}\n", labels.join(", "))
    });
    let head = "# The statistics are about the variables of this record of a model:\n".to_string();
    std::iter::once(head).chain(lines).chain(named).collect()
}

/// Keys of a mechanism that say where its scale came from.
const SOURCES: [&str; 7] = ["epsilon", "rho", "variance", "scale", "sensitivity", "delta", "rule"];

/// What is said of the records beside the values.
pub struct About<'a> {
    /// Their number, where it is public.
    pub n: Option<usize>,
    /// Which data sets are neighbours.
    pub neighbours: &'a str,
    /// The most records of a person.
    pub contributions: u64,
    /// The labels of the columns of categories.
    pub labels: &'a [(String, Vec<String>)],
}

impl About<'_> {
    /// Which data sets are neighbours, in words.
    fn neighbours(&self) -> String {
        match self.contributions {
            1 => self.neighbours.to_string(),
            most => format!("{}, up to {most} records of a person", self.neighbours),
        }
    }
}

/// The text of the file: the table `[release]` of the spec with values, scales and guarantee in it.
pub fn text(spec: &str, about: &About, parts: &[Published]) -> Option<String> {
    let whole: Table = spec.parse().ok()?;
    let mut release = whole.get("release")?.as_table()?.clone();
    let n = about.n.map_or_else(|| Value::String("unknown".into()), |n| Value::Integer(n as i64));
    if n.is_integer() || !release.contains_key("n") {
        release.insert("n".into(), n);
    }
    release.insert("neighbours".into(), Value::String(about.neighbours.into()));
    let total = Total::of(parts.iter().map(|part| part.guarantee));
    let mut guarantee = total.table();
    if about.contributions > 1 {
        let most = i64::try_from(about.contributions).unwrap_or(i64::MAX);
        guarantee.insert("contributions".into(), Value::Integer(most));
    }
    release.insert("guarantee".into(), Value::Table(guarantee));
    match release.get_mut("parts") {
        Some(Value::Array(tables)) => {
            let tables = tables.iter_mut().filter_map(Value::as_table_mut);
            tables.zip(parts).for_each(|(table, part)| fill(table, part));
        }
        _ => fill(&mut release, parts.first()?),
    }
    let mut root = Table::new();
    root.insert("release".into(), Value::Table(release));
    let body = toml::to_string(&root).ok()?;
    Some(format!(
        "# A private release: the noise was added by OpenDP with its secure generator.\n\
         # {} between neighbours ({}).\n{}format = {}\n\n{body}",
        total.said(),
        about.neighbours(),
        declared(&whole, about.labels),
        soma::spec::FORMAT,
    ))
}

fn fill(table: &mut Table, part: &Published) {
    let value = |value: &Option<f64>| match value {
        None => Value::String("suppressed".into()),
        Some(value) if part.is_whole => Value::Integer(*value as i64),
        Some(value) => Value::Float(*value),
    };
    table.insert("values".into(), Value::Array(part.values.iter().map(value).collect()));
    if let Some(Value::Table(mechanism)) = table.get_mut("mechanism") {
        SOURCES.iter().for_each(|key| drop(mechanism.remove(*key)));
        mechanism.insert("scale".into(), Value::Float(part.scale));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_a_guarantee_is_not_understated() {
        assert_eq!(Total { epsilon: 0.1 + 0.2, rho: 0.0 }.said(), "epsilon 0.3");
        assert_eq!(rounded(0.0026666679382342006), "0.00266667");
        assert_eq!((guaranteed(0.9999999987), guaranteed(1.5000004)), (1.0, 1.50001));
        for x in [0.0026666679382342006, 1.0, 6.666666666666667, 1234567.891, 3e-9, 8e12] {
            let found = up(x, 9);
            assert!(found >= x && found <= x * (1.0 + 1e-8), "{x}: {found}");
            assert!(found.to_string().trim_matches(['0', '.']).len() <= 10, "{found}");
        }
    }
}
