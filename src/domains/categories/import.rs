//! `docgate import categories`: one JSON object per line, parents before children.
//!
//! ```json
//! {"path": "/music", "names": {"en": "Music", "de": "Musik"}}
//! {"path": "/music/jazz", "names": {"en": "Jazz"}}
//! ```

use serde::Deserialize;

use super::{
    LONGEST_NAME, MAX_NAMES,
    documents::{CategoryDocument, Names},
    operations::{create, one_at},
    store::{self, Categories},
};
use crate::{
    domains::trees::check_steps,
    graphql::{prelude::*, refusals::AnyRefusal},
};

/// One line of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportCategory {
    /// Its path. The last step is the category's slug, the rest is its parent's path.
    pub path: String,
    /// Its names by language tag. They replace the names of an existing category.
    pub names: Names,
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
pub async fn import(app: &App, line: ImportCategory) -> Result<Imported> {
    let path = input::path("path", &line.path)?;
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
    if let Some(found) = Categories::over(app).find_below(parent, slug.as_str()).await? {
        return renamed(app, &found, &names).await;
    }
    check_steps("path", path)?;
    let op = app.ids().op(&["importCategory"], None, &path);
    match create::<AnyRefusal>(app, op, slug, names, parent).await {
        Ok(_) => Ok(Imported::Created),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Refused(refusal)) => Err(Error::bad_input("path", refusal.message)),
    }
}

/// Checks lines as the import would, and changes nothing. That their parents exist isn't checked: they may be in lines
/// before.
pub fn check(lines: &[ImportCategory]) -> Vec<Result<(), InvalidInput>> {
    let one = |line: &ImportCategory| {
        check_steps("path", input::path("path", &line.path)?)?;
        checked_names(line.names.clone()).map(|_names| ())
    };
    lines.iter().map(one).collect()
}

/// Checks names; an error names the language.
fn checked_names(mut names: Names) -> Result<Names, InvalidInput> {
    for (locale, name) in &mut names {
        *name = input::text(&format!("names.{}", locale.as_str()), name, 1..=LONGEST_NAME)?;
    }
    if names.is_empty() {
        return Err(InvalidInput::new("names", "takes at least one name"));
    }
    input::at_most("names", &names.keys().collect::<Vec<_>>(), MAX_NAMES)?;
    Ok(names)
}

/// Replaces the names of an existing category.
async fn renamed(app: &App, found: &CategoryDocument, names: &Names) -> Result<Imported> {
    if found.names == *names {
        return Ok(Imported::Unchanged);
    }
    let change = app.ids().random();
    let changed = store::replace_names(app, &found.id, names, &change).then_read().await?;
    let changed = changed.ok_or_else(|| Error::bad_input("path", "is being deleted"))?;
    Categories::over(app).carry_values(changed, &change).await?;
    Ok(Imported::Changed)
}
