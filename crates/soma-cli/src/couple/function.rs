//! Functions of a draw, as written by a user.

use soma::chain::Derived;

use crate::exit::Failed;

/// The functions whose posterior means are estimated: expressions of the outputs, in the language
/// of `[derived]`; or the outputs themselves.
#[derive(Debug)]
pub struct Functions {
    names: Vec<String>,
    expressions: Option<Derived>,
}

impl Functions {
    /// Compiles `texts` as expressions of `outputs`; without texts, each output is a function.
    pub fn new(texts: &[String], outputs: &[String]) -> Result<Self, Failed> {
        if texts.is_empty() {
            return Ok(Functions { names: outputs.to_vec(), expressions: None });
        }
        let named: Vec<(String, String)> =
            texts.iter().map(|text| (format!("--function {text}"), text.clone())).collect();
        let expressions =
            Derived::new(&named, outputs).map_err(|e| Failed::Input(e.to_string()))?;
        Ok(Functions { names: texts.to_vec(), expressions: Some(expressions) })
    }

    /// Their texts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Their values at a draw of the outputs.
    pub fn values(&self, draw: &[f64]) -> Vec<f64> {
        match &self.expressions {
            Some(expressions) => expressions.values(draw),
            None => draw.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, Failed> {
        let names = ["beta0", "beta1", "sigma2"].map(String::from);
        let functions = Functions::new(&[text.to_string()], &names)?;
        Ok(functions.values(&[-2.0, 3.0, 0.25])[0])
    }

    #[test]
    fn functions_are_read_and_computed() {
        let cases = [
            ("beta0", -2.0),
            ("beta1^2", 9.0),
            ("beta0*beta1", -6.0),
            ("sqrt(sigma2)", 0.5),
            ("log(sigma2)", 0.25_f64.ln()),
            ("abs(beta0)^3 * sigma2", 2.0),
            ("beta0 < 0", 1.0),
            ("beta0*beta1 > -5", 0.0),
            ("beta0 + 2 * beta1", 4.0),
        ];
        for (text, right) in cases {
            let value = value(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert!((value - right).abs() < 1e-12, "{text}: {value}");
        }
        for text in ["", "beta2", "beta0^x", "beta0 <"] {
            assert!(value(text).is_err(), "{text}");
        }
    }

    #[test]
    fn without_texts_each_output_is_a_function() {
        let names = ["a", "b"].map(String::from);
        let functions = Functions::new(&[], &names).unwrap();
        assert_eq!(functions.values(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(functions.names(), names);
    }
}
