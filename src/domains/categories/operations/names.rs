//! Names and languages. They need no lock: a name is the category's own, and the last write wins.

use async_graphql::ID;

use super::{LOCALES, carry, not_found, own_id, sound_name};
use crate::{
    app::App,
    domains::categories::{
        documents::CategoryDocument,
        store::{self, Before},
        types::{AddTranslationResult, RemoveTranslationResult, RenameCategoryResult},
    },
    error::Error,
    graphql::{
        refusals::{AlreadyExists, InvalidInput, NotFound, Stop},
        scalars::LocaleTag,
    },
};

/// Changes the name in a language that the category has.
///
/// # Errors
/// A refusal, or trouble.
pub async fn rename(
    app: &App,
    category: &ID,
    locale: &LocaleTag,
    name: &str,
) -> Result<CategoryDocument, Stop<RenameCategoryResult>> {
    let id = own_id("category", category)?;
    let name = sound_name("name", name)?;
    let written = store::set_name(app, &id, locale, &name, Before::Named, LOCALES).await;
    match written.decided()? {
        Some(changed) => Ok(carry(app, changed).await?),
        None => match there(app, &id).await? {
            Some(_) => Err(NotFound::new("translation", locale.as_str()).into()),
            None => Err(not_found(&id).into()),
        },
    }
}

/// Adds a name in a language that the category hasn't.
///
/// # Errors
/// A refusal, or trouble.
pub async fn add_translation(
    app: &App,
    category: &ID,
    locale: &LocaleTag,
    name: &str,
) -> Result<CategoryDocument, Stop<AddTranslationResult>> {
    let id = own_id("category", category)?;
    let name = sound_name("name", name)?;
    let written = store::set_name(app, &id, locale, &name, Before::Unnamed, LOCALES).await;
    if let Some(changed) = written.decided()? {
        return Ok(carry(app, changed).await?);
    }
    let category = there(app, &id).await?.ok_or_else(|| not_found(&id))?;
    if category.names.contains_key(locale) {
        return Err(AlreadyExists::new("translation", locale.as_str()).into());
    }
    let reason = format!("is one too many: a category has at most {LOCALES} names");
    Err(InvalidInput::new("locale", reason).into())
}

/// Removes the name in a language; one that isn't there is as good as removed.
///
/// # Errors
/// A refusal, or trouble.
pub async fn remove_translation(
    app: &App,
    category: &ID,
    locale: &LocaleTag,
) -> Result<CategoryDocument, Stop<RemoveTranslationResult>> {
    let id = own_id("category", category)?;
    if let Some(changed) = store::remove_name(app, &id, locale).await.decided()? {
        return Ok(carry(app, changed).await?);
    }
    let category = there(app, &id).await?.ok_or_else(|| not_found(&id))?;
    if category.names.contains_key(locale) {
        return Err(InvalidInput::new("locale", "is the only name that is left").into());
    }
    Ok(category)
}

/// The category, where it takes changes.
async fn there(app: &App, id: &str) -> Result<Option<CategoryDocument>, Error> {
    Ok(store::find(app, id).await?.filter(|category| category.deleting.is_none()))
}
