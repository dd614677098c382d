//! Ctrl-C: the first ends the run cleanly, the second immediately.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler: from here on an interrupt sets a flag instead of ending the program.
pub fn watch() {
    let noted = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
    });
    if noted.is_err() {
        eprintln!("warning: Ctrl-C will end the run at once, not cleanly");
    }
}

/// Whether there was an interrupt.
pub fn seen() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The flag itself, for polling.
pub fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}
