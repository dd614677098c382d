//! Every item at the smallest scale, end to end: it runs, and its output has the right format.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use soma_bench::paper::{Folder, Scale, Silent, Study, items};

/// A folder with all items at the smallest scale, made once.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let place = tempfile::tempdir().unwrap();
            let folder = Folder::new(place.path());
            let study = Study::new(Scale::Tiny, 7, 2, &Silent).unwrap();
            for item in items::ALL {
                assert!(!folder.has(item, &study));
                let findings = (item.run)(&study).unwrap_or_else(|e| panic!("{}: {e}", item.name));
                folder.keep(item, &study, 0.5, findings).unwrap();
                assert!(folder.has(item, &study));
            }
            place
        })
        .path()
}

fn entries() -> Vec<HashMap<String, serde_json::Value>> {
    let text = fs::read_to_string(folder().join("paper.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The files with this ending in the folder of an item.
fn files(item: &str, ending: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder().join(item)).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|e| e == ending)).collect()
}

#[test]
fn all_fifteen_items_of_the_paper_are_there() {
    let names: Vec<&str> = items::ALL.iter().map(|item| item.name).collect();
    assert_eq!(
        names,
        [
            "trace-mean",
            "acceptance-mean",
            "survival-mean",
            "rate-correlation",
            "regression-n10",
            "regression-rhat-ess",
            "regression-mmd",
            "regression-ridge",
            "histogram-quantiles",
            "histogram-acceptance-meeting",
            "histogram-wasserstein",
            "atus-diagnostics",
            "atus-means",
            "runtime",
            "synthetic-data",
        ]
    );
    assert!(items::find("runtime").is_some() && items::find("nothing").is_none());
}

#[test]
fn each_item_leaves_tables_and_figures() {
    for item in items::ALL {
        for table in files(item.name, "csv") {
            let text = fs::read_to_string(&table).unwrap();
            let columns = text.lines().next().unwrap().split(',').count();
            assert!(columns > 1 && text.lines().count() > 1, "{table:?} is empty");
        }
        assert!(!files(item.name, "csv").is_empty(), "{} has no table", item.name);
        let drawn = files(item.name, "svg");
        assert!(!drawn.is_empty(), "{} has no figure", item.name);
        for svg in drawn {
            let text = fs::read_to_string(&svg).unwrap();
            assert!(text.starts_with("<svg") && text.contains("<title>"), "{svg:?}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{svg:?} has a hole");
            let png = fs::read(svg.with_extension("png")).unwrap();
            assert_eq!(&png[1..4], b"PNG");
        }
    }
}

#[test]
fn each_number_has_its_place_in_the_summary() {
    let entries = entries();
    for item in items::ALL {
        assert!(entries.iter().any(|entry| entry["item"] == item.name), "{} is missing", item.name);
    }
    for entry in &entries {
        for key in ["item", "quantity", "published", "ours", "se", "agrees", "note"] {
            assert!(entry.contains_key(key), "{entry:?} has no {key}");
        }
        assert!(entry["ours"].is_number(), "{entry:?}");
        assert_eq!(entry["published"].is_null(), entry["agrees"].is_null(), "{entry:?}");
        if entry["agrees"] == false {
            assert!(!entry["note"].as_str().unwrap().is_empty(), "{entry:?} says not why");
        }
    }
}

/// The number of published values of each item.
#[test]
fn each_published_number_has_ours_beside_it() {
    let printed = [
        ("rate-correlation", 2),
        ("regression-n10", 54),
        ("regression-rhat-ess", 3),
        ("regression-ridge", 3),
        ("histogram-acceptance-meeting", 2),
        ("atus-means", 12),
        ("runtime", 72),
    ];
    for (item, count) in printed {
        let ours =
            entries().iter().filter(|e| e["item"] == item && !e["published"].is_null()).count();
        assert_eq!(ours, count, "{item}");
    }
    // SOMA, and both kinds of IMwG beside the one that the paper prints.
    let atus = entries();
    let atus = atus.iter().filter(|e| e["item"] == "atus-diagnostics" && !e["published"].is_null());
    assert_eq!(atus.count(), 36);
}

/// The same seed gives the same findings, for any number of threads.
#[test]
fn findings_depend_on_the_seed_only() {
    let item = items::find("acceptance-mean").unwrap();
    let with = |seed, threads| {
        (item.run)(&Study::new(Scale::Tiny, seed, threads, &Silent).unwrap()).unwrap()
    };
    assert_eq!(with(1, 1), with(1, 3));
    assert_ne!(with(1, 1).checks, with(2, 1).checks);
}

/// Opens the page in a frame of 400 pixels and reports what is visible.
const FRAME: &str = r#"<!DOCTYPE html><body><pre id="seen">nothing</pre>
<iframe id="page" src="index.html" style="width:400px;height:800px;border:0"></iframe>
<script>
document.getElementById('page').addEventListener('load', () => {
  const page = document.getElementById('page').contentDocument;
  const drawings = [...page.querySelectorAll('figure svg')];
  const hidden = drawings.filter(d => {
    const box = d.getBoundingClientRect();
    return box.width < 200 || box.height < 15 || box.right > 400 || !d.querySelector('text');
  });
  document.getElementById('seen').textContent = 'SEEN ' + [
    page.documentElement.scrollWidth, page.querySelectorAll('section').length,
    page.querySelectorAll('figure').length, drawings.length, hidden.length
  ].join(' ') + ' END';
});
</script>"#;

fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// In a real browser: no console error, every figure drawn, nothing to scroll sideways.
#[test]
fn the_page_opens_on_a_narrow_screen() {
    let Some(browser) = browser() else {
        eprintln!("SKIPPED: no Chromium here; scripts/install-test-needs.sh installs it");
        return;
    };
    let frame = folder().join("frame.html");
    fs::write(&frame, FRAME).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", frame.display()))
        .output()
        .unwrap();
    let (page, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "the console says: {console:?}");
    let seen = page.split("SEEN ").nth(1).and_then(|rest| rest.split(" END").next());
    let seen = seen.unwrap_or_else(|| panic!("the page did not load: {page}\n{log}"));
    let numbers: Vec<usize> = seen.split(' ').map(|number| number.parse().unwrap()).collect();
    let [width, sections, figures, drawings, hidden] = numbers[..] else { panic!("{seen}") };
    assert!(width <= 400, "the page is {width} pixels wide on a screen of 400");
    assert_eq!(sections, items::ALL.len());
    assert!(figures >= sections && drawings >= figures, "{seen}");
    assert_eq!(hidden, 0, "{hidden} of {drawings} drawings cannot be seen");
}
