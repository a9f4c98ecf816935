//! Relay connections with keyset pages. A cursor holds the sort keys of its document, so that a page stays
//! correct when documents are inserted or deleted, and every page costs the same.

use async_graphql::{
    OutputType,
    connection::{Connection, Edge},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use mongodb::bson::{self, Bson, Document};
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    error::Error,
    mongo::{collection::List, keyset},
};

/// Default page size.
pub(crate) const DEFAULT: i32 = 20;
/// Maximum page size.
pub(crate) const MOST: i32 = 100;

/// A list in a certain order. Its keys are the sort keys; the last one is unique.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name of the list with its arguments. A cursor of another list is refused.
    pub list: String,
    /// Field paths and directions (1 or -1).
    pub keys: Vec<(&'static str, i32)>,
}

/// Validated arguments of one page.
#[derive(Debug, Clone)]
pub struct Page {
    order: Order,
    first: i64,
    after: Option<Vec<Bson>>,
    signature: String,
}

impl Page {
    /// Validates `first` and `after` for a list in `order`.
    ///
    /// # Errors
    /// `BadInput` with the name of the argument: `first` is out of range, or the cursor is damaged or belongs
    /// to another list.
    pub fn new(
        app: &App,
        order: Order,
        first: Option<i32>,
        after: Option<&str>,
    ) -> Result<Self, Error> {
        let first = first.unwrap_or(DEFAULT);
        if !(1..=MOST).contains(&first) {
            return Err(Error::bad_input("first", format!("must be between 1 and {MOST}")));
        }
        let signature = app.ids().signature(&["cursor", &order.list]);
        let after = after.map(|cursor| decode(cursor, &signature, order.keys.len())).transpose()?;
        Ok(Self { order, first: i64::from(first), after, signature })
    }

    /// The query of the page: `filter`, restricted to what follows the cursor. It reads one document more
    /// than the page size, from which `hasNextPage` is known.
    pub fn list(&self, filter: Document) -> List {
        let keys = &self.order.keys;
        let filter = match &self.after {
            Some(after) => keyset::beyond(filter, keys, after),
            None => filter,
        };
        List { filter, sort: keyset::sort(keys), limit: self.first + 1, ..List::default() }
    }

    /// Sort keys after which the page begins; `None` for the first page.
    pub fn after(&self) -> Option<&[Bson]> {
        self.after.as_deref()
    }

    /// A page of the maximum size of the same list, after these sort keys. It is for callers that skip some
    /// of the documents they read and need more.
    #[must_use]
    pub fn further(&self, after: Vec<Bson>) -> Self {
        Self { after: Some(after), first: MOST.into(), ..self.clone() }
    }

    /// Number of documents to read: the page size plus one.
    pub fn wanted(&self) -> usize {
        usize::try_from(self.first + 1).unwrap_or(usize::MAX)
    }

    /// Builds the connection from the documents that were read; `values` returns the sort keys of a document.
    pub fn connection<T, N: OutputType>(
        &self,
        mut documents: Vec<T>,
        values: impl Fn(&T) -> Vec<Bson>,
        node: impl Fn(T) -> N,
    ) -> Connection<String, N> {
        let has_next = i64::try_from(documents.len()).is_ok_and(|count| count > self.first);
        documents.truncate(usize::try_from(self.first).unwrap_or(usize::MAX));
        let mut connection = Connection::new(self.after.is_some(), has_next);
        connection.edges.extend(documents.into_iter().map(|document| {
            let cursor = encode(values(&document), &self.signature);
            Edge::new(cursor, node(document))
        }));
        connection
    }
}

/// Content of a cursor: the signature of its list, and the sort keys of its document.
#[derive(Serialize, Deserialize)]
struct Cursor {
    list: String,
    keys: Vec<Bson>,
}

fn encode(keys: Vec<Bson>, signature: &str) -> String {
    let cursor = Cursor { list: signature.to_owned(), keys };
    BASE64.encode(bson::serialize_to_vec(&cursor).unwrap_or_default())
}

fn decode(cursor: &str, signature: &str, keys: usize) -> Result<Vec<Bson>, Error> {
    let foreign = || Error::bad_input("after", "isn't a cursor of this list");
    let bytes = BASE64.decode(cursor).map_err(|_| foreign())?;
    let cursor: Cursor = bson::deserialize_from_slice(&bytes).map_err(|_| foreign())?;
    // Only values that are compared; a pattern or a document could change the meaning of the query.
    let plain = |value: &Bson| {
        matches!(
            value,
            Bson::String(_)
                | Bson::Int32(_)
                | Bson::Int64(_)
                | Bson::Double(_)
                | Bson::DateTime(_)
                | Bson::Boolean(_)
        )
    };
    let sound =
        cursor.list == signature && cursor.keys.len() == keys && cursor.keys.iter().all(plain);
    if sound { Ok(cursor.keys) } else { Err(foreign()) }
}
