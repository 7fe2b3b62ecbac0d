//! What can be wrong with a model, said so that it can be mended.

/// Why a model could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Parts that do not make a model together.
    #[error("{0}")]
    Model(String),
}

impl Error {
    /// Parts that do not make a model together.
    pub(crate) fn model(reason: impl Into<String>) -> Self {
        Self::Model(reason.into())
    }
}
