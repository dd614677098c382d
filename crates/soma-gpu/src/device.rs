//! The interface of a device: memory, and launches of a program.

use soma::{Failure, Outcome};

/// A buffer in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// The address.
    pub address: u64,
    /// The length in bytes.
    pub bytes: usize,
}

/// The functions of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Draws the first records of each chain.
    Start,
    /// Iterations.
    Chains,
}

/// The argument of a program's functions: `Params` of `text/records.cu`, field by field.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Params {
    /// The published sums in units of the noise, by release.
    pub published: u64,
    /// The records.
    pub records: u64,
    /// theta.
    pub theta: u64,
    /// Tuning of the non-centred update.
    pub tuning: u64,
    /// The draws of a launch.
    pub draws: u64,
    /// Accepted moves.
    pub counts: u64,
    /// The first iteration, plus 1, at which numbers were not finite; or 0.
    pub failed: u64,
    /// Places that proposals took (frozen program).
    pub places: u64,
    /// Proposals (frozen program).
    pub proposals: u64,
    /// The number of the first chain.
    pub first_chain: u64,
    /// Iterations done.
    pub iteration: u64,
    /// Iterations of warm-up.
    pub warmup: u64,
    /// Iterations to do.
    pub iterations: u32,
    /// Keep one iteration in this many.
    pub thin: u32,
    /// The number of chains.
    pub chains: u32,
    /// Elements from one row of a buffer to the next.
    pub stride: u32,
    /// Chains of each release.
    pub chains_per_release: u32,
    /// The keys of the rounds of Philox, from the seed.
    pub keys: [u32; 2 * ROUNDS],
    /// Padding of the C struct to 8 bytes.
    pub padding: u32,
}

/// Rounds of Philox: `ROUNDS` of the text.
pub(crate) const ROUNDS: usize = 10;

/// The keys of the rounds of Philox 4x32, which add Weyl sequences to the key (Salmon et al. 2011).
pub(crate) fn round_keys(key: [u32; 2]) -> [u32; 2 * ROUNDS] {
    let weyl = [0x9E37_79B9_u32, 0xBB67_AE85];
    std::array::from_fn(|k| key[k % 2].wrapping_add(weyl[k % 2].wrapping_mul(k as u32 / 2)))
}

/// A device with a program loaded.
pub trait Device {
    /// The name of the device.
    fn name(&self) -> String;

    /// Allocates memory and fills it with zeros.
    fn allocate(&mut self, bytes: usize) -> Outcome<Buffer>;

    /// Copies `bytes` to the start of the buffer.
    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Outcome;

    /// Copies the start of the buffer to `bytes`.
    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Outcome;

    /// Runs a function on `params.chains` chains of `lanes` threads each, and waits for it. Returns
    /// the time in seconds.
    fn launch(&mut self, entry: Entry, lanes: usize, params: &Params) -> Outcome<f64>;
}

/// Numbers that may be copied as bytes.
///
/// # Safety
/// Every pattern of bits is a value, and there is no padding.
pub(crate) unsafe trait Plain: Copy + Default {}
unsafe impl Plain for f32 {}
unsafe impl Plain for f64 {}
unsafe impl Plain for u64 {}
unsafe impl Plain for u32 {}
unsafe impl Plain for i32 {}

/// The numbers as bytes.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Reads the first `count` numbers of a buffer.
pub(crate) fn read_all<T: Plain>(
    device: &mut dyn Device,
    buffer: Buffer,
    count: usize,
) -> Outcome<Vec<T>> {
    let mut values = vec![T::default(); count];
    // SAFETY: plain numbers, of which every pattern of bits is one.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(&values[..]))
    };
    device.read(buffer, bytes)?;
    Ok(values)
}

/// An error of a device, with the step that failed.
pub(crate) fn failure(what: &str, error: impl std::fmt::Debug) -> Failure {
    format!("the GPU failed: {what}: {error:?}").into()
}
