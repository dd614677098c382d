//! Reproducible draws, and exact continuation of stored chains.

use super::*;

fn example(total: Total) -> CountProblem {
    let rows = published_cells(Noise::DiscreteGaussian, 3.0, &[20.0, 4.0, -1.0, 11.0]);
    CountProblem::new(cross(&[2, 2]), rows, total, flat(4)).unwrap()
}

const FLAT: Total = Total::Unknown(SizePrior::Flat);

#[test]
fn draws_depend_on_seed_and_chain_only() {
    let problem = example(FLAT);
    let draws = |seed, index| {
        let mut chain = CountChain::new(&problem, seed, index, 20);
        (0..60).for_each(|_| chain.step().unwrap());
        chain.draw()
    };
    assert_eq!(draws(1, 2), draws(1, 2));
    assert_ne!(draws(1, 2), draws(1, 3));
    assert_ne!(draws(1, 2), draws(2, 2));
}

#[test]
fn a_stored_chain_goes_on_exactly() {
    for (total, stop) in [(FLAT, 13), (FLAT, 40), (Total::Known(33), 13)] {
        let problem = example(total);
        let mut chain = CountChain::new(&problem, 1, 0, 20);
        (0..stop).for_each(|_| chain.step().unwrap());
        let text = serde_json::to_string(&chain.snapshot()).unwrap();
        let snapshot: CountSnapshot = serde_json::from_str(&text).unwrap();
        assert_eq!(snapshot.iteration(), stop);
        let mut again = CountChain::restore(&problem, snapshot).unwrap();
        for _ in 0..30 {
            chain.step().unwrap();
            again.step().unwrap();
            assert_eq!(chain.draw(), again.draw());
        }
        assert_eq!(chain.moves(), again.moves());
    }
}

#[test]
fn a_stored_state_that_does_not_fit_is_refused() {
    let (known, unknown) = (example(Total::Known(33)), example(FLAT));
    let chain = CountChain::new(&known, 1, 0, 20);
    let text = serde_json::to_string(&chain.snapshot()).unwrap();
    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        serde_json::from_str::<CountSnapshot>(&text.replacen(from, to, 1)).unwrap()
    };
    let first = format!("\"counts\":[{},", chain.counts()[0]);
    let refused = |snapshot| CountChain::restore(&known, snapshot).is_err();
    assert!(CountChain::restore(&unknown, chain.snapshot()).is_ok());
    assert!(refused(broken(&first, "\"counts\":[")));
    assert!(refused(broken(&first, "\"counts\":[-3,")));
    assert!(refused(broken(&first, "\"counts\":[1000,")));
    assert!(refused(broken("\"variances\":[", "\"variances\":[1.0,")));
    let other = published_cells(Noise::Laplace, 1.0, &[1.0, 2.0]);
    let other = CountProblem::new(list(2), other, Total::Known(33), flat(2)).unwrap();
    assert!(CountChain::restore(&other, chain.snapshot()).is_err());
}

/// Counts are never negative and sum to n, and cached sums agree with the counts.
#[test]
fn states_are_coherent() {
    let table = cross(&[2, 3]);
    let mut rows = published_cells(Noise::Gaussian, 2.0, &[20.3, 4.0, -1.0, 11.0, 0.0, 2.0]);
    for margin in table.margin(&[0]).unwrap() {
        let law = Likelihood::new(Noise::Laplace, 3.0, 18.5).unwrap();
        rows.push(Published::sum(format!("row {}", margin.label), &margin.cells, law));
    }
    let problem = CountProblem::new(table, rows, FLAT, flat(6)).unwrap();
    let names = problem.outputs();
    assert_eq!(names[6..9], ["count[0,0]", "count[0,1]", "count[0,2]"]);
    assert_eq!(names[12..], ["count[row 0]", "count[row 1]", "n"]);
    let mut chain = CountChain::new(&problem, 5, 0, 50);
    for _ in 0..500 {
        chain.step().unwrap();
        let draw = chain.draw();
        assert!(chain.counts().iter().all(|&count| count >= 0));
        assert!((draw[..6].iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(draw[6..9].iter().sum::<f64>(), draw[12]);
        assert_eq!(draw[9..12].iter().sum::<f64>(), draw[13]);
        assert_eq!(draw[12] + draw[13], draw[14]);
        assert!(chain.log_density().is_finite());
    }
}

#[test]
fn bad_problems_are_refused() {
    let law = || Likelihood::new(Noise::Laplace, 1.0, 2.0).unwrap();
    let fails = |rows: Vec<Published>, total, shares| {
        CountProblem::new(list(2), rows, total, shares).unwrap_err().field
    };
    let row = |cells: &[usize]| vec![Published::sum("x", cells, law())];
    assert_eq!(fails(row(&[2]), Total::Known(3), flat(2)), "cells of x");
    assert_eq!(fails(row(&[0, 0]), Total::Known(3), flat(2)), "cells of x");
    assert_eq!(fails(row(&[]), Total::Known(3), flat(2)), "cells of x");
    assert_eq!(fails(row(&[0]), FLAT, flat(2)), "n");
    assert_eq!(fails(row(&[0]), Total::Known(-3), flat(2)), "n");
    assert_eq!(fails(row(&[0]), Total::Known(3), flat(3)), "model");
    let bad = Shares::Dirichlet(vec![1.0, 0.0]);
    assert_eq!(fails(row(&[0]), Total::Known(3), bad), "prior.alpha[1]");
    assert!(Likelihood::new(Noise::DiscreteLaplace, 1.0, 2.5).is_err());
    assert!(Likelihood::new(Noise::Laplace, 0.0, 2.5).is_err());
    assert!(Likelihood::new(Noise::Laplace, 1.0, f64::NAN).is_err());
}
