//! `soma plan`: what analysts will know from a release that has not been made yet.

mod figure;
mod text;

use std::path::PathBuf;

use clap::value_parser;
use soma::plan::{Observer, Plan, PlanReport, Target};
use soma::spec::PlanOptions;

use crate::args::ThreadArgs;
use crate::display::Display;
use crate::exit::{self, Failed, Outcome};
use crate::gpu::Device;
use crate::{interrupt, spec_file};

/// Simulates data, releases them at each setting, fits each release, and says what is learned.
#[derive(clap::Args)]
pub struct Args {
    /// The spec. The released values need not be there, and do not matter; the table [plan] may
    /// say what these options say, and designs to compare.
    #[arg(value_name = "SPEC.toml")]
    spec: PathBuf,
    /// Total privacy budgets to compare: epsilon, or rho where the mechanisms have rho.
    #[arg(long, visible_alias = "rho", value_name = "E,E,...", value_delimiter = ',')]
    epsilon: Option<Vec<f64>>,
    /// Numbers of records to compare.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    n: Option<Vec<u64>>,
    /// What analysts are to learn: "sd(beta1) < 0.1" or "width(beta1) < 0.3". May be given more
    /// than once; all have to be met.
    #[arg(long, value_name = "TARGET")]
    target: Option<Vec<String>>,
    /// The number of simulated data sets.
    #[arg(long, value_name = "R", value_parser = value_parser!(u64).range(1..))]
    replications: Option<u64>,
    /// Iterations of each fit before its first draw.
    #[arg(long, value_name = "W")]
    warmup: Option<u64>,
    /// Draws of each fit.
    #[arg(long, value_name = "D", value_parser = value_parser!(u64).range(20..))]
    draws: Option<u64>,
    /// The same seed gives the same plan.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Write a figure to this SVG file: the width of intervals against the budget, with the width
    /// that there would be without privacy.
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Where the releases are fitted. auto is the CPU, which has more kinds of theta updates: more of its fits
    /// settle.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Device,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Show no progress and no notes.
    #[arg(long)]
    quiet: bool,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let text = spec_file::text(&args.spec)?;
    let input = |invalid: soma::Invalid| Failed::Input(format!("--{invalid}"));
    let targets = args.target.as_ref().map(|texts| {
        texts.iter().map(|text| Target::parse(text).map_err(input)).collect::<Result<Vec<_>, _>>()
    });
    let options = PlanOptions {
        budgets: args.epsilon.clone(),
        n: args.n.clone(),
        targets: targets.transpose()?,
        replications: args.replications,
        warmup: args.warmup,
        draws: args.draws,
        seed: args.seed,
    };
    let plan =
        Plan::parse(&text, options).map_err(|error| spec_file::bad(&args.spec, &text, error))?;
    interrupt::watch();
    let watch = Watch::new(plan.fits());
    let is_gpu = args.device == Device::Gpu && args.device.is_gpu_for((0, 0.0), || true)?;
    let make = || match is_gpu {
        #[cfg(feature = "gpu")]
        true => crate::gpu::plan(&plan, args.threads.count(), &watch),
        _ => soma::plan::run(&plan, args.threads.count(), &watch).map_err(Failed::from),
    };
    let made = match args.quiet {
        true => make(),
        false => watch.0.during(String::new, make),
    }?;
    if made.fits.iter().all(Vec::is_empty) {
        return Err(Failed::Run("stopped before the first release was fitted".into()));
    }
    let report = PlanReport::of(&plan, &made);
    if let Some(path) = &args.figure {
        std::fs::write(path, figure::svg(&report))
            .map_err(|error| Failed::Run(format!("{}: {error}", path.display())))?;
    }
    exit::print(&match args.json {
        true => serde_json::to_string_pretty(&report).unwrap_or_default(),
        false => text::of(&report, &plan),
    })
}

/// How far it is.
struct Watch(Display);

impl Watch {
    fn new(all: u64) -> Self {
        Watch(Display::new(all, Display::is_terminal()).counting("fits"))
    }
}

impl Observer for Watch {
    fn done(&self) {
        self.0.advance(1);
    }

    fn stop(&self) -> bool {
        interrupt::seen()
    }
}
