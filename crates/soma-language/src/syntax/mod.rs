//! Parsing of text to a tree with spans.

mod lexer;
mod parser;
mod tree;

pub(crate) use parser::{Lines, expression, lines};
pub(crate) use tree::{Entry, Expression, Kind, Meaning, Operator, Statement, Target, Tilde};
