//! Text inside of XML.

/// `text` with the signs that XML reads as its own written as entities, and without control
/// characters, which XML has no way to hold.
///
/// ```
/// assert_eq!(soma_report::svg::escape("a < \"b\" & c"), "a &lt; &quot;b&quot; &amp; c");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
