//! Access to content and assets by role, and lists that contain only the entries which a reader may see.
//!
//! In each of its lists, a document is indexed once per audience, such as `everyone in /en` or `analyst tag
//! x`. The audiences of a document that is restricted to roles are these roles and the editors, who read
//! everything. A reader's list is therefore one index range per audience of the reader. A filter on top of
//! one range would examine entries that the reader may not see.

use mongodb::bson::{Bson, Document, doc};

use crate::{
    graphql::{input::TAGS, prelude::*},
    mongo::{
        condition::{Condition, contains, has_room},
        expression::{array, choose, count, literal},
    },
};

/// Audience of documents that aren't restricted to roles.
const EVERYONE: &str = "everyone";
/// Role that reads everything.
const EDITORS: &str = Role::Editor.name();

/// Whether the caller may see a document that is restricted to the roles in `access`. Readers see it once it
/// is published, editors always.
pub fn may_see(requester: &Requester, access: &[impl AsRef<str>], is_published: bool) -> bool {
    let is_for = |role: &&str| access.iter().any(|name| name.as_ref() == *role);
    requester.has(Role::Editor)
        || is_published && (access.is_empty() || requester.role_names().iter().any(is_for))
}

/// The rule of [`may_see`] as a condition on a document with its roles in `metadata.access`. `published` is the condition
/// that it is published.
pub fn seen_by(requester: &Requester, published: Condition) -> Condition {
    if requester.has(Role::Editor) {
        return Condition::All(Vec::new());
    }
    let own = requester.role_names().into_iter().map(|role| contains("metadata.access", role));
    let open = [has_room("metadata.access", 1)].into_iter().chain(own).collect();
    Condition::All(vec![published, Condition::Any(open)])
}

/// Checks the names of the roles that may read something. They become a sorted set.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn role_names(field: &str, names: &mut Vec<String>) -> Result<(), InvalidInput> {
    input::at_most(field, names, Role::ALL.len())?;
    if names.iter().any(|name| Role::from_name(name).is_none()) {
        let known = Role::ALL.map(Role::name).join(", ");
        return Err(InvalidInput::new(field, format!("takes names of roles: {known}")));
    }
    names.sort();
    names.dedup();
    Ok(())
}

/// Key of a list for one audience, as stored in `listed`.
fn listing(audience: &str, list: &str, of: &str) -> String {
    [audience, list, of].join(" ")
}

/// The value of `listed` for a document in these lists. The document is restricted to the roles in `access`;
/// if there are none, it is visible to everyone.
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

/// [`listed`] as an aggregation expression, of a document with its roles in `metadata.access`. `lists` is an expression of
/// an array of lists, each such as `tag x`.
pub fn listed_as(lists: impl Into<Bson>) -> Bson {
    let access = array("metadata.access");
    let audiences = choose(
        doc! { "$eq": [access.clone(), []] },
        literal(vec![EVERYONE]),
        doc! { "$setUnion": [access, [EDITORS]] },
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

/// Condition on `listed` for the entries of a list that the caller may see.
pub fn read_by(requester: &Requester, list: &str, of: &str) -> Bson {
    // One audience of the editors covers all restricted documents.
    let is_editor = requester.has(Role::Editor);
    let own = if is_editor { vec![EDITORS] } else { requester.role_names() };
    if own.is_empty() {
        return listing(EVERYONE, list, of).into();
    }
    let audiences = own.into_iter().chain([EVERYONE]);
    let all: Vec<_> = audiences.map(|audience| listing(audience, list, of)).collect();
    Bson::Document(doc! { "$in": all })
}

/// A change of `metadata.tags`, which is a sorted set and names some of the lists: its guard, which limits the number
/// of tags, and the field.
pub fn change_tags(add: &[String], remove: &[String]) -> (Document, Document) {
    let left = doc! { "$setDifference": [array("metadata.tags"), literal(remove.to_vec())] };
    let tags = doc! { "$setUnion": [left, literal(add.to_vec())] };
    let guard = doc! { "$expr": { "$lte": [{ "$size": &tags }, count(TAGS)] } };
    (guard, doc! { "metadata.tags": { "$sortArray": { "input": tags, "sortBy": 1 } } })
}
