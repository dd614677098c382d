//! `soma examples`: the shipped specs.

use crate::exit::{self, Failed, Outcome};

#[path = "../../../examples/shipped.rs"]
mod shipped;

use shipped::SHIPPED;

/// Lists the shipped specs, or prints one.
#[derive(clap::Args)]
pub struct Args {
    /// The spec to print.
    name: Option<String>,
}

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
