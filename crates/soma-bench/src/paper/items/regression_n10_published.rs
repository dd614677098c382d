//! The paper's table of the regression at n = 10.

use crate::paper::settings::{REGRESSION_10_3, REGRESSION_10_30, RegressionRelease};

/// A mean with its quartiles, as printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

const fn cell(mean: f64, low: f64, high: f64) -> Cell {
    Cell { mean, low, high }
}

/// By release: Ran-IMwG, Sys-IMwG, SOMA; coupling time, convergence rate, acceptance in percent.
pub(super) const PUBLISHED: [(RegressionRelease, [[Cell; 3]; 3]); 2] = [
    (
        REGRESSION_10_3,
        [
            [cell(156.04, 46.0, 216.0), cell(0.9937, 0.9933, 0.9941), cell(94.80, 94.52, 95.11)],
            [cell(99.60, 28.0, 138.0), cell(0.9904, 0.9895, 0.9911), cell(94.81, 94.55, 95.09)],
            [cell(152.98, 42.0, 211.0), cell(0.9937, 0.9932, 0.9942), cell(99.49, 99.44, 99.55)],
        ],
    ),
    (
        REGRESSION_10_30,
        [
            [cell(900.79, 261.0, 1262.0), cell(0.9989, 0.9988, 0.9990), cell(50.95, 50.64, 51.25)],
            [cell(549.07, 170.0, 764.0), cell(0.9982, 0.9980, 0.9983), cell(50.94, 50.66, 51.23)],
            [cell(120.64, 46.0, 163.0), cell(0.9909, 0.9902, 0.9915), cell(91.91, 91.80, 92.01)],
        ],
    ),
];
