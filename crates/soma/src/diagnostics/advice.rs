//! Suggested settings if draws cannot be trusted.

use serde::Serialize;

use super::{Reason, Verdict};

/// Settings for another run, if a longer one may help; empty otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The number of chains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chains: Option<u64>,
    /// Iterations of warm-up of each chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u64>,
    /// Draws of each chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draws: Option<u64>,
}

impl Advice {
    /// The advice after a run with these numbers of chains, warm-up iterations and draws per chain:
    /// enough draws for the required effective sample size plus a fifth; four times as many if the
    /// chains disagree or may not cross between separate modes.
    pub fn of(verdict: &Verdict, chains: usize, warmup: u64, draws: u64) -> Self {
        let mut advice = Advice::default();
        for reason in &verdict.reasons {
            match reason {
                Reason::Disagree { .. } => {
                    advice.warmup = Some(round(warmup.saturating_mul(4).max(1000) as f64));
                    advice.draws = advice.draws.max(Some(round(4.0 * draws as f64)));
                }
                Reason::Rough { ess, wanted, .. } => {
                    let more = 1.2 * draws as f64 * wanted / ess.max(1.0);
                    advice.draws = advice.draws.max(Some(round(more)));
                }
                Reason::OneChain => advice.chains = advice.chains.max(Some(4.max(chains as u64))),
                Reason::FewSwaps { .. } | Reason::Apart { .. } => {
                    advice.warmup = Some(round(warmup.saturating_mul(4).max(1000) as f64));
                    advice.draws = advice.draws.max(Some(round(4.0 * draws as f64)));
                    advice.chains = Some(round(2.0 * chains as f64));
                }
                _ => {}
            }
        }
        advice
    }

    /// The settings to change, by name.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [("chains", self.chains), ("warmup", self.warmup), ("draws", self.draws)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// Rounds up to a round number.
fn round(x: f64) -> u64 {
    let power = 10f64.powf(x.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 3.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= x).unwrap_or(10.0);
    (step * power) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_are_no_less() {
        assert_eq!(
            [0.0, 1.0, 1.1, 4000.0, 4800.0, 60_001.0].map(round),
            [1, 1, 2, 5000, 5000, 100_000]
        );
    }

    #[test]
    fn the_numbers_follow_from_the_reasons() {
        let rough = |ess| Reason::Rough { parameter: "a".into(), ess, wanted: 400.0 };
        let of = |reasons| {
            let verdict = Verdict { reasons, rhat: 1.0, ess: 90.0, settled: Vec::new() };
            Advice::of(&verdict, 1, 100, 1000)
        };
        assert_eq!(of(vec![]), Advice::default());
        // 1000 draws have an effective size of 100, and 400 are required.
        assert_eq!(of(vec![rough(100.0)]), Advice { draws: Some(5000), ..Advice::default() });
        let disagree = Reason::Disagree { parameter: "a".into(), rhat: 1.3 };
        let given: Vec<_> = of(vec![disagree, rough(10.0), Reason::OneChain]).given().collect();
        assert_eq!(given, [("chains", 4), ("warmup", 1000), ("draws", 50_000)]);
    }
}
