//! What can be brought in.

use serde::de::DeserializeOwned;

use super::lines::Line;
use crate::{
    app::App,
    domains::{catalog, categories},
    error::Error,
};

/// One kind of line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// See [`catalog::ImportProduct`].
    Products,
    /// See [`categories::import::ImportCategory`].
    Categories,
}

/// What became of a line.
pub(super) enum Brought {
    /// It is in, now or since before.
    In,
    /// Nothing stood on it.
    Blank,
    /// It can't be used; why.
    Skipped(String),
}

impl Kind {
    /// Its name, in the plural.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Products => "products",
            Self::Categories => "categories",
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
            Self::Products => products(app, lines).await,
            Self::Categories => each_category(app, lines).await,
        }
    }
}

async fn products(app: &App, lines: &[(u64, Line)]) -> Result<Vec<Brought>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    let mut sound = Vec::new();
    let mut positions = Vec::new();
    for (position, (_, line)) in lines.iter().enumerate() {
        match parsed::<catalog::ImportProduct>(line) {
            Ok(product) => {
                sound.push(product);
                positions.push(position);
                answers.push(Brought::In);
            }
            Err(other) => answers.push(other),
        }
    }
    let said = catalog::import::import(app, &sound).await?;
    for (position, said) in positions.into_iter().zip(said) {
        if let Err(reason) = said {
            answers[position] = Brought::Skipped(reason);
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
                    Brought::Skipped(format!("{field}: {reason}"))
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
        Line::Bad(reason) => Err(Brought::Skipped(reason.clone())),
        Line::Text(text) if text.trim().is_empty() => Err(Brought::Blank),
        Line::Text(text) => serde_json::from_str(text).map_err(|fault| {
            // The parser counts its one line too; the file's line number is told beside it.
            Brought::Skipped(fault.to_string().replace(" at line 1 column", " at column"))
        }),
    }
}
