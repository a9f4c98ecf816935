//! Stored documents of events.

use mongodb::bson::{RawDocumentBuf, raw::cstr};

use crate::mongo::prelude::*;

/// Version of the documents' shape.
const SHAPE: i32 = 1;

document! {
    /// A request that was logged.
    pub struct EventDocument {
        /// Its call and its position in it, or its file, its offset there and its content.
        pub id as "_id": String,
        /// Time of the request.
        pub at: DateTime,
        /// Address or name of the client's host.
        pub host: String,
        /// Site that was requested.
        pub site: String,
        /// Path of the URL; the text of the request if it had none.
        pub path: String,
        /// Query of the URL, without the question mark.
        pub query?: String,
        /// Method of HTTP.
        pub method?: String,
        /// Status of the response.
        pub status?: i32,
        /// Bytes of the response.
        pub bytes?: i64,
        /// The header `Referer`.
        pub referrer?: String,
        /// The header `User-Agent`.
        pub user_agent?: String,
        /// User of the site.
        pub user?: String,
        /// Time at which it was logged.
        pub arrived_at: DateTime,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    } in "events" of Log {
        // The name is what its commands are counted as. The documents are in collections of months.
        plain(BY_PATH, "path at _id", "events by path"),
        plain(BY_HOST, "host at _id", "events by host"),
        plain(BY_TIME, "at _id site path",
            "events by day, and requests by day and page, which read no documents"),
    }

    /// A call of `logEvents` with an idempotency key.
    pub struct CallDocument {
        /// The op.
        pub id as "_id": String,
        /// How the ids of its events are made, and the digest of its input.
        pub input: String,
        /// Time of the first call, which is that of its events without a time.
        pub at: DateTime,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    } in "eventCalls" of Log {
        plain("at", "at", "sweep: calls that needn't be remembered"),
    }
}

document! {
    /// What is imported of a log into one sink.
    pub struct ImportDocument {
        /// The log and the sink.
        pub id as "_id": String,
        /// Offset up to which its lines are imported.
        pub done: i64,
        /// Number of these lines.
        pub lines: i64,
        /// Offset and length of the last of these lines.
        pub tail_at: i64,
        /// See `tail_at`.
        pub tail_length: i64,
        /// Digest of that line, by which the log is recognised.
        pub tail: String,
        /// Offset up to which the next lines are counted together.
        pub planned?: i64,
        /// Time at which it was written.
        pub at: DateTime,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    } in "eventImports" of Log by unsharded("it has one document for each imported log") {
        plain("at", "at", "sweep: logs whose events are too old by now"),
    }
}

/// Name of an index.
pub(super) const BY_PATH: &str = "path";
/// Name of an index.
pub(super) const BY_HOST: &str = "host";
/// Name of an index.
pub(super) const BY_TIME: &str = "at";

/// A request that is to be logged, with checked values.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Time of the request, in milliseconds since 1970.
    pub at: i64,
    /// See [`EventDocument`] for this and the others.
    pub host: &'a str,
    /// Site that was requested.
    pub site: &'a str,
    /// Path of the URL.
    pub path: &'a str,
    /// Query of the URL.
    pub query: Option<&'a str>,
    /// Method of HTTP.
    pub method: Option<&'a str>,
    /// Status of the response.
    pub status: Option<i32>,
    /// Bytes of the response.
    pub bytes: Option<i64>,
    /// The header `Referer`.
    pub referrer: Option<&'a str>,
    /// The header `User-Agent`.
    pub user_agent: Option<&'a str>,
    /// User of the site.
    pub user: Option<&'a str>,
}

/// What a stored event takes up beside its texts, at most, in bytes.
const BESIDE_TEXTS: usize = 200;
/// A document without fields.
const EMPTY: [u8; 5] = [5, 0, 0, 0, 0];

impl Event<'_> {
    /// The stored document. It is written field by field, which costs a tenth of what serde's way does.
    pub(super) fn stored(&self, id: &str, arrived: DateTime) -> RawDocumentBuf {
        let optional = [self.query, self.method, self.referrer, self.user_agent, self.user];
        let texts = [id, self.host, self.site, self.path];
        let texts = texts.into_iter().chain(optional.into_iter().flatten());
        // It has room for everything at once, because a document grows with each field otherwise.
        let mut empty = Vec::with_capacity(BESIDE_TEXTS + texts.map(str::len).sum::<usize>());
        empty.extend_from_slice(&EMPTY);
        let mut stored = RawDocumentBuf::from_bytes(empty).unwrap_or_default();
        stored.append(cstr!("_id"), id);
        stored.append(cstr!("at"), DateTime::from_millis(self.at));
        stored.append(cstr!("host"), self.host);
        stored.append(cstr!("site"), self.site);
        stored.append(cstr!("path"), self.path);
        for (name, value) in [
            (cstr!("query"), self.query),
            (cstr!("method"), self.method),
            (cstr!("referrer"), self.referrer),
            (cstr!("userAgent"), self.user_agent),
            (cstr!("user"), self.user),
        ] {
            if let Some(value) = value {
                stored.append(name, value);
            }
        }
        if let Some(status) = self.status {
            stored.append(cstr!("status"), status);
        }
        if let Some(bytes) = self.bytes {
            stored.append(cstr!("bytes"), bytes);
        }
        stored.append(cstr!("arrivedAt"), arrived);
        stored.append(cstr!("v"), SHAPE);
        stored
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson;

    use super::*;

    #[test]
    fn an_event_is_stored_as_its_document_is_read() {
        let event = Event {
            at: 1_700_000_000_123,
            host: "2001:db8::1",
            site: "shop.example",
            path: "/a.b/$c",
            query: Some("d=e"),
            method: Some("GET"),
            status: Some(200),
            bytes: Some(5_000_000_000),
            referrer: Some("https://example.org/"),
            user_agent: Some("ä"),
            user: Some("ann"),
        };
        let (id, arrived) = ("one", DateTime::from_millis(1_700_000_001_000));
        let few = Event { query: None, status: None, bytes: None, user: None, ..event };
        for event in [event, few] {
            let stored = event.stored(id, arrived);
            let read: EventDocument =
                bson::deserialize_from_slice(stored.as_bytes()).expect("it fits");
            let EventDocument { query, status, bytes, user, .. } = &read;
            let optional = (query.as_deref(), *status, *bytes, user.as_deref());
            assert_eq!(optional, (event.query, event.status, event.bytes, event.user));
            assert_eq!((read.id.as_str(), read.at.timestamp_millis()), (id, event.at));
            assert_eq!(
                (read.path.as_str(), read.user_agent.as_deref()),
                (event.path, event.user_agent)
            );
            assert_eq!(read.arrived_at, arrived);
        }
    }
}
