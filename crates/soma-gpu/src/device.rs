//! What runs a program.

use soma::{Failure, Outcome};

/// Memory of a device, by its address.
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

/// The argument of a program's functions: `Params` of `text/moves.cu`, field by field.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Params {
    /// The published sums in units of the noise, release after release.
    pub published: u64,
    /// The records.
    pub records: u64,
    /// theta.
    pub theta: u64,
    /// What the non-centred update learns.
    pub tuning: u64,
    /// The draws of a launch.
    pub draws: u64,
    /// Accepted moves.
    pub counts: u64,
    /// Where numbers overflowed.
    pub failed: u64,
    /// Places taken, of a frozen program.
    pub places: u64,
    /// Proposals, of a frozen program.
    pub proposals: u64,
    /// The seed.
    pub seed: u64,
    /// The number of the first chain.
    pub first_chain: u64,
    /// Iterations done.
    pub iteration: u64,
    /// Iterations of warm-up.
    pub warmup: u64,
    /// Iterations to do.
    pub iterations: u32,
    /// One iteration in so many is kept.
    pub thin: u32,
    /// The number of chains.
    pub chains: u32,
    /// The distance from one row of a buffer to the next.
    pub stride: u32,
    /// Chains of each release.
    pub chains_per_release: u32,
    /// Zero, which the compiler does not know.
    pub zero: f32,
}

/// A machine with a program loaded.
pub trait Device {
    /// What it is, for a reader.
    fn name(&self) -> String;

    /// Memory, all zeros.
    fn allocate(&mut self, bytes: usize) -> Outcome<Buffer>;

    /// Copies `bytes` to the buffer's beginning.
    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Outcome;

    /// Copies the buffer's beginning to `bytes`.
    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Outcome;

    /// Runs a function on `params.chains` chains, of so many lanes each, and waits for its end. Gives
    /// the seconds that the device took.
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

/// So many numbers from the beginning of a buffer.
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

/// An error of a device, with what it was about.
pub(crate) fn failure(what: &str, error: impl std::fmt::Debug) -> Failure {
    format!("the GPU failed: {what}: {error:?}").into()
}
