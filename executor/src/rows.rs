//! Mutation fields that are resolved together. The fields of a mutation are resolved one after the other. Some rooms
//! can make the changes of several fields at once and give each field the result that it would have in its turn. A field that
//! could be one of several can also be resolved in this way by itself.

use futures_util::future::BoxFuture;
use upstream::{Context, Positioned, ServerResult, Value, parser::types::Field};

/// Resolves fields that follow each other; one result for each. The results are the same as if the fields were
/// resolved one after the other.
pub type Resolve =
    for<'a, 'b> fn(&'b [Context<'a>]) -> BoxFuture<'b, Vec<ServerResult<Option<Value>>>>;

/// A kind of fields that are resolved together if they follow each other.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Whether the field is one of them.
    pub takes: fn(&Field) -> bool,
    /// Whether `resolve` takes such a field also by itself.
    pub takes_alone: fn(&Field) -> bool,
    /// Resolves them.
    pub resolve: Resolve,
}

/// The rows of a schema. They are data of the schema.
#[derive(Debug, Default)]
pub struct Rows(pub Vec<Row>);

impl Rows {
    /// The row with which `fields` begin, and its length. `None` if their first field is resolved by itself.
    pub(crate) fn first(&self, fields: &[&Positioned<Field>]) -> Option<(Resolve, usize)> {
        self.0.iter().find_map(|row| {
            let count = fields.iter().take_while(|field| (row.takes)(&field.node)).count();
            let is_row = match *fields {
                [first, ..] if count == 1 => (row.takes_alone)(&first.node),
                _ => count > 1,
            };
            is_row.then_some((row.resolve, count))
        })
    }
}
