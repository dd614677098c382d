//! Functions of a draw, as written by a user.

use soma::error::listed;

use crate::exit::Failed;

/// A product of factors such as `beta1^2` or `log(sigma2)`; or an indicator that it is below or
/// above a number, whose mean is a probability.
#[derive(Debug, Clone)]
pub struct Function {
    name: String,
    factors: Vec<Factor>,
    threshold: Option<(Side, f64)>,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Below,
    Above,
}

#[derive(Debug, Clone, Copy)]
struct Factor {
    parameter: usize,
    transform: Transform,
    power: i32,
}

type Transform = fn(f64) -> f64;

/// The named functions of one parameter.
const TRANSFORMS: [(&str, Transform); 4] =
    [("log", f64::ln), ("exp", f64::exp), ("sqrt", f64::sqrt), ("abs", f64::abs)];

impl Function {
    /// Parses `texts` as functions of the parameters `names`; each parameter itself, if there are
    /// none.
    pub fn all(texts: &[String], names: &[String]) -> Result<Vec<Self>, Failed> {
        if texts.is_empty() {
            return Ok(names.iter().enumerate().map(|(k, name)| Function::of(k, name)).collect());
        }
        texts
            .iter()
            .map(|text| {
                Function::parse(text, names).ok_or_else(|| {
                    Failed::Input(format!(
                        "--function: cannot be read (given: {text}). Allowed: products of {}, with \
                         powers such as {}^2, in log(), exp(), sqrt() or abs(), and at the end < or \
                         > and a number.",
                        listed(names),
                        names.first().map_or("x", String::as_str),
                    ))
                })
            })
            .collect()
    }

    /// A parameter itself, with any characters in its name.
    fn of(parameter: usize, name: &str) -> Self {
        let factors = vec![Factor { parameter, transform: |x| x, power: 1 }];
        Function { name: name.to_string(), factors, threshold: None }
    }

    fn parse(text: &str, names: &[String]) -> Option<Self> {
        let (product, threshold) = match text.split_once(['<', '>']) {
            None => (text, None),
            Some((product, number)) => {
                let side = if text.contains('<') { Side::Below } else { Side::Above };
                (product, Some((side, number.trim().parse().ok()?)))
            }
        };
        let factors = product.split('*').map(|factor| Factor::parse(factor.trim(), names));
        Some(Function {
            name: text.to_string(),
            factors: factors.collect::<Option<_>>()?,
            threshold,
        })
    }

    /// Its text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value at a draw.
    pub fn value(&self, draw: &[f64]) -> f64 {
        let factors = self.factors.iter().map(|factor| factor.value(draw));
        let product: f64 = factors.product();
        match self.threshold {
            None => product,
            Some((Side::Below, level)) => f64::from(u8::from(product < level)),
            Some((Side::Above, level)) => f64::from(u8::from(product > level)),
        }
    }
}

impl Factor {
    fn parse(text: &str, names: &[String]) -> Option<Self> {
        let (base, power) = match text.rsplit_once('^') {
            None => (text, 1),
            Some((base, power)) => (base.trim(), power.trim().parse().ok()?),
        };
        let inside = |name: &str| base.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        let called = TRANSFORMS.iter().find_map(|&(name, f)| inside(name).map(|x| (x.trim(), f)));
        let (name, transform) = called.unwrap_or((base, |x| x));
        let parameter = names.iter().position(|known| known == name)?;
        Some(Factor { parameter, transform, power })
    }

    fn value(&self, draw: &[f64]) -> f64 {
        (self.transform)(draw[self.parameter]).powi(self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_and_computed() {
        let names = ["beta0".to_string(), "beta1".to_string(), "sigma2".to_string()];
        let draw = [-2.0, 3.0, 0.25];
        let cases = [
            ("beta0", -2.0),
            ("beta1^2", 9.0),
            ("beta0*beta1", -6.0),
            ("sqrt(sigma2)", 0.5),
            ("log(sigma2)", 0.25_f64.ln()),
            ("abs(beta0)^3 * sigma2", 2.0),
            ("beta0 < 0", 1.0),
            ("beta0*beta1 > -5", 0.0),
        ];
        for (text, value) in cases {
            let function = Function::parse(text, &names).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(function.value(&draw), value, "{text}");
        }
        for text in ["", "beta2", "beta0^x", "sin(beta0)", "beta0 <", "beta0+beta1"] {
            assert!(Function::parse(text, &names).is_none(), "{text}");
        }
    }
}
