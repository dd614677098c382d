//! A manifest with a checksum that fits is an error or one whose run can be looked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soma_store::testing;

fuzz_target!(|text: &str| {
    let _ = testing::manifest(text.as_bytes());
    if let Ok(manifest) = testing::manifest(testing::seal_manifest(text).as_bytes()) {
        let _ = testing::part("nowhere".as_ref(), &manifest, 0);
    }
});
