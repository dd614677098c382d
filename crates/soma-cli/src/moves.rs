//! What the sweeps and the moves of theta did, in words.

use soma::chain::{MoveReport, Tally};

/// One line on all chains: the share of the work that went into each move, and how often what it
/// proposed was taken. Nothing where nothing was done after warm-up.
pub fn line(chains: &[Vec<MoveReport>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for made in chains.iter().flatten() {
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
        // The sweeps have a rate of their own, and a centred move is always taken.
        if tally.accepted < tally.proposed && *name != "sweep" {
            let taken = 100.0 * tally.accepted as f64 / tally.proposed as f64;
            part += &format!(" (taken {taken:.0}%)");
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
            vec![made("sweep", 100, 60, 30), made("centred", 10, 10, 10), made("block", 8, 6, 60)],
            vec![made("sweep", 100, 60, 60), made("centred", 10, 10, 40)],
        ];
        let right = "Work: sweep 45%, centred 25%, block 30% (taken 75%) in 1 of 2 chains.\n";
        assert_eq!(line(&both), right);
        assert_eq!(line(&[]), "");
    }
}
