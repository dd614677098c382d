//! Clipping of lines at the edges of a panel.

/// The parts of a polyline (in fractions of the axes) inside the unit square. A point that is not
/// finite interrupts the line.
pub(crate) fn clip_line(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let Some((from, to)) = clip_segment(pair[0], pair[1]) else {
            open = false;
            continue;
        };
        match parts.last_mut() {
            Some(part) if open && part.last() == Some(&from) => part.push(to),
            _ => parts.push(vec![from, to]),
        }
        open = true;
    }
    parts
}

/// Whether a point lies in the unit square.
pub(crate) fn inside((x, y): (f64, f64)) -> bool {
    (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)
}

/// The part of a segment that lies in the unit square (Liang and Barsky 1984).
fn clip_segment(from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    if ![from.0, from.1, to.0, to.1].iter().all(|value| value.is_finite()) {
        return None;
    }
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut start, mut end) = (0.0, 1.0);
    for (step, room) in [(-dx, from.0), (dx, 1.0 - from.0), (-dy, from.1), (dy, 1.0 - from.1)] {
        if step == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if step < 0.0 {
            start = f64::max(start, room / step);
        } else {
            end = f64::min(end, room / step);
        }
    }
    let at = |t: f64| {
        if t == 0.0 {
            from
        } else if t == 1.0 {
            to
        } else {
            (from.0 + t * dx, from.1 + t * dy)
        }
    };
    (start <= end).then(|| (at(start), at(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_edges() {
        let parts = clip_line(&[(0.5, 0.5), (0.5, 1.5), (0.75, 1.5), (0.75, 0.5)]);
        assert_eq!(parts, [vec![(0.5, 0.5), (0.5, 1.0)], vec![(0.75, 1.0), (0.75, 0.5)]]);
    }

    #[test]
    fn a_missing_point_parts_the_line() {
        let parts = clip_line(&[(0.0, 0.0), (0.5, 0.5), (f64::NAN, 0.0), (0.6, 0.6), (1.0, 1.0)]);
        assert_eq!(parts.len(), 2);
    }
}
