//! Many chains on one GPU.
//!
//! A [`Program`] is CUDA text generated from a problem: the constants of release, query and model, followed by
//! the sampler (`src/text`). A [`Device`] runs it: [`Cuda`] through the driver and NVRTC, both loaded at run
//! time, or [`Emulated`], which compiles the text as C++ for the CPU (for tests). [`Chains`] runs chains in
//! launches of 128 iterations.
//!
//! A chain's draws depend on the seed and on its number, not on the grid, the number of chains or
//! the card.

mod calibrate;
mod chains;
mod cuda;
mod device;
mod emulate;
mod fit;
pub mod frozen;
mod nested;
mod pairs;
mod plan;
mod program;

pub use calibrate::{Ranked, rank};
pub use chains::{Chains, Drawn, ITERATIONS_PER_LAUNCH, SUPERCHAIN, starts};
pub use cuda::Cuda;
pub use device::{Buffer, Device, Entry, Params};
pub use emulate::Emulated;
pub use fit::{Fit, Fitted, Row};
pub use nested::nested_rhat;
pub use pairs::{Pairs, Seen, run_pairs};
pub use plan::{plan_programs, run_plan};
pub use program::{Options, Program};
