//! Comments and reviews of products in bulk: `docgate import discussions`.
//!
//! ```json
//! {"sku": "ALB-1", "key": "c-1", "author": "ann", "at": "2024-05-01T12:00:00Z", "text": "Which pressing?"}
//! {"sku": "ALB-1", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00Z", "text": "The first.",
//!  "replyTo": {"key": "c-1"}}
//! {"sku": "ALB-1", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "A wonder.", "stars": 5}
//! ```
//!
//! A comment is known by its key, a review by its author: their ids are made from these, so that a line can
//! be imported again at any time. What is there stays as it is. See `operations/bulk.rs` for how they are
//! posted.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::operations::{Known, Line, TEXT, post_all};
use crate::{
    app::App,
    error::Error,
    graphql::{input, refusals::InvalidInput},
    mongo::lease::Lease,
};

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportComment {
    /// The product.
    pub sku: String,
    /// The shop's own key of a comment; a review has none.
    #[serde(default)]
    pub key: Option<String>,
    /// Subject of who wrote it.
    pub author: String,
    /// When it was posted, as RFC 3339 has it.
    pub at: String,
    /// What it says.
    pub text: String,
    /// One to five, of a review.
    #[serde(default)]
    pub stars: Option<i32>,
    /// What a comment replies to; absent where it replies to nothing.
    #[serde(default)]
    pub reply_to: Option<ReplyTo>,
}

/// What a comment replies to, on the same product.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyTo {
    /// The comment that was imported under this key.
    Key(String),
    /// The review by this author.
    ReviewBy(String),
}

/// Lines that are posted within one run.
const BATCH: usize = 250;
/// Products whose lines are posted at a time.
const AT_ONCE: usize = 16;
/// Imports go one after the other: see `operations/bulk.rs`.
const LOCK: &str = "comments.import";
/// Longest subject, in bytes.
const SUBJECT: usize = 128;

/// Imports `lines`; answers for each of them, in their order, why it was refused.
///
/// # Errors
/// `Unavailable` or `Internal`: some of the lines may have been imported, import them again.
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
    let (lease, run) = Lease::wait_for(app.collection(), LOCK, holder, app.bounds()).await?;
    let mut answers = Vec::with_capacity(lines.len());
    let mut products: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for (position, line) in lines.iter().enumerate() {
        let checked = checked(app, position, line, run.now());
        answers.push(checked.map(|(sku, line)| products.entry(sku).or_default().push(line)));
    }
    let posted = stream::iter(products)
        .map(async |(sku, lines)| post_all(app, &run, &sku, lines).await)
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
) -> Result<(String, Line), InvalidInput> {
    let sku = input::key("sku", &line.sku)?;
    let author = subject("author", &line.author)?;
    if let Some(stars) = line.stars {
        input::within("stars", stars.into(), 1..=5)?;
    }
    let known = match (&line.key, line.stars) {
        (Some(key), None) => Known::Comment(input::key("key", key)?),
        (None, Some(_)) => Known::Review(author.clone()),
        (None, None) => {
            let reason = "is missing: a comment is known by it, only reviews (`stars`) have none";
            return Err(InvalidInput::new("key", reason));
        }
        (Some(_), Some(_)) => {
            return Err(InvalidInput::new("key", "isn't for reviews: those are known by author"));
        }
    };
    let reply_to = match &line.reply_to {
        None => None,
        Some(_) if line.stars.is_some() => {
            return Err(InvalidInput::new("replyTo", "isn't for reviews"));
        }
        Some(ReplyTo::Key(key)) => Some(Known::Comment(input::key("replyTo.key", key)?)),
        Some(ReplyTo::ReviewBy(author)) => {
            Some(Known::Review(subject("replyTo.reviewBy", author)?))
        }
    };
    let line = Line {
        position,
        known,
        author,
        at: checked_time(&line.at, now)?,
        text: input::text("text", &line.text, 1..=TEXT)?,
        stars: line.stars,
        reply_to,
        origin: app.ids().op(&["importComment"], None, line).input,
    };
    Ok((sku, line))
}

/// What tokens take as a subject.
fn subject(field: &str, subject: &str) -> Result<String, InvalidInput> {
    if subject.is_empty() || subject.len() > SUBJECT {
        return Err(InvalidInput::new(field, format!("takes 1 to {SUBJECT} bytes")));
    }
    Ok(subject.to_owned())
}

/// A time that isn't in the future. Before 1970 the order of threads would be another than that of time.
fn checked_time(at: &str, now: DateTime) -> Result<DateTime, InvalidInput> {
    let invalid = |reason| InvalidInput::new("at", reason);
    let at = DateTime::parse_rfc3339_str(at)
        .map_err(|_| invalid("takes a time such as 2024-05-01T12:00:00Z"))?;
    if at > now || at.timestamp_millis() < 0 {
        return Err(invalid("takes a time between 1970 and now"));
    }
    Ok(at)
}
