//! Errors in expressions, in the user's names.

use soma_language::Mistakes;

use super::{own_name, placeholder, with_placeholders};
use crate::error::{Invalid, listed};

/// Names under which people look for the probability of an event.
const PROBABILITIES: [&str; 6] = ["prob", "P", "Pr", "probability", "p", "Prob"];

/// The first error, in the user's names.
pub(super) fn said(
    Mistakes(mistakes): &Mistakes,
    expressions: &[(String, String)],
    outputs: &[String],
) -> Invalid {
    let own = |text: &str| {
        let with = |text: String, i: usize| text.replace(&placeholder(i), &outputs[i]);
        let text = (0..outputs.len()).rev().fold(text.to_string(), with);
        (0..expressions.len())
            .fold(text, |text, i| text.replace(&format!("`{}`, ", own_name(i)), ""))
    };
    let first = mistakes.first();
    let at = first.and_then(|mistake| mistake.line.checked_sub(outputs.len() + 1));
    let (name, text) = at.and_then(|at| expressions.get(at)).unwrap_or(&expressions[0]);
    let given = format!("{text:?}");
    let (left, _) = with_placeholders(text, outputs);
    if let Some((member, family)) = unknown_member(&left, outputs) {
        let problem = format!("there is no {member}");
        return Invalid::new(name, problem, given, listed(&family));
    }
    if let Some(function) = probability(&left) {
        return Invalid::new(
            name,
            format!("there is no function {function}(...)"),
            given,
            "the comparison alone, such as \"p[b] > p[a]\": it is 1 or 0 in each draw, so that its \
             mean is its probability",
        );
    }
    let problem = first.map_or("cannot be read".into(), |mistake| own(&mistake.message));
    // The outputs are listed anyway.
    let is_new = |help: &String| !help.is_empty() && !help.starts_with("names ");
    let help = first.map(|mistake| own(&mistake.help)).filter(is_new);
    let help = help.map_or(String::new(), |help| format!("; {help}"));
    let allowed = format!("an expression of the outputs, {}{help}", listed(outputs));
    Invalid::new(name, problem, given, allowed)
}

/// Where the words of a text begin that `after` follows, with the words.
fn words_before(text: &str, after: char) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(after).map(move |(end, _)| {
        let before = text[..end].trim_end();
        let begin = before.trim_end_matches(is_word).len();
        (begin, &before[begin..])
    })
}

/// A name such as `count[x]` of which there are others, but not this one; and the others.
fn unknown_member<'a>(text: &str, outputs: &'a [String]) -> Option<(String, Vec<&'a String>)> {
    words_before(text, '[').filter(|(_, word)| !word.is_empty()).find_map(|(begin, word)| {
        let head = format!("{word}[");
        let family: Vec<&String> = outputs.iter().filter(|name| name.starts_with(&head)).collect();
        let end = begin + closed(&text[begin..]);
        (!family.is_empty()).then(|| (text[begin..end].to_string(), family))
    })
}

/// The length of `text` up to the bracket that closes its first one, or all of it.
fn closed(text: &str) -> usize {
    let mut open = 0;
    let is_closed = |&(_, c): &(usize, char)| {
        open += i32::from(c == '[') - i32::from(c == ']');
        c == ']' && open == 0
    };
    text.char_indices().find(is_closed).map_or(text.len(), |(at, _)| at + 1)
}

/// A call such as `prob(...)`.
fn probability(text: &str) -> Option<&str> {
    words_before(text, '(').map(|(_, word)| word).find(|word| PROBABILITIES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::Derived;
    use super::*;

    fn error(text: &str) -> Invalid {
        let outputs = ["p[a]", "p[b c]", "count[a]", "count[b c]", "mu"].map(String::from);
        Derived::new(&[("it".into(), text.into())], &outputs).unwrap_err()
    }

    #[test]
    fn mistakes_are_said_in_the_users_names() {
        let found = error("p[a] - q");
        assert_eq!(found.field, "it");
        assert!(found.to_string().contains('q') && !found.to_string().contains("o0_"), "{found}");
        assert!(!found.to_string().contains("d0_"), "{found}");
        let all = "an expression of the outputs, p[a], p[b c], count[a], count[b c], mu";
        assert_eq!(found.allowed, all);
        assert_eq!(error("exq(mu)").allowed, format!("{all}; did you mean `exp`?"));
        let outputs = ["mu".to_string(), "n".to_string()];
        let taken = Derived::new(&[("mu".into(), "n".into())], &outputs).unwrap_err();
        assert_eq!(taken.field, "mu");
    }

    #[test]
    fn a_cell_that_is_not_there_is_named_with_those_that_are() {
        let found = error("count[uninsured] / mu");
        assert_eq!(found.problem, "there is no count[uninsured]");
        assert_eq!(found.allowed, "count[a], count[b c]");
        let inner = "count[histogram(x, [0, 1])[3]]";
        assert_eq!(error(&format!("{inner} / mu")).problem, format!("there is no {inner}"));
        assert_eq!(error("p[a] > p[b]").problem, "there is no p[b]");
        let many: Vec<String> = (0..30).map(|i| format!("count[c{i}]")).collect();
        let found = Derived::new(&[("it".into(), "count[x]".into())], &many).unwrap_err();
        assert!(found.allowed.ends_with("count[c9], ... (30 in all)"), "{found}");
    }

    #[test]
    fn a_probability_is_the_mean_of_a_comparison() {
        for text in ["prob(p[a] > 0.5)", "P(mu > 1)", "1 - Pr (mu > 1)"] {
            let found = error(text);
            assert!(found.to_string().contains("mean is its probability"), "{text}: {found}");
        }
    }
}
