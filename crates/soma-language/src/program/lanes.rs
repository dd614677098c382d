//! Loops over columns, written to be vectorised.

/// One argument of a loop: the same number for all records, or a column.
pub(super) trait Lane: Copy {
    fn get(self, i: usize) -> f64;
}

#[derive(Clone, Copy)]
pub(super) struct Same(pub f64);

#[derive(Clone, Copy)]
pub(super) struct Each<'a>(pub &'a [f64]);

impl Lane for Same {
    #[inline(always)]
    fn get(self, _: usize) -> f64 {
        self.0
    }
}

impl Lane for Each<'_> {
    #[inline(always)]
    fn get(self, i: usize) -> f64 {
        self.0[i]
    }
}

#[inline(always)]
pub(super) fn map1(out: &mut [f64], a: &[f64], f: impl Fn(f64) -> f64) {
    for (to, &a) in out.iter_mut().zip(a) {
        *to = f(a);
    }
}

#[inline(always)]
pub(super) fn map2(out: &mut [f64], a: impl Lane, b: impl Lane, f: impl Fn(f64, f64) -> f64) {
    for (i, to) in out.iter_mut().enumerate() {
        *to = f(a.get(i), b.get(i));
    }
}

#[inline(always)]
pub(super) fn map3(
    out: &mut [f64],
    a: impl Lane,
    b: impl Lane,
    c: impl Lane,
    f: impl Fn(f64, f64, f64) -> f64,
) {
    for (i, to) in out.iter_mut().enumerate() {
        *to = f(a.get(i), b.get(i), c.get(i));
    }
}

/// The sum of f over `n` records in eight partial sums, in the same order on every machine.
#[inline(always)]
pub(super) fn sum(n: usize, f: impl Fn(usize) -> f64) -> f64 {
    let mut parts = [0.0; 8];
    let whole = n / 8 * 8;
    let mut at = 0;
    while at < whole {
        for (k, part) in parts.iter_mut().enumerate() {
            *part += f(at + k);
        }
        at += 8;
    }
    let rest = (whole..n).fold(0.0, |rest, i| rest + f(i));
    let [a, b, c, d, e, g, h, k] = parts;
    ((a + e) + (c + h)) + ((b + g) + (d + k)) + rest
}
