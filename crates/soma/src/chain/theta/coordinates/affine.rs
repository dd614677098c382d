//! Sums of clamped moments of records that are affine functions of their noise.
//!
//! A record of a normal model is x = shift + factor e. Its noise is e = m + C z with the Bartlett
//! factors (m, C) and the standardised noise z, so x is affine in z and in the columns that
//! represent z. If the statistics are first and second moments of the clamped coordinates of x,
//! their sums over the records and all derivatives of these sums are a few dozen sums of products,
//! computed in one pass. The gradient of one function of the sums takes a few more in a second
//! pass.

use crate::chain::theta::coordinates::bartlett::{Bartlett, factors_dim};
use crate::chain::theta::coordinates::passes::{self, LONGEST, Map, Products, ROOM, all};
use crate::chain::theta::coordinates::standardised::Standardised;
use crate::model::Transport;
use crate::release::NoiseUnits;
use crate::release::query::{ClampedMoments, Query};

/// The statistics of a query, as clamped moments.
#[derive(Debug, Clone)]
pub(in crate::chain) struct Affine {
    d: usize,
    moments: ClampedMoments,
}

impl Affine {
    /// `None` if the model is not affine, or the statistics are not clamped moments.
    pub(in crate::chain) fn new(
        model: &dyn Transport,
        query: &dyn Query,
        units: &NoiseUnits,
    ) -> Option<Self> {
        let (d, p) = (model.record_dim(), model.parameters().len());
        let mut moments = query.clamped_moments()?;
        let terms = moments.terms.iter_mut().enumerate();
        terms.for_each(|(k, term)| term.offset -= units.centre(k));
        let fits = d <= LONGEST && model.noise_dim() == d;
        let (mut shift, mut factor) = (vec![0.0; d], vec![0.0; d * d]);
        (fits && model.affine(&vec![1.0; p], &mut shift, &mut factor))
            .then_some(Affine { d, moments })
    }

    /// The map at theta from the argument of `factors` to the noise.
    pub(in crate::chain) fn map(
        &self,
        model: &dyn Transport,
        theta: &[f64],
        factors: &Bartlett,
    ) -> Map {
        let (shift, factor) = self.of_noise(model, theta);
        let d = self.d;
        let mut map = Map::default();
        for i in 0..d {
            let (row, to) = (&factor[i], &mut map.factor[i]);
            map.shift[i] = shift[i];
            for j in 0..=i {
                map.shift[i] += row[j] * factors.centre[j];
                for (k, to) in to[..=j].iter_mut().enumerate() {
                    *to += row[j] * factors.factor[j * d + k];
                }
            }
        }
        map
    }

    /// The map from noise at theta, in the units of u.
    fn of_noise(
        &self,
        model: &dyn Transport,
        theta: &[f64],
    ) -> ([f64; LONGEST], [[f64; LONGEST]; LONGEST]) {
        let d = self.d;
        let (mut shift, mut flat) = ([0.0; LONGEST], [0.0; LONGEST * LONGEST]);
        model.affine(theta, &mut shift[..d], &mut flat[..d * d]);
        let mut factor = [[0.0; LONGEST]; LONGEST];
        for i in 0..d {
            let unit = 1.0 / self.moments.half_width[i];
            shift[i] = (shift[i] - self.moments.centre[i]) * unit;
            for j in 0..=i {
                factor[i][j] = flat[i * d + j] * unit;
            }
        }
        (shift, factor)
    }

    /// The Bartlett factors of the noise of the records at theta, from the Bartlett factors of the
    /// records minus `origin`.
    pub(in crate::chain) fn factors(
        &self,
        model: &dyn Transport,
        theta: &[f64],
        origin: &[f64],
        factors: &mut Bartlett,
    ) {
        let d = self.d;
        let (mut shift, mut factor) = ([0.0; LONGEST], [0.0; LONGEST * LONGEST]);
        model.affine(theta, &mut shift[..d], &mut factor[..d * d]);
        shift.iter_mut().zip(origin).for_each(|(shift, origin)| *shift -= origin);
        factors.undo(&shift[..d], &factor[..d * d]);
    }

    /// The records from the columns, row by row.
    pub(in crate::chain) fn records(&self, map: &Map, columns: &[f64], records: &mut [f64]) {
        match self.d {
            1 => self.records_sized::<1>(map, columns, records),
            2 => self.records_sized::<2>(map, columns, records),
            3 => self.records_sized::<3>(map, columns, records),
            _ => self.records_sized::<4>(map, columns, records),
        }
    }

    fn records_sized<const D: usize>(&self, map: &Map, columns: &[f64], records: &mut [f64]) {
        let n = columns.len() / D;
        let y: [&[f64]; D] = std::array::from_fn(|l| &columns[l * n..][..n]);
        let centre: [f64; D] = std::array::from_fn(|j| self.moments.centre[j]);
        let half_width: [f64; D] = std::array::from_fn(|j| self.moments.half_width[j]);
        for (i, record) in records.chunks_exact_mut(D).enumerate() {
            for j in 0..D {
                let mut u = map.shift[j];
                for (l, y) in y[..=j].iter().enumerate() {
                    u += map.factor[j][l] * y[i];
                }
                record[j] = centre[j] + half_width[j] * u;
            }
        }
    }

