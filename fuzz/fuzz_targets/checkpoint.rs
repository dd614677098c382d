//! A checkpoint with a valid checksum is an error or the state of a chain that can continue.
//!
//! The first byte selects the run that it is read for.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use soma::chain::Engine;
use soma_fuzz::{Stored, all};
use soma_store::testing;

static RUNS: LazyLock<Vec<Stored>> = LazyLock::new(all);

// The fits that all inputs share take longer than one input may.
fuzz_target!(init: {
    LazyLock::force(&RUNS);
}, |bytes: &[u8]| {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    let Stored { spec, manifest, .. } = &RUNS[usize::from(which) % RUNS.len()];
    let mut bytes = bytes.to_vec();
    testing::seal_checkpoint(&mut bytes);
    if let Ok(snapshot) = testing::checkpoint(&bytes, &spec.problem, manifest, 0)
        && let Ok(mut chain) = Engine::restore(&spec.problem, snapshot)
    {
        let _ = (0..2).try_for_each(|_| chain.step().map(|_| ()));
    }
});
