//! Tokens with spans, by winnow.

use winnow::ascii::digit1;
use winnow::combinator::{alt, opt, peek, preceded, repeat};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{any, literal, one_of, take_while};

use crate::error::{Problem, Span};

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
            Token::Newline => "the end of the line".into(),
            Token::End => "the end of the text".into(),
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

/// The tokens of `text`, the last one [`Token::End`]. Inside brackets a line continues.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, Problem> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    let mut open: Vec<(&str, Span)> = Vec::new();
    loop {
        let _ = blank(&mut input);
        let start = input.current_token_start();
        if input.is_empty() {
            break;
        }
        let newline = '\n'.value(Token::Newline);
        let found = alt((newline, number, name, symbol)).parse_next(&mut input);
        let span = Span::new(start, input.previous_token_end());
        let Ok(token) = found else { return Err(unknown_character(&mut input, start)) };
        if let (Token::Number(_), Some(letter)) = (&token, next_letter(&mut input)) {
            return Err(Problem::new(
                Span::new(start, span.end + 1),
                format!("a number is followed by the letter `{letter}`"),
                "write a product with `*`, as in `2 * x`; names begin with a letter",
            ));
        }
        match token {
            Token::Symbol(bracket @ ("(" | "[")) => open.push((bracket, span)),
            Token::Symbol(bracket @ (")" | "]")) => close(&mut open, bracket, span)?,
            Token::Newline if !open.is_empty() => continue,
            _ => {}
        }
        tokens.push((token, span));
    }
    if let Some((bracket, span)) = open.first() {
        let closing = if *bracket == "(" { ")" } else { "]" };
        return Err(Problem::new(
            *span,
            format!("`{bracket}` is never closed"),
            format!("add `{closing}`"),
        ));
    }
    tokens.push((Token::End, Span::new(text.len(), text.len())));
    Ok(tokens)
}

fn close(open: &mut Vec<(&str, Span)>, bracket: &str, span: Span) -> Result<(), Problem> {
    let expected = if bracket == ")" { "(" } else { "[" };
    match open.pop() {
        Some((opened, _)) if opened == expected => Ok(()),
        Some((opened, _)) => Err(Problem::new(
            span,
            format!("`{bracket}` closes `{opened}`"),
            "brackets come in pairs",
        )),
        None => Err(Problem::new(
            span,
            format!("`{bracket}` closes nothing"),
            format!("remove it, or add the `{expected}` that is missing"),
        )),
    }
}

fn next_letter(input: &mut Input<'_>) -> Option<char> {
    let letter = one_of::<_, _, EmptyError>(|c: char| c.is_alphabetic() || c == '_');
    peek(letter).parse_next(input).ok()
}

fn unknown_character(input: &mut Input<'_>, start: usize) -> Problem {
    let character = any::<_, EmptyError>.parse_next(input).unwrap_or(' ');
    let help = match character {
        '{' | '}' => "vectors are written with `[` and `]`",
        ';' => "one line for each name",
        ':' => "a range is written `1..3`",
        '&' => "write `and`",
        '|' => "write `or`",
        '!' => "write `not`, or `!=` for different",
        '%' => "there is no remainder; write `x - m * floor(x / m)`",
        '\'' | '"' => "there are no texts inside a model",
        '.' => "a number needs a digit beside its point; a range is written `1..3`",
        c if c.is_alphabetic() => "names are made of a to z, A to Z, 0 to 9 and `_`",
        _ => "remove it",
    };
    let span = Span::new(start, start + character.len_utf8());
    Problem::new(span, format!("unexpected character `{}`", character.escape_debug()), help)
}
