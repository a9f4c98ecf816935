//! Pages of lists for sweeps. A document that can't be decoded doesn't fail its page: it was damaged by hand, or a newer gateway
//! has written it, and the others don't wait for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mongodb::bson::{Bson, DateTime, RawBsonRef, RawDocument, RawDocumentBuf};

use super::{Stored, driver::stored_id};
use crate::{error::Error, locks::lock};

/// Time for which a gateway doesn't log again that a document can't be decoded.
const PAUSE: Duration = Duration::from_secs(3_600);
/// Maximum number of such documents that it logs in this time.
const MOST_LOGGED: usize = 1_000;

/// A document of a list that is ordered by time.
#[derive(Debug)]
pub struct Swept<T> {
    /// Its `_id`, as text.
    pub id: String,
    /// The time by which the list has it.
    pub at: Option<DateTime>,
    /// The document; `None` if it can't be decoded.
    pub document: Option<T>,
}

impl<T> Swept<T> {
    /// The same with another item, made of the document.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> Option<U>) -> Swept<U> {
        let Self { id, at, document } = self;
        Swept { id, at, document: document.and_then(make) }
    }
}

/// A page of a list that is ordered by time.
pub type SweptPage<T> = Vec<Swept<T>>;

/// Decodes the documents of a collection. The list is ordered by the times from `from` on at the path `field`.
pub(super) fn decoded<T: Stored>(
    (collection, logged): (&'static str, &Logged),
    (field, from): (&str, DateTime),
    found: Vec<Arc<RawDocumentBuf>>,
) -> SweptPage<T> {
    let path: Vec<&str> = field.split('.').collect();
    let decode = |stored: Arc<RawDocumentBuf>| {
        let id = id_of(&stored);
        let at = earliest(RawBsonRef::Document(&stored), &path, from);
        let document = T::read(stored).inspect_err(|error| logged.log(collection, &id, error));
        Swept { id, at, document: document.ok() }
    };
    found.into_iter().map(decode).collect()
}

/// The documents that a gateway has logged because they can't be decoded.
#[derive(Debug, Default)]
pub(super) struct Logged(Mutex<HashMap<String, Instant>>);

impl Logged {
    /// Logs a document, unless it was logged a short time ago, or many others were.
    pub(super) fn log(&self, collection: &str, id: &str, error: &Error) {
        if self.is_new(format!("{collection} {id}")) {
            tracing::warn!(
                event = "document_unreadable",
                collection,
                id,
                ?error,
                "a document can't be read; it is passed over, and the others of its list aren't held up"
            );
        }
    }

    fn is_new(&self, document: String) -> bool {
        let mut logged = lock(&self.0);
        let is_recent = |since: &Instant| since.elapsed() < PAUSE;
        if logged.get(&document).is_some_and(is_recent) {
            return false;
        }
        if logged.len() >= MOST_LOGGED {
            logged.retain(|_, since| is_recent(since));
        }
        if logged.len() >= MOST_LOGGED {
            return false;
        }
        logged.insert(document, Instant::now());
        true
    }
}

/// The `_id` of a stored document, as text.
pub(super) fn id_of(stored: &RawDocument) -> String {
    match stored_id(stored) {
        Ok(Bson::String(id)) => id,
        Ok(id) => id.to_string(),
        Err(_damaged) => String::new(),
    }
}

/// The earliest time at a path that isn't before `from`. An array on the path stands for its elements.
fn earliest(value: RawBsonRef<'_>, path: &[&str], from: DateTime) -> Option<DateTime> {
    match (value, path) {
        (RawBsonRef::Array(all), _) => {
            let elements = all.into_iter().map_while(Result::ok);
            elements.filter_map(|one| earliest(one, path, from)).min()
        }
        (RawBsonRef::DateTime(at), []) => Some(at).filter(|at| *at >= from),
        (RawBsonRef::Document(fields), [field, rest @ ..]) => {
            earliest(fields.get(field).ok()??, rest, from)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{doc, serialize_to_raw_document_buf};

    use super::*;

    #[test]
    fn a_document_is_logged_once_in_a_while_and_not_too_many_are() {
        let logged = Logged::default();
        assert!(logged.is_new("a".to_owned()));
        assert!(!logged.is_new("a".to_owned()));
        let new = (0..2 * MOST_LOGGED).filter(|number| logged.is_new(number.to_string()));
        assert_eq!(new.count(), MOST_LOGGED - 1);
    }

    #[test]
    fn the_time_of_a_list_is_found_at_its_path() {
        let at = DateTime::from_millis;
        let stored = doc! {
            "_id": 7, "at": at(3), "text": "at",
            "outbox": [{ "at": at(9) }, { "at": at(5) }, { "at": "?" }, {}, 1],
            "due": { "at": at(4) },
        };
        let stored = serialize_to_raw_document_buf(&stored).expect("a document");
        assert_eq!(id_of(&stored), "7");
        for (path, from, found) in [
            (&["at"][..], 0, Some(3)),
            (&["at"], 3, Some(3)),
            (&["at"], 4, None),
            (&["due", "at"], 0, Some(4)),
            (&["outbox", "at"], 0, Some(5)),
            (&["outbox", "at"], 6, Some(9)),
            (&["outbox", "at"], 10, None),
            (&["outbox"], 0, None),
            (&["text"], 0, None),
            (&["text", "at"], 0, None),
            (&["none", "at"], 0, None),
        ] {
            let time = earliest(RawBsonRef::Document(&stored), path, at(from));
            assert_eq!(time, found.map(at), "{path:?} from {from}");
        }
    }
}
