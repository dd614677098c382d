//! Stated sensitivities against a numerical search: none is passed, and exact ones are reached.

use rand::RngExt;
use soma::release::Query;
use soma::release::query::{
    Categories, Count, CrossTable, Gram, Histogram, LogSum, Mean, MomentSums, Sensitivity,
};
use soma::rng::Rng;
use soma::sensitivity::{Reached, search};

/// A coordinate of a record: somewhere in a range, or at an end of it.
fn somewhere((low, high): (f64, f64), rng: &mut Rng) -> f64 {
    match rng.random_range(0..4) {
        0 => low,
        1 => high,
        2 => low + (high - low) * rng.random_range(0..=40) as f64 / 40.0,
        _ => rng.random_range(low..=high),
    }
}

/// The search over records with coordinates in these ranges.
fn searched(query: &dyn Query, ranges: &[(f64, f64)]) -> Reached {
    let draw =
        |rng: &mut Rng| Ok(ranges.iter().map(|range| somewhere(*range, rng)).collect::<Vec<f64>>());
    search(query, draw, |_| true, 1).unwrap()
}

/// No pair passes what is stated; where it is exact, some pair comes as near as `share` of it.
fn compare(name: &str, query: &dyn Query, found: Reached, share: Option<f64>) {
    let sides = [
        ("replace", query.sensitivity(), found.replace),
        ("add-remove", query.sensitivity_to_presence(), found.add_remove),
    ];
    for (side, Sensitivity { l1, l2 }, found) in sides {
        for (norm, stated, reached) in [("l1", l1, found.l1), ("l2", l2, found.l2)] {
            let said = format!("{name}, {side}, {norm}: {reached} of {stated}");
            assert!(reached <= stated * (1.0 + 1e-9) + 1e-12, "passed: {said}");
            if let Some(share) = share {
                assert!(reached >= share * stated, "not reached: {said}");
            }
        }
    }
}

#[test]
fn means_grams_and_counts_are_exact() {
    let ranges = vec![(-2.0, 3.0), (0.5, 4.0), (-7.0, -1.0)];
    let mean = Mean::new(ranges.clone()).unwrap();
    compare("mean", &mean, searched(&mean, &ranges), Some(1.0 - 1e-12));
    for p in 1..=3 {
        let gram = Gram::with_range(p, (-1.0, 1.0)).unwrap();
        compare("gram", &gram, searched(&gram, &vec![(-1.0, 1.0); p + 1]), Some(0.985));
    }
    let histogram = Histogram::new(vec![vec![0.0, 0.2, 0.7, 1.0]]).unwrap();
    compare("histogram", &histogram, searched(&histogram, &[(0.0, 1.0)]), Some(1.0 - 1e-12));
}

/// Records that are numbers of a category or of a cell.
#[test]
fn categories_and_tables_are_exact() {
    let whole = |query: &dyn Query, levels: i64| {
        let draw = |rng: &mut Rng| Ok(vec![rng.random_range(0..levels) as f64]);
        search(query, draw, |_| true, 1).unwrap()
    };
    let categories = Categories::new(4).unwrap();
    compare("categories", &categories, whole(&categories, 4), Some(1.0 - 1e-12));
    let axes =
        vec![vec!["a".to_string(), "b".into()], vec!["x".to_string(), "y".into(), "z".into()]];
    let table = CrossTable::new(axes.clone(), vec![0, 1]).unwrap();
    compare("table", &table, whole(&table, 6), Some(1.0 - 1e-12));
    let margin = CrossTable::new(axes, vec![1]).unwrap();
    compare("margin", &margin, whole(&margin, 6), Some(1.0 - 1e-12));
    let count = Count::new(1);
    compare("count", &count, whole(&count, 3), Some(1.0 - 1e-12));
}

/// Logarithms of any numbers, and of shares that sum to one, which move less.
#[test]
fn log_sums_are_exact_on_numbers_and_on_compositions() {
    for (dim, low) in [(2, 0.01), (3, 0.0006944), (5, 0.001), (4, 0.05)] {
        let any = LogSum::new(dim, (low, 1.0)).unwrap();
        compare("log-sum", &any, searched(&any, &vec![(low, 1.0); dim]), Some(1.0 - 1e-12));
        let shares = any.clone().of_compositions().unwrap();
        // A composition: some of the shares have all of it, equally or not, the others the clamp.
        let draw = |rng: &mut Rng| {
            let kept = rng.random_range(1..=dim);
            let even = rng.random::<bool>();
            let mut weights: Vec<f64> = (0..dim)
                .map(|k| match (k < kept, even) {
                    (false, _) => 0.0,
                    (true, true) => 1.0,
                    (true, false) => rng.random::<f64>().powi(3),
                })
                .collect();
            for k in (1..dim).rev() {
                weights.swap(k, rng.random_range(0..=k));
            }
            let total: f64 = weights.iter().sum();
            let rest = 1.0 - low * (dim - kept) as f64;
            let is_at_clamp = rng.random::<bool>();
            for weight in &mut weights {
                let share = *weight / total;
                *weight = match (*weight > 0.0, is_at_clamp) {
                    (true, true) => share * rest,
                    (true, false) => share,
                    (false, at_clamp) => {
                        if at_clamp {
                            low
                        } else {
                            0.0
                        }
                    }
                };
            }
            Ok(weights)
        };
        let is_composition = |record: &[f64]| (record.iter().sum::<f64>() - 1.0).abs() < 1e-12;
        let found = search(&shares, draw, is_composition, 1).unwrap();
        compare(&format!("compositions of {dim}"), &shares, found, Some(0.999));
        // Two shares can change places, all of it for the clamp: nothing is gained there.
        let (of_shares, of_any) = (shares.sensitivity().l1, any.sensitivity().l1);
        let ratio = of_shares / of_any;
        assert!(ratio < 0.99 || (dim == 2 && (ratio - 1.0).abs() < 1e-12), "{dim}: {ratio}");
    }
    // The time-use example: 6% less noise.
    let any = LogSum::new(3, (0.0006944, 1.0)).unwrap();
    let less = any.clone().of_compositions().unwrap().sensitivity().l1 / any.sensitivity().l1;
    assert!((less - 0.9365).abs() < 1e-4, "{less}");
    assert!(LogSum::new(3, (0.4, 1.0)).unwrap().of_compositions().is_err());
}

/// Products have bounds that need not be reached together: never passed is what is asked for.
#[test]
fn moments_are_bounded() {
    let ranges = vec![(-2.0, 1.0), (0.5, 3.0)];
    let moments = MomentSums::of_degree(ranges.clone(), 2).unwrap();
    compare("moments", &moments, searched(&moments, &ranges), None);
    let first = MomentSums::of_degree(ranges.clone(), 1).unwrap();
    compare("first moments", &first, searched(&first, &ranges), Some(1.0 - 1e-12));
}
