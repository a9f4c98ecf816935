//! GraphQL types of events.

use async_graphql::{Enum, OneofObject, SimpleObject};

use super::{documents::EventDocument, operations::AT_ONCE};
use crate::{
    config::Concern,
    graphql::{
        bulk::bulk_input,
        many::Many,
        prelude::*,
        scalars::{DateTime, int},
    },
};

/// Checks a text of an event. It is stored as it is, and may contain any character but control characters.
pub(super) fn check_text(
    field: &'static str,
    text: Option<&str>,
) -> Result<(), (&'static str, String)> {
    let Some(text) = text else { return Ok(()) };
    let most = match field {
        "host" | "user" => 255,
        "method" => 32,
        _ => 8_192,
    };
    if text.is_empty() || text.len() > most {
        return Err((field, format!("takes 1 to {most} bytes")));
    }
    // Most texts are in ASCII. Without an early end, the loop checks several bytes at once.
    let has_control = if text.is_ascii() {
        text.bytes().fold(false, |found, byte| found | byte.is_ascii_control())
    } else {
        text.chars().any(char::is_control)
    };
    if has_control { Err((field, "holds control characters".into())) } else { Ok(()) }
}

/// Checks the name of a site, which reports have as well.
///
/// # Errors
/// The reason.
pub fn check_site(name: &str) -> Result<(), String> {
    const LONGEST: usize = 200;
    // Most names are visible ASCII characters, which are all permitted.
    if (1..=LONGEST).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    input::line("site", name, 1..=LONGEST).map(|_| ()).map_err(|invalid| invalid.reason)
}

/// When `logEvents` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum, serde::Serialize)]
pub enum EventDurability {
    /// At once, before MongoDB has the events. They are lost if the gateway or MongoDB fails in the next moments. The
    /// answer can't tell of it.
    Unacknowledged,
    /// When the primary has them in memory. They are lost if the primary fails within the next moments.
    Acknowledged,
    /// When the primary has them in its journal on disk. They are lost if another member becomes primary before it has
    /// copied them.
    Journaled,
    /// When a majority of MongoDB's members has them in their journals. Then they aren't lost.
    Majority,
}

impl EventDurability {
    /// What a write concern of the configuration promises.
    pub(super) fn of(concern: Concern) -> Self {
        match concern {
            Concern::Primary => Self::Acknowledged,
            Concern::Journal => Self::Journaled,
            Concern::Majority => Self::Majority,
        }
    }

    /// What is waited for; `None` if nothing is.
    pub(super) fn concern(self) -> Option<Concern> {
        match self {
            Self::Unacknowledged => None,
            Self::Acknowledged => Some(Concern::Primary),
            Self::Journaled => Some(Concern::Journal),
            Self::Majority => Some(Concern::Majority),
        }
    }

    /// What it doesn't promise.
    fn caveat(self) -> Option<&'static str> {
        match self {
            Self::Unacknowledged => Some(
                "MongoDB hasn't got the events yet. If the gateway stops, or MongoDB doesn't answer or rejects them, they \
                 are lost without notice.",
            ),
            Self::Acknowledged => Some(
                "Only the primary has the events, in memory. They are lost if it fails before it has written and \
                 copied them.",
            ),
            Self::Journaled => Some(
                "Only the primary's disk is sure to have the events. They are lost if another member becomes primary before \
                 it has copied them.",
            ),
            Self::Majority => None,
        }
    }
}

