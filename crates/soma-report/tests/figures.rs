//! Every figure of a small run: it is well-formed XML, has a text alternative and holds no hole.

use std::num::NonZeroUsize;

use soma::Failure;
use soma::chain::{Collected, Draw, Settings, run};
use soma::diagnostics::Summary;
use soma::spec::Spec;
use soma_report::{Content, Kind, Source, gather, page};

const TABLE: &str = r#"
[release]
n = 60
statistic = "sum"
values = [21, 30, 12]
query = { kind = "categories", labels = ["a < b", "c & d", "\"e\""] }
mechanism = { kind = "discrete-laplace", scale = 3.0 }

[model]
kind = "categorical"
prior = { kind = "dirichlet", alpha = 1.0 }

[derived]
"more c" = "count[c & d] > count[a < b]"
difference = "p[c & d] - p[a < b]"
"#;

const MEAN: &str = r#"
[release]
n = 50
statistic = "mean"
values = [0.4]
query = { kind = "mean", clamp = [-2.0, 2.0] }
mechanism = { kind = "laplace", epsilon = 1.0 }

[model]
kind = "normal"
prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.1, shape = 2.0, rate = 2.0 }
"#;

fn content(text: &str) -> Content {
    let problem = Spec::parse(text).unwrap().problem;
    let settings = Settings { chains: 2, warmup: 100, draws: 200, ..Settings::default() };
    let collected = Collected::new(settings.chains);
    run(&problem, &settings, NonZeroUsize::MIN, &collected).unwrap();
    let draws = collected.into_draws();
    let of = |value: &dyn Fn(&Draw) -> f64| -> Vec<Vec<f64>> {
        draws.iter().map(|chain| chain.iter().map(value).collect()).collect()
    };
    let column = |k: usize| Ok::<_, Failure>(of(&|draw| draw.values[k]));
    let rows = problem.outputs().into_iter().enumerate();
    let rows = rows.map(|(k, name)| (name, Summary::of(&column(k).unwrap()))).collect();
    let log_density = of(&|draw| draw.log_density);
    let problem = Some(&problem);
    let source = Source { problem, rows, column: &column, log_density, seed: 1, replicates: true };
    let mut content = gather(source).unwrap();
    content.title = "a <small> run".into();
    content.verdict = "Fine & good.".into();
    content
}

/// Whether tags are closed in the order in which they were opened, and only known entities are used:
/// what a reader of XML refuses. Returns how many elements there are.
fn elements(xml: &str) -> usize {
    let (mut open, mut rest, mut count): (Vec<&str>, &str, usize) = (Vec::new(), xml, 0);
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        for part in text.split('&').skip(1) {
            let name = part.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "&{name}; in {text}");
        }
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') {
            continue;
        }
        assert!(!tag.contains('<'), "a tag in a tag: {tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "closed in the wrong order"),
            None => {
                count += 1;
                assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
                if !tag.ends_with('/') {
                    open.push(tag.split_whitespace().next().unwrap());
                }
            }
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    count
}

#[test]
fn each_figure_is_a_document_of_its_own() {
    for (text, missing) in [(TABLE, vec![]), (MEAN, vec![Kind::Counts])] {
        let content = content(text);
        for kind in Kind::ALL {
            let figure = match kind.figure(&content) {
                Ok(figure) => figure,
                Err(why) => {
                    assert!(missing.contains(kind) && !why.is_empty(), "{}: {why}", kind.name());
                    continue;
                }
            };
            assert!(!missing.contains(kind), "{}", kind.name());
            for columns in [1, 3] {
                let svg = figure.document(columns);
                assert!(svg.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
                assert!(elements(&svg) > 10, "{} is empty", kind.name());
                assert!(svg.contains("role=\"img\"") && svg.contains("<title id="));
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{} has a hole", kind.name());
            }
            for panel in &figure.panels {
                assert!(!panel.title.is_empty() && panel.description.len() > 5, "{panel:?}");
            }
        }
    }
}

#[test]
fn the_page_has_all_sections_and_needs_no_network() {
    for (text, ids) in
        [(TABLE, vec!["counts", "derived", "check", "learned"]), (MEAN, vec!["check"])]
    {
        let page = page(&content(text));
        for id in ids.into_iter().chain(["answer", "published", "posterior", "trust", "made"]) {
            assert!(page.contains(&format!("<section id=\"{id}\"")), "no section {id}");
        }
        let known = "http://www.w3.org/2000/svg";
        let addresses = page.replace(known, "").matches("http").count();
        assert_eq!(addresses, 0, "the page names an address");
        for word in ["src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("a &lt;small&gt; run") && page.contains("Fine &amp; good."));
        let drawings = page.matches("<svg ").count();
        assert_eq!(page.matches("role=\"img\"").count(), drawings);
        assert_eq!(page.matches("<desc id=").count(), drawings);
    }
}

/// The same run gives the same page: what is drawn for it follows from the seed.
#[test]
fn the_page_follows_from_the_run() {
    assert_eq!(page(&content(MEAN)), page(&content(MEAN)));
}

/// The release lies among its replications, and the prior of a share is that of its law.
#[test]
fn what_is_gathered_is_right() {
    let content = content(TABLE);
    let predicted = content.predicted.as_ref().unwrap();
    assert_eq!((predicted.len(), content.replications), (3, 1000));
    assert!(predicted.iter().all(|value| value.p_value() > 0.05));
    let share = &content.parameters[0];
    // Beta(1, 2): the quantiles are 1 - sqrt(1 - p).
    let (low, high) = share.prior_interval().unwrap();
    assert!((low - 0.0253).abs() < 0.01 && (high - 0.7764).abs() < 0.03, "{low} {high}");
    let learned = share.learned().unwrap();
    assert!(learned > 0.8 && learned < 1.0, "{learned}");
    let names: Vec<&str> = content.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names[names.len() - 2..], ["more c", "difference"]);
    let more = &content.parameters[names.len() - 2];
    assert!(more.is_comparison && !more.is_drawn() && more.summary.mean > 0.5);
    // The prior of two cells of three that are alike: one is ahead in half of the draws, but for ties.
    let before = more.prior_probability().unwrap();
    assert!((before - 0.49).abs() < 0.05, "{before}");
    assert_eq!(more.plug_in.unwrap().estimate, 1.0);
    assert!(page(&content).contains("<td>probability 0."), "no probability on the page");
}
