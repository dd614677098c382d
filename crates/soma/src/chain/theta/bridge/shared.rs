//! The density of theta, learned once for all chains of a problem.

use std::sync::{Arc, Mutex};

use super::density::Density;
use crate::error::Outcome;

/// The density of theta of a problem and of its clones, once a chain has learned it: `Some(None)` if
/// there is none to learn.
///
/// It is a function of the problem alone, so that the draws of a chain do not depend on which chain
/// learned it. Other chains wait meanwhile.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct SharedDensity(Arc<Mutex<Option<Option<Density>>>>);

impl SharedDensity {
    /// The density, learned now if no chain has done so. After an error, such as
    /// [an interrupt](crate::interrupt), the next chain tries again.
    pub(super) fn get_or_learn(
        &self,
        learn: impl FnOnce() -> Outcome<Option<Density>>,
    ) -> Outcome<Option<Density>> {
        let mut kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(density) = &*kept {
            return Ok(density.clone());
        }
        let density = learn()?;
        *kept = Some(density.clone());
        Ok(density)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_learn_once_and_failures_are_tried_again() {
        let shared = SharedDensity::default();
        assert!(shared.get_or_learn(|| Err("interrupted".into())).is_err());
        let density = Density::new(vec![0.1, -0.4, 1.3, 0.2, 0.9], 1);
        assert!(density.is_some());
        assert_eq!(shared.get_or_learn(|| Ok(density.clone())).unwrap(), density);
        let again = shared.clone().get_or_learn(|| panic!("it was learned"));
        assert_eq!(again.unwrap(), density);
        let nothing = SharedDensity::default();
        assert_eq!(nothing.get_or_learn(|| Ok(None)).unwrap(), None);
        assert_eq!(nothing.get_or_learn(|| panic!("there is none")).unwrap(), None);
    }
}
