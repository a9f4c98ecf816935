//! Flows that are cut: at every command, in every way.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{by_id, copied, music, mutation, plant, put_product};
use crate::support::{Gateway, cuts, long_bounds, settled, short_bounds};

/// A part of the tree that one case has for itself.
struct Part {
    number: usize,
    middle: String,
    leaf: String,
    aside: String,
}

/// `/top/middle/leaf` and `/aside`, with products in middle and leaf.
async fn part(gateway: &Gateway, number: usize) -> Part {
    forget_the_lock(gateway).await;
    let slug = |name: &str| format!("{name}-{number}");
    let top = plant(gateway, &slug("top"), None).await;
    let middle = plant(gateway, &slug("middle"), Some(&top)).await;
    let leaf = plant(gateway, &slug("leaf"), Some(&middle)).await;
    let aside = plant(gateway, &slug("aside"), None).await;
    put_product(gateway, &slug("one"), &[&leaf]).await;
    put_product(gateway, &slug("two"), &[&middle, &leaf, &aside]).await;
    Part { number, middle, leaf, aside }
}

/// A case before this one may have died with the lock; nobody is left who could write under it. It
/// is taken for the first time in every case, so that each sends the same commands.
async fn forget_the_lock(gateway: &Gateway) {
    let leases = gateway.database.collection::<Document>("leases");
    leases.delete_one(doc! { "_id": "categories.tree" }).await.expect("forgotten");
}

