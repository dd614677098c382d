//! How wide text is, about: a page cannot measure its font before it is drawn.

/// The size of letters at ticks and rows, in pixels.
const SIZE: f64 = 11.0;

/// The width of a text in pixels: in DejaVu Sans, the widest of the usual fonts of systems.
pub fn width(text: &str) -> f64 {
    SIZE * text.chars().map(of).sum::<f64>()
}

/// The width of a letter, as a part of the size of the font.
fn of(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '|' | '!' | 'I' | 'J' | '/' | '-' | 'f' => 0.36,
        '[' | ']' | '(' | ')' | 't' | 'r' | '"' => 0.46,
        '\u{2212}' | '+' | '<' | '>' | '=' | '~' | '#' | 'w' | 'N' | 'O' | 'Q' => 0.84,
        'm' | 'M' | 'W' | '%' | '@' | '\u{2026}' => 1.0,
        _ if letter.is_uppercase() => 0.78,
        _ if letter.is_ascii() => 0.64,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::width;

    #[test]
    fn wide_letters_take_more_room_than_narrow_ones() {
        assert!(width("women") > width("willi") + 15.0);
        assert!((width("0.25") - 25.0).abs() < 2.0);
    }
}
