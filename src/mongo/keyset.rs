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
        Bson::Document(branch)
    };
    let branches: Vec<Bson> = (0..keys.len()).map(branch).collect();
    let behind = doc! { "$or": branches };
    // It follows from the branches, but only said like this it bounds one scan of the index: else a
    // page may be found by looking at all the pages before.
    let bound = keys.iter().zip(values).next().map(|((field, direction), value)| {
        let not_before = if *direction > 0 { "$gte" } else { "$lte" };
        doc! { *field: { not_before: value } }
    });
    both(filter, both(bound.unwrap_or_default(), behind))
}

/// The sort of a command.
pub fn sort(keys: &[SortKey]) -> Document {
    keys.iter().map(|(field, direction)| ((*field).to_owned(), Bson::Int32(*direction))).collect()
}
