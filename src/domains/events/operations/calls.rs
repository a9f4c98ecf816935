//! The ids of a call's events, and calls with an idempotency key, by which repeats are recognised.

use mongodb::bson::DateTime;

use super::{
    super::{
        calendar::Month,
        documents::CallDocument,
        store,
        types::{EventFailure, EventInput, LogEventsResult},
    },
    ByMonth, Times,
};
use crate::{
    graphql::prelude::*,
    mongo::{Outcome, Version},
};

/// Characters of a random id that precede the number of the event.
const RANDOM: usize = 14;
/// What precedes the digest of the input in a stored call whose events have the ids of [`Call::keyed`]. Older versions store
/// the digest alone. For one of them such a call has another input: it refuses a repeat, and logs nothing twice.
const BY_INPUT: &str = "input/";

/// What the events of a call have in common.
pub(super) struct Call {
    /// Beginning of the ids of events with a time.
    timed: String,
    /// Beginning of the ids of events without a time.
    untimed: String,
    /// Time of events without one.
    at: DateTime,
}

impl Call {
    /// A call without an idempotency key.
    pub(super) fn unkeyed(app: &App, now: DateTime) -> Self {
        // Ids of one time are adjacent in their index.
        let mut random = app.ids().random();
        random.truncate(RANDOM);
        Self::of(format!("{:08x}{random}", now.timestamp_millis() / 1_000), now)
    }

    /// A call with an idempotency key, which was first made at this time. The ids follow from the input too: once the key
    /// is forgotten, other events under it aren't taken for the first ones. Those without a time have another time then,
    /// so their ids follow from it as well.
    pub(super) fn keyed(app: &App, op: &Op, at: DateTime) -> Self {
        let moment = at.timestamp_millis().to_string();
        Self {
            timed: app.ids().derived(&["events", &op.id, &op.input]),
            untimed: app.ids().derived(&["events", &op.id, &op.input, &moment]),
            at,
        }
    }

    /// A call whose ids all begin alike.
    fn of(beginning: String, at: DateTime) -> Self {
        Self { timed: beginning.clone(), untimed: beginning, at }
    }

    /// Its events as they are stored, and those that are invalid.
    pub(super) fn batch(&self, events: &[EventInput], now: DateTime, times: &Times) -> Batch {
        let (mut months, mut failures, mut bytes) = (ByMonth::new(), Vec::new(), 0);
        let (at, mut id) = (self.at.timestamp_millis(), String::new());
        for (position, input) in events.iter().enumerate() {
            match input.valid(at, times) {
                Ok(event) => {
                    let beginning = if input.at.is_some() { &self.timed } else { &self.untimed };
                    id.clone_from(beginning);
                    add_position(&mut id, position);
                    let stored = event.stored(&id, now);
                    bytes += stored.as_bytes().len();
                    months.entry(Month::of(event.at)).or_default().push((position, stored));
                }
                Err((field, reason)) => {
                    failures.push(EventFailure::new(position, Some(field), reason));
                }
            }
        }
        Batch { months, failures, bytes }
    }
}

/// Adds the position of an event to the beginning of its id, in three hexadecimal digits.
fn add_position(id: &mut String, position: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    id.extend([8, 4, 0].map(|shift| char::from(DIGITS[(position >> shift) & 0xf])));
}

/// The events of a call.
pub(super) struct Batch {
    /// Those that are valid.
    pub(super) months: ByMonth,
    /// Those that are invalid.
    pub(super) failures: Vec<EventFailure>,
    /// Size of the valid ones, in bytes.
    pub(super) bytes: usize,
}

/// Remembers a call with an idempotency key. Returns the first call with this key, if this is a repeat of it.
pub(super) async fn first_call(
    app: &App,
    op: &Op,
    now: DateTime,
) -> Result<Option<Call>, Stop<LogEventsResult>> {
    let input = format!("{BY_INPUT}{}", op.input);
    let call = CallDocument { id: op.id.clone(), input: input.clone(), at: now, v: Version };
    match store::calls(app).insert(&call).await {
        Outcome::Applied(()) => Ok(None),
        Outcome::Unknown(error) => Err(error.into()),
        Outcome::Refused => {
            let first = store::calls(app).get_settled(&op.id).await?;
            let first = first.ok_or_else(|| Error::unavailable("the call isn't settled yet"))?;
            if first.input == input {
                Ok(Some(Call::keyed(app, op, first.at)))
            } else if first.input == op.input {
                // A gateway of an older version has stored it, and perhaps some of its events.
                Ok(Some(Call::of(op.id.clone(), first.at)))
            } else {
                Err(Conflict::other_input().into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::AT_ONCE, *};

    #[test]
    fn ids_end_with_positions() {
        for position in 0..=AT_ONCE {
            let mut id = "call".to_owned();
            add_position(&mut id, position);
            assert_eq!(id, format!("call{position:03x}"));
        }
    }
}
