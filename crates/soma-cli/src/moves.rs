//! The report of the sweeps and the theta updates, as text.

use soma::chain::{MoveReport, Tally};

/// One line for all chains: the proportion of the work of each theta update, and its acceptance
/// rate. Empty if nothing was done after warm-up.
pub fn line(chains: &[Vec<MoveReport>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for made in chains.iter().flatten().filter(|made| made.repeats > 0) {
        if !names.contains(&made.name.as_str()) {
            names.push(&made.name);
        }
    }
    let all: u64 = chains.iter().flatten().map(|made| made.tally.work).sum();
    if all == 0 {
        return String::new();
    }
    let worked = chains.iter().filter(|chain| !chain.is_empty()).count();
    let part = |name: &&str| {
        let rows: Vec<&MoveReport> =
            chains.iter().flatten().filter(|made| made.name == *name).collect();
        let mut tally = Tally::default();
        rows.iter().for_each(|made| tally += made.tally);
        let share = 100.0 * tally.work as f64 / all as f64;
        let mut part = format!("{name} {share:.0}%");
        // The acceptance rate of the sweeps has its own line; a centred update is always accepted.
        if tally.accepted < tally.proposed && *name != "sweep" {
            let accepted = 100.0 * tally.accepted as f64 / tally.proposed as f64;
            part += &format!(" (accepted {accepted:.0}%)");
        }
        if rows.len() < worked {
            part += &format!(" in {} of {worked} chains", rows.len());
        }
        part
    };
    let parts: Vec<String> = names.iter().map(part).collect();
    format!("Work: {}.\n", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, proposed: u64, accepted: u64, work: u64) -> MoveReport {
        let tally = Tally { proposed, accepted, work };
        MoveReport { name: name.into(), repeats: 1, every: 1, tally, share: 0.0 }
    }

    #[test]
    fn a_line_adds_up_the_chains() {
        let both = [
            vec![
                made("sweep", 100, 60, 30),
                made("centred", 10, 10, 10),
                made("hamiltonian", 8, 6, 60),
            ],
            vec![made("sweep", 100, 60, 60), made("centred", 10, 10, 40)],
        ];
        let right =
            "Work: sweep 45%, centred 25%, hamiltonian 30% (accepted 75%) in 1 of 2 chains.\n";
        assert_eq!(line(&both), right);
        assert_eq!(line(&[]), "");
        let never = MoveReport { repeats: 0, ..made("swap", 0, 0, 0) };
        assert_eq!(line(&[vec![made("sweep", 9, 9, 30), never]]), "Work: sweep 100%.\n");
    }
}
