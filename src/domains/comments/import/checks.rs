//! The checks of lines, by themselves and for a dry run.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    super::operations::{TEXT, read},
    AT_ONCE, ImportComment, ImportKey, Line, NO_PRODUCT, closed, product,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Maximum length of a subject, in bytes.
const SUBJECT: usize = 128;

/// Checks `lines` as the import would, each by itself, and changes nothing. Returns for each of them, in the same order, why it
/// would be refused, if it would be. Stored comments, such as those that are replied to, aren't looked at.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn check(app: &App, lines: &[ImportComment]) -> Result<Vec<Result<(), InvalidInput>>> {
    let now = app.clock();
    let lines = stream::iter(lines.iter().enumerate());
    let answers = lines.map(|(position, line)| would_import(app, position, line, now));
    answers.buffered(AT_ONCE).try_collect().await
}

async fn would_import(
    app: &App,
    position: usize,
    line: &ImportComment,
    now: DateTime,
) -> Result<Result<(), InvalidInput>> {
    let line = match checked(position, line, now) {
        Ok(line) => line,
        Err(invalid) => return Ok(Err(invalid)),
    };
    let anyone = Requester::default();
    let cx = Cx { app, requester: &anyone };
    let unusable = match read::<NotFound>(cx, &product(&line.comment.sku)?).await {
        Ok((_, on)) => on.as_ref().and_then(closed),
        Err(Stop::Refused(_)) => Some(NO_PRODUCT),
        Err(Stop::Failed(error)) => return Err(error),
    };
    Ok(unusable.map_or(Ok(()), |reason| Err(InvalidInput::new("sku", reason))))
}

/// Checks a line by itself.
pub(super) fn checked(
    position: usize,
    line: &ImportComment,
    now: DateTime,
) -> Result<Line, InvalidInput> {
    let sku = input::key("sku", &line.sku)?;
    let author = subject("author", &line.author)?;
    if let Some(stars) = line.stars {
        input::within("stars", stars.into(), 1..=5)?;
    }
    let invalid = |field, reason| Err(InvalidInput::new(field, reason));
    let key = match (&line.key, line.stars) {
        (Some(key), None) => ImportKey::Comment(input::key("key", key)?),
        (None, Some(_)) if line.reply_to.is_some() => {
            return invalid("replyTo", "isn't allowed for reviews");
        }
        (None, Some(_)) => ImportKey::Review(author.clone()),
        (None, None) => {
            let reason = "is missing: a comment is known by it, only reviews (`stars`) have none";
            return invalid("key", reason);
        }
        (Some(_), Some(_)) => {
            return invalid("key", "isn't allowed for reviews: each is identified by its author");
        }
    };
    let reply_to = line.reply_to.as_ref().map(ImportKey::checked).transpose()?;
    let at = checked_time(&line.at, now)?;
    let text = input::text("text", &line.text, 1..=TEXT)?;
    let origin = Op::digest(line);
    let comment = ImportComment { sku, author, text, reply_to, ..line.clone() };
    Ok(Line { position, key, at, origin, comment })
}

/// Checks a subject by the rules for subjects of tokens.
pub(super) fn subject(field: &str, subject: &str) -> Result<String, InvalidInput> {
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
