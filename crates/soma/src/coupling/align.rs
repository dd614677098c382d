//! Alignment of the records of two chains by their statistics.

use std::cmp::Ordering;

use crate::records::Records;

/// Relabels one of two chains. Equal records are matched. The others are paired in the order of
/// their statistics, so that records with similar statistics are replaced together.
///
/// A bucket sort on the first coordinate, with one bucket per record: equal records fall into the
/// same bucket and are searched for only there.
#[derive(Debug, Clone, Default)]
pub(super) struct Aligner {
    places: Vec<u32>,
    chains: [Steps; 2],
    /// Indices of records without an equal in the other chain, in order.
    rests: [Vec<u32>; 2],
    /// The target permutation: the index whose record moves to each place.
    wanted: Vec<u32>,
}

/// The places of a chain, sorted by bucket.
#[derive(Debug, Clone, Default)]
struct Steps {
    steps: Vec<u32>,
    /// The end of each bucket in `places`.
    ends: Vec<u32>,
    places: Vec<u32>,
}

impl Aligner {
    /// Relabels `second`, only at places that are `open`.
    pub fn align(&mut self, first: &Records, second: &mut Records, open: impl Fn(usize) -> bool) {
        let Aligner { places, chains, rests, wanted } = self;
        places.clear();
        places.extend((0..first.n() as u32).filter(|&i| open(i as usize)));
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &i in &*places {
            for t in [first.statistic(i as usize)[0], second.statistic(i as usize)[0]] {
                low = if t < low { t } else { low };
                high = if t > high { t } else { high };
            }
        }
        let count = places.len();
        let scale = count as f64 / (high - low).max(f64::MIN_POSITIVE);
        let step = |t: f64| (((t - low) * scale) as u32).min(count as u32 - 1);
        chains[0].sort(first, places, count, step);
        chains[1].sort(second, places, count, step);
        wanted.resize(first.n(), 0);
        rests.iter_mut().for_each(Vec::clear);
        for step in 0..count {
            let [a, b] = chains.each_mut().map(|chain| chain.step(step));
            if a.is_empty() || b.is_empty() {
                rests[0].extend_from_slice(a);
                rests[1].extend_from_slice(b);
            } else {
                match_equals([(first, a), (second, b)], rests, wanted);
            }
        }
        for (&i, &j) in rests[0].iter().zip(&rests[1]) {
            wanted[i as usize] = j;
        }
        permute(second, places, wanted);
    }

    /// The places that were open in the last alignment.
    pub fn places(&self) -> &[u32] {
        &self.places
    }
}

impl Steps {
    /// Sorts `places` by the bucket of their statistic, with `count` buckets.
    fn sort(&mut self, records: &Records, places: &[u32], count: usize, step: impl Fn(f64) -> u32) {
        self.steps.clear();
        self.steps.extend(places.iter().map(|&i| step(records.statistic(i as usize)[0])));
        self.ends.clear();
        self.ends.resize(count, 0);
        self.steps.iter().for_each(|&s| self.ends[s as usize] += 1);
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        self.places.resize(places.len(), 0);
        for (&s, &i) in self.steps.iter().zip(places) {
            let at = &mut self.ends[s as usize];
            self.places[*at as usize] = i;
            *at += 1;
        }
    }

    /// The places in one bucket.
    fn step(&mut self, step: usize) -> &mut [u32] {
        let start = if step == 0 { 0 } else { self.ends[step - 1] };
        &mut self.places[start as usize..self.ends[step] as usize]
    }
}

/// Matches the records that both chains have in a bucket; the others are appended to `rests`.
fn match_equals(
    [(first, a), (second, b)]: [(&Records, &mut [u32]); 2],
    rests: &mut [Vec<u32>; 2],
    wanted: &mut [u32],
) {
    sort(first, a);
    sort(second, b);
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match compare((first, a[i]), (second, b[j])) {
            Ordering::Less => {
                rests[0].push(a[i]);
                i += 1;
            }
            Ordering::Greater => {
                rests[1].push(b[j]);
                j += 1;
            }
            Ordering::Equal => {
                wanted[a[i] as usize] = b[j];
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    rests[0].extend_from_slice(&a[i..]);
    rests[1].extend_from_slice(&b[j..]);
}

fn sort(records: &Records, places: &mut [u32]) {
    places.sort_unstable_by(|&i, &j| compare((records, i), (records, j)).then_with(|| i.cmp(&j)));
}

/// Applies the permutation `wanted` to the records at `places`, cycle by cycle.
fn permute(records: &mut Records, places: &[u32], wanted: &mut [u32]) {
    for &start in places {
        let mut at = start;
        loop {
            let next = std::mem::replace(&mut wanted[at as usize], at);
            if next == start || next == at {
                break;
            }
            records.swap(at as usize, next as usize);
            at = next;
        }
    }
}

/// Orders two records by their statistics, then by their values.
fn compare((a, i): (&Records, u32), (b, j): (&Records, u32)) -> Ordering {
    let (i, j) = (i as usize, j as usize);
    let rows = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    rows(a.statistic(i), b.statistic(j)).then_with(|| rows(a.record(i), b.record(j)))
}
