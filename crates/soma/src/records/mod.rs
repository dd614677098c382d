//! The imputed records with their statistics, and the proposals that replace them.

pub(crate) mod codes;
pub(crate) mod imputed;
pub(crate) mod proposals;

pub use imputed::Records;
pub use proposals::{Batch, ModelProposals, Proposals};
