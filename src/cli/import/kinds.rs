//! The kinds of data that can be imported.

use mongodb::bson::DateTime;
use serde::de::DeserializeOwned;

use super::{faults::Fault, lines::Line};
use crate::{
    app::App,
    cli::{failure::Failure, preconditions, terminal},
    config::Config,
    domains::{
        catalog, categories, comments, game, inventory, inventory::operations::Booked, people,
    },
    error::Error,
    graphql::refusals::InvalidInput,
};

/// The kind of an import's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// See [`categories::import::ImportCategory`].
    Categories,
    /// See [`people::import::ImportPerson`].
    People,
    /// See [`catalog::ImportProduct`].
    Products,
    /// See [`inventory::import::ImportStock`].
    Stock,
    /// See [`comments::import::ImportComment`].
    Discussions,
    /// See [`game::import::ImportWorld`].
    World,
}

/// The result of a line.
pub(super) enum LineResult {
    /// The line is stored, by this import or an earlier one.
    Imported,
    /// The receipt of the line was booked before: nothing has changed.
    BookedBefore,
    /// The line is stored but for a part, with the reason.
    InPart(Fault),
    /// The line is empty.
    Blank,
    /// The line can't be used, with the reason.
    Skipped(Fault),
}

impl From<Result<(), InvalidInput>> for LineResult {
    fn from(answer: Result<(), InvalidInput>) -> Self {
        answer.map_or_else(|invalid| Self::Skipped(invalid.into()), |()| Self::Imported)
    }
}

impl From<Result<(), catalog::import::Refused>> for LineResult {
    fn from(answer: Result<(), catalog::import::Refused>) -> Self {
        match answer {
            Ok(()) => Self::Imported,
            Err(refused) if refused.is_in_part => Self::InPart(refused.fault.into()),
            Err(refused) => Self::Skipped(refused.fault.into()),
        }
    }
}

impl From<Result<Booked, InvalidInput>> for LineResult {
    fn from(answer: Result<Booked, InvalidInput>) -> Self {
        match answer {
            Ok(Booked::Now) => Self::Imported,
            Ok(Booked::Before) => Self::BookedBefore,
            Err(invalid) => Self::Skipped(invalid.into()),
        }
    }
}

impl Kind {
    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Categories => "categories",
            Self::People => "people",
            Self::Products => "products",
            Self::Stock => "stock",
            Self::Discussions => "discussions",
            Self::World => "world",
        }
    }

    /// Names of the rooms that its lines are about.
    pub(super) fn rooms(self) -> &'static [&'static str] {
        match self {
            Self::Categories => &["categories"],
            Self::People => &["people"],
            Self::Products => &["catalog"],
            Self::Stock => &["inventory"],
            Self::Discussions => &["comments", "catalog"],
            Self::World => &["game"],
        }
    }

    /// Checks that its rooms are switched on.
    ///
    /// # Errors
    /// One is switched off.
    pub(super) fn demand_rooms(self, config: &Config) -> Result<(), Failure> {
        self.rooms().iter().try_for_each(|room| preconditions::room_is_on(config, room))
    }

    /// So many objects in the lines.
    pub(super) fn counted(self, count: u64) -> String {
        let (one, several) = match self {
            Self::Categories => ("category", "categories"),
            Self::People => ("person", "people"),
            Self::Products => ("product", "products"),
            Self::Stock => ("receipt of stock", "receipts of stock"),
            Self::Discussions => ("comment or review", "comments and reviews"),
            Self::World => ("part of the world", "parts of the world"),
        };
        terminal::counted(count, one, several)
    }

    /// How a file is imported that doesn't begin with this line of JSON.
    pub(super) fn hint(self, first: &Line) -> Option<String> {
        let text = first.text()?;
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            return None;
        }
        let name = self.name();
        Some(match self {
            Self::Products | Self::Stock | Self::People => format!(
                "The file isn't JSON Lines. If it is CSV, `docgate import csv {name} FILE` imports it."
            ),
            Self::Categories | Self::Discussions | Self::World => format!(
                "The file isn't JSON Lines: {name} are imported from one JSON object per line."
            ),
        })
    }

    /// Imports lines; the results have the same order. It is idempotent. `first_try` is kept between the tries of the same
    /// lines; the first one sets it.
    ///
    /// # Errors
    /// MongoDB doesn't answer. Some of the lines may have been stored.
    pub(super) async fn import(
        self,
        app: &App,
        lines: &[(u64, Line)],
        first_try: &mut Option<DateTime>,
    ) -> Result<Vec<LineResult>, Error> {
        match self {
            Self::Categories => import_categories(app, lines).await,
            Self::People => {
                import_batch(lines, async |all: &[_]| people::import::import(app, all).await).await
            }
            Self::Products => {
                import_batch(lines, async |all: &[_]| catalog::import::import(app, all).await).await
            }
            Self::Stock => {
                let import = async |all: &[_]| inventory::import::import(app, all, first_try).await;
                import_batch(lines, import).await
            }
            Self::Discussions => {
                import_batch(lines, async |all: &[_]| comments::import::import(app, all).await)
                    .await
            }
            Self::World => {
                import_batch(lines, async |all: &[_]| game::import::import(app, all).await).await
            }
        }
    }
}

