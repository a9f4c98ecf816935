//! Bulk import of comments and reviews of products: `docgate import discussions`.
//!
//! ```json
//! {"sku": "ALB-1", "key": "c-1", "author": "ann", "at": "2024-05-01T12:00:00Z", "text": "Which pressing?"}
//! {"sku": "ALB-1", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00Z", "text": "The first.",
//!  "replyTo": {"key": "c-1"}}
//! {"sku": "ALB-1", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "A wonder.", "stars": 5}
//! ```
//!
//! A comment is identified by its key, a review by its author. Their ids are derived from these, so that a
//! line can be imported again at any time. Existing comments stay unchanged. `operations/bulk.rs` describes
//! how comments are posted.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::operations::{Line, TEXT, post_all};
use crate::{
    app::App,
    error::Error,
    flow::lease::Lease,
    graphql::{input, refusals::InvalidInput},
};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportComment {
    /// SKU of the product.
    pub sku: String,
    /// The shop's own key of a comment; reviews have none.
    #[serde(default)]
    pub key: Option<String>,
    /// Subject of the author.
    pub author: String,
    /// Time of the comment in RFC 3339 format.
    pub at: String,
    /// Text of the comment.
    pub text: String,
    /// Stars of a review, one to five.
    #[serde(default)]
    pub stars: Option<i32>,
    /// The comment that this one replies to; absent at the top level.
    #[serde(default)]
    pub reply_to: Option<ImportKey>,
}

/// Identity of a comment on a product across imports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ImportKey {
    /// A comment: the key under which it was imported.
    #[serde(rename = "key")]
    Comment(String),
    /// A review: its author.
    #[serde(rename = "reviewBy")]
    Review(String),
}

impl ImportKey {
    /// Checks the key of a comment to reply to.
    fn checked(&self) -> Result<Self, InvalidInput> {
        match self {
            Self::Comment(key) => Ok(Self::Comment(input::key("replyTo.key", key)?)),
            Self::Review(author) => Ok(Self::Review(subject("replyTo.reviewBy", author)?)),
        }
    }
}

/// Lines that are posted within one attempt.
const BATCH: usize = 250;
/// Products whose lines are posted in parallel.
const AT_ONCE: usize = 16;
/// Lease of imports: only one runs at a time, see `operations/bulk.rs`.
const LOCK: &str = "comments.import";
/// Maximum length of a subject, in bytes.
const SUBJECT: usize = 128;

/// Imports `lines`. Returns for each line, in the same order, why it was refused, if it was.
///
/// # Errors
/// Some of the lines may have been imported; the import can be repeated.
pub async fn import(
    app: &App,
    lines: &[ImportComment],
) -> Result<Vec<Result<(), InvalidInput>>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        answers.extend(import_batch(app, batch).await?);
    }
    Ok(answers)
}

async fn import_batch(
    app: &App,
    lines: &[ImportComment],
) -> Result<Vec<Result<(), InvalidInput>>, Error> {
    let holder = app.ids().random();
    let (lease, attempt) = Lease::wait_for(app.collection(), LOCK, holder, app.bounds()).await?;
    let mut answers = Vec::with_capacity(lines.len());
    let mut products: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for (position, line) in lines.iter().enumerate() {
        let checked = checked(app, position, line, attempt.now());
        let add = |line: Line| products.entry(line.comment.sku.clone()).or_default().push(line);
        answers.push(checked.map(add));
    }
    let posted = stream::iter(products)
        .map(async |(sku, lines)| post_all(app, &attempt, &sku, lines).await)
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<_>>()
        .await;
    lease.end(posted.is_ok()).await;
    for (position, refused) in posted?.into_iter().flatten() {
        answers[position] = Err(refused);
    }
    Ok(answers)
}

fn checked(
    app: &App,
    position: usize,
    line: &ImportComment,
    now: DateTime,
) -> Result<Line, InvalidInput> {
    let sku = input::key("sku", &line.sku)?;
    let author = subject("author", &line.author)?;
    if let Some(stars) = line.stars {
        input::within("stars", stars.into(), 1..=5)?;
    }
    let key = match (&line.key, line.stars) {
        (Some(key), None) => ImportKey::Comment(input::key("key", key)?),
        (None, Some(_)) => ImportKey::Review(author.clone()),
        (None, None) => {
            let reason = "is missing: a comment is known by it, only reviews (`stars`) have none";
            return Err(InvalidInput::new("key", reason));
        }
        (Some(_), Some(_)) => {
            return Err(InvalidInput::new(
                "key",
                "isn't allowed for reviews: each is identified by its author",
            ));
        }
    };
    if line.reply_to.is_some() && line.stars.is_some() {
        return Err(InvalidInput::new("replyTo", "isn't allowed for reviews"));
    }
    let reply_to = line.reply_to.as_ref().map(ImportKey::checked).transpose()?;
    let at = checked_time(&line.at, now)?;
    let text = input::text("text", &line.text, 1..=TEXT)?;
    let origin = app.ids().op(&["importComment"], None, line).input;
    let comment = ImportComment { sku, author, text, reply_to, ..line.clone() };
    Ok(Line { position, key, at, origin, comment })
}

/// Checks a subject by the rules for subjects of tokens.
fn subject(field: &str, subject: &str) -> Result<String, InvalidInput> {
    if subject.is_empty() || subject.len() > SUBJECT {
        return Err(InvalidInput::new(field, format!("takes 1 to {SUBJECT} bytes")));
    }
    Ok(subject.to_owned())
}

/// Parses a time that isn't in the future. Times before 1970 are refused: they would break the order of
/// threads.
fn checked_time(at: &str, now: DateTime) -> Result<DateTime, InvalidInput> {
    let invalid = |reason| InvalidInput::new("at", reason);
    let at = DateTime::parse_rfc3339_str(at)
        .map_err(|_| invalid("takes a time such as 2024-05-01T12:00:00Z"))?;
    if at > now || at.timestamp_millis() < 0 {
        return Err(invalid("takes a time between 1970 and now"));
    }
    Ok(at)
}
