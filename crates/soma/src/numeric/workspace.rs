//! The workspace of compiled models.

use std::cell::RefCell;

use soma_language::Workspace;

thread_local! {
    /// One per thread: it holds nothing between calls.
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new());
}

/// Runs a compiled program.
pub(crate) fn run<T>(program: impl FnOnce(&mut Workspace) -> T) -> T {
    WORKSPACE.with_borrow_mut(program)
}
