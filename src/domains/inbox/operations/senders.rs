//! Limits how many recipients a user writes to in an hour. A message counts once for each of its recipients, so one
//! message to many users counts as many messages do.
//!
//! The limit is the generic cell rate algorithm, on the server's clock. Each recipient takes a part of an hour, and the
//! sum of these parts may reach at most one hour ahead of the present. So a user who has sent nothing for an hour may
//! write to all `message_recipients_per_hour` at once. Another user may write to as many as the time since the last
//! messages allows. The limit holds over all gateways.

use mongodb::bson::DateTime;

use super::super::{
    documents::SenderDocument,
    store::{self, HOUR, senders},
};
use crate::{
    graphql::prelude::*,
    mongo::{Version, collection::Timed, expression::millis},
};

/// Maximum number of tries against concurrent calls.
const TRIES: usize = 20;

/// Checks that a user may write to this number of recipients at all.
///
/// # Errors
/// The refusal.
pub(super) fn demand_few(app: &App, to: &[String]) -> Result<(), InvalidInput> {
    let most = app.config().message_recipients_per_hour;
    if u32::try_from(to.len()).is_ok_and(|count| count <= most) {
        return Ok(());
    }
    let reason =
        format!("takes at most {most} recipients, as many as a user may write to in an hour");
    Err(InvalidInput::new("toUserIds", reason))
}

/// Counts the recipients of a message for its sender, once for each op. `now` is the server's time, or a little earlier.
/// If the call is cut before it has stored the message, a repeat with the same key isn't counted again.
///
/// # Errors
/// `RateLimited`: nothing was counted. `Unavailable`: it can be repeated.
pub(super) async fn count(
    app: &App,
    by: &str,
    op: &Op,
    recipients: usize,
    now: DateTime,
) -> Result<()> {
    let most = i64::from(app.config().message_recipients_per_hour).max(1);
    let parts = i64::try_from(recipients).unwrap_or(i64::MAX).saturating_mul(millis(HOUR));
    let time = parts / most + i64::from(parts % most > 0);
    for _ in 0..TRIES {
        if store::count_sent(app, by, &op.id, time).held().await? {
            return Ok(());
        }
        if let Some(Timed { now, document }) = senders(app).get_timed_settled(by).await? {
            let ahead = document.until.max(now).timestamp_millis() - now.timestamp_millis();
            let excess = ahead.saturating_add(time).saturating_sub(millis(HOUR));
            if excess > 0 {
                let reason = "too many messages, counted by recipients";
                return Err(Error::rate_limited_for(reason, excess));
            }
            continue;
        }
        let until = DateTime::from_millis(now.timestamp_millis().saturating_add(time));
        let counted = vec![op.id.clone()];
        let sender = SenderDocument { id: by.to_owned(), until, counted, v: Version };
        if senders(app).insert(&sender).await.decided()?.is_some() {
            return Ok(());
        }
    }
    Err(Error::unavailable("the number of the sender's messages keeps changing"))
}
