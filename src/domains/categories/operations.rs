//! The rules of categories.

use super::documents::CategoryCopy;
use crate::{app::App, error::Error};

/// The categories with these ids as products carry them; missing ones are absent.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn copies(_app: &App, _ids: &[String]) -> Result<Vec<CategoryCopy>, Error> {
    Ok(Vec::new())
}

/// The categories at these paths as products carry them; missing ones are absent.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn copies_at(_app: &App, _paths: &[String]) -> Result<Vec<CategoryCopy>, Error> {
    Ok(Vec::new())
}
