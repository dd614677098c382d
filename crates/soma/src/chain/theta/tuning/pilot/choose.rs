//! The choice of the moves, from what was seen of each.

use super::parts::{Outlook, Parts};
use super::{CHEAP, EVERY, MOST_REPEATS, Pilot, Plan, RARE, RASH, SURE, worth};

impl Pilot {
    /// How often each slot should be made in an iteration, 0 for those that do not earn their
    /// cost, and in one of how many iterations there should be a sweep. The first slot, the
    /// centred move, always stays; alone it has so many effective draws.
    pub(super) fn choose(&self, centred: f64) -> Plan {
        let refresh = self.best_of(self.candidates.independences());
        let walks = if self.slots[refresh].rate() < RARE { 0.5 } else { 0.0 };
        let repeats = self.only_centred();
        let plan = Plan { repeats, every: 1, walks, outlook: None, is_last: true };
        let mut best = (worth(centred, self.per_sweep()), plan);
        // A bridge renews theta and all records, as an independence update does.
        for refresh in std::iter::once(refresh).chain(self.candidates.bridge()) {
            self.choose_with(refresh, &mut best);
        }
        best.1
    }

    /// Replaces the best plan and its value, if one with this independence update, or the bridge,
    /// is better.
    fn choose_with(&self, refresh: usize, best: &mut (f64, Plan)) {
        let hamiltonian = self.best_of(self.candidates.hamiltonians());
        let ridge = self.paying_ridge(hamiltonian);
        let parts = Parts::new(self, hamiltonian, refresh, ridge);
        let per_sweep = self.per_sweep();
        let is_bridge = Some(refresh) == self.candidates.bridge();
        // Independence updates that are rarely taken leave a chain where it is for long: not
        // without a Hamiltonian update, where that is cheap.
        let may_stick = self.slots[refresh].rate() < RARE
            && self.slots[hamiltonian].cost(1) < CHEAP * per_sweep;
        let may_be_rash = self.bends && self.slots[hamiltonian].cost(1) < RASH * per_sweep;
        for every in EVERY {
            for hamiltonians in 0..=MOST_REPEATS {
                for independences in 0..=MOST_REPEATS {
                    let is_sure = independences == 0 || self.slots[refresh].rate() >= SURE;
                    let is_none = hamiltonians + independences == 0 && ridge.is_none();
                    // One update may look enough in a short run that saw no tail.
                    let is_rash = may_be_rash && hamiltonians == 1;
                    let is_stuck = hamiltonians == 0 && may_stick && ridge.is_none();
                    if is_none || is_rash || is_stuck || (every > 1 && !is_sure) {
                        continue;
                    }
                    let is_held = hamiltonians > 0 || ridge.is_some() || !is_bridge;
                    let work = per_sweep / every as f64
                        + if is_held { self.hold } else { 0.0 }
                        + ridge.map_or(0.0, |ridge| self.slots[ridge].cost(1))
                        + self.slots[hamiltonian].cost(hamiltonians)
                        + self.slots[refresh].cost(independences);
                    let value = worth(parts.draws(hamiltonians, independences, every, 1.0), work);
                    if value > best.0 {
                        let mut repeats = self.only_centred();
                        repeats[hamiltonian] = hamiltonians;
                        repeats[refresh] = independences;
                        ridge.into_iter().for_each(|ridge| repeats[ridge] = 1);
                        let parts = parts.clone();
                        let outlook = Some(Outlook { parts, hamiltonians, independences, every });
                        let walks = best.1.walks;
                        *best = (value, Plan { repeats, every, walks, outlook, is_last: true });
                    }
                }
            }
        }
    }
}
