//! Sums of clamped moments of records that are affine functions of their noise.
//!
//! A record of a normal model is x = shift + factor e, its noise is e = m + C z with the frame
//! (m, C) and the pattern z, and so x is affine in z too. Where the statistics are first and second
//! moments of the clamped coordinates of x, their sums over the records and all derivatives of
//! these sums are a few dozen sums of products, found in one pass.

use pulp::{Arch, Simd, WithSimd};

use super::frame::{Frame, frame_dim};
use crate::model::Transport;
use crate::release::query::{ClampedMoments, Query};

/// The longest record for which this is compiled.
pub(super) const LONGEST: usize = 4;

/// One more than the longest: room for the constant 1.
const ROOM: usize = LONGEST + 1;

/// Records that are worked on side by side.
const LANES: usize = 4;

type Lanes = [f64; LANES];

/// The statistics of a query, as clamped moments.
#[derive(Debug, Clone)]
pub(super) struct Affine {
    d: usize,
    moments: ClampedMoments,
}

/// The clamped coordinates before they are clamped, u = shift + factor z, the factor lower
/// triangular.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Map {
    shift: [f64; LONGEST],
    factor: [[f64; LONGEST]; LONGEST],
}

/// Sums over the records: of u_j u_k, where u_D is 1, and of u_j z_l over the records whose u_i is
/// not clamped, where z_0 stands for 1.
#[derive(Debug, Clone, Copy)]
struct Totals {
    products: [[Lanes; ROOM]; ROOM],
    slopes: [[[Lanes; ROOM]; ROOM]; LONGEST],
}

impl Affine {
    /// `None` where the model is not affine, or the statistics are no clamped moments.
    pub(super) fn new(model: &dyn Transport, query: &dyn Query) -> Option<Self> {
        let (d, p) = (model.record_dim(), model.parameters().len());
        let moments = query.clamped_moments()?;
        let fits = d <= LONGEST && model.noise_dim() == d;
        let (mut shift, mut factor) = (vec![0.0; d], vec![0.0; d * d]);
        (fits && model.affine(&vec![1.0; p], &mut shift, &mut factor))
            .then_some(Affine { d, moments })
    }

