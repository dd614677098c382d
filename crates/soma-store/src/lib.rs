//! Runs on disk: draws as they come, checkpoints to go on from, and a manifest.
//!
//! A run is a folder:
//!
//! ```text
//! manifest.json                         spec, settings, seed, version, timings, acceptance, status
//! draws/chain-0000-part-00000.parquet   one row for each kept draw
//! records/chain-0000-part-00000.parquet one row for each stored imputed record, where asked for
//! checkpoints/chain-0000.checkpoint     the state of the chain at its last stored draw
//! ```
//!
//! [`Store`] writes one while the chains run, in memory that does not grow with the number of
//! draws; [`Run`] reads one. Every file is written under another name, brought to the disk and then
//! renamed, first the rows, then the checkpoint that vouches for them, then the manifest: a kill or
//! a power cut at any moment leaves whole files, and at worst the work since the last checkpoint is
//! lost. Every file has a checksum and names its run; everything that is read is checked before it
//! is used, and nothing is written or removed before all of it is. A [`FolderLock`] keeps a second
//! program out while one writes.

mod atomic;
mod batch;
mod checkpoint;
mod columns;
mod error;
mod lock;
mod manifest;
mod memory;
mod merge;
mod object;
mod part;
mod results;
mod run;
mod seal;
mod store;
mod table;
#[doc(hidden)]
pub mod testing;
mod watch;
mod writer;

pub use atomic::write_whole;
pub use batch::{Batch, PlannedFit};
pub use error::StoreError;
pub use lock::FolderLock;
pub use manifest::{Manifest, Status};
pub use memory::{Available, DoesNotFit, Limit, available_memory, check_memory, in_words};
pub use merge::merge;
pub use object::{is_sealed_object, seal_object};
pub use results::{ResultRow, write_results};
pub use run::Run;
pub use store::{Options, Store};
pub use watch::Watch;
