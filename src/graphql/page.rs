//! Relay connections with keyset pages. A cursor holds the sort keys of its document, so that a page stays
//! correct when documents are inserted or deleted, and every page costs the same.
//!
//! Every field that returns a connection has the arguments of [`ARGUMENTS`]. The schema adds them to all such
//! fields, and resolvers read them with [`paging`]. A list is read backwards by its reversed sort, which the
//! same index serves.

use std::sync::Arc;

use async_graphql::{
    Context, ObjectType, OutputType,
    connection::{self, Edge, EmptyFields},
};
use mongodb::bson::{Bson, Document};

use self::cursor::{decode, encode_hidden};
pub use self::{bounded::BoundedConnection, cursor::Cursor};
use crate::{
    app::App,
    error::Error,
    mongo::{Stored, collection::List, keyset},
};

mod bounded;
mod cursor;

/// A page of a list.
pub type Connection<N> = connection::Connection<Cursor, N>;

/// A page of a list that has the fields of `F` beside those of every connection.
pub type ConnectionWith<N, F> = connection::Connection<Cursor, N, F>;

/// Default page size.
pub(crate) const DEFAULT: i32 = 20;
/// Maximum page size.
pub(crate) const MAX: i32 = 100;

/// The arguments of every connection: name, type and description.
pub const ARGUMENTS: [(&str, &str, &str); 4] = [
    ("first", "Int", "Number of elements to return from the beginning, 1 to 100. Default: 20."),
    (
        "after",
        "String",
        "Cursor after which the page begins, such as `endCursor` of the previous page.",
    ),
    (
        "last",
        "Int",
        "Number of elements to return from the end, 1 to 100. It excludes `first` and `after`.",
    ),
    (
        "before",
        "String",
        "Cursor before which the page ends, such as `startCursor`. It needs `last`.",
    ),
];

/// The name of a type or field, and its description.
type Described = (&'static str, &'static str);

/// Descriptions of the types of connections and of their fields. A type is given by the end of its name.
pub const DESCRIPTIONS: [(Described, &[Described]); 3] = [
    (
        ("Connection", "A page of a list."),
        &[
            ("edges", "Elements of the page with their cursors, in the order of the list."),
            ("nodes", "Elements of the page without cursors, in the order of the list."),
            (
                "pageInfo",
                "Cursors of the ends of the page, and whether the list goes on beyond them.",
            ),
        ],
    ),
    (
        ("Edge", "An element of a list and its cursor."),
        &[
            (
                "cursor",
                "Position of the element in the list, for `after` and `before`. It is opaque.",
            ),
            ("node", "The element itself."),
        ],
    ),
    (
        ("PageInfo", "The ends of a page, to read the next or the previous page of the list."),
        &[
            (
                "endCursor",
                "Cursor of the end of the page, for `after`. Null if the page is empty and the list ends.",
            ),
            (
                "hasNextPage",
                "Whether elements follow, or may follow. With `last`: whether `before` is given.",
            ),
            (
                "hasPreviousPage",
                "With `last`: whether elements precede. Else: whether `after` is given.",
            ),
            (
                "startCursor",
                "Cursor of the first element, for `before`. Null if the page is empty.",
            ),
        ],
    ),
];

/// The arguments of a connection as the client sent them.
#[derive(Debug, Clone, Default)]
pub struct Paging {
    /// Page size, read forwards.
    pub first: Option<i32>,
    /// Cursor after which the page begins.
    pub after: Option<String>,
    /// Page size, read backwards.
    pub last: Option<i32>,
    /// Cursor before which the page ends.
    pub before: Option<String>,
}

/// The arguments of the connection that is being resolved.
///
/// # Errors
/// An argument has another type than [`ARGUMENTS`] declares.
pub fn paging(context: &Context<'_>) -> async_graphql::Result<Paging> {
    let number = |name| context.param_value::<Option<i32>>(name, None);
    let cursor = |name| context.param_value::<Option<String>>(name, None);
    // The library adds the position in the request again.
    let field_error = |error: async_graphql::ServerError| async_graphql::Error::new(error.message);
    Ok(Paging {
        first: number("first").map_err(field_error)?.1,
        after: cursor("after").map_err(field_error)?.1,
        last: number("last").map_err(field_error)?.1,
        before: cursor("before").map_err(field_error)?.1,
    })
}

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
    /// The order in which the page is read: backwards, every direction is reversed.
    order: Order,
    size: i64,
    /// Sort keys beyond which the page begins, in the direction in which it is read.
    from: Option<Vec<Bson>>,
    is_backward: bool,
    signature: Arc<str>,
}

