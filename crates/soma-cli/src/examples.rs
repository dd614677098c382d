//! `soma examples`: the shipped specs.

use crate::exit::{self, Failed, Outcome};

#[path = "../../../examples/shipped.rs"]
mod shipped;

use shipped::{GROUPS, SHIPPED};

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
        let about = |name: &str| {
            let text =
                SHIPPED.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
            text.lines().next().unwrap_or("").trim_start_matches(['#', ' '])
        };
        let group = |(hand, names): &(&str, &[&str])| {
            let lines = names.iter().map(|name| format!("  {name:width$}  {}", about(name)));
            format!("You have {hand}:\n{}", lines.collect::<Vec<_>>().join("\n"))
        };
        let list: Vec<String> = GROUPS.iter().map(group).collect();
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
