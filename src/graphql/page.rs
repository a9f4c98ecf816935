//! Relay connections with keyset cursors: a cursor holds the sort values of its document, so that
//! a page stays right when documents come and go, and no page costs more than another.

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

/// Documents on a page that doesn't say how many.
pub(super) const DEFAULT: i32 = 20;
/// Documents on a page at the most.
pub(super) const MOST: i32 = 100;

/// A list in one order. Its fields are the sort keys, the last one unique.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name of the list with its arguments: a cursor of another list is refused.
    pub list: String,
    /// Field paths and directions (1 or -1).
    pub keys: Vec<(&'static str, i32)>,
}

/// Arguments of one page, checked.
#[derive(Debug, Clone)]
pub struct Page {
    order: Order,
    first: i64,
    after: Option<Vec<Bson>>,
    signature: String,
}

impl Page {
    /// Checks `first` and `after` for a list in `order`.
    ///
    /// # Errors
    /// `BadInput` naming the argument: `first` out of bounds, a cursor that is damaged or belongs
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

    /// The read: `filter` narrowed to what comes after the cursor, one more than asked for so that
    /// `hasNextPage` is known.
    pub fn list(&self, filter: Document) -> List {
        let keys = &self.order.keys;
        let filter = match &self.after {
            Some(after) => keyset::beyond(filter, keys, after),
            None => filter,
        };
        List { filter, sort: keyset::sort(keys), limit: self.first + 1, ..List::default() }
    }

    /// Values of the sort keys behind which the page begins, if it doesn't begin with the list.
    pub fn after(&self) -> Option<&[Bson]> {
        self.after.as_deref()
    }

    /// The same list behind these values of the sort keys, as much as a page can hold: for who leaves out some
    /// of what is read and goes on.
    #[must_use]
    pub fn further(&self, after: Vec<Bson>) -> Self {
        Self { after: Some(after), first: MOST.into(), ..self.clone() }
    }

    /// How many documents to read: one more than asked for.
    pub fn wanted(&self) -> usize {
        usize::try_from(self.first + 1).unwrap_or(usize::MAX)
    }

    /// The connection over what was read; `values` gives the sort values of a document.
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

/// A cursor as it goes to clients: which list it belongs to, and the sort values of its document.
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
    // Values are compared with; a pattern or a document would be matched instead.
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
