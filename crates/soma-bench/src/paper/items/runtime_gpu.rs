//! The same runs on a GPU, as many side by side as it holds, where there is one.

use soma::Outcome;
use soma::chain::Problem;
use soma::kernel::KernelChoice;

/// A GPU, or why there is none.
pub(super) struct Gpu {
    missing: Option<String>,
}

/// Runs side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Many {
    /// How many.
    pub(super) chains: usize,
    /// Seconds for all of them together.
    pub(super) seconds: f64,
}

impl Gpu {
    /// Looks for a GPU.
    pub(super) fn find() -> Self {
        Gpu { missing: missing() }
    }

    /// What the reader is told of the column.
    pub(super) fn sentence(&self) -> String {
        match &self.missing {
            None => "\"our GPU\": seconds of as many runs as the GPU of this machine holds at once, \
                     all of them together, by the same iterations; without its start and the compiler's."
                .into(),
            Some(missing) => {
                let missing = missing.trim_end_matches('.');
                format!("The column \"our GPU\" is empty: {missing}.")
            }
        }
    }

    /// The time of so many `sweeps` of each of many chains of a problem; `None` where there is no GPU.
    pub(super) fn time(
        &self,
        problem: &Problem,
        kernel: KernelChoice,
        sweeps: u64,
    ) -> Outcome<Option<Many>> {
        if self.missing.is_some() {
            return Ok(None);
        }
        time(problem, kernel, sweeps).map(Some)
    }
}

#[cfg(feature = "gpu")]
fn missing() -> Option<String> {
    let missing = soma_gpu::Cuda::missing()?;
    Some(missing.replace(" To run without a GPU: --device cpu.", ""))
}

#[cfg(not(feature = "gpu"))]
fn missing() -> Option<String> {
    let how = "cargo install --path crates/soma-bench --features gpu";
    Some(format!("this program was built without GPU support. To build it in: `{how}`"))
}

#[cfg(feature = "gpu")]
fn time(problem: &Problem, kernel: KernelChoice, sweeps: u64) -> Outcome<Many> {
    use soma::chain::MovesChoice;
    use soma_gpu::{Cuda, Options, Program};

    let mut options = Options::new(kernel, MovesChoice::Centred);
    options.most_shared = Cuda::most_shared().unwrap_or(options.most_shared);
    let program = Program::new(problem, options)?;
    let mut device = Cuda::new(&program)?;
    let (processors, _) = device.processors()?;
    let threads = device.resources()?.2 as usize * processors as usize;
    let chains = (threads / program.lanes).max(1);
    let seconds = run(&mut device, &program, problem, chains, sweeps)?;
    Ok(Many { chains, seconds })
}

#[cfg(not(feature = "gpu"))]
fn time(_: &Problem, _: KernelChoice, _: u64) -> Outcome<Many> {
    Err("this program was built without GPU support".into())
}

/// Seconds of `sweeps` iterations of `chains` chains on a device.
#[cfg(feature = "gpu")]
fn run(
    device: &mut dyn soma_gpu::Device,
    program: &soma_gpu::Program,
    problem: &Problem,
    chains: usize,
    sweeps: u64,
) -> Outcome<f64> {
    let published = program.published(problem);
    let theta = soma_gpu::starts(problem, 1, 0, chains)?;
    let mut run = soma_gpu::Chains::start(device, program, 1, 0, 0, 1, &published, &theta)?;
    while run.iteration() < sweeps {
        run.advance(device, sweeps, false)?;
    }
    Ok(run.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_why_the_column_is_empty() {
        let gpu = Gpu { missing: Some("there is no card.".into()) };
        assert_eq!(gpu.sentence(), "The column \"our GPU\" is empty: there is no card.");
        assert!(Gpu { missing: None }.sentence().contains("as many runs"));
    }

    /// The settings of the paper's table, with fixed theta too, on the CPU that emulates a GPU.
    #[cfg(feature = "gpu")]
    #[test]
    fn the_settings_run_there() {
        use crate::paper::settings::{MeanRecords, REGRESSION_10_3, private_mean, regression};
        use soma::chain::MovesChoice;
        use soma_gpu::{Emulated, Options, Program};

        for problem in
            [private_mean(MeanRecords::Beta, 10.0).unwrap(), regression(REGRESSION_10_3).unwrap()]
        {
            for kernel in [KernelChoice::RanImwg, KernelChoice::SysImwg, KernelChoice::Soma] {
                let options = Options::new(kernel, MovesChoice::Centred);
                let program = Program::new(&problem, options).unwrap();
                if !Emulated::is_there() {
                    return eprintln!(
                        "skipped: there is no C++ compiler (c++, or the variable CXX)"
                    );
                }
                let mut device = Emulated::new(&program).unwrap();
                assert!(run(&mut device, &program, &problem, 3, 5).unwrap() > 0.0);
            }
        }
    }
}
