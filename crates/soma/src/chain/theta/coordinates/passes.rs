//! Vectorised passes over the columns of affine records.

use pulp::{Arch, Simd, WithSimd};

/// The largest record dimension that is compiled.
pub(in crate::chain) const LONGEST: usize = 4;

/// One more than the largest dimension: room for the constant 1.
pub(in crate::chain) const ROOM: usize = LONGEST + 1;

/// Records processed in parallel lanes.
const LANES: usize = 4;

pub(in crate::chain) type Lanes = [f64; LANES];

/// The coordinates before clamping, u = shift + factor y, with a lower triangular factor; y is the
/// standardised noise or the columns that represent it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::chain) struct Map {
    pub(in crate::chain) shift: [f64; LONGEST],
    pub(in crate::chain) factor: [[f64; LONGEST]; LONGEST],
}

impl Map {
    /// Whether no record can overflow under this map.
    pub(in crate::chain) fn is_finite(&self) -> bool {
        self.shift.iter().chain(self.factor.iter().flatten()).all(|x| x.abs() < 1e100)
    }
}

/// Sums over the records of u_j u_k, where u_D is 1.
pub(in crate::chain) type Products = [[Lanes; ROOM]; ROOM];

/// Sums of u_j y_l over the records whose u_i is not clamped, where y_0 stands for 1.
pub(in crate::chain) type Slopes = [[[Lanes; ROOM]; ROOM]; LONGEST];

/// Sums of a force on u_i, times y_l, over the records whose u_i is not clamped.
pub(in crate::chain) type Pulls = [[Lanes; ROOM]; LONGEST];

/// One pass over the columns, compiled for the length of a record.
macro_rules! pass {
    ($d:expr, $columns:expr, $pass:ident { $($field:ident),* }) => {{
        let columns: &[f64] = $columns;
        match $d {
            1 => Arch::new().dispatch(Over::<1, _> { pass: $pass { $($field),* }, columns }),
            2 => Arch::new().dispatch(Over::<2, _> { pass: $pass { $($field),* }, columns }),
            3 => Arch::new().dispatch(Over::<3, _> { pass: $pass { $($field),* }, columns }),
            _ => Arch::new().dispatch(Over::<4, _> { pass: $pass { $($field),* }, columns }),
        }
    }};
}

/// The products at a map from the columns.
pub(in crate::chain) fn products(d: usize, map: &Map, columns: &[f64]) -> Products {
    pass!(d, columns, Multiply { map })
}

/// The products and the slopes.
pub(in crate::chain) fn slopes(d: usize, map: &Map, columns: &[f64]) -> (Products, Slopes) {
    pass!(d, columns, Differentiate { map })
}

/// The pulls of forces on u_i that are the sums over j of `on_ij` u_j.
pub(in crate::chain) fn pulls(
    d: usize,
    map: &Map,
    on: &[[f64; ROOM]; LONGEST],
    columns: &[f64],
) -> Pulls {
    pass!(d, columns, Pull { map, on })
}

/// The sum over the lanes.
pub(in crate::chain) fn all(lanes: &Lanes) -> f64 {
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

/// The operation of a pass on a few records, those that are `live`.
trait Pass<const D: usize> {
    type Totals;

    fn begin() -> Self::Totals;

    fn add(&self, y: [Lanes; D], live: Lanes, totals: &mut Self::Totals);
}

struct Over<'a, const D: usize, P> {
    pass: P,
    columns: &'a [f64],
}

impl<const D: usize, P: Pass<D>> WithSimd for Over<'_, D, P> {
    type Output = P::Totals;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> P::Totals {
        let Over { pass, columns } = self;
        let mut totals = P::begin();
        let n = columns.len() / D;
        let y: [&[f64]; D] = std::array::from_fn(|l| &columns[l * n..][..n]);
        let whole = n - n % LANES;
        for from in (0..whole).step_by(LANES) {
            let rows = std::array::from_fn(|l| {
                let lanes: &Lanes = y[l][from..from + LANES].try_into().expect("as many as lanes");
                *lanes
            });
            pass.add(rows, [1.0; LANES], &mut totals);
        }
        if whole < n {
            let mut live = [0.0; LANES];
            live[..n - whole].fill(1.0);
            let rows = std::array::from_fn(|l| {
                let mut lanes = [0.0; LANES];
                lanes[..n - whole].copy_from_slice(&y[l][whole..]);
                lanes
            });
            pass.add(rows, live, &mut totals);
        }
        totals
    }
}

