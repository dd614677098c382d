//! Every table and figure of the SOMA paper, one file each.
//!
//! An [`Item`] is one of them. It runs in a [`Study`], which has the scale and the seed, and
//! returns [`Findings`]: tables, figures, and each published number with ours. A [`Folder`] stores
//! the findings, so that a run can be resumed item by item, and generates one page of all. [`run`]
//! is the command `soma paper`.

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
