//! The file to publish: what was computed, the law of the noise and the guarantee, and nothing of the
//! data but the noisy values.

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
                self.rho_of_all(),
                self.epsilon,
                self.rho
            ),
            (false, true) => format!("rho {} (zCDP)", self.rho),
            _ => format!("epsilon {}", self.epsilon),
        }
    }

    fn table(self) -> Table {
        let mut table = Table::new();
        match (self.epsilon > 0.0, self.rho > 0.0) {
            (_, true) => table.insert("rho".into(), Value::Float(self.rho_of_all())),
            _ => table.insert("epsilon".into(), Value::Float(self.epsilon)),
        };
        table.insert("by".into(), Value::String("OpenDP".into()));
        table
    }
}

/// Keys of a mechanism that say where its scale came from.
const SOURCES: [&str; 7] = ["epsilon", "rho", "variance", "scale", "sensitivity", "delta", "rule"];

/// The text of the file: the table `[release]` of the spec with values, scales and guarantee in it.
/// `n` is the number of records where it is public.
pub fn text(spec: &str, n: Option<usize>, neighbours: &str, parts: &[Published]) -> Option<String> {
    let whole: Table = spec.parse().ok()?;
    let mut release = whole.get("release")?.as_table()?.clone();
    let n = n.map_or_else(|| Value::String("unknown".into()), |n| Value::Integer(n as i64));
    if n.is_integer() || !release.contains_key("n") {
        release.insert("n".into(), n);
    }
    release.insert("neighbours".into(), Value::String(neighbours.into()));
    let total = Total::of(parts.iter().map(|part| part.guarantee));
    release.insert("guarantee".into(), Value::Table(total.table()));
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
         # {} between neighbours ({neighbours}).\nformat = {}\n\n{body}",
        total.said(),
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