/// Sends a mutation that may be cut; an answer must be a category or an error that invites to try
/// again.
async fn send(gateway: &Gateway, field: &str, input: Value) {
    let sent = gateway.merchant().send(&mutation(field), json!({ "input": input })).await;
    let Ok((_, response)) = sent else { return };
    if let Some(error) = response["errors"].get(0) {
        let extensions = &error["extensions"];
        let code = extensions["code"].as_str().expect("a code");
        assert_eq!(code, "UNAVAILABLE", "{response:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_cut_anywhere_is_finished() {
    cuts::everywhere(
        short_bounds,
        part,
        async |gateway, part: &Part| {
            let input = json!({ "categoryId": part.middle, "parentId": part.aside });
            send(gateway, "moveCategory", input).await;
        },
        async |gateway, case| {
            let Part { number, leaf, .. } = &case.subject;
            let path = format!("/aside-{number}/middle-{number}/leaf-{number}");
            assert_eq!(by_id(gateway, leaf).await["path"], path, "{:?} {}", case.way, case.at);
            assert_eq!(copied(gateway, &format!("one-{number}"), "path").await, [path]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_that_is_cut_anywhere_is_finished() {
    cuts::everywhere(
        short_bounds,
        part,
        async |gateway, part: &Part| {
            let input = json!({ "categoryId": part.middle, "locale": "en", "name": "Renamed" });
            send(gateway, "renameCategory", input).await;
        },
        async |gateway, case| {
            let Part { number, leaf, .. } = &case.subject;
            assert_eq!(by_id(gateway, leaf).await["breadcrumbs"][1]["name"], "Renamed");
            let names = copied(gateway, &format!("two-{number}"), "names.en").await;
            let expected = ["Renamed", &format!("leaf-{number}"), &format!("aside-{number}")];
            assert_eq!(names, expected, "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_cut_anywhere_is_there_once_or_not_at_all() {
    cuts::everywhere(
        short_bounds,
        part,
        async |gateway, part: &Part| {
            let names = json!([{ "locale": "en", "name": "New" }]);
            let slug = format!("new-{}", part.number);
            let idempotency_key = format!("op-{}", part.number);
            let input = json!({ "slug": slug, "names": names, "parentId": part.leaf, "idempotencyKey": idempotency_key });
            send(gateway, "createCategory", input).await;
        },
        async |gateway, case| {
            let Part { number, .. } = &case.subject;
            let slug = format!("new-{number}");
            let query = "query($slug: Slug!) { category(by: { slug: $slug }) { path } }";
            let found = gateway.anonymous().field(query, json!({ "slug": slug })).await;
            let path = format!("/top-{number}/middle-{number}/leaf-{number}/new-{number}");
            assert_eq!(found["path"], path, "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_anywhere_is_done_or_forgotten() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            forget_the_lock(gateway).await;
            let top = plant(gateway, &format!("top-{number}"), None).await;
            let used = plant(gateway, &format!("used-{number}"), Some(&top)).await;
            let free = plant(gateway, &format!("free-{number}"), Some(&top)).await;
            put_product(gateway, &format!("sku-{number}"), &[&used]).await;
            (used, free)
        },
        async |gateway, (used, free): &(String, String)| {
            send(gateway, "deleteCategory", json!({ "categoryId": used })).await;
            send(gateway, "deleteCategory", json!({ "categoryId": free })).await;
        },
        async |gateway, case| {
            let (used, free) = &case.subject;
            assert_eq!(by_id(gateway, free).await, Value::Null, "{:?} {}", case.way, case.at);
            assert_ne!(by_id(gateway, used).await, Value::Null, "{:?} {}", case.way, case.at);
            let input = json!({ "categoryId": used, "locale": "en", "name": "again" });
            let renamed = super::ask(&gateway.merchant(), "renameCategory", input).await;
            assert_eq!(renamed["__typename"], "Category", "it takes changes");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_a_run_goes_on_behind_the_answer() {
    let gateway = Gateway::with(|config| {
        config.flow_run_millis = 1;
        config.flow_command_millis = 1;
    })
    .await;
    let root = plant(&gateway, "root", None).await;
    let mut level = vec![root.clone()];
    for depth in 0..3 {
        let mut below = Vec::new();
        for (number, parent) in level.iter().enumerate() {
            for child in 0..5 {
                let slug = format!("c-{depth}-{number}-{child}");
                below.push(plant(&gateway, &slug, Some(parent)).await);
            }
        }
        level = below;
    }
    let leaf = level.last().expect("a leaf");
    put_product(&gateway, "sku", &[leaf]).await;
    // Each level of the tree is read behind the answer, and each read takes its time.
    let find = doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 500 };
    let slow = gateway.fail_point(doc! { "times": 1_000 }, find).await;
    let input = json!({ "categoryId": root, "locale": "en", "name": "Renamed" });
    let renamed = super::ask(&gateway.merchant(), "renameCategory", input).await;
    assert_eq!(renamed["name"], "Renamed");
    let outbox = async || {
        let of = |category: &Document| category.get_array("outbox").map(Vec::len);
        let categories = gateway.stored("categories").await;
        categories.iter().filter_map(|category| of(category).ok()).sum::<usize>()
    };
    assert_eq!(outbox().await, 1, "it isn't done yet");
    slow.off().await;
    settled(&gateway).await;
    assert_eq!(outbox().await, 0);
    assert_eq!(by_id(&gateway, leaf).await["breadcrumbs"][0]["name"], "Renamed");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_died_with_the_lock_holds_it_for_one_bound() {
    // It is held for longer than a busy machine takes to ask for it, and a request waits for less than that.
    let gateway = Gateway::with(|config| {
        config.flow_run_millis = 3_000;
        config.flow_command_millis = 6_000;
    })
    .await;
    let [_, jazz, _, film] = music(&gateway).await;
    let run = gateway.begin().await;
    let (app, bounds) = (&gateway.app, gateway.app.bounds());
    let lease = docgate::flow::lease::Lease::acquire(
        app.collection(),
        "categories.tree",
        "someone who died".into(),
        &run,
        bounds,
    );
    assert!(lease.await.expect("an outcome").is_some());
    let input = json!({ "input": { "categoryId": jazz, "parentId": film } });
    let moving = mutation("moveCategory");
    let merchant = gateway.merchant();
    assert_eq!(merchant.error_code(&moving, input.clone()).await, "UNAVAILABLE");
    // What doesn't change the shape goes on.
    plant(&gateway, "swing", Some(&jazz)).await;
    let renamed = json!({ "categoryId": jazz, "locale": "en", "name": "Jass" });
    super::ask(&merchant, "renameCategory", renamed).await;
    tokio::time::sleep(
        bounds.grace_period().saturating_sub(bounds.attempt) + Duration::from_millis(100),
    )
    .await;
    assert_eq!(merchant.field(&moving, input).await["path"], "/film/jazz");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_leaves_alone_what_is_under_way() {
    let gateway = Gateway::with(long_bounds).await;
    music(&gateway).await;
    let now = gateway.begin().await.now();
    let mark = doc! { "$set": {
        "copying": now, "deleting": { "by": "x", "at": now }, "outbox": [{ "id": "x", "at": now }],
    } };
    let categories = gateway.database.collection::<Document>("categories");
    categories.update_one(doc! { "slug": "bop" }, mark).await.expect("marked");
    assert_eq!(gateway.sweep_all().await, 0);
}
