//! Values of expressions: scalars, vectors and matrices of nodes.

use crate::graph::Node;

/// The shape of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    Scalar,
    /// A vector of this length.
    Vector(usize),
    /// Rows and columns.
    Matrix(usize, usize),
}

impl Shape {
    /// The number of entries.
    #[allow(clippy::len_without_is_empty)] // no shape is empty
    pub fn len(self) -> usize {
        match self {
            Shape::Scalar => 1,
            Shape::Vector(n) => n,
            Shape::Matrix(rows, columns) => rows * columns,
        }
    }

    /// The shape in words.
    pub fn words(self) -> String {
        match self {
            Shape::Scalar => "a single number".into(),
            Shape::Vector(n) => format!("a vector of {n}"),
            Shape::Matrix(rows, columns) => format!("a matrix of {rows} by {columns}"),
        }
    }

    /// The name of entry `k` of a variable called `name`.
    pub fn entry_name(self, name: &str, k: usize) -> String {
        match self {
            Shape::Scalar => name.to_string(),
            Shape::Vector(_) => format!("{name}[{}]", k + 1),
            Shape::Matrix(_, columns) => format!("{name}[{},{}]", k / columns + 1, k % columns + 1),
        }
    }
}

/// A value: its nodes, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub shape: Shape,
    pub nodes: Vec<Node>,
}

impl Value {
    pub fn scalar(node: Node) -> Self {
        Value { shape: Shape::Scalar, nodes: vec![node] }
    }

    pub fn vector(nodes: Vec<Node>) -> Self {
        Value { shape: Shape::Vector(nodes.len()), nodes }
    }
}
