//! The time and the efficiency of the updates: printed, with no assertions.

use super::*;

/// The time of the updates and their counted work, from which the costs per unit are derived.
/// Prints nanoseconds per pass over a record, which should be about ten everywhere.
#[test]
#[ignore = "measures times, and asserts nothing"]
fn prices_of_the_moves() {
    let time = |work: &mut dyn FnMut()| {
        let tries = (0..40).map(|_| {
            let started = std::time::Instant::now();
            (0..5).for_each(|_| work());
            2e8 * started.elapsed().as_secs_f64()
        });
        tries.fold(f64::INFINITY, f64::min)
    };
    println!("| case | n | move | nanoseconds | for each unit of work |");
    for n in [10, 100, 1000, 10_000] {
        for (name, case) in [
            ("normal", Case::normal(Noise::Laplace, 2.0, n)),
            ("regression", Case::paper(2.0, n)),
            ("dirichlet", Case::dirichlet(4.0, n)),
            ("beta", Case::beta(Noise::Laplace, 0.5, n)),
        ] {
            let mut rng = rng::stream(1, 0);
            let (problem, mut state) = case.draw(&mut rng);
            let surrogate = case.surrogate(1);
            let sums = Sums::new(&problem).unwrap();
            let mut held = Held::default();
            let report = |what: &str, took: f64, work: u64| {
                println!("| {name} | {n} | {what} | {took:.0} | {:.1} |", took / work as f64);
            };
            let at = Setting::new(&problem, Some(&surrogate));
            let took = time(&mut || {
                let mut held = Held::default();
                held.hold(&sums, &state, &mut rng).unwrap();
            });
            report("hold", took, 1);
            held.hold(&sums, &state, &mut rng).unwrap();
            let took = time(&mut || {
                held.moved();
                held.land(&at, &mut state).unwrap();
            });
            report("land", took, 1);
            let force = if sums.has_quick_slopes() { Force::Exact } else { Force::Surrogate };
            let mut moves: Vec<(&str, Box<dyn ThetaMove>)> = vec![
                ("hamiltonian", Box::new(Hamiltonian::new(force))),
                ("independence", Box::new(Independence::new(false))),
                ("refresh, own slope", Box::new(Independence::new(true))),
                ("centred", Box::new(Centred::default())),
                ("centred, censored redrawn", Box::new(Centred::new(true))),
            ];
            if Ridge::exists(&sums) {
                moves.push(("ridge", Box::new(Ridge::default())));
            }
            for (what, made) in &mut moves {
                let work = made.work(&at, 1);
                let took = time(&mut || {
                    made.step(&at, &mut state, &mut held, 1, &mut rng).unwrap();
                });
                report(what, took, work);
            }
        }
    }
}

/// The centred chain with and without redrawing of censored coordinates, on records of which a
/// third lies beyond the clamps. Prints effective draws per sweep.
#[test]
#[ignore = "measures, and asserts nothing"]
fn gain_of_redrawing_what_is_hidden() {
    let mut cases = Vec::new();
    for n in [20, 200] {
        for scale in [20.0, 4.0, 0.5] {
            cases.push(Case {
                query: Arc::new(Mean::new(vec![(-1.0, 1.0)]).unwrap()),
                ..Case::normal(Noise::Laplace, scale, n)
            });
        }
    }
    println!("| n | scale of the noise | beyond | centred | with what is censored redrawn |");
    for case in cases {
        let mut rng = rng::stream(1, 0);
        let (problem, start) = case.draw(&mut rng);
        let beyond = start.records.all().iter().filter(|x| x.abs() > 1.0).count();
        let mut found = Vec::new();
        for redraws_censored in [false, true] {
            let mut centred = Centred::new(redraws_censored);
            let at = Setting::new(&problem, None);
            let mut kernel = KernelChoice::SysImwg.build(case.n).unwrap();
            let (mut state, mut held) = (start.clone(), Held::default());
            let mut draws = vec![Vec::new(); 2];
            for _ in 0..40_000 {
                let mut proposals =
                    ModelProposals::new(problem.model(), &state.theta, problem.release());
                let potential = at.problem.release().potential();
                kernel.sweep(&mut state.records, &mut proposals, potential, &mut rng).unwrap();
                centred.step(&at, &mut state, &mut held, 1, &mut rng).unwrap();
                draws.iter_mut().zip(&state.theta).for_each(|(all, x)| all.push(*x));
            }
            let least = draws.iter().map(|all| crate::diagnostics::ess_bulk(&[all]));
            found.push(least.fold(f64::INFINITY, f64::min) / 40_000.0);
        }
        let scale = case.mechanism.scales()[0];
        let share = beyond as f64 / case.n as f64;
        println!("| {} | {scale} | {share:.2} | {:.4} | {:.4} |", case.n, found[0], found[1]);
    }
}
