//! `soma completions` and `soma man`: shell completions and manual pages.

use std::path::PathBuf;

use clap_complete::Shell;

use crate::exit::{self, Failed, Outcome};

/// Prints a script that completes the options of soma in a shell.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// `soma completions`.
pub fn completions(args: CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "soma", &mut script);
    exit::print(String::from_utf8_lossy(&script).trim_end())
}

/// Prints the manual page of soma or of one of its commands, or writes all pages to a folder.
#[derive(clap::Args)]
pub struct ManArgs {
    /// The command whose page is printed; that of soma itself if not given.
    #[arg(conflicts_with = "out")]
    command: Option<String>,
    /// Write soma.1 and a page for each command to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// `soma man`.
pub fn man(args: ManArgs) -> Outcome {
    let mut soma = crate::command();
    soma.build();
    if let Some(folder) = &args.out {
        let written =
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(soma, folder));
        return written.map_err(|error| Failed::Run(format!("{}: {error}", folder.display())));
    }
    let page = match &args.command {
        None => soma,
        Some(name) => match soma.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let names: Vec<&str> = soma.get_subcommands().map(|c| c.get_name()).collect();
                let allowed = soma::spec::choices(name, &names);
                let message = format!("there is no command {name:?}. Allowed: {allowed}");
                return Err(Failed::Input(message));
            }
        },
    };
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut text);
    rendered.map_err(|error| Failed::Run(error.to_string()))?;
    exit::print(String::from_utf8_lossy(&text).trim_end())
}
