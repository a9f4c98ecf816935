//! Changes of names. They need no lock: a name belongs to one category, and the last write wins.

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

/// Changes the name in a language in which the category has one.
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

/// Adds a name in a language in which the category has none.
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

/// Removes the name in a language; a missing one is ignored.
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

/// The category, if it can be changed.
async fn there<U: From<NotFound>>(app: &App, id: &str) -> Result<CategoryDocument, Stop<U>> {
    settled(store::find(app, id).await?, NodeKind::Category, id)
}