bulk_input! {
    /// A request that is to be logged. Texts are stored as they are. They may contain every character but control
    /// characters.
    pub struct EventInput: Element {
        /// Time of the request. It can be up to a minute ahead of the gateway's clock, and can't be older than the time for
        /// which events are kept. Default: the time of the call.
        pub at: Option<DateTime>,
        /// Address or name of the client's host, 1 to 255 bytes.
        pub host: String,
        /// Site that was requested, such as `shop.example`, 1 to 200 characters on one line.
        pub site: String,
        /// Path of the URL, such as `/music/jazz`, 1 to 8,192 bytes.
        pub path: String,
        /// Query of the URL, without the question mark, 1 to 8,192 bytes.
        pub query: Option<String>,
        /// Method, such as `GET`, 1 to 32 bytes.
        pub method: Option<String>,
        /// Status of the response, 0 to 999.
        pub status: Option<i32>,
        /// Length of the response in bytes.
        pub bytes: Option<Long>,
        /// Header `Referer` of the request, 1 to 8,192 bytes.
        pub referrer: Option<String>,
        /// Header `User-Agent` of the request, 1 to 8,192 bytes.
        pub user_agent: Option<String>,
        /// User of the site, 1 to 255 bytes.
        pub user: Option<String>,
    }

    /// Input of `logEvents`.
    pub struct LogEventsInput {
        /// Events to log, 1 to 1,000, with 8 MiB at most together.
        pub events: Many<EventInput> where number,
        /// When to answer. Default: `MAJORITY`, unless the operator sets another one.
        pub durability: Option<EventDurability>,
        /// Idempotency key, 1 to 128 characters. A repeat with the same key logs no event again. It can't be used with
        /// `UNACKNOWLEDGED`.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

/// Checks the number of events. Each of them is checked by itself.
fn number(field: &str, events: &mut Many<EventInput>) -> Result<(), InvalidInput> {
    input::at_least_one(field, events, AT_ONCE)
}

/// An event that wasn't logged.
#[derive(Debug, SimpleObject)]
pub struct EventFailure {
    /// Position of the event in the call, from 0.
    pub index: i32,
    /// Field of the event that is invalid, such as `path`. Null if it isn't a single field.
    pub field: Option<String>,
    /// What is wrong with it.
    pub reason: String,
}

impl EventFailure {
    /// The failure of the event at this position.
    pub(super) fn new(position: usize, field: Option<&str>, reason: impl Into<String>) -> Self {
        let index = i32::try_from(position).unwrap_or(i32::MAX);
        Self { index, field: field.map(str::to_owned), reason: reason.into() }
    }
}

/// Result of a successful `logEvents`. Some of the events, or all, may have failed.
#[derive(Debug, SimpleObject)]
pub struct EventsLogged {
    /// Number of events that were logged, or with `UNACKNOWLEDGED` will be. Events that an earlier call with the same
    /// `idempotencyKey` has logged are included.
    pub count: i32,
    /// What was waited for.
    pub durability: EventDurability,
    /// Whether MongoDB has acknowledged the events. False with `UNACKNOWLEDGED`.
    pub is_acknowledged: bool,
    /// What this durability doesn't promise, for people. Null with `MAJORITY`.
    pub caveat: Option<String>,
    /// Events that weren't logged, in their order. With `UNACKNOWLEDGED` only the invalid ones are known.
    pub failures: Vec<EventFailure>,
}

impl EventsLogged {
    pub(super) fn new(
        count: usize,
        durability: EventDurability,
        failures: Vec<EventFailure>,
    ) -> Self {
        Self {
            count: i32::try_from(count).unwrap_or(i32::MAX),
            durability,
            is_acknowledged: durability.concern().is_some(),
            caveat: durability.caveat().map(str::to_owned),
            failures,
        }
    }
}

result! {
    /// Result of `logEvents`: how many events were logged and which weren't, or a refusal, after which none was.
    /// `Conflict`: this `idempotencyKey` was used with another input.
    pub enum LogEventsResult:
        EventsLogged | Conflict | InvalidInput;
}

/// Filter of a list of events. Exactly one field must be set. Each is served by an index.
#[derive(Debug, OneofObject)]
pub enum EventsBy {
    /// Events of this path, of all sites.
    Path(String),
    /// Events of this host.
    Host(String),
    /// Events of this day in UTC.
    Day(Date),
}

object! {
    /// A request that was logged.
    pub type Event = EventDocument as event {
        /// Time of the request.
        at: DateTime = event.at.into(),
        /// Address or name of the client's host.
        host: &str = &event.host,
        /// Site that was requested.
        site: &str = &event.site,
        /// Path of the URL. If the imported line had no URL, it is the text of the request.
        path: &str = &event.path,
        /// Query of the URL, without the question mark.
        query: Option<&str> = event.query.as_deref(),
        /// Method, such as `GET`.
        method: Option<&str> = event.method.as_deref(),
        /// Status of the response.
        status: Option<i32> = event.status,
        /// Length of the response in bytes.
        bytes: Option<Long> = event.bytes.map(Long),
        /// Header `Referer` of the request.
        referrer: Option<&str> = event.referrer.as_deref(),
        /// Header `User-Agent` of the request.
        user_agent: Option<&str> = event.user_agent.as_deref(),
        /// User of the site.
        user: Option<&str> = event.user.as_deref(),
        /// Time at which the event was logged or imported.
        arrived_at: DateTime = event.arrived_at.into(),
    }
}

/// The requests of one day in UTC.
#[derive(Debug, SimpleObject)]
pub struct RequestsOfDay {
    /// Day in UTC on which the requests were made.
    pub day: Date,
    /// Number of requests.
    pub requests: Long,
    /// Pages with the most requests, most first.
    pub pages: Vec<RequestsOfPage>,
}

/// The requests of a page on one day.
#[derive(Debug, SimpleObject)]
pub struct RequestsOfPage {
    /// Site of the page.
    pub site: String,
    /// Path of the page.
    pub path: String,
    /// Number of requests.
    pub requests: i32,
}

impl RequestsOfPage {
    pub(super) fn new(site: String, path: String, requests: i64) -> Self {
        Self { site, path, requests: int(requests) }
    }
}
