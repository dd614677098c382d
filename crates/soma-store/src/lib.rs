//! Runs on disk: draws as they come, checkpoints to resume from, and a manifest.
//!
//! A run is a folder:
//!
//! ```text
//! manifest.json                         spec, settings, seed, version, timings, acceptance, status
//! draws/chain-0000-part-00000.parquet   one row for each kept draw
//! records/chain-0000-part-00000.parquet one row for each stored imputed record, if requested
//! checkpoints/chain-0000.checkpoint     the state of the chain at its last stored draw
//! ```
//!
//! [`Store`] writes a run while the chains run, in memory that does not grow with the number of
//! draws; [`Run`] reads one. Every file is written under a temporary name, synced and renamed:
//! first the rows, then the checkpoint that refers to them, then the manifest. A kill or a power
//! failure at any time leaves complete files, and loses at most the work since the last checkpoint.
//! Every file has a checksum and names its run. Everything that is read is validated before it is
//! used, and nothing is written or removed before that. A [`FolderLock`] prevents a second program
//! from writing at the same time.

mod atomic;
mod batch;
mod checkpoint;
mod columns;
mod error;
mod journal;
mod lock;
mod manifest;
mod memory;
mod merge;
mod object;
mod part;
mod read_table;
mod results;
mod run;
mod seal;
mod store;
mod table;
#[doc(hidden)]
pub mod testing;
mod watch;
mod writer;

pub use atomic::{sync_folder, write_whole};
pub use batch::{Batch, PlannedFit};
pub use error::StoreError;
pub use journal::Journal;
pub use lock::FolderLock;
pub use manifest::{Manifest, Status, fingerprint};
pub use memory::{Available, DoesNotFit, Limit, available_memory, check_memory, in_words};
pub use merge::merge;
pub use object::{is_sealed_object, seal_object};
pub use read_table::read_table;
pub use results::{ResultRow, summary_columns, write_named, write_results};
pub use run::Run;
pub use store::{Options, Store};
pub use watch::Watch;
