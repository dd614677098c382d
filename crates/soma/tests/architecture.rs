//! Dependencies are acyclic: a module may use only the modules below it. And the name of a law, a
//! kernel or a model stands in its table only, so that a new one is a file and a row.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use soma::kernel::KernelChoice;
use soma::release::mechanism::Noise;

/// The modules from the lowest up. Each may use those before it.
const ROOMS: &[&str] = &[
    "error",
    "rng",
    "stored",
    "interrupt",
    "threads",
    "numeric",
    "simd",
    "distribution",
    "release",
    "counts",
    "model",
    "records",
    "kernel",
    "diagnostics",
    "chain",
    "grouped",
    "coupling",
    "calibration",
    "plug_in",
    "plan",
    "predictive",
    "theory",
    "sensitivity",
    "spec",
];

/// The Rust files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// Whether a file holds tests only.
fn is_test(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        matches!(name.as_ref(), "tests" | "tests.rs" | "testing.rs")
    })
}

/// The lines of code of a file, without its tests and comments.
fn code(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The modules named by `crate::` paths in the code of a file.
fn named(source: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for line in code(source) {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            if let Some(group) = rest.strip_prefix('{') {
                let first = |name: &str| name.trim().chars().take_while(|c| is_name(*c)).collect();
                rooms.extend(group.split(',').map(first));
            } else {
                rooms.push(rest.chars().take_while(|c| is_name(*c)).collect());
            }
        }
    }
    rooms
}

#[test]
fn dependencies_go_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rank: BTreeMap<&str, usize> = ROOMS.iter().enumerate().map(|(i, &r)| (r, i)).collect();
    let mut all = Vec::new();
    files(&root, &mut all);
    let mut wrong = Vec::new();
    for path in all.iter().filter(|path| !is_test(path)) {
        let inside = path.strip_prefix(&root).expect("below the root");
        let room = inside.iter().next().expect("a name").to_string_lossy();
        let room = room.trim_end_matches(".rs").to_string();
        if room == "lib" {
            continue;
        }
        let Some(own) = rank.get(room.as_str()) else {
            wrong.push(format!("{} is in no room of the list", inside.display()));
            continue;
        };
        for other in named(&fs::read_to_string(path).expect("a source file")) {
            if rank.get(other.as_str()).is_some_and(|below| below > own) {
                wrong.push(format!("{} uses {other}, which stands above it", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Where names belong: the laws' and the kernels' own rooms, the table of models, and the words that
/// users know laws and models by.
const NAMED: &[&str] = &["release/law", "kernel", "spec/model.rs", "spec/words.rs"];

/// Other things of the same name: the prior of the number of records.
const OTHERS: &[(&str, &str)] = &[("spec/size.rs", "uniform")];

/// The names in the table of models.
fn models(root: &Path) -> Vec<String> {
    let source = fs::read_to_string(root.join("spec/model.rs")).expect("the table of models");
    let (_, rows) = source.split_once("const MODELS").expect("its name");
    let (rows, _) = rows.split_once("\n];").expect("its end");
    let row = |line: &str| Some(line.trim().strip_prefix("(\"")?.split_once('"')?.0.to_string());
    rows.lines().filter_map(row).collect()
}

/// Whether a line has `name` as a word, other than in an example of a spec.
fn says(line: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let is_part = before.ends_with(is_word) || after.starts_with(is_word);
        let is_example = before.trim_end_matches(['"', '\\']).ends_with("kind = ");
        !is_part && !is_example
    })
}

/// Whether a line compares something with `name`.
fn compares(line: &str, name: &str) -> bool {
    let is_after = |sign: &str| line.contains(&format!("{sign} \"{name}\""));
    let is_arm = ["=>", "|"].iter().any(|sign| line.contains(&format!("\"{name}\" {sign}")));
    is_after("==") || is_after("!=") || is_after("|") || is_arm
}

#[test]
fn names_stand_in_their_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (laws, models) = (Noise::ALL.map(Noise::name), models(&root));
    assert!(models.len() > 5, "{models:?}");
    let mut all = Vec::new();
    files(&root, &mut all);
    let mut wrong = Vec::new();
    for path in all.iter().filter(|path| !is_test(path)) {
        let inside = path.strip_prefix(&root).expect("below the root");
        if NAMED.iter().any(|room| inside.starts_with(room)) {
            continue;
        }
        let source = fs::read_to_string(path).expect("a source file");
        let lines: Vec<&str> = code(&source).collect();
        let has = |is: &dyn Fn(&str) -> bool| lines.iter().any(|line| is(line));
        let mut found: Vec<&str> =
            laws.into_iter().filter(|name| has(&|line| says(line, name))).collect();
        let kernels = KernelChoice::NAMES.into_iter().skip(2);
        found.extend(kernels.filter(|name| has(&|line| line.contains(&format!("\"{name}\"")))));
        found.extend(
            models.iter().map(String::as_str).filter(|name| has(&|line| compares(line, name))),
        );
        found.retain(|name| {
            !OTHERS.iter().any(|(file, other)| inside.ends_with(file) && other == name)
        });
        wrong.extend(found.into_iter().map(|name| format!("{} names {name}", inside.display())));
        let is_variant = |line: &str| {
            line.split("Noise::").skip(1).any(|rest| {
                let variant: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                laws.iter().any(|law| law.replace('-', "") == variant.to_lowercase())
            })
        };
        if has(&is_variant) {
            wrong.push(format!("{} asks for one law, not what it can do", inside.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
