//! Tokens with spans, by winnow.

use winnow::ascii::digit1;
use winnow::combinator::{alt, opt, preceded, repeat};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stream};
use winnow::token::{literal, one_of, take_while};

use crate::error::{Problem, Span};
use crate::foreign;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Symbol(&'static str),
    Newline,
    End,
}

impl Token {
    /// The token as a message quotes it.
    pub fn quoted(&self) -> String {
        match self {
            Token::Number(value) => format!("`{value}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Newline => "end of the line".into(),
            Token::End => "end of the text".into(),
        }
    }
}

/// Longer ones first.
const SYMBOLS: [&str; 19] = [
    "..", "<=", ">=", "==", "!=", "~", "=", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "<",
    ">",
];

type Input<'a> = LocatingSlice<&'a str>;

fn number(input: &mut Input<'_>) -> Result<Token, EmptyError> {
    let fraction = || (".", digit1);
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let mantissa = alt(((digit1, opt(fraction())).void(), fraction().void()));
    (mantissa, opt(exponent))
        .take()
        .map(|text: &str| Token::Number(text.parse().unwrap_or(f64::NAN)))
        .parse_next(input)
}

fn name(input: &mut Input<'_>) -> Result<Token, EmptyError> {
    let first = one_of(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_');
    (first, rest).take().map(|text: &str| Token::Name(text.to_string())).parse_next(input)
}

fn symbol(input: &mut Input<'_>) -> Result<Token, EmptyError> {
    for symbol in SYMBOLS {
        if literal::<_, _, EmptyError>(symbol).parse_next(input).is_ok() {
            return Ok(Token::Symbol(symbol));
        }
    }
    Err(EmptyError)
}

/// Whitespace and comments.
fn blank(input: &mut Input<'_>) -> Result<(), EmptyError> {
    let spaces = take_while(1.., [' ', '\t', '\r']).void();
    let comment = preceded('#', take_while(0.., |c| c != '\n')).void();
    repeat(0.., alt((spaces, comment))).parse_next(input)
}

/// A line of a text; inside brackets it goes on over several.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The tokens, the last one [`Token::Newline`] or [`Token::End`].
    pub tokens: Vec<(Token, Span)>,
    /// The first error of the line.
    pub problem: Option<Problem>,
}

/// The lines of `text`. What is wrong in one line does not hide the next. `bar` is what to write in
/// the place of a `|` that does not follow a comparison.
pub(super) fn lines(text: &str, bar: &'static str) -> Vec<Line> {
    let (lines, line, open) = (Vec::new(), Line::default(), Vec::new());
    let mut lexer = Lexer { text, bar, lines, line, open };
    let mut input = LocatingSlice::new(text);
    loop {
        let _ = blank(&mut input);
        let start = input.current_token_start();
        if input.is_empty() {
            lexer.end(Token::End, Span::new(start, start));
            return lexer.lines;
        }
        lexer.token(&mut input, start);
    }
}

struct Lexer<'a> {
    text: &'a str,
    bar: &'static str,
    lines: Vec<Line>,
    line: Line,
    /// The brackets that are open.
    open: Vec<(&'static str, Span)>,
}

impl Lexer<'_> {
    fn token(&mut self, input: &mut Input<'_>, start: usize) {
        let rest = &self.text[start..];
        if let Some((sign, help)) = foreign::sign(rest) {
            let is_comment = sign.starts_with('/') && sign != "/=";
            let length = if is_comment { line_length(rest) } else { sign.len() };
            skip(input, length);
            let span = Span::new(start, start + sign.len());
            return self.wrong(Problem::new(
                span,
                format!("`{sign}` is not of this language"),
                help,
            ));
        }
        let newline = '\n'.value(Token::Newline);
        let found = alt((newline, number, name, symbol)).parse_next(input);
        let span = Span::new(start, input.previous_token_end());
        let Ok(token) = found else {
            let character = rest.chars().next().unwrap_or(' ');
            self.wrong(self.unknown_character(character, start));
            let length = if character.is_alphabetic() { word_length(rest) } else { 0 };
            return skip(input, length.max(character.len_utf8()));
        };
        let after = &self.text[span.end..];
        if matches!(token, Token::Number(_))
            && let Some(letter) = after.chars().next().filter(|c| c.is_alphabetic() || *c == '_')
        {
            skip(input, word_length(after));
            return self.wrong(Problem::new(
                Span::new(start, span.end + letter.len_utf8()),
                format!("a number is followed by the letter `{letter}`"),
                "write a product with `*`, as in `2 * x`; names begin with a letter",
            ));
        }
        match token {
            Token::Symbol(bracket @ ("(" | "[")) => self.open.push((bracket, span)),
            Token::Symbol(bracket @ (")" | "]")) => self.close(bracket, span),
            Token::Newline if self.open.is_empty() || begins_line(after) => {
                return self.end(token, span);
            }
            Token::Newline => return,
            _ => {}
        }
        self.line.tokens.push((token, span));
    }

