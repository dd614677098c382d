//! The lines of a text: definitions, and the errors of lines that are none.

use super::lexer::{self, Token};
use super::parser::{Parsed, Parser};
use super::tree::{Meaning, Statement, Target, Tilde};
use crate::error::{Problem, Span};
use crate::foreign;

/// The lines of a text.
#[derive(Default)]
pub(crate) struct Lines {
    pub statements: Vec<Statement>,
    /// The errors of lines that are not statements.
    pub problems: Vec<Problem>,
    /// The names that such lines define.
    pub broken: Vec<String>,
}

/// The lines of `text`.
pub(crate) fn lines(text: &str) -> Lines {
    let mut lines = Lines::default();
    for line in lexer::lines(text, foreign::BAR) {
        match statement(line) {
            Ok(Some(statement)) => lines.statements.push(statement),
            Ok(None) => {}
            Err((problem, name)) => {
                lines.problems.push(problem);
                lines.broken.extend(name);
            }
        }
    }
    lines
}

/// The statement of a line, none if the line is blank; or the error and the name that was to be
/// defined.
fn statement(line: lexer::Line) -> Result<Option<Statement>, (Problem, Option<String>)> {
    if let Some((problem, name)) = declaration(&line.tokens) {
        return Err((problem, Some(name)));
    }
    if let [(Token::Name(word), span), (Token::Symbol("("), _), ..] = &line.tokens[..]
        && word == "for"
    {
        return Err((Problem::new(*span, "a loop", foreign::LOOP), None));
    }
    let name = match &line.tokens[..] {
        [(Token::Name(name), _), ..] => Some(name.clone()),
        _ => None,
    };
    if let Some(problem) = line.problem {
        return Err((problem, name));
    }
    if matches!(line.tokens[..], [(Token::Newline | Token::End, _)]) {
        return Ok(None);
    }
    Parser::new(line.tokens).statement().map(Some).map_err(|problem| (problem, name))
}

/// The error for a declaration as in Stan, `real<lower=0> s`, and the name that it declares.
fn declaration(tokens: &[(Token, Span)]) -> Option<(Problem, String)> {
    let mut at = 0;
    while let Some((Token::Name(_), _)) = tokens.get(at).filter(|(token, _)| is_type(token)) {
        at += 1;
        while let Some((Token::Symbol(opening @ ("<" | "[")), _)) = tokens.get(at) {
            let closing = if *opening == "<" { ">" } else { "]" };
            let closes = |(token, _): &(Token, Span)| *token == Token::Symbol(closing);
            at += 1 + tokens[at..].iter().position(closes)?;
        }
    }
    let (Token::Name(name), _) = tokens.get(at).filter(|_| at > 0)? else { return None };
    let span = tokens[0].1.to(tokens[at - 1].1);
    Some((Problem::new(span, "a declaration", foreign::DECLARATION), name.clone()))
}

fn is_type(token: &Token) -> bool {
    matches!(token, Token::Name(name) if foreign::is_type(name))
}

impl Parser {
    fn statement(&mut self) -> Parsed<Statement> {
        let target = self.target()?;
        let meaning = if self.takes("~") {
            Meaning::Tilde(self.tilde()?)
        } else if self.takes("=") {
            Meaning::Equals(self.expression()?)
        } else {
            return Err(self.no_meaning(&target.name));
        };
        match self.peek() {
            Token::Newline | Token::End => Ok(Statement { target, meaning }),
            _ => Err(self.no_end("line")),
        }
    }

    /// The error for a name that is followed by neither `~` nor `=`.
    fn no_meaning(&self, name: &str) -> Problem {
        let next = self.tokens.get(self.at + 1);
        if let (Token::Symbol("<"), Some((Token::Symbol("-"), end))) = (self.peek(), next) {
            let span = self.span().to(*end);
            return Problem::new(span, "`<-` is not of this language", foreign::ARROW);
        }
        self.unexpected(&format!("`~` or `=` after `{name}`: {}", foreign::LINE))
    }

    fn target(&mut self) -> Parsed<Target> {
        let (name, span) = self.name("a name at the beginning of the line")?;
        let mut ranges = Vec::new();
        if self.takes("[") {
            loop {
                let first = self.expression()?;
                if !self.takes("..") {
                    return Err(Problem::new(
                        first.span,
                        format!("`{name}[...]` at the left of a line needs a range"),
                        format!("define all entries at once, as in `{name}[1..3] ~ ...`"),
                    ));
                }
                let last = self.expression()?;
                ranges.push([first, last]);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(Target { name, span: span.to(self.last_span()), ranges })
    }

    fn tilde(&mut self) -> Parsed<Tilde> {
        if matches!(self.peek(), Token::Number(_)) {
            return Err(Problem::new(
                self.span(),
                "a distribution must follow `~`",
                "for a fixed value write `name = value`",
            ));
        }
        let (name, span) = self.name("a distribution after `~`, as in `normal(0, 1)`")?;
        if !matches!(self.peek(), Token::Symbol("(")) {
            return Err(Problem::new(
                span,
                format!("`{name}` after `~` has no arguments"),
                format!("write a distribution, as in `{name}(...)`, or `=` for an expression"),
            ));
        }
        let arguments = self.arguments()?;
        Ok(Tilde { name, span, arguments, whole: span.to(self.last_span()) })
    }
}
