//! The theta updates of a chain, as chosen by a user.

use serde::{Deserialize, Serialize};

/// The theta updates of a chain, as chosen by a user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MovesChoice {
    /// Those with the best efficiency per unit of work, found in warm-up.
    #[default]
    Auto,
    /// theta given the records only: the paper's chain.
    Centred,
    /// Centred and non-centred updates in turn.
    Interwoven,
}

impl MovesChoice {
    /// All choices, in the order in which they are listed to a user.
    pub const ALL: [MovesChoice; 3] =
        [MovesChoice::Auto, MovesChoice::Centred, MovesChoice::Interwoven];

    /// The names of all choices, as a user writes them.
    pub const NAMES: [&'static str; 3] = ["auto", "centred", "interwoven"];

    /// The name, as a user writes it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The choice with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}
