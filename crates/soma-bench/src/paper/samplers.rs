//! The three samplers that the paper compares.

use soma::kernel::{KernelChoice, SingleKernel};
use soma_plot::{Figure, Style};

/// A sampler of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// Random-scan independent Metropolis within Gibbs.
    RanImwg,
    /// Systematic-scan independent Metropolis within Gibbs.
    SysImwg,
    /// Single offer, multiple attempts.
    Soma,
}

impl Sampler {
    /// All, in the order of the paper's tables.
    pub const ALL: [Sampler; 3] = [Sampler::RanImwg, Sampler::SysImwg, Sampler::Soma];

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Sampler::RanImwg => "Ran-IMwG",
            Sampler::SysImwg => "Sys-IMwG",
            Sampler::Soma => "SOMA",
        }
    }

    /// The kernel for whole sweeps.
    pub fn choice(self) -> KernelChoice {
        match self {
            Sampler::RanImwg => KernelChoice::RanImwg,
            Sampler::SysImwg => KernelChoice::SysImwg,
            Sampler::Soma => KernelChoice::Soma,
        }
    }

    /// The kernel for single moves.
    pub fn single(self) -> SingleKernel {
        match self {
            Sampler::RanImwg => SingleKernel::RanImwg,
            Sampler::SysImwg => SingleKernel::SysImwg,
            Sampler::Soma => SingleKernel::Soma,
        }
    }

    /// How it looks in every figure.
    pub fn style(self) -> Style {
        Style::sampler(self.choice().name())
    }

    /// `figure` with the three samplers in its legend.
    pub fn keys(figure: Figure) -> Figure {
        Sampler::ALL
            .into_iter()
            .fold(figure, |figure, sampler| figure.key(sampler.name(), sampler.style()))
    }
}
