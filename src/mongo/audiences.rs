//! Lists whose readers see different things in them, each one range of one index.
//!
//! A document stands in each of its lists once per audience: `everyone in /en`, `analyst tag x`. What is kept
//! for roles has each of these as an audience, and those who read everything. So a reader's list is one range
//! for each of the reader's audiences, whatever else there is; a filter behind one range would look at what the
//! reader may not see.

use mongodb::bson::{Bson, doc};

use super::expression::{array, choose, literal};

/// Whom everything is for that names no role.
pub const EVERYONE: &str = "everyone";
/// Who reads everything.
const EDITORS: &str = "editor";

/// The name of a list for one audience, as it stands in `listed`.
fn listing(audience: &str, list: &str, of: &str) -> String {
    [audience, list, of].join(" ")
}

/// `listed` of what is kept for the roles in `access`, or for everyone, and stands in these lists.
pub fn listed<'a>(
    access: &[String],
    lists: impl Iterator<Item = (&'static str, &'a str)> + Clone,
) -> Vec<String> {
    let mut audiences: Vec<_> = access.iter().map(String::as_str).collect();
    if audiences.is_empty() {
        audiences.push(EVERYONE);
    } else if !audiences.contains(&EDITORS) {
        audiences.push(EDITORS);
    }
    let of = |audience| lists.clone().map(move |(list, of)| listing(audience, list, of));
    audiences.into_iter().flat_map(of).collect()
}

/// Expression of [`listed`]: `access` is a field, `lists` the expression of an array of lists, each as in
/// `tag x`.
pub fn listed_as(access: &str, lists: impl Into<Bson>) -> Bson {
    let audiences = choose(
        doc! { "$eq": [array(access), []] },
        literal(vec![EVERYONE]),
        doc! { "$setUnion": [array(access), [EDITORS]] },
    );
    let of_one = doc! { "$map": {
        "input": "$$lists", "as": "list", "in": { "$concat": ["$$this", " ", "$$list"] },
    } };
    let all = doc! { "$reduce": {
        "input": audiences,
        "initialValue": [],
        "in": { "$concatArrays": ["$$value", of_one] },
    } };
    Bson::Document(doc! { "$let": { "vars": { "lists": lists.into() }, "in": all } })
}

/// Filter of `listed`: what one of these roles, of which a reader may have none, reads in a list.
pub fn read_by(roles: &[&str], list: &str, of: &str) -> Bson {
    // Who reads everything has one audience for all that isn't for everyone.
    let own: &[&str] = if roles.contains(&EDITORS) { &[EDITORS] } else { roles };
    if own.is_empty() {
        return listing(EVERYONE, list, of).into();
    }
    let audiences = own.iter().copied().chain([EVERYONE]);
    let all: Vec<_> = audiences.map(|audience| listing(audience, list, of)).collect();
    Bson::Document(doc! { "$in": all })
}
