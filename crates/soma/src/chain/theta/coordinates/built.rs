//! Sums over the records by building them: for models that are not affine in their noise.

use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{Scratch, Sums};
use crate::error::Outcome;
use crate::numeric::dense;

impl Sums<'_> {
    /// The sums by building the records; derivatives by differences in each coordinate of theta and
    /// of the noise. `false` if a record overflows.
    pub(in crate::chain) fn add_up(
        &self,
        standardised: &Standardised,
        scratch: &mut Scratch,
        sums: &mut [f64],
        with_derivatives: bool,
    ) -> Outcome<bool> {
        let (n, d, k) = (self.n, self.d, self.k);
        let record_dim = self.problem.release().query().record_dim();
        let most = self.rows.min(n);
        let Scratch { noise, records, statistics, moved, map, theta, nearby, slopes, .. } = scratch;
        noise.resize(most.max(n) * d, 0.0);
        records.resize(most * record_dim, 0.0);
        statistics.resize(most * k, 0.0);
        moved.resize(most * k, 0.0);
        let columns = standardised.columns();
        let mut exists = true;
        sums.fill(0.0);
        slopes.clear();
        slopes.resize(self.dim() * k, 0.0);
        for from in (0..n).step_by(most) {
            let rows = most.min(n - from);
            let noise = &mut noise[..rows * d];
            let records = &mut records[..rows * record_dim];
            let statistics = &mut statistics[..rows * k];
            map.join(columns, from..from + rows, noise);
            self.statistics(theta, noise, records, statistics)?;
            exists &= records.iter().all(|x| x.is_finite());
            for row in statistics.chunks_exact(k) {
                sums.iter_mut().zip(row).for_each(|(r, t)| *r += t);
            }
            if !with_derivatives {
                continue;
            }
            let moved = &mut moved[..rows * k];
            let (above, below) = nearby.split_at(self.p * self.p);
            for (c, theta) in above.chunks_exact(self.p).enumerate() {
                if self.jumps {
                    self.statistics(&below[c * self.p..][..self.p], noise, records, statistics)?;
                }
                self.statistics(theta, noise, records, moved)?;
                let to = &mut slopes[c * k..][..k];
                for (row, base) in moved.chunks_exact(k).zip(statistics.chunks_exact(k)) {
                    to.iter_mut().zip(row).zip(base).for_each(|((to, a), b)| *to += a - b);
                }
            }
            let mut at = self.p + d;
            let (up, down) = if self.jumps { (0.5, 0.5) } else { (1.0, 0.0) };
            let (up, down) = (up * self.noise_step(), down * self.noise_step());
            for j in 0..d {
                if self.jumps {
                    noise.iter_mut().skip(j).step_by(d).for_each(|e| *e -= down);
                    self.statistics(theta, noise, records, statistics)?;
                    noise.iter_mut().skip(j).step_by(d).for_each(|e| *e += down);
                }
                noise.iter_mut().skip(j).step_by(d).for_each(|e| *e += up);
                self.statistics(theta, noise, records, moved)?;
                noise.iter_mut().skip(j).step_by(d).for_each(|e| *e -= up);
                moved.iter_mut().zip(&*statistics).for_each(|(t, base)| *t -= base);
                for (row, i) in moved.chunks_exact(k).zip(from..) {
                    dense::axpy(1.0, row, &mut slopes[(self.p + j) * k..][..k]);
                    for l in 0..=j {
                        dense::axpy(columns[l * n + i], row, &mut slopes[(at + l) * k..][..k]);
                    }
                }
                at += j + 1;
            }
        }
        if with_derivatives {
            self.whiten(standardised, slopes);
        }
        Ok(exists)
    }

    /// Converts sums of derivatives times the columns to sums times the standardised noise.
    fn whiten(&self, standardised: &Standardised, slopes: &mut [f64]) {
        let (d, k) = (self.d, self.k);
        let mut row = vec![0.0; d + 1];
        let mut at = self.p + d;
        for j in 0..d {
            for c in 0..k {
                let row = &mut row[..j + 2];
                row[0] = slopes[(self.p + j) * k + c];
                (0..=j).for_each(|l| row[1 + l] = slopes[(at + l) * k + c]);
                standardised.whiten(row);
                (0..=j).for_each(|l| slopes[(at + l) * k + c] = row[1 + l]);
            }
            at += j + 1;
        }
    }

    pub(in crate::chain) fn statistics(
        &self,
        theta: &[f64],
        noise: &[f64],
        records: &mut [f64],
        statistics: &mut [f64],
    ) -> Outcome {
        self.model.forward(theta, noise, records)?;
        self.problem.release().query().statistics(records, statistics)?;
        self.units.subtract_centre(statistics);
        Ok(())
    }
}
