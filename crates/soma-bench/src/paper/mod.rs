//! Every table and figure of the SOMA paper, one file each.
//!
//! An [`Item`] is one of them. It runs in a [`Study`], which says at what scale and from which
//! seed, and gives [`Findings`]: tables, figures, and each published number with ours beside it.
//! A [`Folder`] keeps the findings, so that a run can be resumed item by item, and makes
//! one page of all. [`run`] is the command `soma paper`.

mod command;
mod findings;
mod folder;
pub mod items;
mod mmd;
mod page;
mod pairs;
mod samplers;
mod settings;
mod stats;
mod study;
mod walk;
mod wasserstein;

pub use command::{Args, run};
pub use findings::{Check, Drawing, Findings, Table};
pub use folder::{Folder, FolderError, Stored};
pub use items::Item;
pub use samplers::Sampler;
pub use study::{Progress, Scale, Silent, Study};
