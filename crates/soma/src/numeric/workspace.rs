//! What the compiled programs of texts compute in.

use std::cell::RefCell;

use soma_language::Workspace;

thread_local! {
    /// One for each thread: it holds nothing from one call to the next.
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new());
}

/// Runs a compiled program.
pub(crate) fn run<T>(program: impl FnOnce(&mut Workspace) -> T) -> T {
    WORKSPACE.with_borrow_mut(program)
}