    /// The sums of the statistics.
    pub(in crate::chain) fn sums(&self, map: &Map, columns: &[f64], sums: &mut [f64]) {
        self.set_sums(&passes::products(self.d, map, columns), columns, sums);
    }

    fn set_sums(&self, products: &Products, columns: &[f64], sums: &mut [f64]) {
        let n = (columns.len() / self.d) as f64;
        for (sum, term) in sums.iter_mut().zip(&self.moments.terms) {
            let [i, j] = term.variables;
            *sum = term.offset * n + term.factor * all(&products[i][j]);
        }
    }

    /// The sums of the statistics, and their derivatives with respect to the entries of the map
    /// from the standardised noise: for each statistic those of shift 0 and row 0 of the factor,
    /// shift 1 and row 1, and so on. `map` is from the columns.
    pub(in crate::chain) fn sums_and_slopes(
        &self,
        map: &Map,
        standardised: &Standardised,
        sums: &mut [f64],
        slopes: &mut [f64],
    ) {
        let columns = standardised.columns();
        let (products, totals) = passes::slopes(self.d, map, columns);
        self.set_sums(&products, columns, sums);
        slopes.fill(0.0);
        let q = factors_dim(self.d);
        for (row, term) in slopes.chunks_exact_mut(q).zip(&self.moments.terms) {
            let [i, j] = term.variables;
            for (of, other) in [(i, j), (j, i)] {
                if of == self.d {
                    continue;
                }
                let to = &mut row[row_of(of)..][..of + 2];
                for (to, total) in to.iter_mut().zip(&totals[of][other]) {
                    *to += term.factor * all(total);
                }
            }
            (0..self.d).for_each(|of| standardised.whiten(&mut row[row_of(of)..][..of + 2]));
        }
    }

    /// The derivatives with respect to the entries of the map from the standardised noise, in the
    /// order of [`sums_and_slopes`](Self::sums_and_slopes), of sum_k forces_k times the sum of
    /// statistic k.
    pub(in crate::chain) fn pull(
        &self,
        map: &Map,
        standardised: &Standardised,
        forces: &[f64],
        pull: &mut [f64],
    ) {
        let mut on = [[0.0; ROOM]; LONGEST];
        for (force, term) in forces.iter().zip(&self.moments.terms) {
            let [i, j] = term.variables;
            for (of, other) in [(i, j), (j, i)] {
                if of < self.d {
                    on[of][other] += force * term.factor;
                }
            }
        }
        let totals = passes::pulls(self.d, map, &on, standardised.columns());
        for (of, totals) in totals[..self.d].iter().enumerate() {
            let to = &mut pull[row_of(of)..][..of + 2];
            to.iter_mut().zip(totals).for_each(|(to, total)| *to = all(total));
            standardised.whiten(to);
        }
    }

    /// The derivatives of the entries of the map from the standardised noise, in the order of
    /// [`sums_and_slopes`](Self::sums_and_slopes), with respect to the coordinates of theta, given
    /// thetas a step away in each and the lengths of the steps, and of the Bartlett factors, whose
    /// entries have the derivatives `units`: one row for each coordinate.
    pub(in crate::chain) fn chain(
        &self,
        model: &dyn Transport,
        theta: &[f64],
        (nearby, steps): (&[f64], &[f64]),
        factors: &Bartlett,
        units: &[f64],
        out: &mut [f64],
    ) {
        let (d, q, p) = (self.d, factors_dim(self.d), theta.len());
        out.fill(0.0);
        let here = self.map(model, theta, factors);
        for (c, (theta, step)) in nearby.chunks_exact(p).zip(steps).enumerate() {
            let there = self.map(model, theta, factors);
            let row = &mut out[c * q..][..q];
            for i in 0..d {
                let to = &mut row[row_of(i)..];
                to[0] = (there.shift[i] - here.shift[i]) / step;
                for l in 0..=i {
                    to[1 + l] = (there.factor[i][l] - here.factor[i][l]) / step;
                }
            }
        }
        let (_, factor) = self.of_noise(model, theta);
        let mut at = p + d;
        for j in 0..d {
            for i in j..d {
                out[(p + j) * q + row_of(i)] = factor[i][j] * units[j];
            }
            for k in 0..=j {
                for i in j..d {
                    out[at * q + row_of(i) + 1 + k] = factor[i][j] * units[at - p];
                }
                at += 1;
            }
        }
    }
}

/// The offset of the derivatives with respect to shift i and row i of the factor.
fn row_of(i: usize) -> usize {
    i * (i + 3) / 2
}
