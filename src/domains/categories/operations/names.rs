//! Names and languages. They need no lock: a name is the category's own, and the last write wins.

use async_graphql::ID;

use super::{LOCALES, own_id, sound_name};
use crate::{
    app::App,
    domains::categories::{
        documents::CategoryDocument,
        store::{self, Before, Categories},
        types::{AddTranslationResult, RemoveTranslationResult, RenameCategoryResult},
    },
    graphql::{
        node_id::NodeKind,
        refusals::{AlreadyExists, InvalidInput, NotFound, Stop},
        scalars::LocaleTag,
        trees::{carry, settled},
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
    let id = own_id(category)?;
    let name = sound_name("name", name)?;
    let written = store::set_name(app, &id, locale, &name, Before::Named, LOCALES).await;
    if let Some(changed) = written.decided()? {
        return Ok(carry(app, Categories(app.clone()), changed).await?);
    }
    there::<RenameCategoryResult>(app, &id).await?;
    Err(NotFound::new("translation", locale.as_str()).into())
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
    let id = own_id(category)?;
    let name = sound_name("name", name)?;
    let written = store::set_name(app, &id, locale, &name, Before::Unnamed, LOCALES).await;
    if let Some(changed) = written.decided()? {
        return Ok(carry(app, Categories(app.clone()), changed).await?);
    }
    let category = there::<AddTranslationResult>(app, &id).await?;
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
    let id = own_id(category)?;
    if let Some(changed) = store::remove_name(app, &id, locale).await.decided()? {
        return Ok(carry(app, Categories(app.clone()), changed).await?);
    }
    let category = there::<RemoveTranslationResult>(app, &id).await?;
    if category.names.contains_key(locale) {
        return Err(InvalidInput::new("locale", "is the only name that is left").into());
    }
    Ok(category)
}

/// The category, where it takes changes.
async fn there<U: From<NotFound>>(app: &App, id: &str) -> Result<CategoryDocument, Stop<U>> {
    settled(store::find(app, id).await?, NodeKind::Category, id)
}