/// u, and whether it is within the clamps.
#[inline(always)]
fn clamped<const D: usize>(
    map: &Map,
    y: &[Lanes; D],
    live: Lanes,
) -> ([Lanes; ROOM], [Lanes; LONGEST]) {
    let mut u = [[0.0; LANES]; ROOM];
    let mut inside = [[0.0; LANES]; LONGEST];
    for j in 0..D {
        let mut raw = [map.shift[j]; LANES];
        for l in 0..=j {
            for (raw, y) in raw.iter_mut().zip(&y[l]) {
                *raw += map.factor[j][l] * y;
            }
        }
        for lane in 0..LANES {
            u[j][lane] = raw[lane].clamp(-1.0, 1.0);
            inside[j][lane] = if raw[lane].abs() < 1.0 { live[lane] } else { 0.0 };
        }
    }
    u[D] = [1.0; LANES];
    (u, inside)
}

#[inline(always)]
fn multiply<const D: usize>(u: &[Lanes; ROOM], live: Lanes, products: &mut Products) {
    for j in 0..D {
        for k in j..=D {
            for lane in 0..LANES {
                products[j][k][lane] += u[j][lane] * (u[k][lane] * live[lane]);
            }
        }
    }
}

struct Multiply<'a> {
    map: &'a Map,
}

impl<const D: usize> Pass<D> for Multiply<'_> {
    type Totals = Products;

    #[inline(always)]
    fn begin() -> Products {
        [[[0.0; LANES]; ROOM]; ROOM]
    }

    #[inline(always)]
    fn add(&self, y: [Lanes; D], live: Lanes, totals: &mut Products) {
        multiply::<D>(&clamped(self.map, &y, live).0, live, totals);
    }
}

struct Differentiate<'a> {
    map: &'a Map,
}

impl<const D: usize> Pass<D> for Differentiate<'_> {
    type Totals = (Products, Slopes);

    #[inline(always)]
    fn begin() -> (Products, Slopes) {
        ([[[0.0; LANES]; ROOM]; ROOM], [[[[0.0; LANES]; ROOM]; ROOM]; LONGEST])
    }

    #[inline(always)]
    fn add(&self, y: [Lanes; D], live: Lanes, (products, slopes): &mut (Products, Slopes)) {
        let (u, inside) = clamped(self.map, &y, live);
        multiply::<D>(&u, live, products);
        for i in 0..D {
            for j in 0..=D {
                let mut part = [0.0; LANES];
                for lane in 0..LANES {
                    part[lane] = inside[i][lane] * u[j][lane];
                    slopes[i][j][0][lane] += part[lane];
                }
                for l in 0..=i {
                    for lane in 0..LANES {
                        slopes[i][j][1 + l][lane] += part[lane] * y[l][lane];
                    }
                }
            }
        }
    }
}

struct Pull<'a> {
    map: &'a Map,
    /// The force on u_i is the sum over j of these times u_j.
    on: &'a [[f64; ROOM]; LONGEST],
}

impl<const D: usize> Pass<D> for Pull<'_> {
    type Totals = Pulls;

    #[inline(always)]
    fn begin() -> Pulls {
        [[[0.0; LANES]; ROOM]; LONGEST]
    }

    #[expect(clippy::needless_range_loop, reason = "the lanes of several arrays go side by side")]
    #[inline(always)]
    fn add(&self, y: [Lanes; D], live: Lanes, pulls: &mut Pulls) {
        let (u, inside) = clamped(self.map, &y, live);
        for i in 0..D {
            let mut force = [self.on[i][D]; LANES];
            for j in 0..D {
                for lane in 0..LANES {
                    force[lane] += self.on[i][j] * u[j][lane];
                }
            }
            for lane in 0..LANES {
                force[lane] *= inside[i][lane];
                pulls[i][0][lane] += force[lane];
            }
            for l in 0..=i {
                for lane in 0..LANES {
                    pulls[i][1 + l][lane] += force[lane] * y[l][lane];
                }
            }
        }
    }
}
