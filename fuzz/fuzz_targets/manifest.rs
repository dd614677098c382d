//! A manifest with a valid checksum is an error or one whose run can be opened.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soma_store::testing;

fuzz_target!(|text: &str| {
    let _ = testing::manifest(text.as_bytes());
    if let Ok(manifest) = testing::manifest(testing::seal_manifest(text).as_bytes()) {
        let _ = testing::part("nowhere".as_ref(), &manifest, 0);
    }
});
