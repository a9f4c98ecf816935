//! What can be brought in.

use serde::de::DeserializeOwned;

use super::{faults::Fault, lines::Line};
use crate::{
    app::App,
    domains::{catalog, categories, comments, inventory, people},
    error::Error,
    graphql::refusals::InvalidInput,
};

/// One kind of line.
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

/// What became of a line.
pub(super) enum Brought {
    /// It is in, now or since before.
    In,
    /// Nothing stood on it.
    Blank,
    /// It can't be used; why.
    Skipped(Fault),
}

impl Kind {
    /// Its name, as it stands on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Categories => "categories",
            Self::People => "people",
            Self::Products => "products",
            Self::Stock => "stock",
            Self::Discussions => "discussions",
        }
    }

    /// What its lines hold, in the plural.
    pub(super) fn things(self) -> &'static str {
        match self {
            Self::Stock => "receipts of stock",
            Self::Discussions => "comments and reviews",
            Self::Categories | Self::People | Self::Products => self.name(),
        }
    }

    /// Brings lines in; the answers are in their order. Doing it twice is the same as once.
    ///
    /// # Errors
    /// MongoDB doesn't answer: some of the lines may be in.
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

/// Brings in what can be read, all of it by one call; the answers are in the order of the lines.
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

/// One after the other: a child needs its parent.
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