    /// The map from patterns at theta and a frame.
    pub(super) fn map(&self, model: &dyn Transport, theta: &[f64], frame: &Frame) -> Map {
        let (shift, factor) = self.of_noise(model, theta);
        let d = self.d;
        let mut map = Map::default();
        for i in 0..d {
            let (row, to) = (&factor[i], &mut map.factor[i]);
            map.shift[i] = shift[i];
            for j in 0..=i {
                map.shift[i] += row[j] * frame.centre[j];
                for (k, to) in to[..=j].iter_mut().enumerate() {
                    *to += row[j] * frame.factor[j * d + k];
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

    /// The records of a pattern, row after row.
    pub(super) fn records(&self, map: &Map, pattern: &[f64], records: &mut [f64]) {
        match self.d {
            1 => self.records_sized::<1>(map, pattern, records),
            2 => self.records_sized::<2>(map, pattern, records),
            3 => self.records_sized::<3>(map, pattern, records),
            _ => self.records_sized::<4>(map, pattern, records),
        }
    }

    fn records_sized<const D: usize>(&self, map: &Map, pattern: &[f64], records: &mut [f64]) {
        let n = pattern.len() / D;
        let z: [&[f64]; D] = std::array::from_fn(|l| &pattern[l * n..][..n]);
        for (i, record) in records.chunks_exact_mut(D).enumerate() {
            for j in 0..D {
                let mut u = map.shift[j];
                for (l, z) in z[..=j].iter().enumerate() {
                    u += map.factor[j][l] * z[i];
                }
                record[j] = self.moments.centre[j] + self.moments.half_width[j] * u;
            }
        }
    }

    /// The sums of the statistics, and their derivatives with respect to the entries of the map
    /// where they are wanted: for each statistic those of shift 0 and row 0 of the factor, shift 1
    /// and row 1, and so on.
    pub(super) fn sums(
        &self,
        map: &Map,
        pattern: &[f64],
        sums: &mut [f64],
        slopes: Option<&mut [f64]>,
    ) {
        let n = pattern.len() / self.d;
        let with_slopes = slopes.is_some();
        let totals = match self.d {
            1 => totals::<1>(map, pattern, with_slopes),
            2 => totals::<2>(map, pattern, with_slopes),
            3 => totals::<3>(map, pattern, with_slopes),
            _ => totals::<4>(map, pattern, with_slopes),
        };
        let all = |lanes: &Lanes| (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
        for (sum, term) in sums.iter_mut().zip(&self.moments.terms) {
            let [i, j] = term.variables;
            *sum = term.offset * n as f64 + term.factor * all(&totals.products[i][j]);
        }
        let Some(slopes) = slopes else { return };
        slopes.fill(0.0);
        let q = frame_dim(self.d);
        for (row, term) in slopes.chunks_exact_mut(q).zip(&self.moments.terms) {
            let [i, j] = term.variables;
            for (of, other) in [(i, j), (j, i)] {
                if of == self.d {
                    continue;
                }
                let from = row_of(of);
                for (to, total) in row[from..][..of + 2].iter_mut().zip(&totals.slopes[of][other]) {
                    *to += term.factor * all(total);
                }
            }
        }
    }

    /// The derivatives of the map's entries (in the order of [`sums`](Self::sums)) with respect to
    /// the coordinates of theta, given the maps at thetas a `step` away in each, and of the frame,
    /// whose entries have the derivatives `units`: one row for each coordinate.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn chain(
        &self,
        model: &dyn Transport,
        theta: &[f64],
        nearby: &[f64],
        step: f64,
        frame: &Frame,
        units: &[f64],
        out: &mut [f64],
    ) {
        let (d, q, p) = (self.d, frame_dim(self.d), theta.len());
        out.fill(0.0);
        let here = self.map(model, theta, frame);
        for (c, theta) in nearby.chunks_exact(p).enumerate() {
            let there = self.map(model, theta, frame);
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

/// Where the derivatives with respect to shift i and row i of the factor begin.
fn row_of(i: usize) -> usize {
    i * (i + 3) / 2
}

fn totals<const D: usize>(map: &Map, pattern: &[f64], with_slopes: bool) -> Totals {
    if with_slopes {
        Arch::new().dispatch(AddAll::<D, true> { map, pattern })
    } else {
        Arch::new().dispatch(AddAll::<D, false> { map, pattern })
    }
}

struct AddAll<'a, const D: usize, const SLOPES: bool> {
    map: &'a Map,
    pattern: &'a [f64],
}

impl<const D: usize, const SLOPES: bool> WithSimd for AddAll<'_, D, SLOPES> {
    type Output = Totals;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Totals {
        add_all::<D, SLOPES>(self.map, self.pattern)
    }
}

#[inline(always)]
fn add_all<const D: usize, const SLOPES: bool>(map: &Map, pattern: &[f64]) -> Totals {
    let mut totals = Totals {
        products: [[[0.0; LANES]; ROOM]; ROOM],
        slopes: [[[[0.0; LANES]; ROOM]; ROOM]; LONGEST],
    };
    let n = pattern.len() / D;
    let z: [&[f64]; D] = std::array::from_fn(|l| &pattern[l * n..][..n]);
    let whole = n - n % LANES;
    for from in (0..whole).step_by(LANES) {
        let rows = std::array::from_fn(|l| {
            let lanes: &Lanes = z[l][from..from + LANES].try_into().expect("as many as lanes");
            *lanes
        });
        add::<D, SLOPES>(map, rows, [1.0; LANES], &mut totals);
    }
    if whole < n {
        let mut live = [0.0; LANES];
        live[..n - whole].fill(1.0);
        let rows = std::array::from_fn(|l| {
            let mut lanes = [0.0; LANES];
            lanes[..n - whole].copy_from_slice(&z[l][whole..]);
            lanes
        });
        add::<D, SLOPES>(map, rows, live, &mut totals);
    }
    totals
}

/// Adds a few records, those that are `live`.
#[expect(clippy::needless_range_loop, reason = "the lanes of several arrays go side by side")]
#[inline(always)]
fn add<const D: usize, const SLOPES: bool>(
    map: &Map,
    z: [Lanes; D],
    live: Lanes,
    totals: &mut Totals,
) {
    let mut u = [[0.0; LANES]; ROOM];
    let mut inside = [[0.0; LANES]; LONGEST];
    for j in 0..D {
        let mut raw = [map.shift[j]; LANES];
        for l in 0..=j {
            for (raw, z) in raw.iter_mut().zip(&z[l]) {
                *raw += map.factor[j][l] * z;
            }
        }
        for lane in 0..LANES {
            u[j][lane] = raw[lane].clamp(-1.0, 1.0);
            inside[j][lane] = if raw[lane].abs() < 1.0 { live[lane] } else { 0.0 };
        }
    }
    u[D] = [1.0; LANES];
    for j in 0..D {
        for k in j..=D {
            for lane in 0..LANES {
                totals.products[j][k][lane] += u[j][lane] * (u[k][lane] * live[lane]);
            }
        }
    }
    if !SLOPES {
        return;
    }
    for i in 0..D {
        for j in 0..=D {
            let mut part = [0.0; LANES];
            for lane in 0..LANES {
                part[lane] = inside[i][lane] * u[j][lane];
                totals.slopes[i][j][0][lane] += part[lane];
            }
            for l in 0..=i {
                for lane in 0..LANES {
                    totals.slopes[i][j][1 + l][lane] += part[lane] * z[l][lane];
                }
            }
        }
    }
}
