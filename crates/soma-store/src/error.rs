//! Errors of stored runs.

use std::path::{Path, PathBuf};

/// An error when writing or reading a run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An I/O error.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is damaged.
    #[error("{path} is damaged: {problem}. {remedy}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// The folder is not suitable.
    #[error("{path} {problem}")]
    Unfit {
        /// The folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { path, source }
    }

    pub(crate) fn damaged(path: &Path, problem: impl ToString, remedy: &str) -> StoreError {
        let (problem, remedy) = (problem.to_string(), remedy.to_string());
        StoreError::Damaged { path: path.to_path_buf(), problem, remedy }
    }

    pub(crate) fn unfit(path: &Path, problem: impl Into<String>) -> StoreError {
        StoreError::Unfit { path: path.to_path_buf(), problem: problem.into() }
    }
}
