//! The recursive descent parser.

use super::lexer::{Token, tokens};
use super::tree::{Entry, Expression, Kind, Meaning, Operator, Statement, Target, Tilde};
use crate::error::{Problem, Span};

/// The largest nesting depth of brackets and operators.
const MAX_DEPTH: usize = 60;

/// The largest height of the tree of one expression.
const MAX_HEIGHT: usize = 250;

/// Reserved words.
const RESERVED: [&str; 6] = ["if", "then", "else", "and", "or", "not"];

type Parsed<T> = Result<T, Problem>;

/// The lines of a text.
#[derive(Default)]
pub(crate) struct Lines {
    pub statements: Vec<Statement>,
    /// The errors of lines that are not statements.
    pub problems: Vec<Problem>,
    /// The names that such lines begin with.
    pub broken: Vec<String>,
    /// Whether the text could not be tokenised.
    pub unreadable: bool,
}

/// The lines of `text`.
pub(crate) fn lines(text: &str) -> Lines {
    let mut lines = Lines::default();
    let mut parser = match Parser::new(text) {
        Ok(parser) => parser,
        Err(problem) => return Lines { problems: vec![problem], unreadable: true, ..lines },
    };
    loop {
        match parser.peek().clone() {
            Token::End => return lines,
            Token::Newline => parser.advance(),
            first => match parser.statement() {
                Ok(statement) => lines.statements.push(statement),
                Err(problem) => {
                    lines.problems.push(problem);
                    if let Token::Name(name) = first {
                        lines.broken.push(name);
                    }
                    parser.skip_line();
                }
            },
        }
    }
}

