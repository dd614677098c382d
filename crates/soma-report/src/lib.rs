//! Figures of a run as SVG, and its report as one HTML page.
//!
//! [`Content`] is what a report shows, in numbers: the draws of each parameter beside its prior, the
//! release beside replicated ones, and how the run was made. [`Kind`] names the figures, each of which
//! is one file in `figure/` and makes a [`Figure`] of a content; [`page()`] puts all of them with their
//! tables on a page that needs no network. Nothing here prints, reads a file or looks at a clock.

mod content;
mod density;
pub mod figure;
mod gather;
mod page;
pub mod svg;

pub use content::{Content, Group, Parameter, PlugIn, Predicted, Published, Trust};
pub use figure::{Figure, Kind};
pub use gather::{Source, gather};
pub use page::{compact, page};
