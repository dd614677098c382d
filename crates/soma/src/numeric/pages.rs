//! Huge pages for large arrays.

/// Arrays of fewer bytes than this are left to the system.
const LARGE: usize = 1 << 21;

/// An empty array with room for `count` numbers. Where these are many, the system is asked for
/// large pages: records are drawn from all over them, and where there are thousands of pages nearly
/// each has to be looked up first.
pub(crate) fn with_room(count: usize) -> Vec<f64> {
    let room: Vec<f64> = Vec::with_capacity(count);
    if count * size_of::<f64>() >= LARGE {
        ask_for_large_pages(room.as_ptr() as usize, room.capacity() * size_of::<f64>());
    }
    room
}

/// As many numbers in `all`, and zeros for those that are new; in large pages where they are many.
pub(crate) fn resize(all: &mut Vec<f64>, count: usize) {
    if count > all.capacity() {
        let mut larger = with_room(count);
        larger.extend_from_slice(all);
        *all = larger;
    }
    all.resize(count, 0.0);
}

/// A hint, which changes no content; where the system does not take it, nothing is lost.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(start: usize, bytes: usize) {
    // SAFETY: neither call touches memory of the program.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE).max(1) as usize;
        let before = start % page;
        libc::madvise((start - before) as *mut _, bytes + before, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: usize, _: usize) {}
