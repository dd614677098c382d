//! `soma plot`: one figure of a stored run as SVG.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use soma_report::Kind;

use crate::exit::{Failed, Outcome};
use crate::page;

/// Draws a figure of a stored run.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `soma fit --out` wrote.
    #[arg(value_name = "RUN")]
    folder: PathBuf,
    /// What to draw.
    #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(names()))]
    kind: String,
    /// The file; KIND.svg if not given.
    #[arg(long, value_name = "FILE.svg")]
    out: Option<PathBuf>,
    /// How many panels stand beside each other, at most.
    #[arg(long, value_name = "C", default_value = "3", value_parser = clap::value_parser!(u8).range(1..))]
    columns: u8,
}

fn names() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).collect()
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let out = args.out.unwrap_or_else(|| format!("{}.svg", args.kind).into());
    let end = out.extension().map(|end| end.to_string_lossy().to_lowercase());
    if end.as_deref() != Some("svg") {
        return Err(Failed::Input(format!(
            "--out: figures are written as SVG (given: {}). Allowed: a file that ends in .svg, which \
             browsers, LaTeX and word processors show, and `rsvg-convert F.svg -o F.png` turns into \
             pixels; in Python, posterior.plot_density() and the like draw with Matplotlib, which \
             saves PNG.",
            out.display()
        )));
    }
    let kind = Kind::named(&args.kind).unwrap_or(Kind::Density);
    let content = page::of_run(&args.folder, kind == Kind::Predictive)?;
    let figure = kind
        .figure(&content)
        .map_err(|why| Failed::Input(format!("{}: no figure of it: {why}", kind.name())))?;
    page::write(&out, &figure.document(args.columns.into()))
}