/// Parses `text` as one expression.
pub(crate) fn expression(text: &str) -> Parsed<Expression> {
    let mut parser = Parser::new(text)?;
    while *parser.peek() == Token::Newline {
        parser.advance();
    }
    let expression = parser.expression()?;
    while *parser.peek() == Token::Newline {
        parser.advance();
    }
    match parser.peek() {
        Token::End => Ok(expression),
        Token::Symbol("=" | "~") => Err(Problem::new(
            parser.span(),
            format!("{} in a statistic", parser.peek().quoted()),
            "a statistic is an expression without a name; equality is written `==`",
        )),
        _ => Err(parser.unexpected("an operator, or the end of the statistic")),
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn new(text: &str) -> Parsed<Self> {
        Ok(Parser { tokens: tokens(text)?, at: 0, depth: 0 })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The end of the token before this one.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    /// Advances to the next token; stays at the end.
    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn skip_line(&mut self) {
        while !matches!(self.peek(), Token::Newline | Token::End) {
            self.advance();
        }
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        if found {
            self.advance();
        }
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(found) if found == word);
        if found {
            self.advance();
        }
        found
    }

    fn unexpected(&self, expected: &str) -> Problem {
        Problem::new(
            self.span(),
            format!("unexpected {}", self.peek().quoted()),
            format!("expected {expected}"),
        )
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    /// A name that is not a reserved word.
    fn name(&mut self, what: &str) -> Parsed<(String, Span)> {
        match self.peek().clone() {
            Token::Name(name) if RESERVED.contains(&name.as_str()) => Err(Problem::new(
                self.span(),
                format!("`{name}` is a word of the language"),
                format!("choose another name for {what}"),
            )),
            Token::Name(name) => {
                let span = self.span();
                self.advance();
                Ok((name, span))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let target = self.target()?;
        let meaning = if self.takes("~") {
            Meaning::Tilde(self.tilde()?)
        } else if self.takes("=") {
            Meaning::Equals(self.expression()?)
        } else {
            return Err(self.unexpected(&format!(
                "`~` or `=` after `{}`: a line is `name ~ distribution(...)` or `name = expression`",
                target.name
            )));
        };
        match self.peek() {
            Token::Newline | Token::End => Ok(Statement { target, meaning }),
            _ => Err(self.unexpected("an operator, or the end of the line")),
        }
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

    /// `(a, b, ...)`.
    fn arguments(&mut self) -> Parsed<Vec<Expression>> {
        self.expect("(")?;
        self.list(")")
    }

    /// Comma-separated expressions, up to and including the closing bracket.
    fn list(&mut self, closing: &str) -> Parsed<Vec<Expression>> {
        let mut list = Vec::new();
        if self.takes(closing) {
            return Ok(list);
        }
        loop {
            list.push(self.expression()?);
            if self.takes(closing) {
                return Ok(list);
            }
            if !self.takes(",") {
                if matches!(self.peek(), Token::Symbol("=")) {
                    return Err(Problem::new(
                        self.span(),
                        "arguments have no names",
                        "give them in order; equality is written `==`",
                    ));
                }
                return Err(self.unexpected(&format!("`,` or `{closing}`")));
            }
        }
    }

    /// Limits the nesting depth, so that no text can exhaust the stack.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Problem::new(
                self.span(),
                format!("nested more than {MAX_DEPTH} deep"),
                "give parts of the expression names of their own",
            ));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> Parsed<Expression> {
        self.nested(
            |parser| if parser.takes_word("if") { parser.conditional() } else { parser.or() },
        )
    }

    fn conditional(&mut self) -> Parsed<Expression> {
        let start = self.last_span();
        let condition = self.expression()?;
        if !self.takes_word("then") {
            return Err(self.unexpected("`then`: `if condition then value else value`"));
        }
        let yes = self.expression()?;
        if !self.takes_word("else") {
            return Err(self.unexpected("`else`: `if condition then value else value`"));
        }
        let no = self.expression()?;
        let span = start.to(no.span);
        Ok(Expression::new(Kind::If { parts: Box::new([condition, yes, no]) }, span))
    }

    /// Left-associative operators of one precedence.
    fn left(
        &mut self,
        find: impl Fn(&Token) -> Option<Operator>,
        side: impl Fn(&mut Self) -> Parsed<Expression>,
    ) -> Parsed<Expression> {
        let mut result = side(self)?;
        while let Some(operator) = find(self.peek()) {
            if result.height > MAX_HEIGHT {
                return Err(Problem::new(
                    self.span(),
                    format!("an expression of more than {MAX_HEIGHT} terms"),
                    "give parts of the expression names of their own, or use a vector",
                ));
            }
            self.advance();
            result = binary(operator, result, side(self)?);
        }
        Ok(result)
    }

    fn or(&mut self) -> Parsed<Expression> {
        let word =
            |token: &Token| matches!(token, Token::Name(w) if w == "or").then_some(Operator::Or);
        self.left(word, Self::and)
    }

    fn and(&mut self) -> Parsed<Expression> {
        let word =
            |token: &Token| matches!(token, Token::Name(w) if w == "and").then_some(Operator::And);
        self.left(word, Self::not)
    }

    fn not(&mut self) -> Parsed<Expression> {
        if !self.takes_word("not") {
            return self.comparison();
        }
        let start = self.last_span();
        let inner = self.nested(Self::not)?;
        let span = start.to(inner.span);
        Ok(Expression::new(Kind::Not(Box::new(inner)), span))
    }

    /// `a < b`, or `a < b < c`, which is `a < b and b < c`.
    fn comparison(&mut self) -> Parsed<Expression> {
        let first = self.sum()?;
        let Some(operator) = comparison_of(self.peek()) else { return Ok(first) };
        self.advance();
        let second = self.sum()?;
        let Some(next) = comparison_of(self.peek()) else {
            return Ok(binary(operator, first, second));
        };
        self.advance();
        let third = self.sum()?;
        if comparison_of(self.peek()).is_some() {
            return Err(self.unexpected("at most two comparisons in a row; join more with `and`"));
        }
        let (left, right) = (binary(operator, first, second.clone()), binary(next, second, third));
        Ok(binary(Operator::And, left, right))
    }

    fn sum(&mut self) -> Parsed<Expression> {
        let find = |token: &Token| match token {
            Token::Symbol("+") => Some(Operator::Add),
            Token::Symbol("-") => Some(Operator::Subtract),
            _ => None,
        };
        self.left(find, Self::product)
    }

    fn product(&mut self) -> Parsed<Expression> {
        let find = |token: &Token| match token {
            Token::Symbol("*") => Some(Operator::Multiply),
            Token::Symbol("/") => Some(Operator::Divide),
            _ => None,
        };
        self.left(find, Self::negation)
    }

    fn negation(&mut self) -> Parsed<Expression> {
        if self.takes("+") {
            return self.nested(Self::negation);
        }
        if !self.takes("-") {
            return self.power();
        }
        let start = self.last_span();
        let inner = self.nested(Self::negation)?;
        let span = start.to(inner.span);
        Ok(Expression::new(Kind::Negate(Box::new(inner)), span))
    }

    /// `a ^ b`, right-associative; `-a ^ b` is `-(a ^ b)`.
    fn power(&mut self) -> Parsed<Expression> {
        let base = self.postfix()?;
        if !self.takes("^") {
            return Ok(base);
        }
        let exponent = self.nested(Self::negation)?;
        Ok(binary(Operator::Power, base, exponent))
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let mut result = self.primary()?;
        while self.takes("[") {
            let mut entries = Vec::new();
            loop {
                let first = self.expression()?;
                entries.push(if self.takes("..") {
                    Entry::Range(Box::new([first, self.expression()?]))
                } else {
                    Entry::At(first)
                });
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("]")?;
            let span = result.span.to(self.last_span());
            result = Expression::new(Kind::Index { of: Box::new(result), entries }, span);
        }
        Ok(result)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Number(value) => {
                self.advance();
                Kind::Number(value)
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(Expression { span: span.to(self.last_span()), ..inner });
            }
            Token::Symbol("[") => {
                self.advance();
                Kind::List(self.list("]")?)
            }
            Token::Name(word) if word == "if" => {
                return Err(self.unexpected("brackets around `if ... then ... else ...`"));
            }
            Token::Name(_) => {
                let (name, name_span) = self.name("a value")?;
                if matches!(self.peek(), Token::Symbol("(")) {
                    Kind::Call { name, name_span, arguments: self.arguments()? }
                } else {
                    Kind::Name(name)
                }
            }
            _ => return Err(self.unexpected("a number, a name or a bracket")),
        };
        Ok(Expression::new(kind, span.to(self.last_span())))
    }
}

fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
    let span = left.span.to(right.span);
    Expression::new(Kind::Binary { operator, sides: Box::new([left, right]) }, span)
}

fn comparison_of(token: &Token) -> Option<Operator> {
    match token {
        Token::Symbol("<") => Some(Operator::Less),
        Token::Symbol("<=") => Some(Operator::LessEqual),
        Token::Symbol(">") => Some(Operator::Greater),
        Token::Symbol(">=") => Some(Operator::GreaterEqual),
        Token::Symbol("==") => Some(Operator::Equal),
        Token::Symbol("!=") => Some(Operator::NotEqual),
        _ => None,
    }
}
