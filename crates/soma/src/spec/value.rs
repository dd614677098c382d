//! Reading fields of TOML, with errors that name the field.
//!
//! The errors have the path of a field, such as `release.values[2]`; [`locate`] finds the position
//! of a path in the text.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::words::choices;
use crate::error::{Invalid, listed, shortened};

/// A table and its path.
#[derive(Clone)]
pub(super) struct Table<'a> {
    path: String,
    entries: &'a DeTable<'a>,
}

/// A value and its path.
#[derive(Clone)]
pub(super) struct Value<'a> {
    path: String,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    /// The whole text.
    pub(super) fn root(entries: &'a DeTable<'a>) -> Self {
        Table { path: String::new(), entries }
    }

    /// The path of the table.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path of the field `key` of this table.
    pub(super) fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// An error unless all keys are among `allowed`; it names the first that is not.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), Invalid> {
        let known: HashSet<&str> = allowed.iter().copied().collect();
        let unknown = self.entries.iter().map(|(key, _)| key);
        let unknown = unknown.filter(|key| !known.contains(key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref();
                let problem = "unknown key";
                Err(Invalid::new(self.field(name), problem, quoted(name), choices(name, allowed)))
            }
        }
    }

    /// All keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.entries.keys().map(|key| key.get_ref().as_ref())
    }

    /// All keys, in the order of the text.
    pub(super) fn keys_in_order(&self) -> Vec<&'a str> {
        let mut keys: Vec<_> = self.entries.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        keys.into_iter().map(|key| key.get_ref().as_ref()).collect()
    }

    /// The value of `key`, if present.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let value = self.entries.get(key)?.get_ref();
        Some(Value { path: self.field(key), value })
    }

    /// The value of `key`, which is required; `allowed` describes it.
    pub(super) fn need(&self, key: &str, allowed: &str) -> Result<Value<'a>, Invalid> {
        self.get(key).ok_or_else(|| {
            Invalid::new(self.field(key), "is missing", "nothing", format!("{key} = {allowed}"))
        })
    }

    /// Whether the value of `key` is the text `name`.
    pub(super) fn names(&self, key: &str, name: &str) -> bool {
        let value = self.get(key).map(|value| value.value);
        matches!(value, Some(DeValue::String(text)) if text.as_ref() == name)
    }

    /// The kind of this table: its `kind` key, one of `names`.
    pub(super) fn kind(&self, names: &[&'static str]) -> Result<&'static str, Invalid> {
        self.need("kind", &format!("one of {}", listed(names)))?.choice(names)
    }
}

impl<'a> Value<'a> {
    pub(super) fn wrong(&self, problem: &str, allowed: impl Into<String>) -> Invalid {
        Invalid::new(&self.path, problem, self.given(), allowed)
    }

    /// The value as an error shows it.
    pub(super) fn given(&self) -> String {
        match self.value {
            DeValue::String(text) => quoted(text),
            DeValue::Integer(number) => shortened(&number.to_string()),
            DeValue::Float(number) => shortened(number.as_str()),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(items) => format!("a list of {}", items.len()),
            DeValue::Table(_) => "a table".to_string(),
        }
    }

    /// The path of the value.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn number(&self) -> Result<f64, Invalid> {
        let number: Option<f64> = match self.value {
            DeValue::Integer(number) => {
                i128::from_str_radix(number.as_str(), number.radix()).ok().map(|v| v as f64)
            }
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => return Err(self.wrong("must be a number", "a finite number, such as 0.5")),
        };
        match number {
            Some(number) if number.is_finite() => Ok(number),
            _ => Err(self.wrong("must be a finite number", "a number that is not NaN or infinite")),
        }
    }

    /// A whole number in a range.
    pub(super) fn whole(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, Invalid> {
        let number = match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let allowed = match *range.end() {
                u64::MAX => format!("a whole number from {} up", range.start()),
                end => format!("a whole number from {} to {end}", range.start()),
            };
            self.wrong("must be a whole number in its range", allowed)
        })
    }

    pub(super) fn boolean(&self) -> Result<bool, Invalid> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.wrong("must be true or false", "true or false")),
        }
    }

    /// A text that is one of `names`.
    pub(super) fn choice(&self, names: &[&'static str]) -> Result<&'static str, Invalid> {
        let DeValue::String(text) = self.value else {
            return Err(self.wrong("must be a name", format!("one of {}", listed(names))));
        };
        let found = names.iter().find(|name| **name == text.as_ref());
        found.copied().ok_or_else(|| self.wrong("unknown name", choices(text, names)))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    pub(super) fn table(&self, allowed: &str) -> Result<Table<'a>, Invalid> {
        match self.value {
            DeValue::Table(entries) => Ok(Table { path: self.path.clone(), entries }),
            _ => Err(self.wrong("must be a table", allowed)),
        }
    }

    /// The items of a list.
    pub(super) fn list(&self, allowed: &str) -> Result<Vec<Value<'a>>, Invalid> {
        let DeValue::Array(items) = self.value else {
            return Err(self.wrong("must be a list", allowed));
        };
        let item = |(i, item): (usize, &'a Spanned<DeValue<'a>>)| Value {
            path: format!("{}[{i}]", self.path),
            value: item.get_ref(),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// A list of whole numbers in a range.
    pub(super) fn wholes(
        &self,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Vec<usize>, Invalid> {
        let items = self.list("a list of whole numbers, such as [0, 2]")?;
        items.iter().map(|item| Ok(item.whole(range.clone())? as usize)).collect()
    }

    pub(super) fn numbers(&self) -> Result<Vec<f64>, Invalid> {
        self.list("a list of numbers, such as [0.5, 1.0]")?.iter().map(Value::number).collect()
    }

    /// One text.
    pub(super) fn text(&self) -> Result<String, Invalid> {
        match self.value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.wrong("must be a text", "a text in quotes, or lines in triple quotes")),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self) -> Result<Vec<String>, Invalid> {
        let allowed = "a list of texts, such as [\"a\", \"b\"]";
        let text = |item: &Value| match item.value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(item.wrong("must be a text", allowed)),
        };
        self.list(allowed)?.iter().map(text).collect()
    }

    /// Two numbers, as `[low, high]`, of which either may be infinite.
    pub(super) fn range(&self) -> Result<(f64, f64), Invalid> {
        let allowed = "[low, high] with low < high; -inf or inf where there is no end";
        let end = |item: &Value| match item.value {
            DeValue::Float(number) if number.as_str().ends_with("inf") => {
                let is_negative = number.as_str().starts_with('-');
                Ok(if is_negative { f64::NEG_INFINITY } else { f64::INFINITY })
            }
            _ => item.number(),
        };
        match self.list(allowed)?.as_slice() {
            [low, high] => Ok((end(low)?, end(high)?)),
            _ => Err(self.wrong("must be an interval", allowed)),
        }
    }

    /// Two numbers, as `[low, high]`; the caller checks their order.
    pub(super) fn pair(&self) -> Result<(f64, f64), Invalid> {
        let allowed = "two numbers [low, high] with low < high";
        let items = self.list(allowed)?;
        match items.as_slice() {
            [low, high] => Ok((low.number()?, high.number()?)),
            _ => Err(self.wrong("must be an interval", allowed)),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// The position in the text of the field at `path`: of key and value, or of the key alone if the
/// value is a table; of the nearest enclosing table if there is no such field.
pub(super) fn locate(root: &Spanned<DeTable<'_>>, path: &str) -> Range<usize> {
    let mut place = 0..0;
    let mut entries = root.get_ref();
    for segment in path.split('.') {
        let (key, indices) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        let Some((key, value)) = entries.get_key_value(key) else { return place };
        let mut value = value;
        let end = if value.get_ref().is_table() { key.span().end } else { value.span().end };
        place = key.span().start..end;
        for index in indices.split(['[', ']']).filter(|index| !index.is_empty()) {
            let item = index.parse().ok().and_then(|i: usize| value.get_ref().as_array()?.get(i));
            let Some(item) = item else { return place };
            (place, value) = (item.span(), item);
        }
        match value.get_ref() {
            DeValue::Table(inner) => entries = inner,
            _ => return place,
        }
    }
    place
}

/// The byte of `text` at which the string at `path` begins, if it is written as it is: without
/// escapes.
pub(super) fn written_at(text: &str, root: &Spanned<DeTable<'_>>, path: &str) -> Option<usize> {
    let value = find(root, path)?;
    let literal = text.get(value.span())?;
    let all = ["\"\"\"", "'''", "\"", "'"];
    let quotes = all.into_iter().find(|own| literal.starts_with(own))?;
    let inner = literal.strip_prefix(quotes)?.strip_suffix(quotes)?;
    // TOML drops a line break right after three quotes.
    let after = inner.strip_prefix("\r\n").or_else(|| inner.strip_prefix('\n'));
    let after = after.filter(|_| quotes.len() == 3).unwrap_or(inner);
    let is_same = value.get_ref().as_str() == Some(after);
    is_same.then(|| value.span().end - quotes.len() - after.len())
}

/// The value at `path`.
fn find<'r, 't>(root: &'r Spanned<DeTable<'t>>, path: &str) -> Option<&'r Spanned<DeValue<'t>>> {
    let (mut entries, mut found) = (Some(root.get_ref()), None);
    for segment in path.split('.') {
        let (key, indices) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        let mut value = entries?.get(key)?;
        for index in indices.split(['[', ']']).filter(|index| !index.is_empty()) {
            value = value.get_ref().as_array()?.get(index.parse::<usize>().ok()?)?;
        }
        entries = value.get_ref().as_table();
        found = Some(value);
    }
    found
}
