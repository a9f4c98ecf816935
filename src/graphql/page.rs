//! Relay connections with keyset cursors: a cursor holds the sort values of its document, so that
//! a page stays right when documents come and go, and no page costs more than another.

use async_graphql::{
    OutputType,
    connection::{Connection, Edge},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use mongodb::bson::{Bson, Document, doc};

use crate::{app::App, error::Error, mongo::collection::List};

/// Documents on a page that doesn't say how many.
const DEFAULT: i32 = 20;
/// Documents on a page at the most.
const MOST: i32 = 100;

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
    pub fn list(&self, mut filter: Document) -> List {
        let keys = &self.order.keys;
        if let Some(after) = &self.after {
            // (a, b) > (x, y)  is  a > x  or  a = x and b > y; likewise for more keys.
            let branches = (0..keys.len()).map(|depth| {
                let mut branch: Document = keys[..depth]
                    .iter()
                    .zip(after)
                    .map(|((field, _), value)| ((*field).to_owned(), value.clone()))
                    .collect();
                let (field, direction) = keys[depth];
                let beyond = if direction > 0 { "$gt" } else { "$lt" };
                branch.insert(field, doc! { beyond: after[depth].clone() });
                Bson::Document(branch)
            });
            let branches: Vec<Bson> = branches.collect();
            filter = crate::mongo::expression::both(filter, doc! { "$or": branches });
        }
        let sort =
            keys.iter().map(|(field, way)| ((*field).to_owned(), Bson::Int32(*way))).collect();
        List { filter, sort, limit: self.first + 1, ..List::default() }
    }

    /// The connection over what was read; `values` gives the sort values of a document.
    pub fn connection<T, N: OutputType>(
        &self,
        mut documents: Vec<T>,
        values: impl Fn(&T) -> Vec<Bson>,
        node: impl Fn(T) -> N,
    ) -> Connection<String, N> {
        let has_next = documents.len() as i64 > self.first;
        documents.truncate(usize::try_from(self.first).unwrap_or(usize::MAX));
        let mut connection = Connection::new(self.after.is_some(), has_next);
        connection.edges.extend(documents.into_iter().map(|document| {
            let cursor = encode(values(&document), &self.signature);
            Edge::new(cursor, node(document))
        }));
        connection
    }
}

fn encode(values: Vec<Bson>, signature: &str) -> String {
    let bytes = doc! { "s": signature, "k": values }.to_vec().unwrap_or_default();
    BASE64.encode(bytes)
}

fn decode(cursor: &str, signature: &str, keys: usize) -> Result<Vec<Bson>, Error> {
    let foreign = || Error::bad_input("after", "isn't a cursor of this list");
    let bytes = BASE64.decode(cursor).map_err(|_| foreign())?;
    let document = Document::from_reader(bytes.as_slice()).map_err(|_| foreign())?;
    let values = document.get_array("k").map_err(|_| foreign())?;
    let plain = |value: &Bson| {
        !matches!(value, Bson::Document(_) | Bson::Array(_) | Bson::RegularExpression(_))
    };
    let sound = document.get_str("s").is_ok_and(|list| list == signature)
        && values.len() == keys
        && values.iter().all(plain);
    if sound { Ok(values.clone()) } else { Err(foreign()) }
}
