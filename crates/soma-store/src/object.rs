//! JSON objects whose last field is a checksum of what is before it.

use serde::Serialize;

const FIELD: &str = ",\"checksum\":\"";
const END: &str = "\"}";
const DIGITS: usize = 8;

/// The JSON object `json` with a last field `checksum`: the CRC-32 of `owner`, which identifies
/// what the object belongs to, and of the text before the field. It detects objects that are
/// damaged or belong to something else.
pub fn seal_object(owner: &str, json: &str) -> String {
    let body = json.strip_suffix('}').unwrap_or(json);
    format!("{body}{FIELD}{}{END}", checksum(owner, body))
}

/// Whether `text` is an object that [`seal_object`] wrote for `owner`.
pub fn is_sealed_object(owner: &str, text: &str) -> bool {
    let parts = || {
        let rest = text.strip_suffix(END)?;
        let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
        Some((rest.strip_suffix(FIELD)?, digits))
    };
    parts().is_some_and(|(body, digits)| checksum(owner, body) == digits)
}

/// The text before the checksum of an indented object.
pub(crate) const INDENTED: &str = ",\n  \"checksum\": \"";

/// The text after it.
const INDENTED_END: &str = "\"\n}\n";

/// The indented JSON of `value`, an object, with a checksum of the text before it.
pub(crate) fn indented(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value);
    let json = json.unwrap_or_else(|error| unreachable!("plain data: {error}"));
    seal_indented(json.strip_suffix("\n}").unwrap_or(&json))
}

/// Completes the text of an indented object without its closing bracket.
pub(crate) fn seal_indented(body: &str) -> String {
    format!("{body}{INDENTED}{}{INDENTED_END}", checksum("", body))
}

/// Whether `text` is an object that [`indented`] wrote.
pub(crate) fn is_sealed_indented(text: &[u8]) -> bool {
    let parts = || {
        let rest = text.strip_suffix(INDENTED_END.as_bytes())?;
        let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
        Some((rest.strip_suffix(INDENTED.as_bytes())?, digits))
    };
    parts()
        .is_some_and(|(body, digits)| format!("{:08x}", crc32fast::hash(body)).as_bytes() == digits)
}

fn checksum(owner: &str, body: &str) -> String {
    let mut crc = crc32fast::Hasher::new();
    crc.update(owner.as_bytes());
    crc.update(body.as_bytes());
    format!("{:08x}", crc.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_is_seen() {
        let sealed = seal_object("run 1", r#"{"index":3,"met":17}"#);
        let value: serde_json::Value = serde_json::from_str(&sealed).unwrap();
        assert_eq!(value["met"], 17);
        assert!(is_sealed_object("run 1", &sealed) && !is_sealed_object("run 2", &sealed));
        for at in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(!is_sealed_object("run 1", &String::from_utf8(bytes).unwrap()), "{at}");
            assert!(!is_sealed_object("run 1", &sealed[..at]), "cut at {at}");
        }
        assert!(!is_sealed_object("run 1", "é\"}"));
    }
}
