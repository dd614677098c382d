//! Derived quantities: expressions of the outputs, given by the user.

mod mistake;

use soma_language::{Data, Model};

use crate::error::Invalid;
use crate::numeric::workspace::run;

/// Named expressions of the outputs of a problem, such as `p[b] - p[a]`.
///
/// An expression is in the language of models (`docs/language.md`), with the outputs as variables.
/// Their names may contain brackets and blanks, as in `count[age 20-30]`, so each is replaced by a
/// placeholder in the compiled text.
#[derive(Debug)]
pub struct Derived {
    names: Vec<String>,
    program: Model,
    /// The places of the outputs that each expression names.
    used: Vec<Vec<usize>>,
}

/// The number of records.
const SIZE: &str = "n";

impl Derived {
    /// The names that an expression may use: the outputs, and `n`, which is public where it is no
    /// output.
    pub fn inputs(mut outputs: Vec<String>) -> Vec<String> {
        if !outputs.iter().any(|name| name == SIZE) {
            outputs.push(SIZE.into());
        }
        outputs
    }

    /// The named `expressions` of `outputs`.
    pub fn new(expressions: &[(String, String)], outputs: &[String]) -> Result<Self, Invalid> {
        let mut parameters: String =
            (0..outputs.len()).map(|i| format!("{} ~ normal(0, 1)\n", placeholder(i))).collect();
        let mut used = Vec::with_capacity(expressions.len());
        for (i, (name, text)) in expressions.iter().enumerate() {
            let is_taken = outputs.contains(name) || expressions[..i].iter().any(|e| e.0 == *name);
            if is_taken || name.trim().is_empty() {
                let allowed = "a name that no output has";
                return Err(Invalid::new(
                    name,
                    "the name is already used",
                    format!("{name:?}"),
                    allowed,
                ));
            }
            let (text, places) = with_placeholders(text, outputs);
            parameters += &format!("{} = {text}\n", own_name(i));
            used.push(places);
        }
        let program = Model::new(&parameters, "x ~ normal(0, 1)", &Data::new())
            .map_err(|mistakes| mistake::said(&mistakes, expressions, outputs))?;
        // The program leaves out what is constant, and lists the entries of a vector.
        for (i, (name, text)) in expressions.iter().enumerate() {
            if program.derived_names().get(i) != Some(&own_name(i)) {
                return Err(Invalid::new(
                    name,
                    "the expression is not one number that depends on the outputs",
                    format!("{text:?}"),
                    "an expression such as \"p[b] - p[a]\"",
                ));
            }
        }
        let names = expressions.iter().map(|(name, _)| name.clone()).collect();
        Ok(Derived { names, program, used })
    }

    /// The names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the comparisons, such as `p[a] > 0.5`: quantities that are 0 or 1 in every draw,
    /// so that the mean is a probability.
    pub fn comparisons(&self) -> impl Iterator<Item = &str> {
        let facts = self.program.derived_facts();
        let all = self.names.iter().zip(facts).filter(|(_, fact)| fact.is_indicator());
        all.map(|(name, _)| name.as_str())
    }

