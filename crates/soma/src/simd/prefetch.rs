//! Prefetch: asks for memory ahead of its use.

/// Asks for a row of `k` numbers from memory, to be looked at soon.
#[inline(always)]
pub(crate) fn prefetch_row(row: *const f64, k: usize) {
    prefetch(row);
    prefetch(row.wrapping_add(k - 1));
}

/// Asks for what is at an address, to be looked at soon.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever its address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
