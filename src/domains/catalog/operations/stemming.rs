//! Adjusts the text search of stored products to the site's language.

use super::super::store;
use crate::{app::App, error::Error, graphql::scalars::LocaleTag};

/// Sets the stemming of products without a language to the site's language, including those that an earlier
/// version or another configuration has stored. Returns the number of changed products. It may be interrupted
/// and repeated.
///
/// # Errors
/// Products that were changed before the failure stay changed.
pub async fn follow_site_locale(app: &App) -> Result<u64, Error> {
    let stemming = LocaleTag::stemming_of(None, &app.config().site_locale);
    let (mut after, mut changed) = (String::new(), 0);
    while let Some(upto) = store::find_end_of_batch(app, &after).await? {
        changed += store::set_stemming(app, &after, &upto, stemming).await?;
        after = upto;
    }
    Ok(changed)
}
