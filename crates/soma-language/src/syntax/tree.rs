//! The tree of a text.

use crate::error::Span;

/// `name ~ distribution(...)` or `name = expression`.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub target: Target,
    pub meaning: Meaning,
}

/// The left side: a name, with a range for each dimension.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub name: String,
    pub span: Span,
    /// `first..last` of each dimension.
    pub ranges: Vec<[Expression; 2]>,
}

#[derive(Debug, Clone)]
pub(crate) enum Meaning {
    Tilde(Tilde),
    Equals(Expression),
}

/// A distribution with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Tilde {
    pub name: String,
    pub span: Span,
    pub arguments: Vec<Expression>,
    /// From the name to the closing bracket.
    pub whole: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct Expression {
    pub kind: Kind,
    pub span: Span,
    /// The height of the tree.
    pub height: usize,
}

impl Expression {
    pub fn new(kind: Kind, span: Span) -> Self {
        let of = |parts: &[Expression]| parts.iter().map(|part| part.height).max().unwrap_or(0);
        let below = match &kind {
            Kind::Number(_) | Kind::Name(_) => 0,
            Kind::List(parts) | Kind::Call { arguments: parts, .. } => of(parts),
            Kind::Index { of: whole, entries } => {
                let entries = entries.iter().map(|entry| match entry {
                    Entry::At(at) => at.height,
                    Entry::Range(ends) => of(&ends[..]),
                });
                entries.fold(whole.height, usize::max)
            }
            Kind::Negate(inner) | Kind::Not(inner) => inner.height,
            Kind::Binary { sides, .. } => of(&sides[..]),
            Kind::If { parts } => of(&parts[..]),
        };
        Expression { kind, span, height: below + 1 }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Number(f64),
    Name(String),
    List(Vec<Expression>),
    Call {
        name: String,
        name_span: Span,
        arguments: Vec<Expression>,
    },
    /// One entry for each dimension: an index or a range.
    Index {
        of: Box<Expression>,
        entries: Vec<Entry>,
    },
    Negate(Box<Expression>),
    Not(Box<Expression>),
    Binary {
        operator: Operator,
        sides: Box<[Expression; 2]>,
    },
    If {
        parts: Box<[Expression; 3]>,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum Entry {
    At(Expression),
    Range(Box<[Expression; 2]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
}
