//! The groups and shard keys of all collections, and the tables of `docs/PLACEMENT.md` and `docs/SHARDING.md`.

use std::{fmt::Write as _, ops::Deref};

use super::{
    OWN, ROOMS, broadcasts,
    room::{Later, Made},
};
use crate::mongo::{Group, indexes::Declared};

/// A collection, or collections of one kind. It dereferences to its declaration.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// The room that owns it; `flow` or `docgate` if all rooms use it.
    pub room: &'static str,
    /// Its declaration.
    pub declared: Declared,
    /// What it is, if the room creates it at run time.
    pub made: Option<Made>,
}

impl Deref for Placed {
    type Target = Declared;

    fn deref(&self) -> &Declared {
        &self.declared
    }
}

/// Every collection of every room, also of rooms that are switched off.
pub fn collections() -> Vec<Placed> {
    let own = ["flow", "docgate", "docgate"].into_iter().zip(OWN);
    let own = own.filter_map(|(of, documents)| Some((of, documents.declared?)));
    let declared = ROOMS.iter().flat_map(|room| room.collections().map(|one| (room.name, one)));
    let declared = own.chain(declared);
    let declared = declared.map(|(room, declared)| Placed { room, declared, made: None });
    let later = ROOMS.iter().flat_map(|room| room.later.iter().map(|one| (room.name, *one)));
    let later =
        later.map(|(room, Later { declared, made })| Placed { room, declared, made: Some(made) });
    declared.chain(later).collect()
}

/// The unique indexes that MongoDB can't enforce with the shard keys of their collections, each as a sentence.
pub fn misfits() -> Vec<String> {
    let of = |Placed { declared, .. }: Placed| {
        let misfits = declared.indexes.iter().filter(move |index| !declared.shard_key.fits(index));
        misfits.map(move |index| {
            format!(
                "{}: the unique index {:?} ({}) doesn't begin with the shard key {}",
                declared.name,
                index.name,
                index.keys,
                declared.shard_key.pattern().unwrap_or_default(),
            )
        })
    };
    collections().into_iter().flat_map(of).collect()
}

/// The table of shard keys in Markdown.
pub fn keys_as_markdown() -> String {
    let mut text = "| collection | room | shard key | why |\n|---|---|---|---|\n".to_owned();
    for Placed { room, declared: Declared { name, shard_key, .. }, .. } in collections() {
        let key = shard_key.pattern().map_or_else(|| "none".into(), |key| format!("`{key}`"));
        // Writing to a string doesn't fail.
        let _written = writeln!(text, "| `{name}` | {room} | {key} | {} |", shard_key.why());
    }
    text
}

/// The table of groups in Markdown.
pub fn groups_as_markdown() -> String {
    let mut text = "| group | collections | what they hold |\n|---|---|---|\n".to_owned();
    for (group, name, worth) in [
        (Group::Core, "core", "what flows decide by, and what nobody can enter again"),
        (Group::Activity, "activity", "traces of what people do, and copies of posts"),
        (Group::Log, "log", "events, which are kept for a while"),
    ] {
        let of_group = collections().into_iter().filter(|placed| placed.group == group);
        let mut names: Vec<_> = of_group.map(|placed| placed.name).collect();
        names.sort_unstable();
        let names = names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let _written = writeln!(text, "| `{name}` | {} | {worth} |", names.join(", "));
    }
    text
}

/// The table of broadcasts in Markdown.
pub fn broadcasts_as_markdown() -> String {
    let mut text = "| collection | command | filter | reason |\n|---|---|---|---|\n".to_owned();
    for one in broadcasts::all() {
        let collection =
            if one.collection == "*" { "all".into() } else { format!("`{}`", one.collection) };
        let fields: Vec<_> =
            one.fields.split_whitespace().map(|field| format!("`{field}`")).collect();
        let fields =
            if fields.is_empty() { "none, or a range of `_id`".into() } else { fields.join(", ") };
        let _written =
            writeln!(text, "| {collection} | `{}` | {fields} | {} |", one.command, one.reason);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_indexes_fit_their_shard_keys() {
        assert_eq!(misfits(), Vec::<String>::new());
    }

    #[test]
    fn no_collection_has_two_shard_keys() {
        let all = collections();
        for (at, placed) in all.iter().enumerate() {
            let others = all.iter().skip(at + 1);
            for other in others.filter(|other| other.is(placed.name)) {
                assert_eq!(placed.shard_key, other.shard_key, "{}", placed.name);
            }
        }
    }

    #[test]
    fn broadcasts_are_of_sharded_collections() {
        for one in broadcasts::all().filter(|one| one.collection != "*") {
            let placed = collections().into_iter().find(|placed| placed.name == one.collection);
            let placed = placed.expect("a declared collection");
            assert!(placed.shard_key.field().is_some(), "{} isn't sharded", one.collection);
            assert!(!one.reason.is_empty(), "{one:?} has no reason");
        }
    }

    #[test]
    fn no_broadcast_is_listed_twice() {
        for (at, one) in broadcasts::all().enumerate() {
            let key = (one.collection, one.command, one.fields);
            let others = broadcasts::all().skip(at + 1);
            for other in others {
                assert_ne!(key, (other.collection, other.command, other.fields));
            }
        }
    }
}
