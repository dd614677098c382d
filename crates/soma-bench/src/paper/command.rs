//! `soma paper`: reproduces the tables and figures of the paper.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::{Folder, FolderError, Item, Progress, Scale, Study, items};
use crate::exit::{Failed, Outcome, print};

/// The arguments of `soma paper`.
#[derive(clap::Args)]
pub struct Args {
    /// An item, `all`, or `list` to see what there is.
    item: String,
    /// How many runs and iterations: `quick` takes minutes, `paper` as many as the paper, `tiny`
    /// seconds, to see that all works.
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleArg,
    /// The same seed gives the same findings.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The number of threads; one for each core if not given. The findings do not depend on it.
    #[arg(long, value_name = "T")]
    threads: Option<NonZeroUsize>,
    /// The folder for tables, figures, paper.json and index.html, for all but `list`. Items that
    /// are there already, of the same scale and seed, are left alone.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Compute again what is there already.
    #[arg(long)]
    again: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ScaleArg {
    Tiny,
    Quick,
    Paper,
}

impl From<ScaleArg> for Scale {
    fn from(scale: ScaleArg) -> Scale {
        match scale {
            ScaleArg::Tiny => Scale::Tiny,
            ScaleArg::Quick => Scale::Quick,
            ScaleArg::Paper => Scale::Paper,
        }
    }
}

/// Lists the items, or computes some of them.
pub fn run(args: Args) -> Outcome {
    if args.item == "list" {
        return list();
    }
    let wanted: Vec<&Item> = match args.item.as_str() {
        "all" => items::ALL.iter().collect(),
        name => vec![items::find(name).ok_or_else(|| unknown(name))?],
    };
    let Some(out) = &args.out else {
        return Err(Failed::Input("--out DIR is required".into()));
    };
    let folder = Folder::new(out);
    let threads = args.threads.map_or(0, NonZeroUsize::get);
    for (number, item) in wanted.iter().enumerate() {
        let bar = Bar::new(&format!("{} ({} of {})", item.name, number + 1, wanted.len()));
        let study = Study::new(args.scale.into(), args.seed, threads, &bar)?;
        if folder.has(item, &study) && !args.again {
            eprintln!("{}: there already", item.name);
            continue;
        }
        let clock = Instant::now();
        let findings = (item.run)(&study)?;
        let seconds = clock.elapsed().as_secs_f64();
        folder.keep(item, &study, seconds, findings)?;
        bar.end();
        eprintln!("{}: {seconds:.1} s", item.name);
    }
    folder.summarise()?;
    print(&summary(&folder, &wanted))
}

fn list() -> Outcome {
    let width = items::ALL.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let line = |item: &Item| format!("{:width$}  {:9}  {}", item.name, item.place, item.title);
    let lines: Vec<String> = items::ALL.iter().map(line).collect();
    print(&lines.join("\n"))
}

fn unknown(name: &str) -> Failed {
    let known: Vec<&str> =
        ["list", "all"].into_iter().chain(items::ALL.iter().map(|item| item.name)).collect();
    Failed::Input(format!(
        "there is no item {name:?}. Allowed: {}",
        soma::spec::choices(name, &known)
    ))
}

/// The number of published values that agree, item by item, and the path of the page.
fn summary(folder: &Folder, wanted: &[&Item]) -> String {
    let width = wanted.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let mut text = format!("{:width$}  numbers  published  agree  seconds\n", "item");
    for stored in wanted.iter().filter_map(|item| folder.stored(item)) {
        let checks = &stored.findings.checks;
        let published = checks.iter().filter(|check| check.agrees.is_some()).count();
        let agree = checks.iter().filter(|check| check.agrees == Some(true)).count();
        text += &format!(
            "{:width$}  {:7}  {published:9}  {agree:5}  {:7.1}\n",
            stored.item,
            checks.len(),
            stored.seconds
        );
    }
    format!("{text}{}", folder.path().join("index.html").display())
}

impl From<FolderError> for Failed {
    fn from(error: FolderError) -> Self {
        Failed::Run(error.to_string())
    }
}

/// The bar of one item; `None` without a terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new(name: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(0).with_message(name.to_string());
        let style = "{msg:44} {bar:30} {percent:>3}%  {elapsed_precise}";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Bar(bar)
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// The length grows as the parts of an item begin.
impl Progress for Bar {
    fn expect(&self, units: u64) {
        self.0.inc_length(units);
    }

    fn advance(&self) {
        self.0.inc(1);
    }
}
