//! Colours by what they stand for.

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The posterior.
    Posterior,
    /// The prior.
    Prior,
    /// The answer that takes the published values for the truth.
    PlugIn,
    /// What was published.
    Published,
    /// A chain, by its number.
    Chain(usize),
    /// Lines to compare with.
    Muted,
}

/// The colours that stand for chains are used again after so many.
const CHAINS: usize = 6;

impl Ink {
    /// The class of marks of this ink.
    pub fn class(self) -> String {
        match self {
            Ink::Posterior => "ink-posterior".into(),
            Ink::Prior => "ink-prior".into(),
            Ink::PlugIn => "ink-plug-in".into(),
            Ink::Published => "ink-published".into(),
            Ink::Chain(chain) => format!("ink-{}", chain % CHAINS),
            Ink::Muted => "ink-muted".into(),
        }
    }

    /// The light colour.
    pub fn light(self) -> &'static str {
        match self {
            Ink::Posterior => "#0b62a4",
            Ink::Prior => "#7a7f87",
            Ink::PlugIn => "#c24e00",
            Ink::Published => "#a3186a",
            Ink::Muted => "#9aa0a8",
            Ink::Chain(chain) => {
                ["#0b62a4", "#c24e00", "#00805d", "#a3186a", "#8a6d00", "#5b4bb7"][chain % CHAINS]
            }
        }
    }
}

/// The colours as CSS variables, light and dark. `SCOPE` stands for what they are defined on.
pub const VARIABLES: &str = "\
SCOPE{--ink:#1b1f24;--soft:#5a626c;--line:#d5d9de;--paper:#fff;--card:#f6f7f9;\
--posterior:#0b62a4;--prior:#7a7f87;--plug-in:#c24e00;--published:#a3186a;--muted:#9aa0a8;\
--c0:#0b62a4;--c1:#c24e00;--c2:#00805d;--c3:#a3186a;--c4:#8a6d00;--c5:#5b4bb7;\
--good:#00734f;--bad:#b3261e;--unsure:#7a5c00}
@media (prefers-color-scheme:dark){SCOPE{--ink:#e8eaed;--soft:#a9b1bb;--line:#3a4048;\
--paper:#14171b;--card:#1d2127;\
--posterior:#66b5f2;--prior:#9aa3ad;--plug-in:#ff9a5c;--published:#f08cc4;--muted:#767e88;\
--c0:#66b5f2;--c1:#ff9a5c;--c2:#45cfa2;--c3:#f08cc4;--c4:#e0c04a;--c5:#ab9ff5;\
--good:#45cfa2;--bad:#ff8a80;--unsure:#e0c04a}}
";

/// How marks are drawn, by class.
pub const STYLE: &str = "\
svg.soma{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
svg.soma text{fill:var(--soft)}svg.soma text.title{fill:var(--ink);font-weight:600;font-size:12.5px}
svg.soma text.name{fill:var(--ink)}svg.soma .grid{stroke:var(--line)}
.ink-posterior{--c:var(--posterior)}.ink-prior{--c:var(--prior)}.ink-plug-in{--c:var(--plug-in)}
.ink-published{--c:var(--published)}.ink-muted{--c:var(--muted)}
.ink-0{--c:var(--c0)}.ink-1{--c:var(--c1)}.ink-2{--c:var(--c2)}.ink-3{--c:var(--c3)}
.ink-4{--c:var(--c4)}.ink-5{--c:var(--c5)}
svg.soma .mark-line{stroke:var(--c)}svg.soma .mark-fill{fill:var(--c)}
";
