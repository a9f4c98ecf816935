//! Changes of names. They need no lock: a name belongs to one category, and the last write wins.

use super::super::{
    MAX_NAMES,
    store::{self, Categories},
    types::{
        AddTranslationInput, AddTranslationResult, RemoveTranslationInput, RemoveTranslationResult,
        RenameCategoryInput, RenameCategoryResult,
    },
};
use crate::graphql::prelude::*;

/// Changes the name in a language in which the category has one.
pub async fn rename_category(
    cx: Cx<'_>,
    input: RenameCategoryInput,
) -> Answer<RenameCategoryResult> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    if let Some(changed) = store::replace_name(&cx, &input).then_read().await? {
        return Ok(tree.carry(changed).await?);
    }
    tree.get(&input.category_id).await?;
    Err(NotFound::new("translation", input.locale.as_str()).into())
}

/// Adds a name in a language in which the category has none.
pub async fn add_translation(
    cx: Cx<'_>,
    input: AddTranslationInput,
) -> Answer<AddTranslationResult> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    if let Some(changed) = store::add_name(&cx, &input).then_read().await? {
        return Ok(tree.carry(changed).await?);
    }
    if tree.get(&input.category_id).await?.names.contains_key(&input.locale) {
        return Err(AlreadyExists::new("translation", input.locale.as_str()).into());
    }
    let reason = format!("is one too many: a category has at most {MAX_NAMES} names");
    Err(InvalidInput::new("locale", reason).into())
}

/// Removes the name in a language; a missing one is ignored.
pub async fn remove_translation(
    cx: Cx<'_>,
    input: RemoveTranslationInput,
) -> Answer<RemoveTranslationResult> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    if let Some(changed) = store::remove_name(&cx, &input).then_read().await? {
        return Ok(tree.carry(changed).await?);
    }
    let category = tree.get(&input.category_id).await?;
    if category.names.contains_key(&input.locale) {
        return Err(InvalidInput::new("locale", "is the only name that is left").into());
    }
    Ok(category)
}
