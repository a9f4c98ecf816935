//! Text search of what is stored already goes by the site's language.

use super::super::store;
use crate::{app::App, error::Error, graphql::scalars::LocaleTag};

/// Lets text search take products that don't say their language to be in the site's, also those that
/// an earlier version or another configuration has stored. Answers how many it changed. It may be cut
/// and repeated.
///
/// # Errors
/// `Unavailable` or `Internal`; products before it was cut stay changed.
pub async fn follow_site_locale(app: &App) -> Result<u64, Error> {
    let stemming = LocaleTag::stemming_of(None, &app.config().site_locale);
    let (mut after, mut changed) = (String::new(), 0);
    while let Some(upto) = store::find_end_of_batch(app, &after).await? {
        changed += store::set_stemming(app, &after, &upto, stemming).await?;
        after = upto;
    }
    Ok(changed)
}
