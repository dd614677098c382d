//! Huge pages for large arrays.

/// Smaller arrays are left to the system.
const LARGE: usize = 1 << 21;

/// An empty array with capacity for `count` numbers. Large arrays request huge pages: random access
/// over thousands of pages misses the TLB.
pub(crate) fn with_room(count: usize) -> Vec<f64> {
    let room: Vec<f64> = Vec::with_capacity(count);
    if count * size_of::<f64>() >= LARGE {
        ask_for_large_pages(room.as_ptr() as usize, room.capacity() * size_of::<f64>());
    }
    room
}

/// Resizes `all` to `count` numbers, padded with zeros; with huge pages if it is large.
pub(crate) fn resize(all: &mut Vec<f64>, count: usize) {
    if count > all.capacity() {
        let mut larger = with_room(count);
        larger.extend_from_slice(all);
        *all = larger;
    }
    all.resize(count, 0.0);
}

/// A hint, which changes no content; the system may ignore it.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(start: usize, bytes: usize) {
    // SAFETY: neither call accesses memory of the program.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE).max(1) as usize;
        let before = start % page;
        libc::madvise((start - before) as *mut _, bytes + before, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: usize, _: usize) {}
