//! What MongoDB sees of categories.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::graphql::scalars::LocaleTag;

/// A category as products carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CategoryCopy {
    /// The category.
    #[serde(rename = "_id")]
    pub id: String,
    /// Last step of its path.
    pub slug: String,
    /// The way from the root, such as `/music/jazz`.
    pub path: String,
    /// Path of its parent; empty for a root.
    pub parent_path: String,
    /// Its name in each language.
    pub names: BTreeMap<LocaleTag, String>,
    /// Its path and the paths of all its ancestors.
    pub within: Vec<String>,
    /// Version of the copy.
    pub cv: i64,
}
