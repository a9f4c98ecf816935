//! Changes of names. They need no lock: a name belongs to one category, and the last write wins.

use super::super::{
    MAX_NAMES,
    documents::CategoryDocument,
    store::{self, Categories},
    types::{
        AddTranslationInput, AddTranslationResult, RemoveTranslationInput, RemoveTranslationResult,
        RenameCategoryInput, RenameCategoryResult,
    },
};
use crate::graphql::{
    cx::Cx,
    declared::Input,
    refusals::{AlreadyExists, InvalidInput, NotFound, Stop},
};

/// Changes the name in a language in which the category has one.
pub async fn rename_category(
    cx: Cx<'_>,
    input: RenameCategoryInput,
) -> Result<CategoryDocument, Stop<RenameCategoryResult>> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    let (id, locale) = (&input.category_id, &input.locale);
    let named = store::replace_name(&cx, id, locale, &input.name).await?;
    if let Some(changed) = named {
        return Ok(tree.carry(changed).await?);
    }
    tree.get(id).await?;
    Err(NotFound::new("translation", locale.as_str()).into())
}

/// Adds a name in a language in which the category has none.
pub async fn add_translation(
    cx: Cx<'_>,
    input: AddTranslationInput,
) -> Result<CategoryDocument, Stop<AddTranslationResult>> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    let (id, locale) = (&input.category_id, &input.locale);
    let named = store::add_name(&cx, id, locale, &input.name).await?;
    if let Some(changed) = named {
        return Ok(tree.carry(changed).await?);
    }
    if tree.get(id).await?.names.contains_key(locale) {
        return Err(AlreadyExists::new("translation", locale.as_str()).into());
    }
    let reason = format!("is one too many: a category has at most {MAX_NAMES} names");
    Err(InvalidInput::new("locale", reason).into())
}

/// Removes the name in a language; a missing one is ignored.
pub async fn remove_translation(
    cx: Cx<'_>,
    input: RemoveTranslationInput,
) -> Result<CategoryDocument, Stop<RemoveTranslationResult>> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    let (id, locale) = (&input.category_id, &input.locale);
    if let Some(changed) = store::remove_name(&cx, id, locale).await? {
        return Ok(tree.carry(changed).await?);
    }
    let category = tree.get(id).await?;
    if category.names.contains_key(locale) {
        return Err(InvalidInput::new("locale", "is the only name that is left").into());
    }
    Ok(category)
}
