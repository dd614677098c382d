//! A Parquet file is an error or some rows, with or without a seal.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use soma_fuzz::{Stored, first};
use soma_store::testing;

static RUN: LazyLock<(Stored, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder").keep();
    std::fs::create_dir(folder.join("draws")).expect("a folder");
    // The readers turn panics of the Parquet crate into errors: not reported here.
    std::panic::set_hook(Box::new(|_| {}));
    (first(), folder)
});

// The fits that all inputs share take longer than one input may.
fuzz_target!(init: {
    LazyLock::force(&RUN);
}, |bytes: &[u8]| {
    let (stored, folder) = &*RUN;
    std::fs::write(folder.join("draws/chain-0000-part-00000.parquet"), bytes).expect("written");
    let _ = testing::part(folder, &stored.manifest, 0);
});
