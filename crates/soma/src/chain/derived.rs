//! Derived quantities: expressions of the outputs, given by the user.

use soma_language::{Data, Mistakes, Model};

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
}

impl Derived {
    /// The named `expressions` of `outputs`.
    pub fn new(expressions: &[(String, String)], outputs: &[String]) -> Result<Self, Invalid> {
        let mut parameters: String =
            (0..outputs.len()).map(|i| format!("{} ~ normal(0, 1)\n", placeholder(i))).collect();
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
            parameters += &format!("d{i}_ = {}\n", with_placeholders(text, outputs));
        }
        let program = Model::new(&parameters, "x ~ normal(0, 1)", &Data::new())
            .map_err(|mistakes| mistaken(&mistakes, expressions, outputs))?;
        let names = expressions.iter().map(|(name, _)| name.clone()).collect();
        Ok(Derived { names, program })
    }

    /// The names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Appends the derived quantities to `draw`, which holds the outputs.
    pub fn extend(&self, draw: &mut Vec<f64>) {
        let mut values = vec![0.0; self.names.len()];
        run(|workspace| self.program.derived(draw, &mut values, workspace));
        draw.append(&mut values);
    }
}

fn placeholder(i: usize) -> String {
    format!("o{i}_")
}

/// The text with each output's name replaced by a placeholder. The longest matching name wins.
fn with_placeholders(text: &str, outputs: &[String]) -> String {
    let mut order: Vec<usize> = (0..outputs.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(outputs[i].len()));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        let begins = !out.ends_with(is_word);
        let fits = |i: &usize| {
            rest.strip_prefix(outputs[*i].as_str()).is_some_and(|after| {
                let ends = !outputs[*i].ends_with(is_word) || !after.starts_with(is_word);
                begins && ends && !outputs[*i].is_empty()
            })
        };
        match order.iter().copied().find(|i| fits(i)) {
            Some(i) => {
                out += &placeholder(i);
                rest = &rest[outputs[i].len()..];
            }
            None => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

/// The first error, in the user's names.
fn mistaken(
    Mistakes(mistakes): &Mistakes,
    expressions: &[(String, String)],
    outputs: &[String],
) -> Invalid {
    let own = |text: &str| {
        let with = |text: String, i: usize| text.replace(&placeholder(i), &outputs[i]);
        let text = (0..outputs.len()).rev().fold(text.to_string(), with);
        (0..expressions.len()).fold(text, |text, i| text.replace(&format!("`d{i}_`, "), ""))
    };
    let first = mistakes.first();
    let at = first.and_then(|mistake| mistake.line.checked_sub(outputs.len() + 1));
    let (name, text) = at.and_then(|at| expressions.get(at)).unwrap_or(&expressions[0]);
    let problem = first.map_or("cannot be read".into(), |mistake| own(&mistake.message));
    let help = first.map(|mistake| own(&mistake.help)).filter(|help| !help.is_empty());
    let names = crate::error::listed(outputs);
    let allowed = help.unwrap_or_else(|| "an expression of the outputs".into());
    Invalid::new(name, problem, format!("{text:?}"), format!("{allowed}; the outputs are {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> Vec<String> {
        ["p[a]", "p[a b]", "mu", "mu2", "n"].map(String::from).to_vec()
    }

    fn of(text: &str) -> Result<f64, Invalid> {
        let derived = Derived::new(&[("it".into(), text.into())], &outputs())?;
        let mut draw = vec![0.25, 0.5, 3.0, 7.0, 100.0];
        derived.extend(&mut draw);
        Ok(draw[5])
    }

    #[test]
    fn names_stand_for_outputs() {
        assert_eq!(of("p[a b] - p[a]"), Ok(0.25));
        assert_eq!(of("mu2 / mu"), Ok(7.0 / 3.0));
        assert_eq!(of("log(n) + exp(mu - 3)"), Ok(100f64.ln() + 1.0));
        assert_eq!(of("n * (p[a] > 0.1)"), Ok(100.0));
    }

    #[test]
    fn mistakes_are_said_in_the_users_names() {
        let error = of("p[a] - q").unwrap_err();
        assert_eq!(error.field, "it");
        assert!(error.to_string().contains('q') && !error.to_string().contains("o0_"), "{error}");
        assert!(!error.to_string().contains("d0_"), "{error}");
        let taken = Derived::new(&[("mu".into(), "n".into())], &outputs()).unwrap_err();
        assert_eq!(taken.field, "mu");
    }
}
