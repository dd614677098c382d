//! The records of two chains, place beside place.

use std::cmp::Ordering;

use crate::kernel::Records;
use crate::kernel::vector::Vector;

/// The records of two chains. A place is matched if both have the same record there.
///
/// Records are exchangeable, so that a kernel which treats all places alike lets either chain be
/// relabelled at any time. Kept that way, the number of unmatched places is the multiset distance
/// of the paper's Definition 1, and the chains have met when it is zero.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The chain ahead.
    pub(super) first: Records,
    /// The chain behind.
    pub(super) second: Records,
    matched: Vec<bool>,
    unmatched: usize,
}

impl Pair {
    /// Two sets of records under one release.
    pub fn new(first: Records, second: Records) -> Self {
        assert_eq!(first.n(), second.n(), "as many records in both chains");
        let matched = vec![true; first.n()];
        let mut pair = Pair { first, second, matched, unmatched: 0 };
        (0..pair.n()).for_each(|i| pair.recheck(i));
        pair
    }

    /// The number of records of each chain.
    pub fn n(&self) -> usize {
        self.matched.len()
    }

    /// The records of the two chains.
    pub fn records(&self) -> [&Records; 2] {
        [&self.first, &self.second]
    }

    /// Both sets of records, apart again.
    pub fn into_records(self) -> [Records; 2] {
        [self.first, self.second]
    }

    /// How many places are unmatched.
    pub fn distance(&self) -> usize {
        self.unmatched
    }

    /// Whether both chains have the same record at place i.
    #[inline]
    pub fn is_matched(&self, i: usize) -> bool {
        self.matched[i]
    }

    /// Puts the offers that were taken in their places, and looks which of these now match.
    #[inline(always)]
    pub(super) fn put<V: Vector, const K: usize>(
        &mut self,
        offer: &Offer<'_>,
        taken: [Option<usize>; 2],
        relabel: bool,
    ) {
        if let Some(i) = taken[0] {
            self.first.replace_known::<V, K>(i, offer.records[0], offer.statistics[0]);
        }
        if let Some(i) = taken[1] {
            self.second.replace_known::<V, K>(i, offer.records[1], offer.statistics[1]);
        }
        match taken {
            [Some(i), Some(j)] if i == j && offer.is_common => self.mark(i, true),
            [Some(i), Some(j)] if relabel && offer.is_common => {
                self.second.swap(i, j);
                self.mark(i, true);
                self.recheck(j);
            }
            _ => taken.into_iter().flatten().for_each(|i| self.recheck(i)),
        }
    }

    fn recheck(&mut self, i: usize) {
        self.mark(i, self.first.record(i) == self.second.record(i));
    }

    fn mark(&mut self, i: usize, is: bool) {
        let was = std::mem::replace(&mut self.matched[i], is);
        self.unmatched = self.unmatched + usize::from(was) - usize::from(is);
    }

    /// Relabels the second chain so that like stands by like. The unmatched records of either
    /// chain are put in the order of their statistics, and then of themselves. Equal ones are
    /// matched; of the others the first of one chain stands by the first of the other, so that
    /// records with like statistics are given up together.
    pub(super) fn align(&mut self) {
        if self.unmatched < 2 {
            return;
        }
        let places: Vec<usize> = (0..self.n()).filter(|&i| !self.matched[i]).collect();
        let sorted = |records: &Records| {
            // The first coordinate, which decides nearly always, stands beside the place.
            let key = |&i: &usize| (records.statistic(i)[0], i);
            let mut order: Vec<(f64, usize)> = places.iter().map(key).collect();
            order.sort_unstable_by(|&(a, i), &(b, j)| {
                let whole = || compare_rows((records, i), (records, j));
                a.total_cmp(&b).then_with(whole).then_with(|| i.cmp(&j))
            });
            order.into_iter().map(|(_, i)| i).collect::<Vec<usize>>()
        };
        let (firsts, seconds) = (sorted(&self.first), sorted(&self.second));
        let mut wanted = vec![0; places.len()];
        let mut ranks = vec![0; self.n()];
        places.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank);
        let rank = |i: usize| ranks[i];
        let mut rests = [Vec::new(), Vec::new()];
        let (mut firsts, mut seconds) =
            (firsts.into_iter().peekable(), seconds.into_iter().peekable());
        loop {
            let order = match (firsts.peek(), seconds.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(&i), Some(&j)) => compare_rows((&self.first, i), (&self.second, j)),
            };
            match order {
                Ordering::Less => rests[0].extend(firsts.next()),
                Ordering::Greater => rests[1].extend(seconds.next()),
                Ordering::Equal => {
                    if let (Some(i), Some(j)) = (firsts.next(), seconds.next()) {
                        wanted[rank(i)] = rank(j);
                    }
                }
            }
        }
        for (&i, &j) in rests[0].iter().zip(&rests[1]) {
            wanted[rank(i)] = rank(j);
        }
        permute(&mut self.second, &places, wanted);
        places.into_iter().for_each(|i| self.recheck(i));
    }
}

/// Brings to each of `places` the record that stands at the one of `places` whose number is in
/// `wanted`, a permutation, cycle by cycle.
fn permute(records: &mut Records, places: &[usize], mut wanted: Vec<usize>) {
    for start in 0..places.len() {
        let mut slot = start;
        loop {
            let next = std::mem::replace(&mut wanted[slot], slot);
            if next == start || next == slot {
                break;
            }
            records.swap(places[slot], places[next]);
            slot = next;
        }
    }
}

/// The order of two records: of their statistics, then of themselves.
fn compare_rows((a, i): (&Records, usize), (b, j): (&Records, usize)) -> Ordering {
    compare(a.statistic(i), b.statistic(j)).then_with(|| compare(a.record(i), b.record(j)))
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// One offer to each chain, and whether it is the same one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer<'a> {
    pub records: [&'a [f64]; 2],
    pub statistics: [&'a [f64]; 2],
    pub is_common: bool,
}
