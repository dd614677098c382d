//! Many tables of one kind, such as those of regions, in one run.
//!
//! Each group is a table of noisy counts of the same cells. The groups are [fitted one by
//! one](fit), or [together](pool) with a common prior that is learned from all of them. What comes
//! out is a row for each parameter of each group, and a verdict for each group.

mod memory;
mod pool;
mod run;
mod separate;
mod table;

#[cfg(test)]
mod tests;

pub use memory::memory;
pub use pool::pool;
pub use run::{Fitted, Plan, Quiet, Watch};
pub use separate::fit;
pub use table::{Entry, GroupTable, Size};