impl Kind {
    /// Checks lines as the import would, each by itself, and changes nothing. Of products, what `earlier` lines would have
    /// claimed is looked at too. Lines of a world can't be checked.
    ///
    /// # Errors
    /// MongoDB doesn't answer.
    pub(super) async fn check(
        self,
        app: &App,
        lines: &[(u64, Line)],
        earlier: &mut catalog::import::Earlier,
    ) -> Result<Vec<LineResult>, Error> {
        match self {
            Self::Products => {
                let check = async |all: &[_]| catalog::import::check(app, all, earlier).await;
                import_batch(lines, check).await
            }
            Self::Stock => {
                import_batch(lines, async |all: &[_]| {
                    inventory::import::check_lines(app, all).await
                })
                .await
            }
            Self::People => {
                import_batch(lines, async |all: &[_]| Ok(people::import::check(all))).await
            }
            Self::Categories => {
                import_batch(lines, async |all: &[_]| Ok(categories::import::check(all))).await
            }
            Self::Discussions => {
                import_batch(lines, async |all: &[_]| comments::import::check(app, all).await).await
            }
            Self::World => Err(Error::internal("lines of this kind can't be checked")),
        }
    }
}

/// Imports all parsable lines with one call; the results have the order of the lines.
async fn import_batch<T: DeserializeOwned, A: Into<LineResult>>(
    lines: &[(u64, Line)],
    import: impl AsyncFnOnce(&[T]) -> Result<Vec<A>, Error>,
) -> Result<Vec<LineResult>, Error> {
    let mut results = Vec::with_capacity(lines.len());
    let mut valid = Vec::new();
    let mut positions = Vec::new();
    for (position, (_, line)) in lines.iter().enumerate() {
        match parse::<T>(line) {
            Ok(parsed) => {
                valid.push(parsed);
                positions.push(position);
                results.push(LineResult::Imported);
            }
            Err(other) => results.push(other),
        }
    }
    let imported = import(&valid).await?;
    for (position, imported) in positions.into_iter().zip(imported) {
        results[position] = imported.into();
    }
    Ok(results)
}

/// Imports categories one by one, because a child needs its parent.
async fn import_categories(app: &App, lines: &[(u64, Line)]) -> Result<Vec<LineResult>, Error> {
    let mut results = Vec::with_capacity(lines.len());
    for (_, line) in lines {
        let result = match parse(line) {
            Ok(category) => match categories::import::import(app, category).await {
                Ok(_) => LineResult::Imported,
                Err(Error::BadInput { field, reason }) => {
                    LineResult::Skipped(Fault::of_field(&field, reason))
                }
                Err(error) => return Err(error),
            },
            Err(other) => other,
        };
        results.push(result);
    }
    Ok(results)
}

fn parse<T: DeserializeOwned>(line: &Line) -> Result<T, LineResult> {
    match line {
        Line::Bad(reason) => Err(LineResult::Skipped(Fault::of_line(reason))),
        Line::Unfit(fault) => Err(LineResult::Skipped(fault.clone())),
        Line::Text(text) if text.trim().is_empty() => Err(LineResult::Blank),
        Line::Text(text) | Line::Rows(text, _) => serde_json::from_str(text)
            .map_err(|fault| LineResult::Skipped(Fault::of_text::<T>(text, &fault))),
    }
}
