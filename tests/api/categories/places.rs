//! Slugs that are there more than once: each below another parent.

use docgate::domains::{
    catalog::{ImportProduct, operations::import as import_products},
    categories::import::{ImportCategory, Imported, import},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    ask, by_id, copied, plant, put_product,
    races::{held, is_following, is_insert, overtaken},
    refused,
};
use crate::support::{Gateway, long_bounds};

/// `/books/history` and `/films/history`.
async fn histories(gateway: &Gateway) -> [String; 4] {
    let books = plant(gateway, "books", None).await;
    let films = plant(gateway, "films", None).await;
    let of_books = plant(gateway, "history", Some(&books)).await;
    let of_films = plant(gateway, "history", Some(&films)).await;
    [books, films, of_books, of_films]
}

async fn at_path(gateway: &Gateway, path: &str) -> Value {
    let query = "query($path: String!) { category(by: { path: $path }) { id path } }";
    gateway.anonymous().field(query, json!({ "path": path })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_is_the_name() {
    let gateway = Gateway::start().await;
    let [books, films, of_books, of_films] = histories(&gateway).await;
    for (path, id) in [("/books/history", &of_books), ("/films/history", &of_films)] {
        assert_eq!(at_path(&gateway, path).await, json!({ "id": id, "path": path }));
    }
    put_product(&gateway, "both", &[&of_books, &of_films]).await;
    assert_eq!(copied(&gateway, "both", "path").await, ["/books/history", "/films/history"]);

    // A slug alone names one only where one has it.
    let by_slug = "query($slug: Slug!) { category(by: { slug: $slug }) { id } }";
    let anonymous = gateway.anonymous();
    assert_eq!(anonymous.field(by_slug, json!({ "slug": "books" })).await["id"], books);
    assert_eq!(anonymous.field(by_slug, json!({ "slug": "nothing" })).await, Value::Null);
    let several = anonymous.run(by_slug, json!({ "slug": "history" })).await;
    let extensions = &several["errors"][0]["extensions"];
    assert_eq!(
        (&extensions["code"], &extensions["field"]),
        (&json!("BAD_USER_INPUT"), &json!("by.slug"))
    );

    let names = json!([{ "locale": "en", "name": "History" }]);
    let again = json!({ "slug": "history", "names": names, "parentId": books });
    let taken = refused(&gateway, "createCategory", again, "AlreadyExists").await;
    assert!(taken["message"].as_str().expect("a message").contains("/books/history"), "{taken}");
    let there = json!({ "categoryId": of_films, "parentId": books });
    let taken = refused(&gateway, "moveCategory", there, "AlreadyExists").await;
    assert!(taken["message"].as_str().expect("a message").contains("/books/history"), "{taken}");
    let crime = plant(&gateway, "crime", Some(&films)).await;
    let there = json!({ "categoryId": crime, "slug": "history" });
    let taken = refused(&gateway, "changeCategorySlug", there, "AlreadyExists").await;
    assert!(taken["message"].as_str().expect("a message").contains("/films/history"), "{taken}");

    let root = json!({ "categoryId": of_films, "parentId": Value::Null });
    assert_eq!(ask(&gateway.merchant(), "moveCategory", root.clone()).await["path"], "/history");
    let second = json!({ "categoryId": of_books, "parentId": Value::Null });
    refused(&gateway, "moveCategory", second, "AlreadyExists").await;
    let there = json!({ "categoryId": crime, "slug": "history" });
    let changed = ask(&gateway.merchant(), "changeCategorySlug", there).await;
    assert_eq!(changed["path"], "/films/history");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_repeats_names_below_other_parents() {
    let gateway = Gateway::start().await;
    let bring = async |path: &str, name: &str| {
        let line = json!({ "path": path, "names": { "en": name } });
        let line: ImportCategory = serde_json::from_value(line).expect("a line");
        import(&gateway.app, line).await.expect("imported")
    };
    let paths = ["/books", "/films", "/books/history", "/films/history", "/history"];
    for done in [Imported::Created, Imported::Unchanged] {
        for path in paths {
            assert_eq!(bring(path, "a name").await, done, "{path}");
        }
    }
    assert_eq!(bring("/films/history", "Historical").await, Imported::Changed);
    let id = at_path(&gateway, "/films/history").await["id"].clone();
    assert_eq!(by_id(&gateway, id.as_str().expect("an id")).await["name"], "Historical");
    let id = at_path(&gateway, "/books/history").await["id"].clone();
    assert_eq!(by_id(&gateway, id.as_str().expect("an id")).await["name"], "a name");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_want_a_place_one_gets_it() {
    let gateway = Gateway::start().await;
    let [books, films, ..] = histories(&gateway).await;
    let crime = plant(&gateway, "crime", Some(&films)).await;
    let names = json!([{ "locale": "en", "name": "Crime" }]);
    let mut crowd = JoinSet::new();
    for number in 0..8 {
        let (client, crime, books) = (gateway.merchant(), crime.clone(), books.clone());
        let new = json!({ "slug": "crime", "names": names, "parentId": books });
        crowd.spawn(async move {
            match number {
                0 => {
                    let there = json!({ "categoryId": crime, "parentId": books });
                    ask(&client, "moveCategory", there).await
                }
                _ => ask(&client, "createCategory", new).await,
            }
        });
    }
    let answers = crowd.join_all().await;
    let won = answers.iter().filter(|answer| answer["__typename"] == "Category").count();
    let lost = answers.iter().filter(|answer| answer["__typename"] == "AlreadyExists").count();
    assert_eq!((won, lost), (1, 7), "{answers:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_comes_first_stops_a_creation() {
    let gateway = Gateway::with(long_bounds).await;
    let slow = gateway.sibling_behind_proxy().await;
    let [books, films, ..] = histories(&gateway).await;
    let crime = plant(&gateway, "crime", Some(&films)).await;
    let names = json!([{ "locale": "en", "name": "Crime" }]);
    let new = ("createCategory", json!({ "slug": "crime", "names": names, "parentId": books }));
    let made = overtaken(&slow, is_insert, new, async || {
        let there = json!({ "categoryId": crime, "parentId": books });
        let moved = ask(&gateway.merchant(), "moveCategory", there).await;
        assert_eq!(moved["path"], "/books/crime");
    })
    .await;
    assert_eq!(made["__typename"], "AlreadyExists", "{made:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_path_is_shown_twice_nobody_builds_upon_it() {
    let gateway = Gateway::start().await;
    let slow = gateway.sibling_behind_proxy().await;
    let [books, _, of_books, _] = histories(&gateway).await;
    let client = slow.merchant();
    let renamed = json!({ "categoryId": books, "slug": "prints" });
    let rename = async move { ask(&client, "changeCategorySlug", renamed).await };
    let line = json!([{ "sku": "p", "categories": ["/books/history"],
        "content": { "title": "P", "details": { "book": {} } },
        "pricing": { "list": 1, "retail": 1, "currency": "EUR" } }]);
    let line: Vec<ImportProduct> = serde_json::from_value(line).expect("lines");
    let mut fresh = String::new();
    let answer = held(&slow, is_following, rename, async || {
        let anew = plant(&gateway, "books", None).await;
        fresh = plant(&gateway, "history", Some(&anew)).await;
        // The one below `/prints` still shows its former path.
        assert_eq!(by_id(&gateway, &of_books).await["path"], "/books/history");
        assert_eq!(at_path(&gateway, "/books/history").await["id"], fresh, "changed last");
        let refused = import_products(&gateway.app, &line).await.expect_err("it waits");
        assert!(refused.is_retryable(), "{refused:?}");
    })
    .await;
    assert_eq!(answer["path"], "/prints");
    assert_eq!(at_path(&gateway, "/prints/history").await["id"], of_books);
    let said = import_products(&gateway.app, &line).await.expect("imported");
    assert!(said[0].is_ok(), "{said:?}");
    assert_eq!(copied(&gateway, "p", "_id").await, [crate::support::key(&fresh)]);
    gateway.assert_sound().await;
}
