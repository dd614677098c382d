//! Parsing of text to a tree with spans.

mod lexer;
mod lines;
mod parser;
mod tree;

pub(crate) use lines::{Lines, lines};
pub(crate) use parser::expression;
pub(crate) use tree::{Entry, Expression, Kind, Meaning, Operator, Statement, Target, Tilde};
