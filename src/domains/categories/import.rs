//! `docgate import categories`: one JSON object per line, parents before children.
//!
//! ```json
//! {"path": "/music", "names": {"en": "Music", "de": "Musik"}}
//! {"path": "/music/jazz", "names": {"en": "Jazz"}}
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    documents::{CategoryDocument, Names},
    operations::{one_at, plant, sound_name, sound_names, sound_path},
    store::{self, Categories},
    types::CreateCategoryResult,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        refusals::{InvalidInput, Stop},
        scalars::{LocaleTag, Slug},
        trees::carry,
    },
};

/// One line of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportCategory {
    /// Its path. The last step is the category's slug, the rest is its parent's path.
    pub path: String,
    /// Its names by language tag. They replace the names of an existing category.
    pub names: BTreeMap<LocaleTag, String>,
}

/// Result of importing a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The category was created.
    Created,
    /// The names of the existing category were replaced.
    Changed,
    /// The category existed with the same names.
    Unchanged,
}

/// Imports one line. A repeat changes nothing.
///
/// # Errors
/// `BadInput` if the line can't be used, for example because its parent doesn't exist.
pub async fn import(app: &App, line: ImportCategory) -> Result<Imported, Error> {
    let path = sound_path("path", &line.path)?;
    let names = checked_names(line.names)?;
    let (above, slug) = path.rsplit_once('/').unwrap_or_default();
    let slug = Slug::parse_slug(slug).ok_or_else(|| Error::bad_input("path", "isn't a path"))?;
    let parent = match above {
        "" => None,
        above => Some(one_at(app, above).await?.ok_or_else(|| {
            Error::bad_input("path", format!("there is no {above}; parents come before children"))
        })?),
    };
    let parent = parent.as_ref().map(|parent| parent.id.as_str());
    if let Some(found) = store::find_below(app, parent, &slug).await? {
        return renamed(app, &found, &names).await;
    }
    let op = app.ids().op(&["importCategory"], None, &path);
    match plant(app, op, slug, names, parent).await {
        Ok(_) => Ok(Imported::Created),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Refused(refusal)) => Err(Error::bad_input("path", told(refusal))),
    }
}

/// Checks names; an error names the language.
fn checked_names(given: BTreeMap<LocaleTag, String>) -> Result<Names, InvalidInput> {
    for (locale, name) in &given {
        sound_name(&format!("names.{}", locale.as_str()), name)?;
    }
    sound_names("names", given.into_iter().collect())
}

/// Replaces the names of an existing category.
async fn renamed(app: &App, found: &CategoryDocument, names: &Names) -> Result<Imported, Error> {
    if found.names == *names {
        return Ok(Imported::Unchanged);
    }
    let changed = store::replace_names(app, &found.id, names).await?.decided()?;
    let changed = changed.ok_or_else(|| Error::bad_input("path", "is just being deleted"))?;
    carry(app, Categories(app.clone()), changed).await?;
    Ok(Imported::Changed)
}

/// The message of a refusal.
fn told(refusal: CreateCategoryResult) -> String {
    match refusal {
        CreateCategoryResult::Category(_) => String::new(),
        CreateCategoryResult::NotFound(refusal) => refusal.message,
        CreateCategoryResult::AlreadyExists(refusal) => refusal.message,
        CreateCategoryResult::Conflict(refusal) => refusal.message,
        CreateCategoryResult::InvalidInput(refusal) => refusal.message,
    }
}