impl Page {
    /// Validates the arguments of a list in `order`.
    ///
    /// # Errors
    /// `BadInput` with the name of the argument: a page size is out of range, a cursor is damaged or belongs to
    /// another list, or the arguments exclude each other.
    pub fn new(app: &App, mut order: Order, paging: Paging) -> Result<Self, Error> {
        let Paging { first, after, last, before } = paging;
        let is_backward = last.is_some();
        let (name, size) = if is_backward { ("last", last) } else { ("first", first) };
        if is_backward && (first.is_some() || after.is_some()) {
            return Err(Error::bad_input("last", "can't be combined with `first` or `after`"));
        }
        if before.is_some() && !is_backward {
            return Err(Error::bad_input("before", "needs `last`"));
        }
        let size = size.unwrap_or(DEFAULT);
        if !(1..=MAX).contains(&size) {
            return Err(Error::bad_input(name, format!("must be between 1 and {MAX}")));
        }
        let signature = app.ids().signature(&["cursor", &order.list]);
        let (name, cursor) = if is_backward { ("before", before) } else { ("after", after) };
        let from =
            cursor.map(|cursor| decode(name, &cursor, &signature, order.keys.len(), app.ids()));
        if is_backward {
            order.keys.iter_mut().for_each(|(_, direction)| *direction = -*direction);
        }
        let (size, from, signature) = (size.into(), from.transpose()?, signature.into());
        Ok(Self { order, size, from, is_backward, signature })
    }

    /// The query of the page: `filter`, restricted to documents after the cursor. It reads one document more than
    /// the page size, to find out whether there are more pages.
    pub fn list(&self, filter: Document) -> List {
        let keys = &self.order.keys;
        let filter = match &self.from {
            Some(from) => keyset::beyond(filter, keys, from),
            None => filter,
        };
        List { filter, sort: keyset::sort(keys), limit: self.size + 1, ..List::default() }
    }

    /// Sort keys beyond which the page begins, in the direction in which it is read; `None` if it begins at an end
    /// of the list.
    pub fn from(&self) -> Option<&[Bson]> {
        self.from.as_deref()
    }

    /// Whether the page is read from the end of the list to its beginning.
    pub fn is_backward(&self) -> bool {
        self.is_backward
    }

    /// Checks that the list is read forwards. This is for lists whose index can't be read backwards.
    ///
    /// # Errors
    /// `BadInput` that names `last`.
    pub fn demand_forward(&self) -> Result<(), Error> {
        if self.is_backward {
            return Err(Error::bad_input("last", "isn't supported by this list: use `first`"));
        }
        Ok(())
    }

    /// A page of the maximum size of the same list, beyond these sort keys. It is for callers that skip some
    /// documents of the page and need more.
    #[must_use]
    pub fn further(&self, from: Vec<Bson>) -> Self {
        Self { from: Some(from), size: MAX.into(), ..self.clone() }
    }

    /// Number of documents to read: the page size plus one.
    pub fn wanted(&self) -> usize {
        usize::try_from(self.size + 1).unwrap_or(usize::MAX)
    }

    /// Builds the connection from the documents in the order in which they were read; `values` returns the sort
    /// keys of a document.
    pub fn connection<T, N: OutputType>(
        &self,
        documents: Vec<T>,
        values: impl Fn(&T) -> Vec<Bson>,
        node: impl Fn(T) -> N,
    ) -> Connection<N> {
        self.connection_with(documents, values, node, EmptyFields)
    }

    /// Like [`Self::connection`], with further fields of the connection.
    pub fn connection_with<T, N: OutputType, F: ObjectType>(
        &self,
        mut documents: Vec<T>,
        values: impl Fn(&T) -> Vec<Bson>,
        node: impl Fn(T) -> N,
        further: F,
    ) -> ConnectionWith<N, F> {
        let has_more = documents.len() >= self.wanted();
        documents.truncate(self.wanted() - 1);
        let is_inside = self.from.is_some();
        let (has_previous, has_next) =
            if self.is_backward { (has_more, is_inside) } else { (is_inside, has_more) };
        if self.is_backward {
            documents.reverse();
        }
        let mut connection =
            ConnectionWith::with_additional_fields(has_previous, has_next, further);
        connection.edges.extend(documents.into_iter().map(|document| {
            let cursor = Cursor::Of(values(&document), Arc::clone(&self.signature));
            Edge::new(cursor, node(document))
        }));
        connection
    }

    /// Like [`Self::connection`], of a list that is read forwards and whose requests examine a bounded number of documents. `end` are
    /// the sort keys of the place where the read ended, if it ended before the page was full. The document there may be hidden from
    /// the caller, so the cursor doesn't reveal the keys.
    pub fn bounded<T, N: OutputType>(
        &self,
        app: &App,
        documents: Vec<T>,
        values: impl Fn(&T) -> Vec<Bson>,
        node: impl Fn(T) -> N,
        end: Option<Vec<Bson>>,
    ) -> BoundedConnection<N> {
        let end = end.map(|keys| encode_hidden(&keys, &self.signature, app.ids()));
        BoundedConnection::new(self.connection(documents, values, node), end)
    }
}

/// A page of the documents that have `value` in `field`, as a connection; see [`Page::connection`].
///
/// # Errors
/// As [`Page::new`], or the read failed.
pub async fn page_of<T: Stored, N: OutputType>(
    app: &App,
    order: Order,
    paging: Paging,
    (field, value): (&str, Bson),
    values: impl Fn(&T) -> Vec<Bson>,
    node: impl Fn(T) -> N,
) -> Result<Connection<N>, Error> {
    let page = Page::new(app, order, paging)?;
    let filter = Document::from_iter([(field.to_owned(), value)]);
    Ok(page.connection(app.collection().list(page.list(filter)).await?, values, node))
}
