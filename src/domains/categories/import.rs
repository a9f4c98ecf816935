//! `docgate import categories`: one JSON object per line, parents before children.
//!
//! ```json
//! {"path": "/music", "names": {"en": "Music", "de": "Musik"}}
//! {"path": "/music/jazz", "names": {"en": "Jazz"}}
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    operations::{plant, sound_names, sound_path},
    store::{self, Categories},
    types::CreateCategoryResult,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        refusals::Stop,
        scalars::{LocaleTag, Slug},
        trees::carry,
    },
};

/// One line of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportCategory {
    /// Where it stands; its last step is the category's slug, what is before is its parent's path.
    pub path: String,
    /// Its names by language tag. They replace those that an existing category has.
    pub names: BTreeMap<LocaleTag, String>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The category is new.
    Created,
    /// It was there and has other names now.
    Changed,
    /// It was there just so.
    Unchanged,
}

/// Brings one line in. Repeated, it changes nothing.
///
/// # Errors
/// `BadInput` where the line can't be used (also where its slug stands elsewhere in the tree or its
/// parent isn't there), `Unavailable` or `Internal`.
pub async fn import(app: &App, line: ImportCategory) -> Result<Imported, Error> {
    let path = sound_path("path", &line.path)?;
    let names = sound_names("names", line.names.into_iter().collect())?;
    let (above, slug) = path.rsplit_once('/').unwrap_or_default();
    let slug = Slug::parse_slug(slug).ok_or_else(|| Error::bad_input("path", "isn't a path"))?;
    if let Some(found) = store::find_slug(app, &slug).await? {
        if found.path != path {
            let reason = format!("the slug already stands at {}", found.path);
            return Err(Error::bad_input("path", reason));
        }
        if found.names == names {
            return Ok(Imported::Unchanged);
        }
        let changed = store::replace_names(app, &found.id, &names).await?.decided()?;
        let changed = changed.ok_or_else(|| Error::bad_input("path", "is just being deleted"))?;
        carry(app, Categories(app.clone()), changed).await?;
        return Ok(Imported::Changed);
    }
    let parent = match above {
        "" => None,
        above => Some(store::find_by(app, "path", above).await?.ok_or_else(|| {
            Error::bad_input("path", format!("there is no {above}; parents come before children"))
        })?),
    };
    let op = app.ids().op(&["importCategory"], None, &path);
    let parent = parent.as_ref().map(|parent| parent.id.as_str());
    match plant(app, op, slug, names, parent).await {
        Ok(_) => Ok(Imported::Created),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Refused(refusal)) => Err(Error::bad_input("path", told(refusal))),
    }
}

/// What a refusal says.
fn told(refusal: CreateCategoryResult) -> String {
    match refusal {
        CreateCategoryResult::Category(_) => String::new(),
        CreateCategoryResult::NotFound(refusal) => refusal.message,
        CreateCategoryResult::AlreadyExists(refusal) => refusal.message,
        CreateCategoryResult::Conflict(refusal) => refusal.message,
        CreateCategoryResult::InvalidInput(refusal) => refusal.message,
    }
}
