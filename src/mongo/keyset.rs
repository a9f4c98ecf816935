//! Keyset pages ("keyset" or "seek" paging, Markus Winand, <https://use-the-index-luke.com/no-offset>): a
//! page starts after the sort keys of a document instead of after a number of documents.

use mongodb::bson::{Bson, Document, doc};

use super::expression::both;

/// Field path and direction (1 or -1) of one sort key.
pub type SortKey = (&'static str, i32);

/// `filter`, restricted to documents after the one with these `values` of `keys`.
pub fn beyond(filter: Document, keys: &[SortKey], values: &[Bson]) -> Document {
    // (a, b) > (x, y)  is  a > x  or  a = x and b > y; likewise for more keys.
    let branch = |depth: usize| {
        let mut branch: Document = keys[..depth]
            .iter()
            .zip(values)
            .map(|((field, _), value)| ((*field).to_owned(), value.clone()))
            .collect();
        let (field, direction) = keys[depth];
        let further = if direction > 0 { "$gt" } else { "$lt" };
        branch.insert(field, doc! { further: values[depth].clone() });
        branch
    };
    // Each branch contains the whole filter. Each is then a separate index range, and the server merges the
    // ranges in order. With the filter outside of `$or`, it would scan from the list's beginning.
    let whole = |depth: usize| both(filter.clone(), branch(depth));
    match keys.len() {
        1 => whole(0),
        depth => doc! { "$or": (0..depth).map(whole).collect::<Vec<_>>() },
    }
}

/// The sort of a command.
pub fn sort(keys: &[SortKey]) -> Document {
    keys.iter().map(|(field, direction)| ((*field).to_owned(), Bson::Int32(*direction))).collect()
}
