//! The kinds of data that can be imported.

use serde::de::DeserializeOwned;

use super::{faults::Fault, lines::Line};
use crate::{
    app::App,
    domains::{catalog, categories, comments, inventory, people},
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
}

/// The result of a line.
pub(super) enum Brought {
    /// The line is stored, by this import or an earlier one.
    In,
    /// The line is empty.
    Blank,
    /// The line can't be used, with the reason.
    Skipped(Fault),
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
        }
    }

    /// The objects in the lines, in the plural.
    pub(super) fn things(self) -> &'static str {
        match self {
            Self::Stock => "receipts of stock",
            Self::Discussions => "comments and reviews",
            Self::Categories | Self::People | Self::Products => self.name(),
        }
    }

    /// Imports lines; the results have the same order. It is idempotent.
    ///
    /// # Errors
    /// MongoDB doesn't answer. Some of the lines may have been stored.
    pub(super) async fn bring(
        self,
        app: &App,
        lines: &[(u64, Line)],
    ) -> Result<Vec<Brought>, Error> {
        match self {
            Self::Categories => each_category(app, lines).await,
            Self::People => {
                together(lines, async |all: &[_]| people::import::import(app, all).await).await
            }
            Self::Products => {
                together(lines, async |all: &[_]| catalog::import::import(app, all).await).await
            }
            Self::Stock => {
                together(lines, async |all: &[_]| inventory::import::import(app, all).await).await
            }
            Self::Discussions => {
                together(lines, async |all: &[_]| comments::import::import(app, all).await).await
            }
        }
    }
}

/// Imports all parsable lines with one call; the results have the order of the lines.
async fn together<T: DeserializeOwned>(
    lines: &[(u64, Line)],
    bring: impl AsyncFnOnce(&[T]) -> Result<Vec<Result<(), InvalidInput>>, Error>,
) -> Result<Vec<Brought>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    let mut sound = Vec::new();
    let mut positions = Vec::new();
    for (position, (_, line)) in lines.iter().enumerate() {
        match parsed::<T>(line) {
            Ok(parsed) => {
                sound.push(parsed);
                positions.push(position);
                answers.push(Brought::In);
            }
            Err(other) => answers.push(other),
        }
    }
    let said = bring(&sound).await?;
    for (position, said) in positions.into_iter().zip(said) {
        if let Err(invalid) = said {
            answers[position] = Brought::Skipped(invalid.into());
        }
    }
    Ok(answers)
}

/// Imports categories one by one, because a child needs its parent.
async fn each_category(app: &App, lines: &[(u64, Line)]) -> Result<Vec<Brought>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    for (_, line) in lines {
        let answer = match parsed(line) {
            Ok(category) => match categories::import::import(app, category).await {
                Ok(_) => Brought::In,
                Err(Error::BadInput { field, reason }) => {
                    Brought::Skipped(Fault::of_field(&field, reason))
                }
                Err(error) => return Err(error),
            },
            Err(other) => other,
        };
        answers.push(answer);
    }
    Ok(answers)
}

fn parsed<T: DeserializeOwned>(line: &Line) -> Result<T, Brought> {
    match line {
        Line::Bad(reason) => Err(Brought::Skipped(Fault::of_line(reason))),
        Line::Text(text) if text.trim().is_empty() => Err(Brought::Blank),
        Line::Text(text) => serde_json::from_str(text)
            .map_err(|fault| Brought::Skipped(Fault::of_text::<T>(text, &fault))),
    }
}
