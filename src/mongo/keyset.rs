//! Keyset pages ("keyset" or "seek" paging, Markus Winand, <https://use-the-index-luke.com/no-offset>): a
//! page starts after the sort keys of a document instead of after a number of documents.

use mongodb::bson::{Bson, Document, doc};

use super::expression::both;

/// Field path and direction (1 or -1) of one sort key.
pub type SortKey = (&'static str, i32);

/// `filter`, restricted to documents after the one with these `values` of `keys`.
///
/// If a field has one of several values (`$in`), the list consists of a range of an index for each of them, which the server merges
/// in order. It does so only if the filter bounds each range by the first key. Otherwise it reads all documents behind the cursor,
/// and sorts them. So the filter demands at least the first key of the cursor. Then the server also examines the documents with
/// just this key, which are few if the key is a time.
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
    if keys.len() > 1 && has_several_ranges(&filter) {
        let (field, direction) = keys[0];
        let from = if direction > 0 { "$gte" } else { "$lte" };
        let branches: Vec<_> = (0..keys.len()).map(branch).collect();
        return both(filter, doc! { field: { from: values[0].clone() }, "$or": branches });
    }
    // Each branch contains the whole filter. Each is then a separate index range, and the server merges the
    // ranges in order. With the filter outside of `$or`, it would scan from the list's beginning.
    let whole = |depth: usize| both(filter.clone(), branch(depth));
    match keys.len() {
        1 => whole(0),
        depth => doc! { "$or": (0..depth).map(whole).collect::<Vec<_>>() },
    }
}

/// Whether a field of the filter has one of several values.
fn has_several_ranges(filter: &Document) -> bool {
    filter.iter().any(|(field, condition)| match condition {
        Bson::Document(condition) => condition.contains_key("$in"),
        Bson::Array(all) if field == "$and" => {
            all.iter().filter_map(Bson::as_document).any(has_several_ranges)
        }
        _ => false,
    })
}

/// The sort of a command.
pub fn sort(keys: &[SortKey]) -> Document {
    keys.iter().map(|(field, direction)| ((*field).to_owned(), Bson::Int32(*direction))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [SortKey; 2] = [("at", -1), ("_id", 1)];

    #[test]
    fn a_page_begins_behind_its_cursor_in_each_of_two_ranges() {
        let found = beyond(doc! { "of": "a" }, &KEYS, &[Bson::Int32(5), Bson::from("x")]);
        let (of, at) = (doc! { "of": "a" }, 5);
        let expected = doc! { "$or": [
            { "$and": [of.clone(), { "at": { "$lt": at } }] },
            { "$and": [of, { "at": at, "_id": { "$gt": "x" } }] },
        ] };
        assert_eq!(found, expected);
        let found = beyond(Document::new(), &[("_id", -1)], &[Bson::from("x")]);
        assert_eq!(found, doc! { "_id": { "$lt": "x" } });
    }

    #[test]
    fn ranges_of_several_values_are_restricted_by_their_first_key() {
        let of = doc! { "of": { "$in": ["a", "b"] } };
        for of in [of.clone(), doc! { "$and": [of, { "v": 1 }] }] {
            let found = beyond(of.clone(), &KEYS, &[Bson::Int32(5), Bson::from("x")]);
            let behind = [doc! { "at": { "$lt": 5 } }, doc! { "at": 5, "_id": { "$gt": "x" } }];
            let rest = doc! { "at": { "$lte": 5 }, "$or": behind.to_vec() };
            assert_eq!(found, doc! { "$and": [of.clone(), rest] });
            let found = beyond(of.clone(), &[("_id", 1)], &[Bson::from("x")]);
            assert_eq!(found, doc! { "$and": [of, { "_id": { "$gt": "x" } }] });
        }
    }
}
