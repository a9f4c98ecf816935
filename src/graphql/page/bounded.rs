//! Pages of lists in which few of many documents are visible to the caller.

use std::borrow::Cow;

use async_graphql::{
    Object, OutputType, TypeName,
    connection::{CursorType, Edge, EmptyFields, PageInfo},
};

use super::{Connection, Cursor};

/// A page whose request examined a bounded number of documents. It may have ended before it was full, even without any element.
/// Then `hasNextPage` is true, and the next page goes on at `endCursor`. The library's own connection takes `endCursor` only
/// from the last element.
///
/// In the schema it is the same type as [`Connection`]. A list of these elements has one of the two.
pub struct BoundedConnection<N: OutputType> {
    /// The page.
    pub page: Connection<N>,
    /// Cursor of the place where the page ended, if it ended early.
    end: Option<String>,
}

impl<N: OutputType> BoundedConnection<N> {
    /// A page that ended early at the cursor `end`, if there is one. The last element gets the same cursor, because clients
    /// take `endCursor` for that of the last element.
    pub(super) fn new(mut page: Connection<N>, end: Option<String>) -> Self {
        if let Some(end) = &end {
            page.has_next_page = true;
            if let Some(last) = page.edges.last_mut() {
                last.cursor = Cursor::Encoded(end.clone());
            }
        }
        Self { page, end }
    }

    /// Whether the page ended before it was full.
    pub fn is_early(&self) -> bool {
        self.end.is_some()
    }
}

/// A page of a list.
#[Object(name_type, shareable)]
impl<N: OutputType> BoundedConnection<N> {
    /// Cursors of the ends of the page.
    async fn page_info(&self) -> PageInfo {
        let cursor = |edge: &Edge<Cursor, N, EmptyFields>| edge.cursor.encode_cursor();
        PageInfo {
            has_previous_page: self.page.has_previous_page,
            has_next_page: self.page.has_next_page,
            start_cursor: self.page.edges.first().map(cursor),
            end_cursor: self.end.clone().or_else(|| self.page.edges.last().map(cursor)),
        }
    }

    /// Elements of the page with their cursors.
    async fn edges(&self) -> &[Edge<Cursor, N, EmptyFields>] {
        &self.page.edges
    }

    /// Elements of the page without cursors.
    async fn nodes(&self) -> Vec<&N> {
        self.page.edges.iter().map(|edge| &edge.node).collect()
    }
}

impl<N: OutputType> TypeName for BoundedConnection<N> {
    fn type_name() -> Cow<'static, str> {
        <Connection<N> as OutputType>::type_name()
    }
}
