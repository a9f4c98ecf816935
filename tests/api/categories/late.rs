//! First copies of commands that were sent twice, and that arrive after later changes.

use std::cell::OnceCell;

use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{ask, by_id, music, mutation, plant};
use crate::support::{Gateway, cuts, key, long_bounds, proxy::Seen, until};

/// The gateway, with attempts that are short enough to wait for the end of a lease.
async fn start() -> Gateway {
    Gateway::with(|config| {
        config.flow_run_millis = 2_000;
        config.flow_command_millis = 500;
        config.flow_skew_millis = 100;
    })
    .await
}

fn is_change(seen: &Seen) -> bool {
    seen.collection == "categories" && seen.command == "findAndModify"
}

fn is_mark(seen: &Seen) -> bool {
    seen.collection == "categories" && seen.command == "update"
}

/// Moves a category, as soon as the tree's lock is free.
async fn moves(gateway: &Gateway, id: &str, parent: Option<&str>) {
    let input = json!({ "input": { "categoryId": id, "parentId": parent } });
    for _ in 0..50 {
        let said = gateway.merchant().run(&mutation("moveCategory"), input.clone()).await;
        if said["data"]["moveCategory"]["__typename"] == "Category" {
            return;
        }
        assert_eq!(said["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{said:#}");
    }
    panic!("the lock never becomes free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_move_makes_no_cycle() {
    let base = start().await;
    let [music, _, _, film] = music(&base).await;
    let first = async |gateway: &Gateway| moves(gateway, &film, Some(&music)).await;
    let later = async || {
        moves(&base, &film, None).await;
        moves(&base, &music, Some(&film)).await;
    };
    cuts::with_late_copy(&base, is_change, first, later).await;
    assert_eq!(by_id(&base, &film).await["path"], "/film");
    assert_eq!(by_id(&base, &music).await["path"], "/film/music");
    base.sweep().await;
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_the_mark_of_a_refused_deletion_marks_nothing() {
    let base = start().await;
    let [music, jazz, _, _] = music(&base).await;
    let first = async |gateway: &Gateway| {
        let input = json!({ "categoryId": music });
        let said = ask(&gateway.merchant(), "deleteCategory", input).await;
        assert_eq!(said["__typename"], "InUse", "{said:#}");
    };
    let later = async || moves(&base, &jazz, None).await;
    cuts::with_late_copy(&base, is_mark, first, later).await;
    let stored = base.raw("categories").find_one(doc! { "_id": key(&music) }).await;
    let stored = stored.expect("read").expect("there");
    assert!(!stored.contains_key("deleting"), "{stored:#}");
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_below_a_cycle_ends() {
    let base = Gateway::with(long_bounds).await;
    let [music, jazz, _, film] = music(&base).await;
    // As no docgate leaves it.
    let categories = base.database.collection::<Document>("categories");
    for (id, parent) in [(&music, &film), (&film, &music)] {
        let set = doc! { "$set": { "parentId": key(parent) } };
        categories.update_one(doc! { "_id": key(id) }, set).await.expect("set");
    }
    let input = json!({ "input": { "categoryId": jazz, "parentId": film } });
    // On a busy machine it may run out of time before.
    until("it ends", async || {
        let code = base.merchant().error_code(&mutation("moveCategory"), input.clone()).await;
        assert!(["INTERNAL_SERVER_ERROR", "UNAVAILABLE"].contains(&code.as_str()), "{code}");
        code == "INTERNAL_SERVER_ERROR"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_name_undoes_no_later_one() {
    let base = Gateway::start().await;
    let [music, _, _, _] = music(&base).await;
    let name = async |gateway: &Gateway, name: &str| {
        let input = json!({ "categoryId": music, "locale": "en", "name": name });
        let said = ask(&gateway.merchant(), "renameCategory", input).await;
        assert_eq!(said["names"], json!([{ "locale": "en", "name": name }]), "{said:#}");
    };
    let first = async |gateway: &Gateway| name(gateway, "First").await;
    cuts::with_late_copy(&base, is_change, first, async || name(&base, "Later").await).await;
    let named: Value = by_id(&base, &music).await["names"].clone();
    assert_eq!(named, json!([{ "locale": "en", "name": "Later" }]));
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_creation_brings_no_deleted_category_back() {
    let base = Gateway::with(long_bounds).await;
    let made = OnceCell::new();
    let is_insert = |seen: &Seen| seen.collection == "categories" && seen.command == "insert";
    let first = async |gateway: &Gateway| {
        made.set(plant(gateway, "music", None).await).expect("made once");
    };
    let later = async || {
        let input = json!({ "categoryId": made.get() });
        let said = ask(&base.merchant(), "deleteCategory", input).await;
        assert_eq!(said["__typename"], "DeletedCategory", "{said:#}");
    };
    cuts::with_late_copy(&base, is_insert, first, later).await;
    let id = made.get().expect("made");
    assert_eq!(by_id(&base, id).await, Value::Null);
    base.sweep().await;
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_lease_takes_it_for_nobody() {
    let base = Gateway::start().await;
    let [music, _, _, film] = music(&base).await;
    // The first holder inserts the lease.
    moves(&base, &film, Some(&music)).await;
    let is_lease = |seen: &Seen| seen.collection == "leases" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| moves(gateway, &film, None).await;
    cuts::with_late_copy(&base, is_lease, first, async || {}).await;
    let lease = base.raw("leases").find_one(doc! { "_id": "categories.tree" }).await;
    let lease = lease.expect("read").expect("there");
    let until = *lease.get_datetime("until").expect("a time");
    assert_eq!(until, DateTime::from_millis(0), "it is held: {lease:#}");
}
