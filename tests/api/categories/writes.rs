//! Each write, what it reaches, and each refusal.

use docgate::{
    domains::categories::import::{ImportCategory, Imported, import},
    error::Error,
};
use serde_json::{Value, json};

use super::{ask, by_id, copied, music, mutation, plant, put_product, refused};
use crate::support::{Gateway, key};
use docgate::graphql::node_id::NodeKind;

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_says_what_it_refuses() {
    let gateway = Gateway::start().await;
    let [music, jazz, ..] = music(&gateway).await;
    let named = |names: Value| json!({ "slug": "new", "names": names });
    let english = json!([{ "locale": "en", "name": "New" }]);

    for (slug, parent) in [("music", Value::Null), ("jazz", json!(music))] {
        let taken = json!({ "slug": slug, "names": english, "parentId": parent });
        refused(&gateway, "createCategory", taken, "AlreadyExists").await;
    }
    for parent in ["", "nonsense", "$ne", &*NodeKind::CATEGORY.id("no")] {
        let input = json!({ "slug": "new", "names": english, "parentId": parent });
        refused(&gateway, "createCategory", input, "NotFound").await;
    }
    let twice = json!([{ "locale": "de-at", "name": "a" }, { "locale": "de-AT", "name": "b" }]);
    let many: Vec<_> =
        (0..101).map(|n| json!({ "locale": format!("en-x-{n}"), "name": "a" })).collect();
    for names in [
        json!([]),
        json!([{ "locale": "en", "name": "" }]),
        json!([{ "locale": "en", "name": "é".repeat(201) }]),
        json!([{ "locale": "en", "name": "\u{0}" }]),
        twice,
        json!(many),
    ] {
        refused(&gateway, "createCategory", named(names), "InvalidInput").await;
    }
    let idempotency_key = json!({ "slug": "new", "names": english, "idempotencyKey": "" });
    refused(&gateway, "createCategory", idempotency_key, "InvalidInput").await;

    let before = gateway.contents().await;
    let create = mutation("createCategory");
    for (slug, locale) in
        [("New", "en"), ("a/b", "en"), ("", "en"), ("new", "$set"), ("new", "a.b")]
    {
        let in_locale = json!([{ "locale": locale, "name": "a" }]);
        let input = json!({ "input": { "slug": slug, "names": in_locale, "parentId": jazz } });
        assert_eq!(gateway.merchant().error_code(&create, input).await, "BAD_USER_INPUT");
    }
    let input = json!({ "input": { "slug": "new", "names": english } });
    assert_eq!(gateway.anonymous().error_code(&create, input.clone()).await, "UNAUTHENTICATED");
    assert_eq!(gateway.shopper("one").error_code(&create, input.clone()).await, "FORBIDDEN");
    assert_eq!(gateway.user("e", &["editor"]).error_code(&create, input).await, "FORBIDDEN");
    assert_eq!(gateway.contents().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_is_made_once_per_op_id() {
    let gateway = Gateway::start().await;
    let [_, jazz, _, film] = music(&gateway).await;
    let merchant = gateway.merchant();
    let names = json!([{ "locale": "en", "name": "Swing" }]);
    let input =
        json!({ "slug": "swing", "names": names, "parentId": jazz, "idempotencyKey": "op-1" });
    let made = ask(&merchant, "createCategory", input.clone()).await;
    assert_eq!(made["path"], "/music/jazz/swing");
    assert_eq!(ask(&merchant, "createCategory", input.clone()).await, made);

    // As it now stands, also when it was moved and its parent is gone.
    let slug = made["id"].clone();
    ask(&merchant, "moveCategory", json!({ "categoryId": slug, "parentId": film })).await;
    for gone in ["bop", "jazz"] {
        let query = "query($slug: Slug!) { category(by: { slug: $slug }) { id } }";
        let id = merchant.field(query, json!({ "slug": gone })).await["id"].clone();
        let gone = ask(&merchant, "deleteCategory", json!({ "categoryId": id })).await;
        assert_eq!(gone["__typename"], "DeletedCategory");
    }
    assert_eq!(ask(&merchant, "createCategory", input.clone()).await["path"], "/film/swing");

    let mut other = input.clone();
    other["names"][0]["name"] = json!("Other");
    other["parentId"] = json!(film);
    refused(&gateway, "createCategory", other, "Conflict").await;
    let another = ask(&gateway.user("another", &["merchant"]), "createCategory", input).await;
    assert_eq!(another["__typename"], "NotFound", "an idempotency key belongs to its subject");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_write_stays_a_value() {
    let gateway = Gateway::start().await;
    let [music, jazz, bop, _] = music(&gateway).await;
    put_product(&gateway, "sku", &[&bop]).await;
    for name in ["$path", "$$ROOT", "a.b", "{\"$ne\": 1}", "$names.en", "\u{200f}x", "日本語"] {
        for id in [&music, &jazz, &bop] {
            let input = json!({ "categoryId": id, "locale": "en", "name": name });
            assert_eq!(ask(&gateway.merchant(), "renameCategory", input).await["name"], name);
            let input = json!({ "categoryId": id, "locale": "de-CH-1996", "name": name });
            ask(&gateway.merchant(), "addTranslation", input).await;
            let input = json!({ "categoryId": id, "locale": "de-CH-1996" });
            ask(&gateway.merchant(), "removeTranslation", input).await;
        }
        assert_eq!(by_id(&gateway, &bop).await["breadcrumbs"][0]["name"], name);
        assert_eq!(copied(&gateway, "sku", "names.en").await, [name]);
    }
    let input = json!({ "categoryId": bop, "locale": "en", "name": "x".repeat(201) });
    refused(&gateway, "renameCategory", input, "InvalidInput").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_texts_are_refused() {
    let gateway = Gateway::with(|config| config.body_bytes = 20 << 20).await;
    let [music, ..] = music(&gateway).await;
    let huge = "x".repeat(16 << 20);
    let input = json!({ "categoryId": music, "locale": "en", "name": huge });
    refused(&gateway, "renameCategory", input, "InvalidInput").await;
    let before = gateway.contents().await;
    let input = json!({ "input": { "categoryId": huge } });
    let gone = gateway.merchant().field(&mutation("deleteCategory"), input).await;
    assert_eq!(gone["__typename"], "NotFound");
    assert!(gone.to_string().len() < 1_000, "of a huge id only the beginning is repeated");
    assert_eq!(gateway.contents().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_reaches_descendants_and_every_copy() {
    let gateway = Gateway::start().await;
    let [music, jazz, bop, film] = music(&gateway).await;
    put_product(&gateway, "both", &[&bop, &film, &jazz]).await;
    for number in 0..5 {
        put_product(&gateway, &format!("bop-{number}"), &[&bop]).await;
    }
    let input = json!({ "categoryId": jazz, "locale": "en", "name": "Jass" });
    let renamed = ask(&gateway.merchant(), "renameCategory", input).await;
    assert_eq!(renamed["name"], "Jass");
    assert_eq!(copied(&gateway, "both", "names.en").await, ["bop", "film", "Jass"]);
    assert_eq!(by_id(&gateway, &bop).await["breadcrumbs"][1]["name"], "Jass");
    gateway.assert_sound().await;

    let input = json!({ "categoryId": bop, "locale": "en", "name": "Bebop" });
    ask(&gateway.merchant(), "renameCategory", input).await;
    for number in 0..5 {
        assert_eq!(copied(&gateway, &format!("bop-{number}"), "names.en").await, ["Bebop"]);
    }
    let input = json!({ "categoryId": bop, "locale": "de", "name": "Bebop" });
    refused(&gateway, "renameCategory", input, "NotFound").await;
    let nobody = NodeKind::CATEGORY.id("nobody");
    let input = json!({ "categoryId": *nobody, "locale": "en", "name": "a" });
    refused(&gateway, "renameCategory", input, "NotFound").await;
    let product = NodeKind::PRODUCT.id(&key(&music));
    let input = json!({ "categoryId": *product, "locale": "en", "name": "a" });
    refused(&gateway, "renameCategory", input, "NotFound").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn translations_come_and_go_and_the_last_name_stays() {
    let gateway = Gateway::start().await;
    let [music, _, bop, _] = music(&gateway).await;
    put_product(&gateway, "sku", &[&bop, &music]).await;
    let merchant = gateway.merchant();
    let german = json!({ "categoryId": music, "locale": "de", "name": "Musik" });
    for _repeated in 0..2 {
        let added = ask(&merchant, "addTranslation", german.clone()).await;
        let names =
            json!([{ "locale": "de", "name": "Musik" }, { "locale": "en", "name": "music" }]);
        assert_eq!(added["names"], names);
    }
    assert_eq!(copied(&gateway, "sku", "names.de").await, ["", "Musik"]);
    gateway.assert_sound().await;
    let other = json!({ "categoryId": music, "locale": "de", "name": "Anders" });
    refused(&gateway, "addTranslation", other, "AlreadyExists").await;

    let english = json!({ "categoryId": music, "locale": "en" });
    for _repeated in 0..2 {
        let removed = ask(&merchant, "removeTranslation", english.clone()).await;
        assert_eq!(removed["names"], json!([{ "locale": "de", "name": "Musik" }]));
    }
    assert_eq!(copied(&gateway, "sku", "names.en").await, ["bop", ""]);
    let last = json!({ "categoryId": music, "locale": "de" });
    refused(&gateway, "removeTranslation", last, "InvalidInput").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_has_at_most_a_hundred_names() {
    let gateway = Gateway::start().await;
    let names: Vec<_> =
        (0..100).map(|n| json!({ "locale": format!("en-x-{n}"), "name": "a" })).collect();
    let input = json!({ "slug": "full", "names": names });
    let full = ask(&gateway.merchant(), "createCategory", input).await["id"].clone();
    let more = json!({ "categoryId": full, "locale": "de", "name": "a" });
    refused(&gateway, "addTranslation", more, "InvalidInput").await;
    let same = json!({ "categoryId": full, "locale": "en-x-7", "name": "a" });
    assert_eq!(ask(&gateway.merchant(), "addTranslation", same).await["__typename"], "Category");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_slug_moves_the_paths_below_it() {
    let gateway = Gateway::start().await;
    let [music, jazz, bop, film] = music(&gateway).await;
    put_product(&gateway, "sku", &[&bop, &film]).await;
    let input = json!({ "categoryId": jazz, "slug": "jass" });
    let changed = ask(&gateway.merchant(), "changeCategorySlug", input).await;
    assert_eq!(changed["path"], "/music/jass");
    assert_eq!(by_id(&gateway, &bop).await["path"], "/music/jass/bop");
    assert_eq!(copied(&gateway, "sku", "path").await, ["/music/jass/bop", "/film"]);
    assert_eq!(copied(&gateway, "sku", "parentPath").await, ["/music/jass", "/"]);
    gateway.assert_sound().await;

    let root = json!({ "categoryId": film, "slug": "films" });
    assert_eq!(ask(&gateway.merchant(), "changeCategorySlug", root).await["path"], "/films");
    // The old slug is free.
    plant(&gateway, "jazz", Some(&music)).await;
    let taken = json!({ "categoryId": jazz, "slug": "jazz" });
    refused(&gateway, "changeCategorySlug", taken, "AlreadyExists").await;
    let nobody = json!({ "categoryId": *NodeKind::CATEGORY.id("nobody"), "slug": "new" });
    refused(&gateway, "changeCategorySlug", nobody, "NotFound").await;
    let same = json!({ "categoryId": jazz, "slug": "jass" });
    assert_eq!(ask(&gateway.merchant(), "changeCategorySlug", same).await["path"], "/music/jass");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_takes_everything_below_along() {
    let gateway = Gateway::start().await;
    let [music, jazz, bop, film] = music(&gateway).await;
    let hard = plant(&gateway, "hard-bop", Some(&bop)).await;
    put_product(&gateway, "sku", &[&hard, &music]).await;
    let moved = |parent: Value| json!({ "categoryId": jazz, "parentId": parent });
    let merchant = gateway.merchant();

    let below_film = ask(&merchant, "moveCategory", moved(json!(film))).await;
    assert_eq!(below_film["path"], "/film/jazz");
    assert_eq!(below_film["breadcrumbs"][0]["id"], film);
    assert_eq!(copied(&gateway, "sku", "path").await, ["/film/jazz/bop/hard-bop", "/music"]);
    gateway.assert_sound().await;
    // Without a parent it stays.
    let kept = ask(&merchant, "moveCategory", json!({ "categoryId": jazz })).await;
    assert_eq!(kept["path"], "/film/jazz");
    let root = ask(&merchant, "moveCategory", moved(Value::Null)).await;
    assert_eq!((&root["path"], &root["parentPath"]), (&json!("/jazz"), &json!("/")));
    assert_eq!(root["parentId"], Value::Null);
    gateway.assert_sound().await;
    ask(&merchant, "moveCategory", moved(json!(music))).await;
    assert_eq!(by_id(&gateway, &hard).await["path"], "/music/jazz/bop/hard-bop");

    for parent in [&jazz, &bop, &hard] {
        let cycle =
            refused(&gateway, "moveCategory", moved(json!(parent)), "WouldCreateCycle").await;
        assert_eq!(cycle["code"], "WOULD_CREATE_CYCLE");
    }
    let nobody = NodeKind::CATEGORY.id("nobody").0;
    for (category, parent) in [(&nobody, &film), (&film, &nobody)] {
        let input = json!({ "categoryId": category, "parentId": parent });
        refused(&gateway, "moveCategory", input, "NotFound").await;
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_has_a_depth() {
    let gateway = Gateway::start().await;
    let mut line = vec![plant(&gateway, "level-1", None).await];
    for level in 2..=16 {
        let parent = line.last().cloned();
        line.push(plant(&gateway, &format!("level-{level}"), parent.as_deref()).await);
    }
    let names = json!([{ "locale": "en", "name": "deep" }]);
    let input = json!({ "slug": "level-17", "names": names, "parentId": line[15] });
    refused(&gateway, "createCategory", input, "InvalidInput").await;
    let top = plant(&gateway, "top", None).await;
    let input = json!({ "categoryId": line[0], "parentId": top });
    refused(&gateway, "moveCategory", input, "InvalidInput").await;
    let input = json!({ "categoryId": line[1], "parentId": top });
    assert_eq!(ask(&gateway.merchant(), "moveCategory", input).await["path"], "/top/level-2");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_nothing_needs_is_deleted() {
    let gateway = Gateway::start().await;
    let [_, jazz, bop, film] = music(&gateway).await;
    put_product(&gateway, "sku", &[&film, &bop]).await;
    for used in [&jazz, &film, &bop] {
        refused(&gateway, "deleteCategory", json!({ "categoryId": used }), "InUse").await;
    }
    super::products(&gateway).delete_one(mongodb::bson::doc! { "_id": "sku" }).await.expect("gone");
    let merchant = gateway.merchant();
    let gone = ask(&merchant, "deleteCategory", json!({ "categoryId": bop })).await;
    assert_eq!((&gone["__typename"], &gone["id"]), (&json!("DeletedCategory"), &json!(bop)));
    refused(&gateway, "deleteCategory", json!({ "categoryId": bop }), "NotFound").await;
    assert_eq!(by_id(&gateway, &bop).await, Value::Null);
    ask(&merchant, "deleteCategory", json!({ "categoryId": jazz })).await;
    plant(&gateway, "jazz", None).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_can_be_repeated() {
    let gateway = Gateway::start().await;
    let line = |path: &str, name: &str| {
        let line = json!({ "path": path, "names": { "en": name } });
        serde_json::from_value::<ImportCategory>(line).expect("a line")
    };
    let bring = async |path: &str, name: &str| import(&gateway.app, line(path, name)).await;
    for done in [Imported::Created, Imported::Unchanged] {
        for path in ["/music", "/music/jazz", "/music/jazz/bop"] {
            assert_eq!(bring(path, "a name").await.expect("imported"), done);
        }
    }
    assert_eq!(bring("/music/jazz", "Jazz").await.expect("imported"), Imported::Changed);
    gateway.assert_sound().await;
    let before = gateway.contents().await;
    for path in ["/film/noir", "/", "music", "/music/jazz/"] {
        assert!(matches!(bring(path, "a name").await, Err(Error::BadInput { .. })), "{path}");
    }
    assert!(matches!(bring("/new", "").await, Err(Error::BadInput { .. })));
    assert_eq!(gateway.contents().await, before);
}