    /// Notes an error, unless the line has one.
    fn wrong(&mut self, problem: Problem) {
        self.line.problem.get_or_insert(problem);
    }

    /// Ends the line, with the token of its end.
    fn end(&mut self, token: Token, span: Span) {
        if let Some((bracket, span)) = self.open.first() {
            let closing = if *bracket == "(" { ")" } else { "]" };
            self.wrong(Problem::new(
                *span,
                format!("`{bracket}` is never closed"),
                format!("add `{closing}`"),
            ));
        }
        self.open.clear();
        self.line.tokens.push((token, span));
        self.lines.push(std::mem::take(&mut self.line));
    }

    fn close(&mut self, bracket: &str, span: Span) {
        let expected = if bracket == ")" { "(" } else { "[" };
        match self.open.pop() {
            Some((opened, _)) if opened == expected => {}
            Some((opened, _)) => self.wrong(Problem::new(
                span,
                format!("`{bracket}` closes `{opened}`"),
                "brackets come in pairs",
            )),
            None => self.wrong(Problem::new(
                span,
                format!("`{bracket}` closes nothing"),
                format!("remove it, or add the `{expected}` that is missing"),
            )),
        }
    }

    fn unknown_character(&self, character: char, start: usize) -> Problem {
        let after = &self.text[start + character.len_utf8()..];
        let before = self.line.tokens.last();
        let follows_name = before
            .is_some_and(|(token, span)| matches!(token, Token::Name(_)) && span.end == start);
        let compares = |(token, _): &(Token, Span)| {
            matches!(token, Token::Symbol("<" | "<=" | ">" | ">=" | "==" | "!="))
        };
        let help = match character {
            ';' if after[..line_length(after)].trim().is_empty() => "remove `;`",
            ';' => "one line for each name",
            '|' if self.line.tokens.iter().any(compares) => "write `or`",
            '|' => self.bar,
            '.' if follows_name && after.starts_with(|c: char| c.is_alphabetic()) => {
                "names have no `.`: write `log(x)` for `np.log(x)`, `b_age` for `b.age`"
            }
            '.' => "a number needs a digit beside its point; a range is written `1..3`",
            c => foreign::character(c).unwrap_or(match c.is_alphabetic() {
                true => "names are made of a to z, A to Z, 0 to 9 and `_`",
                false => "remove it",
            }),
        };
        let message = match foreign::invisible(character) {
            Some(name) => format!("unexpected {name}"),
            None if character.is_control() => {
                format!("unexpected character `{}`", character.escape_debug())
            }
            None => format!("unexpected character `{character}`"),
        };
        Problem::new(Span::new(start, start + character.len_utf8()), message, help)
    }
}

fn skip(input: &mut Input<'_>, bytes: usize) {
    input.next_slice(bytes);
}

/// The length of the letters, digits and `_` that `text` begins with.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// The length of the rest of the line, up to a comment.
fn line_length(text: &str) -> usize {
    text.find(['\n', '#']).unwrap_or(text.len())
}

/// Whether the text after a line break inside brackets begins a line of its own: a bracket above it
/// was not closed. `sd = 1)` goes on with the arguments of a call.
fn begins_line(text: &str) -> bool {
    let line = text[..line_length(text)].trim();
    let name = word_length(line);
    if name == 0 {
        return false;
    }
    let mut rest = line[name..].trim_start();
    if rest.starts_with('[') {
        rest = rest.find(']').map_or("", |end| rest[end + 1..].trim_start());
    }
    if rest.starts_with(['~', '∼']) {
        return true;
    }
    let Some(value) = rest.strip_prefix('=').filter(|value| !value.starts_with('=')) else {
        return false;
    };
    let closes = |depth: &mut i32, c| {
        *depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        Some(*depth)
    };
    value.chars().scan(0, closes).all(|depth| depth >= 0) && !value.ends_with(',')
}
