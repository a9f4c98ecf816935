//! Pages by the values of their sort keys ("keyset" or "seek" paging, Markus Winand,
//! <https://use-the-index-luke.com/no-offset>): a page begins right behind a document's values
//! instead of after so many documents.

use mongodb::bson::{Bson, Document, doc};

use super::expression::both;

/// Field path and direction (1 or -1) of one sort key.
pub type SortKey = (&'static str, i32);

/// `filter`, narrowed to what comes behind the document with these `values` of `keys`.
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
    // Each branch carries the whole filter: then each is an index range of its own, and the server
    // merges them in order. With the filter outside, it would walk from the list's beginning.
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
