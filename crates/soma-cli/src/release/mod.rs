//! `soma release`: a release of a table of data, with noise from OpenDP.
//!
//! Noise that protects people comes from a vetted library, and never from this program. OpenDP takes
//! minutes to build, so that it is behind the cargo feature `curator`, which analysts do not need.

use std::path::PathBuf;

/// Reads the data, computes what the spec says, adds noise and writes what is to be published.
#[derive(clap::Args)]
pub struct Args {
    /// The spec: a release without values, and which columns of the data make a record.
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
    /// The confidential data: a CSV file with a header, or a Parquet file.
    #[arg(long, value_name = "FILE.csv|.parquet")]
    pub data: PathBuf,
    /// The file to publish. It holds nothing of the data but what the noise protects.
    #[arg(long, value_name = "FILE.toml")]
    pub out: PathBuf,
    /// Release these data once more, over a release that is there or to another file. Each release
    /// spends its budget again.
    #[arg(long)]
    pub again: bool,
    /// Say how many values were clamped. The numbers are confidential: do not publish them.
    #[arg(long)]
    pub unsafe_diagnostics: bool,
}

/// The subcommand, of a program that was built without it.
#[cfg(not(feature = "curator"))]
pub fn run(args: Args) -> crate::exit::Outcome {
    let Args { spec, data, out, again, unsafe_diagnostics } = args;
    // Named, so that all options are known to both builds.
    let _ = (spec, data, out, again, unsafe_diagnostics);
    Err(crate::exit::Failed::Input(
        "this program was built without OpenDP, whose noise a release takes. Allowed: the program \
         built with `cargo install --path crates/soma-cli --features curator`, or soma.release in \
         Python after `pip install opendp`."
            .into(),
    ))
}

pub mod columns;
pub mod data;
mod evaluate;
pub mod last;
pub mod ledger;
pub mod out;
pub mod prepare;
pub mod publish;
pub mod spent;
mod stated;

#[cfg(feature = "curator")]
mod file;
#[cfg(feature = "curator")]
mod make;
#[cfg(feature = "curator")]
pub mod noise;

#[cfg(feature = "curator")]
pub use make::run;

#[cfg(test)]
mod tests;
