//! The number of weights per move.

use crate::kernel::soma::tests::*;
use crate::release::Query;
use crate::release::query::Gram;

/// The regression problem of the paper: nine statistics of three numbers, from theta.
struct Lines(Release);

impl Lines {
    fn new(n: usize, epsilon: f64) -> (Self, Records) {
        let query = Arc::new(Gram::with_range(2, (-6.0, 6.0)).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![13.0 / epsilon; 9]).unwrap();
        let mut rng = rng::stream(11, n as u64);
        let (mut rows, mut statistics) = (vec![0.0; 3 * n], vec![0.0; 9 * n]);
        Lines::draw(&mut rows, &mut rng);
        query.statistics(&rows, &mut statistics).unwrap();
        let sums = (0..9).map(|c| statistics.iter().skip(c).step_by(9).sum()).collect();
        Lines::draw(&mut rows, &mut rng);
        let release = Release::new(query, mechanism, Aggregate::Sum, n, sums).unwrap();
        let records = Records::new(&release, rows).unwrap();
        (Lines(release), records)
    }

    fn draw(rows: &mut [f64], rng: &mut Rng) {
        for row in rows.chunks_exact_mut(3) {
            let mut normal = || rng.sample::<f64, _>(StandardNormal);
            let (x1, x2) = (0.9 + normal(), -1.17 + normal());
            let y = -1.79 - 2.89 * x1 - 0.66 * x2 + 1.13f64.sqrt() * normal();
            row.copy_from_slice(&[x1, x2, y]);
        }
    }
}

impl Proposals for Lines {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, 3, 9);
        let (records, statistics) = batch.parts_mut();
        Lines::draw(records, rng);
        self.0.query().statistics(records, statistics)?;
        let unit = 1.0 / self.0.sum_scales()[0];
        statistics.iter_mut().for_each(|t| *t *= unit);
        Ok(())
    }
}

/// Weights per move, with limits at about twice the measured values: they detect a loss of the cost
/// that is independent of n.
#[test]
fn a_move_takes_few_weights_whatever_n_is() {
    let most = [
        (1.0, [3.0, 3.0, 3.5]),
        (3.0, [5.0, 6.0, 8.0]),
        (10.0, [20.0, 30.0, 30.0]),
        (30.0, [2.5, 14.0, 20.0]),
    ];
    for (epsilon, most) in most {
        for (n, most) in [100, 1_000, 20_000].into_iter().zip(most) {
            let (mut proposals, mut records) = Lines::new(n, epsilon);
            let mut kernel = Kernel::Soma(Soma::new());
            let mut rng = rng::stream(12, 0);
            let mut counts = Counts::default();
            for _ in 0..5 {
                let potential = l1(records.k());
                counts += kernel.sweep(&mut records, &mut proposals, &potential, &mut rng).unwrap();
            }
            let each = counts.evaluations as f64 / counts.moves as f64;
            println!("epsilon {epsilon}, n = {n}: {each}");
            assert!(each < most, "epsilon {epsilon}, n = {n}: {each} weights a move");
        }
    }
}

/// Statistics that do not cluster are left to the scan.
#[test]
fn cells_that_do_not_suit_are_given_up() {
    let (mut records, _) = problem(Noise::Laplace, 1_000, 9, 30.0, State::Typical);
    let mut kernel = Kernel::Soma(Soma::new());
    let counts = sweep(&mut kernel, &mut records, 1, 9);
    let Kernel::Soma(soma) = &kernel else { unreachable!() };
    assert_eq!(soma.strategy(), Some(Strategy::Scan));
    assert!(counts.evaluations < 3 * counts.moves, "{counts:?}");
}
