//! SOMA for Python: the compiled half of the package `soma`.
//!
//! The user interface is written in Python, beside this crate in `python/soma`. Here is what has to
//! be fast, and what must not be duplicated: validation and its errors.

mod arrays;
mod arrow_in;
mod calibration;
mod collector;
mod control;
mod coupling;
mod curator;
mod custom_model;
mod custom_query;
mod draws;
mod errors;
mod groups;
mod import;
mod plan;
mod problem;
mod program;
mod release;
mod report;
mod run;
mod spec;
mod store;

use pyo3::prelude::*;

/// The compiled half of the package `soma`.
#[pymodule]
mod _soma {
    use super::*;

    #[pymodule_export]
    use super::arrow_in::read_arrow;
    #[pymodule_export]
    use super::calibration::Calibrator;
    #[pymodule_export]
    use super::control::Control;
    #[pymodule_export]
    use super::coupling::{Meetings, Pair, Window, posterior_means};
    #[pymodule_export]
    use super::curator::{Preparation, check_published};
    #[pymodule_export]
    use super::draws::{arrow_stream, judge, summarise};
    #[pymodule_export]
    use super::groups::Groups;
    #[pymodule_export]
    use super::import::import_release;
    #[pymodule_export]
    use super::plan::Planner;
    #[pymodule_export]
    use super::problem::{Problem, Settings};
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::release::Release;
    #[pymodule_export]
    use super::report::Report;
    #[pymodule_export]
    use super::run::Run;
    #[pymodule_export]
    use super::spec::{read_spec, release_file, with_release};
    #[pymodule_export]
    use super::store::Store;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("KERNELS", soma::kernel::KernelChoice::NAMES)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
