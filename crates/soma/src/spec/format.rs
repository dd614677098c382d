//! The version of the format of a spec.

use super::value::Table;
use crate::error::Invalid;

/// The format that this version reads. It changes only if a valid spec would change its meaning;
/// new keys do not change it.
pub const FORMAT: u64 = 1;

/// Rejects a spec of a newer format.
pub(super) fn check(root: &Table) -> Result<(), Invalid> {
    let Some(value) = root.get("format") else { return Ok(()) };
    match value.whole(1..=u64::MAX)? {
        format if format <= FORMAT => Ok(()),
        format => Err(Invalid::new(
            "format",
            "this spec is of a newer format than this version of soma reads",
            format,
            format!("at most {FORMAT}, or a newer version of soma"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::Spec;

    #[test]
    fn a_newer_format_is_refused_with_a_sentence() {
        let spec = "[release]\nn = 100\nstatistic = \"mean\"\nvalues = [0.4]\n\
                    query = { kind = \"mean\", clamp = [-5.0, 5.0] }\n\
                    mechanism = { kind = \"laplace\", epsilon = 1.0 }\n\
                    [model]\nkind = \"exponential\"\nprior = { kind = \"gamma\", shape = 1.0, rate = 1.0 }\n";
        let with = |format: &str| Spec::parse(&format!("format = {format}\n{spec}"));
        assert!(Spec::parse(spec).is_ok() && with("1").is_ok());
        let said = with("2").unwrap_err().to_string();
        assert!(said.contains("newer format") && said.contains("line 1"), "{said}");
        assert!(with("0").is_err() && with("\"1\"").is_err());
    }
}
