//! Versions by the kit itself: upgrades over several versions, and writes that meet a newer one.

use docgate::{
    error::Error,
    mongo::{
        Collection, Outcome, Stored, Version, Walk,
        collection::List,
        migrations::{Upgrade, newest},
    },
};
use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

use crate::support::Gateway;

/// A document of the third version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Thing {
    #[serde(rename = "_id")]
    id: String,
    name: String,
    /// Since version 2.
    length: i64,
    /// Since version 3.
    twice: i64,
    v: Version<3>,
}

impl Stored for Thing {
    const COLLECTION: &'static str = "things";
    const UPGRADES: &'static [Upgrade] = &[
        Upgrade {
            says: "`length` is that of the name.",
            fields: &["length"],
            stages: || vec![doc! { "$set": { "length": { "$toLong": { "$strLenCP": "$name" } } } }],
            in_memory: |thing| {
                let length = thing.get_str("name").map_or(0, |name| name.chars().count());
                thing.insert("length", i64::try_from(length).unwrap_or(0));
            },
        },
        Upgrade {
            says: "`twice` is twice the length.",
            fields: &["twice"],
            stages: || vec![doc! { "$set": { "twice": { "$multiply": ["$length", 2_i64] } } }],
            in_memory: |thing| {
                let length = thing.get_i64("length").unwrap_or(0);
                thing.insert("twice", length * 2);
            },
        },
    ];
}

fn thing(id: &str, name: &str, length: i64) -> Thing {
    Thing { id: id.into(), name: name.into(), length, twice: length * 2, v: Version }
}

/// A document of each version; that of the second has a length that only its own version knows.
async fn with_things(gateway: &Gateway) -> Collection<Thing> {
    let all = [
        doc! { "_id": "none", "name": "four" },
        doc! { "_id": "one", "name": "three", "v": 1 },
        doc! { "_id": "three", "name": "x", "length": 1_i64, "twice": 2_i64, "v": 3 },
        doc! { "_id": "two", "name": "one", "length": 7_i64, "v": 2 },
    ];
    gateway.raw("things").insert_many(all).await.expect("inserted");
    gateway.app.collection::<Thing>()
}

fn upgraded() -> Vec<Thing> {
    vec![
        thing("none", "four", 4),
        thing("one", "three", 5),
        thing("three", "x", 1),
        thing("two", "one", 7),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_known_version_is_read_and_upgraded() {
    assert_eq!(newest(Thing::UPGRADES), 3);
    let gateway = Gateway::start().await;
    let things = with_things(&gateway).await;
    let all = || List { sort: doc! { "_id": 1 }, limit: 10, ..List::default() };
    assert_eq!(things.list(all()).await.expect("read"), upgraded());
    for expected in upgraded() {
        let found = things.get(&expected.id).await.expect("read");
        assert_eq!(found.as_ref(), Some(&expected));
        let timed = things.get_timed(&expected.id).await.expect("read");
        assert_eq!(timed.map(|timed| timed.document).as_ref(), Some(&expected));
    }
    let mut visited = Vec::new();
    things.for_each(|thing| visited.push(thing)).await.expect("read");
    assert_eq!(visited, upgraded());
    // What a write returns is upgraded too; what it stores keeps its version.
    let renamed = things.set(doc! { "_id": "one" }, doc! { "name": "other!" }).after().await;
    assert_eq!(renamed.expect("written"), Some(thing("one", "other!", 6)));
    let stored = super::one(&gateway, "things", doc! { "_id": "one" }).await;
    assert_eq!(stored, doc! { "_id": "one", "name": "other!", "v": 1 });

    assert_eq!(things.count_versions().await.expect("counted"), [(1, 2), (2, 1), (3, 1)]);
    let (step, next) = things.upgrade_next(Walk::default(), 3).await.expect("upgraded");
    assert_eq!((step.read, step.upgraded, step.newer), (3, 2, 0));
    let (step, next) = things.upgrade_next(next.expect("more"), 3).await.expect("upgraded");
    assert_eq!((step.read, step.upgraded, step.newer), (1, 1, 0));
    let (step, next) = things.upgrade_next(next.expect("more"), 3).await.expect("upgraded");
    assert_eq!((step.read, next.is_none()), (0, true));
    assert_eq!(things.count_versions().await.expect("counted"), [(3, 4)]);
    let expected: Vec<_> = upgraded()
        .into_iter()
        .map(|one| if one.id == "one" { thing("one", "other!", 6) } else { one })
        .collect();
    assert_eq!(things.list(all()).await.expect("read"), expected);
    let stored = super::one(&gateway, "things", doc! { "_id": "two" }).await;
    assert_eq!((stored.get_i64("length").ok(), stored.get_i64("twice").ok()), (Some(7), Some(14)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_changes_a_document_of_a_newer_version() {
    let gateway = Gateway::start().await;
    let things = gateway.app.collection::<Thing>();
    let newer: Document = doc! { "_id": "newer", "name": 7, "of the future": [1], "v": 4 };
    gateway.raw("things").insert_one(&newer).await.expect("inserted");
    let by_id = || doc! { "_id": "newer" };
    let change = || doc! { "name": "changed" };
    let classic = || doc! { "$set": change() };

    assert!(matches!(things.get("newer").await, Err(Error::NewerVersion(_))));
    assert!(matches!(things.get_timed("newer").await, Err(Error::NewerVersion(_))));
    assert!(matches!(things.set(by_id(), change()).send().await, Outcome::Refused));
    assert!(matches!(things.guarded(by_id(), classic()).done().await, Outcome::Refused));
    assert!(things.set(by_id(), change()).after().await.expect("an outcome").is_none());
    // Many at once share a command.
    let known: Vec<Thing> = (0..20).map(|n| thing(&format!("known-{n}"), "a", 1)).collect();
    things.insert_many(known.clone()).await.expect("inserted");
    let ids = known.iter().map(|known| known.id.as_str()).chain(["newer"; 5]);
    let writes = ids.map(|id| {
        let write = things.set(doc! { "_id": id }, change());
        async move { (id, write.held().await.expect("an outcome")) }
    });
    for (id, held) in join_all(writes).await {
        assert_eq!(held, id != "newer", "{id}");
    }
    let many = doc! { "_id": { "$in": ["newer", "known-0"] } };
    let updated = things.update_many(many.clone(), vec![doc! { "$set": change() }]).await;
    assert_eq!(updated.expect("updated"), 1);
    let upsert = vec![(by_id(), vec![doc! { "$set": change() }])];
    assert!(matches!(things.upsert_each(upsert).await, Err(Error::NewerVersion(_))));
    assert!(matches!(things.remove(by_id()).await, Outcome::Refused));
    assert_eq!(things.remove_many(many).await.expect("removed"), 1);
    let (step, _) = things.upgrade_next(Walk::default(), 100).await.expect("upgraded");
    assert_eq!(step.newer, 1);
    assert_eq!(super::one(&gateway, "things", by_id()).await, newer);
}