    /// The comparisons among the quantities `names` of a draw, of which `expressions` are derived.
    /// None, if these cannot be read.
    pub fn comparisons_among(expressions: &[(String, String)], names: &[String]) -> Vec<String> {
        if expressions.is_empty() {
            return Vec::new();
        }
        let is_plain = |name: &&String| expressions.iter().all(|(derived, _)| derived != *name);
        let plain = names.iter().filter(is_plain).cloned().collect();
        match Derived::new(expressions, &Derived::inputs(plain)) {
            Ok(derived) => derived.comparisons().map(String::from).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// The derived quantities of a draw of the outputs. NaN where an output that the expression names
    /// is NaN; a comparison of it would be 0 otherwise.
    pub fn values(&self, draw: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.names.len()];
        run(|workspace| self.program.derived(draw, &mut values, workspace));
        for (value, used) in values.iter_mut().zip(&self.used) {
            if used.iter().any(|&place| draw[place].is_nan()) {
                *value = f64::NAN;
            }
        }
        values
    }
}

fn placeholder(i: usize) -> String {
    format!("o{i}_")
}

/// The name of expression i in the compiled text.
fn own_name(i: usize) -> String {
    format!("d{i}_")
}

/// The text with each output's name replaced by a placeholder, and the places of these outputs. The
/// longest matching name wins. Blanks inside brackets are ignored, so that `L[2, 1]` is `L[2,1]`,
/// unless another name differs by them.
fn with_placeholders(text: &str, outputs: &[String]) -> (String, Vec<usize>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut places, mut rest) = (String::new(), Vec::new(), text);
    while let Some(next) = rest.chars().next() {
        let begins = !out.ends_with(is_word);
        let length = |name: &String| {
            let length = written_length(rest, name).filter(|_| begins && !name.is_empty())?;
            let ends = !name.ends_with(is_word) || !rest[length..].starts_with(is_word);
            ends.then_some(length)
        };
        let found = outputs.iter().enumerate().filter_map(|(i, name)| Some((i, length(name)?)));
        let rank = |&(i, length): &(usize, usize)| (length, rest[..length] == outputs[i]);
        match found.max_by_key(rank) {
            Some((i, length)) => {
                out += &placeholder(i);
                places.push(i);
                rest = &rest[length..];
            }
            None => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    (out, places)
}

/// The length of `name` at the beginning of `text`, where blanks inside brackets do not count.
fn written_length(text: &str, name: &str) -> Option<usize> {
    let (mut given, mut length) = (without_blanks(text), 0);
    for (_, wanted) in without_blanks(name) {
        let (at, found) = given.next().filter(|(_, found)| *found == wanted)?;
        length = at + found.len_utf8();
    }
    Some(length)
}

/// The characters of a text, with their places, but for blanks inside brackets.
fn without_blanks(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut depth = 0_usize;
    text.char_indices().filter(move |(_, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c != ' ' || depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> Vec<String> {
        ["p[a]", "p[a b]", "mu", "mu2", "n"].map(String::from).to_vec()
    }

    fn of(text: &str) -> Result<f64, Invalid> {
        let derived = Derived::new(&[("it".into(), text.into())], &outputs())?;
        Ok(derived.values(&[0.25, 0.5, 3.0, 7.0, 100.0])[0])
    }

    #[test]
    fn names_stand_for_outputs() {
        assert_eq!(of("p[a b] - p[a]"), Ok(0.25));
        assert_eq!(of("mu2 / mu"), Ok(7.0 / 3.0));
        assert_eq!(of("log(n) + exp(mu - 3)"), Ok(100f64.ln() + 1.0));
        assert_eq!(of("n * (p[a] > 0.1)"), Ok(100.0));
    }

    /// Entries of matrices are written with a blank on the language page, and named without.
    #[test]
    fn blanks_inside_brackets_are_ignored() {
        let outputs = ["L[2,1]", "p[a b]", "p[ab]", "mu"].map(String::from);
        let of = |text: &str| {
            let derived = Derived::new(&[("it".into(), text.into())], &outputs)?;
            Ok::<f64, Invalid>(derived.values(&[0.25, 0.5, 3.0, 7.0])[0])
        };
        for text in ["L[2,1] * mu", "L[2, 1] * mu", "L[ 2 , 1 ]*mu"] {
            assert_eq!(of(text), Ok(0.25 * 7.0), "{text}");
        }
        // A name that differs by a blank is another one.
        assert_eq!((of("p[a b] + mu"), of("p[ab] + mu")), (Ok(7.5), Ok(10.0)));
        assert_eq!(of("mu + L[3, 1]").unwrap_err().problem, "there is no L[3, 1]");
        assert!(of("m u").is_err());
    }

    /// What is 0 or 1 by its expression, and not by chance.
    #[test]
    fn comparisons_are_known() {
        let texts = ["mu > 0", "mu > 0 and not (n < 3)", "n - mu", "n * (mu > 0)", "mu2 == mu"];
        let named: Vec<(String, String)> =
            texts.iter().map(|text| (format!("[{text}]"), text.to_string())).collect();
        let derived = Derived::new(&named, &outputs()).unwrap();
        let found: Vec<&str> = derived.comparisons().collect();
        assert_eq!(found, ["[mu > 0]", "[mu > 0 and not (n < 3)]", "[mu2 == mu]"]);
    }

    /// A comparison with a missing value is missing, and not false.
    #[test]
    fn what_is_missing_stays_missing() {
        let named = ["n > 5", "mu > 5", "not (n > mu)", "p[a] * 2"].map(|text| {
            let own: (String, String) = (format!("[{text}]"), text.into());
            own
        });
        let derived = Derived::new(&named, &outputs()).unwrap();
        let values = derived.values(&[0.25, 0.5, 3.0, 7.0, f64::NAN]);
        assert!(values[0].is_nan() && values[2].is_nan());
        assert_eq!(values[1..=1], [0.0]);
        assert_eq!(values[3], 0.5);
    }

    #[test]
    fn constants_and_vectors_are_refused() {
        for text in ["3", "[mu, n]", "1 > 0"] {
            let error = of(text).unwrap_err();
            assert!(error.to_string().contains("one number that depends"), "{text}: {error}");
        }
    }
}
