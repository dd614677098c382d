//! `soma plot`: one figure of a stored run as SVG or PNG.

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
    /// The file; KIND.svg if not given. PNG needs a program with the feature `png`.
    #[arg(long, value_name = "FILE.svg|.png")]
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
    let is_png = match end.as_deref() {
        Some("svg") => false,
        Some("png") if cfg!(feature = "png") => true,
        Some("png") => {
            return Err(Failed::Input(format!(
                "--out: this program does not draw PNG (given: {}). Allowed: a file that ends in .svg, \
                 which browsers, LaTeX and word processors show, and `rsvg-convert F.svg -o F.png` \
                 turns into pixels; or a program that was built with `--features png`; in Python, \
                 posterior.plot_density() and the like draw with Matplotlib, which saves PNG.",
                out.display()
            )));
        }
        _ => {
            return Err(Failed::Input(format!(
                "--out: figures are SVG or PNG (given: {}). Allowed: a file that ends in .svg or .png.",
                out.display()
            )));
        }
    };
    let kind = Kind::named(&args.kind).unwrap_or(Kind::Density);
    let content = page::of_run(&args.folder, kind == Kind::Predictive)?;
    let figure = kind
        .figure(&content)
        .map_err(|why| Failed::Input(format!("{}: no figure of it: {why}", kind.name())))?;
    let columns = args.columns.into();
    match is_png {
        true => page::write(&out, &pixels(&figure.plain_document(columns))?),
        false => page::write(&out, figure.document(columns).as_bytes()),
    }
}

#[cfg(feature = "png")]
fn pixels(svg: &str) -> Result<Vec<u8>, Failed> {
    /// Pixels of the file for one of the figure: sharp in print.
    const ZOOM: f32 = 2.0;
    soma_plot::png(svg, ZOOM).map_err(|error| Failed::Run(error.to_string()))
}

#[cfg(not(feature = "png"))]
fn pixels(_: &str) -> Result<Vec<u8>, Failed> {
    Err(Failed::Input("--out: this program does not draw PNG. Allowed: .svg.".into()))
}
