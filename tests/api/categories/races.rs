//! Writers that meet: held back at the worst moment, and let loose by the dozen.

use docgate::domains::categories;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{ask, by_id, copied, create_product, music, mutation, plant, put_product};
use crate::support::{
    Gateway, key, long_bounds,
    proxy::{Cut, Seen},
    settled,
};

/// Runs one of the room's mutations on `slow` up to its first command that `at` names, does
/// `meanwhile`, and lets it go on.
pub async fn overtaken(
    slow: &Gateway,
    at: fn(&Seen) -> bool,
    mutation: (&'static str, Value),
    meanwhile: impl AsyncFnOnce(),
) -> Value {
    let client = slow.merchant();
    let (field, input) = mutation;
    held(slow, at, async move { ask(&client, field, input).await }, meanwhile).await
}

/// As [`overtaken`], with any call.
pub async fn held(
    slow: &Gateway,
    at: fn(&Seen) -> bool,
    call: impl Future<Output = Value> + Send + 'static,
    meanwhile: impl AsyncFnOnce(),
) -> Value {
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.count_only(at);
    proxy.cut(0, Cut::Hold);
    let running = tokio::spawn(call);
    proxy.reached().await;
    meanwhile().await;
    proxy.release().await;
    running.await.expect("an answer")
}

/// The code of the error that a mutation ends in.
async fn code(gateway: &Gateway, field: &str, input: Value) -> Value {
    let said = gateway.merchant().run(&mutation(field), json!({ "input": input })).await;
    said["errors"][0]["extensions"]["code"].clone()
}

pub fn is_insert(seen: &Seen) -> bool {
    seen.collection == "categories" && seen.command == "insert"
}

fn is_product_insert(seen: &Seen) -> bool {
    seen.collection == "products" && seen.command == "insert"
}

fn is_product_change(seen: &Seen) -> bool {
    seen.collection == "products" && seen.command == "findAndModify"
}

fn is_copying(seen: &Seen) -> bool {
    seen.collection == "products" && seen.command == "update"
}

pub fn is_following(seen: &Seen) -> bool {
    seen.collection == "categories" && seen.command == "update"
}

fn is_change(seen: &Seen) -> bool {
    seen.collection == "categories" && seen.command == "findAndModify"
}

fn swing(parent: &str) -> (&'static str, Value) {
    let names = json!([{ "locale": "en", "name": "Swing" }]);
    ("createCategory", json!({ "slug": "swing", "names": names, "parentId": parent }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_created_while_its_parent_moves_ends_up_right() {
    let gateway = Gateway::with(long_bounds).await;
    let slow = gateway.sibling_behind_proxy().await;
    let [_, jazz, _, film] = music(&gateway).await;
    let made = overtaken(&slow, is_insert, swing(&jazz), async || {
        let input = json!({ "categoryId": jazz, "parentId": film });
        ask(&gateway.merchant(), "moveCategory", input).await;
        let input = json!({ "categoryId": jazz, "locale": "en", "name": "Jass" });
        ask(&gateway.merchant(), "renameCategory", input).await;
    })
    .await;
    assert_eq!(made["__typename"], "Category");
    let id = made["id"].as_str().expect("an id");
    let now = by_id(&gateway, id).await;
    assert_eq!(now["path"], "/film/jazz/swing");
    assert_eq!(now["breadcrumbs"][1]["name"], "Jass");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_below_a_category_that_is_deleted_meanwhile_is_taken_back() {
    let gateway = Gateway::with(long_bounds).await;
    let slow = gateway.sibling_behind_proxy().await;
    let [_, _, bop, _] = music(&gateway).await;
    let made = overtaken(&slow, is_insert, swing(&bop), async || {
        let gone = ask(&gateway.merchant(), "deleteCategory", json!({ "categoryId": bop })).await;
        assert_eq!(gone["__typename"], "DeletedCategory");
    })
    .await;
    assert_eq!(made["__typename"], "NotFound");
    assert_eq!(gateway.snapshot().await["categories"].len(), 3);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_sees_a_child_that_is_only_just_there() {
    let gateway = Gateway::start().await;
    let slow = gateway.sibling_behind_proxy().await;
    let [_, _, bop, _] = music(&gateway).await;
    // Inserted and read again, not yet confirmed.
    let made = overtaken(&slow, is_change, swing(&bop), async || {
        let kept = ask(&gateway.merchant(), "deleteCategory", json!({ "categoryId": bop })).await;
        assert_eq!(kept["__typename"], "InUse");
        // Nobody builds upon it yet.
        let query = "{ category(by: { slug: \"swing\" }) { id } }";
        let id = gateway.anonymous().field(query, json!({})).await["id"].clone();
        let copies = categories::copies(&gateway.app, &[key(id.as_str().expect("an id"))]).await;
        assert!(copies.expect("copies").is_empty());
        let (field, mut below) = swing(id.as_str().expect("an id"));
        below["slug"] = json!("below");
        assert_eq!(code(&gateway, field, below).await, "UNAVAILABLE");
    })
    .await;
    assert_eq!(made["path"], "/music/jazz/bop/swing");
    gateway.assert_sound().await;
}

/// Creates a product on `slow`, held back where `at` says.
async fn creating(
    slow: &Gateway,
    at: fn(&Seen) -> bool,
    ids: [&String; 2],
    meanwhile: impl AsyncFnOnce(),
) {
    let (client, ids) = (slow.merchant(), ids.map(String::clone));
    let call = async move { create_product(&client, "late", &[&ids[0], &ids[1]]).await };
    let made = held(slow, at, call, meanwhile).await;
    assert_eq!(made["sku"], "late", "{made:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_is_created_while_its_categories_change_ends_up_right() {
    for at in [is_product_insert as fn(&Seen) -> bool, is_product_change] {
        let gateway = Gateway::with(long_bounds).await;
        let slow = gateway.sibling_behind_proxy().await;
        let [_, jazz, bop, film] = music(&gateway).await;
        creating(&slow, at, [&bop, &jazz], async || {
            let merchant = gateway.merchant();
            ask(&merchant, "moveCategory", json!({ "categoryId": jazz, "parentId": film })).await;
            let input = json!({ "categoryId": bop, "locale": "en", "name": "Bebop" });
            ask(&merchant, "renameCategory", input).await;
        })
        .await;
        assert_eq!(copied(&gateway, "late", "path").await, ["/film/jazz/bop", "/film/jazz"]);
        assert_eq!(copied(&gateway, "late", "names.en").await, ["Bebop", "jazz"]);
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_keeps_its_category_or_leaves_it_before_it_is_deleted() {
    for (at, outcome, left) in [
        (is_product_insert as fn(&Seen) -> bool, "DeletedCategory", vec!["/film"]),
        (is_product_change, "InUse", vec!["/film", "/music/jazz/bop"]),
    ] {
        let gateway = Gateway::with(long_bounds).await;
        let slow = gateway.sibling_behind_proxy().await;
        let [_, _, bop, film] = music(&gateway).await;
        creating(&slow, at, [&film, &bop], async || {
            let answer =
                ask(&gateway.merchant(), "deleteCategory", json!({ "categoryId": bop })).await;
            assert_eq!(answer["__typename"], outcome);
        })
        .await;
        assert_eq!(copied(&gateway, "late", "path").await, left);
        gateway.assert_sound().await;
    }
}

fn is_product_count(seen: &Seen) -> bool {
    seen.collection == "products" && seen.command == "aggregate"
}

/// The deletion has marked the category and not yet counted its products: the product that comes
/// now keeps it, and the deletion is refused. Neither may believe that the other wins.
#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_comes_before_the_count_keeps_its_category() {
    let gateway = Gateway::with(long_bounds).await;
    let slow = gateway.sibling_behind_proxy().await;
    let [_, _, bop, _] = music(&gateway).await;
    // Known before the mark, inserted behind it.
    let creator = gateway.sibling_behind_proxy().await;
    let proxy = creator.proxy.as_ref().expect("a proxy");
    proxy.count_only(is_product_insert);
    proxy.cut(0, Cut::Hold);
    let (client, id) = (creator.merchant(), bop.clone());
    let made = tokio::spawn(async move { create_product(&client, "late", &[&id]).await });
    proxy.reached().await;
    let deleting = ("deleteCategory", json!({ "categoryId": bop }));
    let kept = overtaken(&slow, is_product_count, deleting, async || {
        proxy.release().await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    })
    .await;
    assert_eq!(kept["__typename"], "InUse", "{kept:#}");
    assert_eq!(made.await.expect("an answer")["sku"], "late");
    assert_eq!(copied(&gateway, "late", "path").await, ["/music/jazz/bop"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_below_a_category_that_changes_meanwhile_follows_it() {
    let gateway = Gateway::with(long_bounds).await;
    let slow = gateway.sibling_behind_proxy().await;
    let [music, jazz, bop, film] = music(&gateway).await;
    put_product(&gateway, "sku", &[&bop]).await;
    // The second findAndModify is the lease's in another collection: this holds the move's own.
    let moving = ("moveCategory", json!({ "categoryId": jazz, "parentId": film }));
    overtaken(&slow, is_change, moving, async || {
        for (id, name) in [(&film, "Films"), (&music, "Sounds"), (&bop, "Bebop")] {
            let input = json!({ "categoryId": id, "locale": "en", "name": name });
            ask(&gateway.merchant(), "renameCategory", input).await;
        }
    })
    .await;
    let now = by_id(&gateway, &bop).await;
    assert_eq!(now["breadcrumbs"][0]["name"], "Films");
    assert_eq!(copied(&gateway, "sku", "names.en").await, ["Bebop"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_fan_outs_at_once_both_arrive() {
    for at in [is_copying as fn(&Seen) -> bool, is_following] {
        let gateway = Gateway::with(long_bounds).await;
        let slow = gateway.sibling_behind_proxy().await;
        let [music, jazz, bop, film] = music(&gateway).await;
        put_product(&gateway, "sku", &[&bop, &music, &jazz]).await;
        let first = json!({ "categoryId": music, "locale": "en", "name": "First" });
        overtaken(&slow, at, ("renameCategory", first), async || {
            let merchant = gateway.merchant();
            let input = json!({ "categoryId": music, "locale": "en", "name": "Second" });
            ask(&merchant, "renameCategory", input).await;
            let input = json!({ "categoryId": music, "locale": "de", "name": "Zweites" });
            ask(&merchant, "addTranslation", input).await;
            ask(&merchant, "moveCategory", json!({ "categoryId": bop, "parentId": film })).await;
            let input = json!({ "categoryId": jazz, "slug": "jass" });
            ask(&merchant, "changeCategorySlug", input).await;
        })
        .await;
        assert_eq!(copied(&gateway, "sku", "names.en").await, ["bop", "Second", "jazz"]);
        assert_eq!(copied(&gateway, "sku", "path").await, ["/film/bop", "/music", "/music/jass"]);
        assert_eq!(by_id(&gateway, &jazz).await["breadcrumbs"][0]["name"], "Second");
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_moves_never_make_a_cycle() {
    let gateway = Gateway::with(long_bounds).await;
    let sibling = gateway.sibling().await;
    let left = plant(&gateway, "left", None).await;
    let right = plant(&gateway, "right", None).await;
    let inner = plant(&gateway, "inner", Some(&right)).await;
    put_product(&gateway, "sku", &[&left, &inner]).await;
    for _round in 0..25 {
        let one = gateway.merchant();
        let other = sibling.merchant();
        let (below_inner, below_left) = tokio::join!(
            ask(&one, "moveCategory", json!({ "categoryId": left, "parentId": inner })),
            ask(&other, "moveCategory", json!({ "categoryId": right, "parentId": left })),
        );
        let mut both = [&below_inner["__typename"], &below_left["__typename"]];
        both.sort_by_key(|name| name.as_str());
        assert_eq!(both, ["Category", "WouldCreateCycle"]);
        gateway.assert_sound().await;
        for id in [&left, &right] {
            ask(&one, "moveCategory", json!({ "categoryId": id, "parentId": null })).await;
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_leaves_a_sound_tree() {
    let gateway = Gateway::with(long_bounds).await;
    let sibling = gateway.sibling().await;
    let mut ids = Vec::<String>::new();
    for number in 0..12 {
        let parent = (number >= 3).then(|| ids[(number - 3) / 2].clone());
        ids.push(plant(&gateway, &format!("slug-{number}"), parent.as_deref()).await);
    }
    for number in 0..12 {
        let both = [ids[number].as_str(), ids[(number + 5) % 12].as_str()];
        put_product(&gateway, &format!("sku-{number}"), &both).await;
    }
    let mut crowd = JoinSet::new();
    for worker in 0_usize..8 {
        let client = if worker.is_multiple_of(2) { gateway.merchant() } else { sibling.merchant() };
        let ids = ids.clone();
        crowd.spawn(async move {
            for round in 0_usize..12 {
                // Any fixed mixture will do: the interleaving is what differs.
                let mixed = worker * 31 + round * 17;
                let (id, other) = (&ids[mixed % 12], &ids[(mixed * 7 + 3) % 12]);
                let names = json!([{ "locale": "en", "name": "New" }]);
                let (field, input) = match mixed % 5 {
                    0 | 1 => ("moveCategory", json!({ "categoryId": id, "parentId": other })),
                    2 => (
                        "renameCategory",
                        json!({ "categoryId": id, "locale": "en", "name": format!("name {mixed}") }),
                    ),
                    3 => (
                        "changeCategorySlug",
                        json!({ "categoryId": id, "slug": format!("slug-{worker}-{round}") }),
                    ),
                    _ => (
                        "createCategory",
                        json!({ "slug": format!("new-{worker}-{round}"), "names": names, "parentId": id }),
                    ),
                };
                let answer = ask(&client, field, input).await;
                let fine = ["Category", "WouldCreateCycle"];
                assert!(fine.contains(&answer["__typename"].as_str().expect("a type")), "{answer}");
            }
        });
    }
    let mut deleter = JoinSet::new();
    let client = sibling.merchant();
    deleter.spawn(async move {
        for round in 0..20 {
            let query = "query($slug: Slug!) { category(by: { slug: $slug }) { id } }";
            let slug = format!("new-{}-{}", round % 8, round % 12);
            let found = client.field(query, json!({ "slug": slug })).await;
            if let Some(id) = found["id"].as_str() {
                ask(&client, "deleteCategory", json!({ "categoryId": id })).await;
            }
        }
    });
    crowd.join_all().await;
    deleter.join_all().await;
    settled(&gateway).await;
    settled(&sibling).await;
    gateway.assert_sound().await;
    let left: Vec<_> = gateway.snapshot().await["categories"]
        .iter()
        .filter(|category| {
            !category.get_array("outbox").expect("an outbox").is_empty()
                || category.contains_key("copying")
                || category.contains_key("deleting")
        })
        .cloned()
        .collect();
    assert!(left.is_empty(), "nothing is left to finish: {left:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_deletion_is_under_way_nobody_is_told_that_nothing_is_there() {
    let gateway = Gateway::start().await;
    let [_, _, bop, film] = music(&gateway).await;
    // As a deletion leaves it that was cut.
    let categories = gateway.database.collection::<Document>("categories");
    let mark = vec![doc! { "$set": { "deleting": { "by": "x", "at": "$$NOW" } } }];
    categories.update_one(doc! { "_id": key(&bop) }, mark.clone()).await.expect("marked");
    let before = gateway.snapshot().await["categories"].clone();
    let english = |key: &str, value: &str| {
        let mut input = json!({ "categoryId": bop, "locale": "en" });
        input[key] = json!(value);
        input
    };
    for (field, input) in [swing(&bop), ("renameCategory", english("name", "Bebop"))] {
        assert_eq!(code(&gateway, field, input).await, "UNAVAILABLE", "{field}");
    }
    assert!(gateway.snapshot().await["categories"] == before);
    // Who has the lock knows that the deletion is over.
    let input = json!({ "categoryId": film, "parentId": bop });
    let moved = ask(&gateway.merchant(), "moveCategory", input).await;
    assert_eq!(moved["path"], "/music/jazz/bop/film");
    categories.update_one(doc! { "_id": key(&bop) }, mark).await.expect("marked");
    let input = json!({ "categoryId": bop, "slug": "bebop" });
    let changed = ask(&gateway.merchant(), "changeCategorySlug", input).await;
    assert_eq!(changed["path"], "/music/jazz/bebop");
    let (field, input) = swing(&bop);
    let made = ask(&gateway.merchant(), field, input).await;
    assert_eq!(made["path"], "/music/jazz/bebop/swing");
    gateway.assert_sound().await;
}
