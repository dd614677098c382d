//! Dependencies are acyclic: a module may use only the modules below it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
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

/// The modules named by `crate::` paths in the code of a file, without its tests and comments.
fn named(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut rooms = Vec::new();
    for line in lines {
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
