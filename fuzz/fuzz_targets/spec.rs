//! A spec is an error or a problem with settings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soma::spec::Spec;

fuzz_target!(|text: &str| {
    if let Ok(spec) = Spec::parse(text) {
        let _ = spec.settings();
        let _ = spec.problem.outputs();
    }
});
