//! `soma examples`: the shipped specs.

use crate::exit::{self, Failed, Outcome};

/// Lists the shipped specs, or prints one.
#[derive(clap::Args)]
pub struct Args {
    /// The spec to print.
    name: Option<String>,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// The shipped specs: name and text. The first comment of a text says what it is.
        pub const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../examples/", $name, ".toml")))),*];
    };
}

shipped![
    "atus-female",
    "atus-male",
    "regression-n100-eps30",
    "regression-n100-eps3",
    "regression-n10-eps30",
    "regression-n10-eps3",
    "private-mean-n2",
    "histogram-n50",
    "histogram-n20",
    "category-counts",
    "normal-gaussian-noise",
];

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let Some(name) = args.name else {
        let width = SHIPPED.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, text): &(&str, &str)| {
            let about = text.lines().next().unwrap_or("").trim_start_matches(['#', ' ']);
            format!("{name:width$}  {about}")
        };
        let list: Vec<String> = SHIPPED.iter().map(line).collect();
        return exit::print(&list.join("\n"));
    };
    let name = name.strip_suffix(".toml").unwrap_or(&name);
    match SHIPPED.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => exit::print(text.trim_end()),
        None => {
            let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
            let allowed = soma::spec::choices(name, &names);
            Err(Failed::Input(format!("there is no example {name:?}. Allowed: {allowed}")))
        }
    }
}
