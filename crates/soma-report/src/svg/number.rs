//! Numbers as a reader wants them.

/// A number with so many decimals, a true minus sign and groups of three digits; very large ones in
/// powers of ten, and a dash for none.
///
/// ```
/// use soma_report::svg::fixed;
/// assert_eq!(fixed(-12345.678, 1), "\u{2212}12,345.7");
/// assert_eq!(fixed(f64::NAN, 1), "\u{2013}");
/// ```
pub fn fixed(x: f64, decimals: usize) -> String {
    if x.is_nan() {
        return "\u{2013}".into();
    }
    if x.is_infinite() || x.abs() >= 1e12 {
        let text = if x.is_infinite() { "\u{221e}".into() } else { format!("{:.3e}", x.abs()) };
        return if x < 0.0 { format!("\u{2212}{text}") } else { text };
    }
    let text = format!("{:.decimals$}", x.abs());
    let is_zero = text.chars().all(|c| c == '0' || c == '.');
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if x < 0.0 && !is_zero { "\u{2212}" } else { "" };
    format!("{sign}{}{rest}", grouped(whole))
}

/// A number to four digits that matter.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 || !size.is_finite() {
        return fixed(x, 0);
    }
    if size < 1e-5 {
        return format!("{x:.2e}").replace('-', "\u{2212}");
    }
    let decimals = (3.0 - size.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = fixed(x, decimals);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Decimals that show a spread of `sd` with three digits.
pub fn decimals(sd: f64) -> usize {
    if sd.is_finite() && sd > 0.0 { (2.0 - sd.log10().floor()).clamp(0.0, 9.0) as usize } else { 3 }
}

/// As many decimals of a probability as its Monte Carlo error makes meaningful; three, if that is not
/// known.
pub fn probability_decimals(mcse: f64) -> usize {
    if mcse > 0.0 { (-mcse.log10()).ceil().clamp(2.0, 6.0) as usize } else { 3 }
}

fn grouped(digits: &str) -> String {
    if digits.len() < 5 {
        return digits.into();
    }
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_that_matter() {
        let said = [0.0, 0.123456, 12.3456, 123456.7, -0.5, 2.0, 1e-7, 0.000123456].map(number);
        assert_eq!(
            said,
            ["0", "0.1235", "12.35", "123,457", "−0.5", "2", "1.00e−7", "0.0001235"]
                .map(|s| s.replace('-', "−"))
        );
        assert_eq!(fixed(-0.0001, 2), "0.00");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "−∞");
    }
}
