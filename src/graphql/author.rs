//! The author of a text or file.

use async_graphql::{ID, SimpleObject};

/// Author of a text or file.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct Author {
    /// Subject of the author's token.
    pub id: ID,
    /// Name of the author; null if it is unknown.
    pub name: Option<String>,
}

impl Author {
    /// The author with this subject.
    pub fn new(subject: &str, name: Option<&str>) -> Self {
        Self { id: ID(subject.to_owned()), name: name.map(str::to_owned) }
    }
}
