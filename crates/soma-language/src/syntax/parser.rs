//! The recursive descent parser of expressions.

use super::lexer::{self, Token};
use super::tree::{Entry, Expression, Kind, Operator};
use crate::error::{Problem, Span};
use crate::foreign;

/// The largest nesting depth of brackets and operators.
const MAX_DEPTH: usize = 60;

/// The largest height of the tree of one expression.
const MAX_HEIGHT: usize = 250;

/// Reserved words.
const RESERVED: [&str; 6] = ["if", "then", "else", "and", "or", "not"];

pub(super) type Parsed<T> = Result<T, Problem>;

/// Parses `text` as one expression.
pub(crate) fn expression(text: &str) -> Parsed<Expression> {
    let mut tokens = Vec::new();
    for line in lexer::lines(text, "write `or`") {
        match line.problem {
            Some(problem) => return Err(problem),
            None => tokens.extend(line.tokens),
        }
    }
    let mut parser = Parser::new(tokens);
    parser.skip_blank_lines();
    let expression = parser.expression()?;
    parser.skip_blank_lines();
    match parser.peek() {
        Token::End => Ok(expression),
        Token::Symbol("=" | "~") => Err(Problem::new(
            parser.span(),
            format!("{} in a statistic", parser.peek().quoted()),
            "a statistic is an expression without a name; equality is written `==`",
        )),
        _ => Err(parser.no_end("statistic")),
    }
}

/// The tokens of a text, and how far they have been read.
pub(super) struct Parser {
    pub(super) tokens: Vec<(Token, Span)>,
    pub(super) at: usize,
    depth: usize,
}

impl Parser {
    pub(super) fn new(tokens: Vec<(Token, Span)>) -> Self {
        Parser { tokens, at: 0, depth: 0 }
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The end of the token before this one.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    /// Advances to the next token; stays at the end.
    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn skip_blank_lines(&mut self) {
        while *self.peek() == Token::Newline {
            self.advance();
        }
    }

    pub(super) fn takes(&mut self, symbol: &str) -> bool {
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

    pub(super) fn unexpected(&self, expected: &str) -> Problem {
        Problem::new(
            self.span(),
            format!("unexpected {}", self.peek().quoted()),
            format!("expected {expected}"),
        )
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    /// A name that is not a reserved word.
    pub(super) fn name(&mut self, what: &str) -> Parsed<(String, Span)> {
        match self.peek().clone() {
            Token::Name(name) if RESERVED.contains(&name.as_str()) => Err(Problem::new(
                self.span(),
                format!("`{name}` is a word of the language"),
                "choose another name",
            )),
            Token::Name(name) => {
                let span = self.span();
                self.advance();
                Ok((name, span))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// The error for what follows a complete line or statistic.
    pub(super) fn no_end(&self, what: &str) -> Problem {
        let help = match self.peek() {
            Token::Name(name) if ["T", "I"].contains(&name.as_str()) => foreign::TRUNCATION,
            Token::Name(name) if name == "if" => foreign::CONDITIONAL,
            Token::Symbol("=") => foreign::EQUALITY,
            Token::Symbol(",") if what == "statistic" => {
                "a statistic is one expression: remove the comma, or write two texts, `[\"a\", \"b\"]`"
            }
            _ => return self.unexpected(&format!("an operator, or the end of the {what}")),
        };
        Problem::new(self.span(), format!("unexpected {}", self.peek().quoted()), help)
    }

    /// `(a, b, ...)`.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expression>> {
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
            let comma = self.span();
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
            if matches!(self.peek(), Token::Symbol(symbol) if *symbol == closing) {
                return Err(Problem::new(
                    comma,
                    format!("nothing between `,` and `{closing}`"),
                    "remove the comma, or add what comes after it",
                ));
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

    pub(super) fn expression(&mut self) -> Parsed<Expression> {
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
