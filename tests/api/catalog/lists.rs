//! Every way to list products: what is listed, in which order, and what it costs.

use docgate::mongo::{explain, observe};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{category, change, create, person};
use crate::support::{Client, Gateway, all_nodes, commands, long_bounds, nodes, texts_of};

const LIST: &str = "
    query($by: ProductsBy!, $first: Int, $after: String, $last: Int, $before: String) {
        products(by: $by, first: $first, after: $after, last: $last, before: $before) {
            edges { cursor node { sku type title } }
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        }
    }";

/// A page of a list.
async fn connection(client: &Client, arguments: Value) -> Value {
    let response = client.explained(LIST, arguments).await;
    assert!(response.get("errors").is_none(), "{response:#}");
    assert_eq!(commands(&response).len(), 1, "a page is one command");
    response["data"]["products"].clone()
}

/// A page of a list: its SKUs, and what is known of the pages beside it.
pub(super) async fn page(client: &Client, arguments: Value) -> (Vec<String>, Value) {
    let page = connection(client, arguments).await;
    (texts_of(&nodes(&page), "sku"), page["pageInfo"].clone())
}

/// All SKUs of a list, page by page.
pub(super) async fn skus(client: &Client, by: &Value, first: i32) -> Vec<String> {
    all_skus(client, by, first, ["first", "after", "hasPreviousPage"]).await
}

/// All SKUs of a list, page by page from its end.
pub(super) async fn skus_from_the_end(client: &Client, by: &Value, last: i32) -> Vec<String> {
    all_skus(client, by, last, ["last", "before", "hasNextPage"]).await
}

/// `behind` tells whether the list goes on where the page was begun.
async fn all_skus(
    client: &Client,
    by: &Value,
    size: i32,
    [from, cursor, behind]: [&str; 3],
) -> Vec<String> {
    let found = all_nodes(json!({ "by": by, from: size }), async |arguments| {
        let is_first = arguments.get(cursor).is_none();
        let page = connection(client, arguments).await;
        assert!(nodes(&page).len() <= usize::try_from(size).expect("a size"));
        assert_eq!(page["pageInfo"][behind], !is_first);
        page
    });
    texts_of(&found.await, "sku")
}

/// The list is this, whatever the size of its pages, from either end.
async fn assert_list(gateway: &Gateway, by: Value, expected: &[&str]) {
    let client = gateway.anonymous();
    for size in [1, 2, 3, 100] {
        assert_eq!(skus(&client, &by, size).await, expected, "{by} by {size}");
        let backwards = skus_from_the_end(&client, &by, size).await;
        assert_eq!(backwards, expected, "{by} by {size} from the end");
    }
}

pub(super) fn item(
    sku: &str,
    title: &str,
    pricing: [i64; 2],
    details: Value,
    issued: Option<&str>,
) -> Value {
    json!({
        "sku": sku,
        "content": { "title": title, "issueDate": issued, "details": details },
        "pricing": { "list": pricing[0], "retail": pricing[1], "currency": "EUR" },
    })
}

pub(super) fn album_of(genres: &[&str]) -> Value {
    json!({ "album": { "genres": genres } })
}

pub(super) fn generic(properties: &[(&str, &str)]) -> Value {
    let pairs = properties.iter().map(|(key, value)| json!({ "key": key, "value": value }));
    json!({ "generic": { "type": "thing", "properties": pairs.collect::<Vec<_>>() } })
}

#[tokio::test(flavor = "multi_thread")]
async fn by_discount_genre_price_and_property() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for input in [
        item("a", "A", [1000, 500], album_of(&["Jazz", "Bop"]), Some("1959-08-17")),
        item("b", "B", [1000, 500], album_of(&["Jazz"]), Some("1965-02-01")),
        item("c", "C", [1000, 990], album_of(&["Jazz"]), None),
        item("d", "D", [1000, 0], album_of(&["Rock"]), Some("1971-11-08")),
        item("e", "E", [1000, 700], json!({ "film": { "genres": ["Jazz"] } }), Some("1988-01-01")),
        item("f", "F", [1000, 700], generic(&[("colour", "red"), ("size", "9")]), None),
        item("g", "G", [1000, 701], generic(&[("colour", "red"), ("size", "10")]), None),
        item("h", "H", [1000, 1000], generic(&[("colour", "blue"), ("size", "9")]), None),
        item("i", "I", [1000, 999], generic(&[("size", "9"), ("colour", "red")]), None),
    ] {
        create(&merchant, input).await;
    }
    let mut dollars = item("j", "J", [500, 500], generic(&[("$ne", "red")]), None);
    dollars["pricing"]["currency"] = json!("USD");
    create(&merchant, dollars).await;

    assert_list(&gateway, json!({ "discountAtLeast": 30 }), &["d", "a", "b", "e", "f"]).await;
    assert_list(&gateway, json!({ "discountAtLeast": 1 }), &["d", "a", "b", "e", "f", "g", "c"])
        .await;
    assert_list(&gateway, json!({ "albumsByGenre": "Jazz" }), &["b", "a", "c"]).await;
    assert_list(&gateway, json!({ "albumsByGenre": "jazz" }), &[]).await;
    let price = |min: i64, max: i64| json!({ "priceBetween": { "currency": "EUR", "min": min, "max": max } });
    assert_list(&gateway, price(500, 701), &["a", "b", "e", "f", "g"]).await;
    assert_list(
        &gateway,
        price(0, 1_000_000_000_000),
        &["d", "a", "b", "e", "f", "g", "c", "i", "h"],
    )
    .await;
    let property = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(key, value)| json!({ "key": key, "value": value }));
        json!({ "property": pairs.collect::<Vec<_>>() })
    };
    assert_list(&gateway, property(&[("colour", "red")]), &["f", "g", "i"]).await;
    assert_list(&gateway, property(&[("colour", "red"), ("size", "9")]), &["f", "i"]).await;
    // Both halves must come from one property.
    assert_list(&gateway, property(&[("colour", "9")]), &[]).await;
    assert_list(&gateway, property(&[("$ne", "red")]), &["j"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_title_and_by_who_made_it() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let book = || json!({ "book": {} });
    for input in [
        item("a", "The Hobbit", [1, 1], book(), Some("1937-09-21")),
        item("b", "the hobbit", [1, 1], json!({ "film": {} }), Some("2012-12-12")),
        item("c", "The Hobbits", [1, 1], book(), Some("1999-01-01")),
        item("d", "Theology", [1, 1], book(), None),
        item("e", ".* is all", [1, 1], book(), Some("2001-01-01")),
        item("f", "ÄRGER", [1, 1], book(), Some("2002-01-01")),
    ] {
        create(&merchant, input).await;
    }
    let title = |prefix: &str, kind: Option<&str>| json!({ "titleStartsWith": { "prefix": prefix, "type": kind } });
    assert_list(&gateway, title("THE H", None), &["a", "b", "c"]).await;
    assert_list(&gateway, title("the", None), &["a", "b", "c", "d"]).await;
    assert_list(&gateway, title("the", Some("book")), &["a", "c", "d"]).await;
    assert_list(&gateway, title("the hobbits", None), &["c"]).await;
    assert_list(&gateway, title(".*", None), &["e"]).await;
    assert_list(&gateway, title("är", None), &["f"]).await;
    assert_list(&gateway, title("ä\u{10FFFF}", None), &[]).await;

    let tolkien = person(&merchant, "J. R. R. Tolkien").await;
    let namesake = person(&merchant, "J. R. R. Tolkien").await;
    for (sku, who, role) in [
        ("a", &tolkien, "author"),
        ("a", &tolkien, "illustrator"),
        ("b", &tolkien, "author"),
        ("c", &tolkien, "author"),
        ("d", &namesake, "author"),
        ("e", &namesake, "author"),
        ("f", &tolkien, "editor"),
        ("f", &namesake, "author"),
    ] {
        let input = json!({ "sku": sku, "personId": who, "role": role });
        change(&merchant, "creditPerson", input).await;
    }
    let credited = |by: Value, role: &str, kind: &str| json!({ "credited": { "by": by, "role": role, "type": kind } });
    let by_person = json!({ "personId": tolkien });
    assert_list(&gateway, credited(by_person.clone(), "author", "book"), &["c", "a"]).await;
    assert_list(&gateway, credited(by_person.clone(), "author", "film"), &["b"]).await;
    // Role and person must be of one contributor.
    assert_list(&gateway, credited(by_person.clone(), "editor", "book"), &["f"]).await;
    // In any role, of any type: a product with two roles of a person is there once.
    assert_list(&gateway, json!({ "credited": { "by": by_person } }), &["b", "f", "c", "a"]).await;
    let films = json!({ "credited": { "by": by_person, "type": "film" } });
    assert_list(&gateway, films, &["b"]).await;
    let drawn = json!({ "credited": { "by": by_person, "role": "illustrator" } });
    assert_list(&gateway, drawn, &["a"]).await;
    let by_name = json!({ "name": "J. R. R. Tolkien" });
    assert_list(&gateway, credited(by_name, "author", "book"), &["f", "e", "c", "a", "d"]).await;
    let nobody = docgate::graphql::node_id::NodeKind::PERSON.id("nobody");
    assert_list(&gateway, credited(json!({ "personId": *nobody }), "author", "book"), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_words() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    for (sku, title, description, language) in [
        ("a", "Running shoes", "For runners", "en"),
        ("b", "Shoes", "Good to run in", "en"),
        ("c", "Laufschuhe", "Zum Laufen und Rennen", "de"),
        ("d", "Run run run", "run", "en"),
        ("e", "Unsupported", "stemmed by nobody: running", "cy"),
    ] {
        let mut input = item(sku, title, [1, 1], json!({ "book": {} }), None);
        input["content"]["description"] = json!(description);
        input["content"]["language"] = json!(language);
        create(&merchant, input).await;
    }
    let words = |query: &str, language: Option<&str>| json!({ "text": { "query": query, "language": language } });
    assert_list(&gateway, words("shoe", None), &["b", "a"]).await;
    let found = skus(&gateway.anonymous(), &words("runs", None), 1).await;
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[2], "b", "a title weighs more");
    assert_list(&gateway, words("laufe", Some("de")), &["c"]).await;
    assert_list(&gateway, words("running", Some("cy")), &["e"]).await;
    assert_list(&gateway, words("\"good to run\"", None), &["b"]).await;
    assert_list(&gateway, words("shoes -runners", None), &["b"]).await;
    assert_list(&gateway, words("$where", None), &[]).await;

    // Only the best are listed.
    for n in 0..20 {
        let lines: Vec<Value> = (0..11)
            .map(|m| {
                item(&format!("m-{n}-{m}"), "Common word", [1, 1], json!({ "book": {} }), None)
            })
            .collect();
        let lines: Vec<docgate::domains::catalog::ImportProduct> =
            serde_json::from_value(lines.into()).expect("lines");
        let said = docgate::domains::catalog::operations::import(&gateway.app, &lines).await;
        assert!(said.expect("imported").iter().all(Result::is_ok));
    }
    let found = skus(&gateway.anonymous(), &words("common", None), 70).await;
    // Also from the end, it is the best matches that are listed.
    assert_eq!(skus_from_the_end(&gateway.anonymous(), &words("common", None), 70).await, found);
    assert_eq!(found.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_words_where_no_language_is_said() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for (sku, title) in
        [("a", "The Godfather"), ("b", "The Godfather Part II"), ("c", "The Godfather Part III")]
    {
        create(&merchant, item(sku, title, [1, 1], json!({ "film": {} }), None)).await;
    }
    let words = |query: &str| json!({ "text": { "query": query } });
    let mut found = skus(&gateway.anonymous(), &words("the godfather"), 10).await;
    found.sort();
    assert_eq!(found, ["a", "b", "c"]);
    assert_list(&gateway, words("godfathers -part"), &["a"]).await;
    // Nor does what is stored say one.
    assert_eq!(super::product(&gateway, "a").await["language"], Value::Null);
    let version = super::product(&gateway, "a").await["version"].clone();
    let content = json!({ "title": "The Sopranos", "details": { "film": {} } });
    let input = json!({ "sku": "a", "version": version, "content": content });
    change(&merchant, "updateProduct", input).await;
    assert_list(&gateway, words("soprano"), &["a"]).await;
    let mut line = item("d", "Goodfellas", [1, 1], json!({ "film": {} }), None);
    line["content"]["description"] = json!("About gangsters");
    let lines = serde_json::from_value(json!([line])).expect("lines");
    let lines: Vec<docgate::domains::catalog::ImportProduct> = lines;
    let said = docgate::domains::catalog::operations::import(&gateway.app, &lines).await;
    assert!(said.expect("imported")[0].is_ok());
    assert_list(&gateway, words("gangster"), &["d"]).await;
    gateway.assert_sound().await;

    let german = Gateway::with(|config| config.site_locale = "de-AT".into()).await;
    let house = item("h", "Die alten Häuser", [1, 1], json!({ "book": {} }), None);
    create(&german.merchant(), house).await;
    assert_list(&german, words("altes haus"), &["h"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_words_of_contributors_genres_and_tracks() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let tracks = json!([{ "title": "Acknowledgement" }, { "title": "Resolution" }]);
    let album = json!({ "album": { "genres": ["Hard Bop", "Spiritual Jazz"], "tracks": tracks } });
    create(&merchant, item("album", "A Love Supreme", [1, 1], album, None)).await;
    let film = json!({ "film": { "genres": ["Thriller"] } });
    create(&merchant, item("film", "Vertigo", [1, 1], film, None)).await;
    let john = person(&merchant, "John Coltrane").await;
    let credit = json!({ "sku": "album", "personId": john, "role": "artist" });
    change(&merchant, "creditPerson", credit).await;
    let words = |query: &str| json!({ "text": { "query": query } });
    for (query, found) in [
        ("coltrane", &["album"][..]),
        ("\"hard bop\"", &["album"]),
        ("thrillers", &["film"]),
        ("resolutions", &["album"]),
        ("acknowledgement vertigo", &["film", "album"]),
        ("coltranes monk", &["album"]),
    ] {
        assert_list(&gateway, words(query), found).await;
    }
    // It follows a person's new name.
    let rename = "mutation($id: ID!) { renamePerson(input: { personId: $id, name: \"Trane\" }) {
        __typename } }";
    merchant.field(rename, json!({ "id": john })).await;
    assert_list(&gateway, words("coltrane"), &[]).await;
    assert_list(&gateway, words("trane"), &["album"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_version_stored_is_found_once_the_indexes_were_applied() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let mut welsh = item("cy", "Y tadau bedydd", [1, 1], json!({ "film": {} }), None);
    welsh["content"]["language"] = json!("cy");
    for input in [
        item("a", "The Godfather", [1, 1], json!({ "film": {} }), None),
        item("b", "Godfathers", [1, 1], json!({ "film": {} }), None),
        welsh,
    ] {
        create(&merchant, input).await;
    }
    let someone = person(&merchant, "Nino Rota").await;
    let credit = json!({ "sku": "a", "personId": someone, "role": "composer" });
    change(&merchant, "creditPerson", credit).await;
    // As it was: texts without a language weren't stemmed, and only two fields were searched.
    let products = gateway.database.collection::<Document>("products");
    let unstemmed = doc! { "$set": { "stemming": "none" } };
    let all = doc! { "_id": { "$in": ["a", "b", "cy"] } };
    products.update_many(all, unstemmed).await.expect("changed");
    products.drop_index("text").await.expect("dropped");
    let mut options = mongodb::options::IndexOptions::default();
    options.name = Some("text".into());
    options.weights = Some(doc! { "title": 10, "description": 5 });
    options.default_language = Some("none".into());
    options.language_override = Some("stemming".into());
    let keys = doc! { "title": "text", "description": "text" };
    let former = mongodb::IndexModel::builder().keys(keys).options(options).build();
    products.create_index(former).await.expect("built");

    let words = |query: &str| json!({ "text": { "query": query } });
    assert_list(&gateway, words("the godfather"), &[]).await;
    let name = gateway.database.name().to_owned();
    let command = |arguments: &[&str]| crate::cli::done(crate::cli::on(&name, arguments));
    let (code, table, _) = command(&["indexes", "plan"]);
    assert_eq!(code, 1);
    assert!(table.contains(" 1 different"), "{table}");
    let (code, said, _) = command(&["check"]);
    assert!(code == 1 && said.contains("docgate indexes apply"), "{said}");
    let (code, said, _) = command(&["indexes", "apply", "--drop"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("2 without a language are searched in the site's, en"), "{said}");
    let found = skus(&gateway.anonymous(), &words("the godfather"), 10).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert_list(&gateway, words("rota"), &["a"]).await;
    gateway.assert_sound().await;

    let before = gateway.snapshot().await;
    let (code, said, _) = command(&["indexes", "apply"]);
    assert!(code == 0 && !said.contains("without a language"), "{said}");
    assert!(gateway.snapshot().await == before);
    assert_eq!(command(&["indexes", "plan"]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_place_in_the_tree() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    let jazz = category(&merchant, "jazz", Some(&music)).await;
    let jazzy = category(&merchant, "jazzy", Some(&music)).await;
    let bop = category(&merchant, "bop", Some(&jazz)).await;
    for (sku, title, categories) in [
        ("a", "Zulu", vec![&jazz, &bop]),
        ("b", "Bird", vec![&bop]),
        ("c", "Cool", vec![&jazzy]),
        ("d", "Air", vec![&music]),
        ("e", "Nowhere", vec![]),
    ] {
        let mut input = item(sku, title, [1, 1], json!({ "book": {} }), None);
        input["categoryIds"] = json!(categories);
        create(&merchant, input).await;
    }
    let category = |way: &str, path: &str| json!({ "category": { way: path } });
    assert_list(&gateway, category("exact", "/music/jazz"), &["a"]).await;
    assert_list(&gateway, category("exact", "/music/jazz/bop"), &["b", "a"]).await;
    assert_list(&gateway, category("children", "/music"), &["c", "a"]).await;
    assert_list(&gateway, category("subtree", "/music/jazz"), &["b", "a"]).await;
    assert_list(&gateway, category("subtree", "/music"), &["d", "b", "c", "a"]).await;
    assert_list(&gateway, category("subtree", "/nothing"), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn within_a_box_of_price_and_weight() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for (sku, price, weight) in [
        ("a", 0, 0),
        ("b", 1000, 100),
        ("c", 1001, 100),
        ("d", 1000, 101),
        ("e", 100_000_000_000_i64, 1_000_000_000_i64),
        ("f", 99_999_999_999_i64, 999_999_999_i64),
    ] {
        let mut input = item(sku, "T", [price, price], json!({ "book": {} }), None);
        input["content"]["shipping"] = json!({ "weight": weight });
        create(&merchant, input).await;
    }
    create(&merchant, item("g", "Weightless", [1000, 1000], json!({ "book": {} }), None)).await;
    let within = |price: [i64; 2], weight: [i64; 2]| {
        json!({ "box": { "currency": "EUR",
            "price": { "min": price[0], "max": price[1] },
            "weight": { "min": weight[0], "max": weight[1] } } })
    };
    assert_list(&gateway, within([1000, 1000], [100, 100]), &["b"]).await;
    assert_list(&gateway, within([0, 1000], [0, 101]), &["a", "b", "d"]).await;
    assert_list(&gateway, within([0, 0], [0, 0]), &["a"]).await;
    let (most, heaviest) = (1_000_000_000_000, 1_000_000_000);
    assert_list(&gateway, within([0, most], [0, heaviest]), &["a", "b", "c", "d", "e", "f"]).await;
    assert_list(
        &gateway,
        within([100_000_000_000, 100_000_000_000], [1_000_000_000, 1_000_000_000]),
        &["e"],
    )
    .await;
    assert_list(&gateway, within([99_999_999_999, 99_999_999_999], [0, heaviest]), &["f"]).await;
    // It follows price and weight.
    change(&merchant, "setProductPrice", json!({ "sku": "b", "list": 7, "retail": 7 })).await;
    assert_list(&gateway, within([7, 7], [100, 100]), &["b"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_isnt_a_way_is_refused_by_name() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let range = |min: i64, max: i64| json!({ "min": min, "max": max });
    for (by, field) in [
        (json!({ "discountAtLeast": 0 }), "by.discountAtLeast"),
        (json!({ "discountAtLeast": 101 }), "by.discountAtLeast"),
        (json!({ "albumsByGenre": "" }), "by.albumsByGenre"),
        (json!({ "titleStartsWith": { "prefix": "" } }), "by.titleStartsWith.prefix"),
        (json!({ "text": { "query": "x".repeat(201) } }), "by.text.query"),
        (json!({ "category": { "exact": "music" } }), "by.category.exact"),
        (json!({ "category": { "subtree": "/music/" } }), "by.category.subtree"),
        (json!({ "category": { "subtree": "/$where" } }), "by.category.subtree"),
        (json!({ "property": [] }), "by.property"),
        (json!({ "property": vec![json!({ "key": "a", "value": "b" }); 6] }), "by.property"),
        (json!({ "property": [{ "key": "", "value": "b" }] }), "by.property.0.key"),
        (
            json!({ "priceBetween": { "currency": "EUR", "min": -1, "max": 1 } }),
            "by.priceBetween.min",
        ),
        (
            json!({ "priceBetween": { "currency": "EUR", "min": 2, "max": 1 } }),
            "by.priceBetween.max",
        ),
        (
            json!({ "box": { "currency": "EUR", "price": range(0, 1), "weight": range(1, 0) } }),
            "by.box.weight.max",
        ),
        (
            json!({ "box": { "currency": "EUR", "price": range(0, 1), "weight": range(-1, 0) } }),
            "by.box.weight.min",
        ),
        (
            json!({ "box": { "currency": "EUR", "price": range(0, 1),
                "weight": range(0, 1_000_000_001) } }),
            "by.box.weight.max",
        ),
        (
            json!({ "box": { "currency": "EUR", "price": range(0, 1_000_000_000_001),
                "weight": range(0, 1) } }),
            "by.box.price.max",
        ),
    ] {
        let response = client.run(LIST, json!({ "by": by })).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(
            (&extensions["code"], &extensions["field"]),
            (&json!("BAD_USER_INPUT"), &json!(field)),
            "{by}"
        );
    }
    for by in
        [json!({}), json!({ "discountAtLeast": 5, "albumsByGenre": "x" }), json!({ "regex": "x" })]
    {
        assert_eq!(client.error_code(LIST, json!({ "by": by })).await, "BAD_USER_INPUT");
    }
    let by = json!({ "discountAtLeast": 5 });
    for first in [0, -1, 101] {
        assert_eq!(
            client.error_code(LIST, json!({ "by": by, "first": first })).await,
            "BAD_USER_INPUT"
        );
    }
    // A cursor of another list, also of the same list with other arguments.
    for n in 0..3 {
        create(
            &gateway.merchant(),
            item(&format!("t-{n}"), "T", [100, 50], json!({ "book": {} }), None),
        )
        .await;
    }
    let page = client.field(LIST, json!({ "by": by, "first": 1 })).await;
    let cursor = page["pageInfo"]["endCursor"].clone();
    for (by, after) in [
        (json!({ "discountAtLeast": 6 }), cursor),
        (by.clone(), json!("nonsense")),
        (by, json!("")),
    ] {
        assert_eq!(
            client.error_code(LIST, json!({ "by": by, "after": after })).await,
            "BAD_USER_INPUT"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_may_begin_at_the_end_or_in_the_middle() {
    let gateway = Gateway::start().await;
    for n in 0..6 {
        let input = item(&format!("t-{n}"), "T", [100, 50], json!({ "book": {} }), None);
        create(&gateway.merchant(), input).await;
    }
    let client = gateway.anonymous();
    let by = json!({ "titleStartsWith": { "prefix": "t" } });
    let (skus, end) = page(&client, json!({ "by": by, "last": 2 })).await;
    assert_eq!(skus, ["t-4", "t-5"]);
    assert_eq!((&end["hasPreviousPage"], &end["hasNextPage"]), (&json!(true), &json!(false)));
    let middle = json!({ "by": by, "last": 3, "before": end["startCursor"] });
    let (skus, middle) = page(&client, middle).await;
    assert_eq!(skus, ["t-1", "t-2", "t-3"]);
    assert_eq!((&middle["hasPreviousPage"], &middle["hasNextPage"]), (&json!(true), &json!(true)));
    // Cursors are the same in both directions.
    let (skus, _) = page(&client, json!({ "by": by, "after": middle["endCursor"] })).await;
    assert_eq!(skus, ["t-4", "t-5"]);
    let (skus, start) =
        page(&client, json!({ "by": by, "last": 5, "before": middle["startCursor"] })).await;
    assert_eq!((skus, &start["hasPreviousPage"]), (vec!["t-0".to_owned()], &json!(false)));

    for (arguments, field) in [
        (json!({ "last": 1, "first": 1 }), "last"),
        (json!({ "last": 1, "after": end["startCursor"] }), "last"),
        (json!({ "before": end["startCursor"] }), "before"),
        (json!({ "last": 1, "before": "nonsense" }), "before"),
        (json!({ "last": 0 }), "last"),
        (json!({ "last": 101 }), "last"),
    ] {
        let mut arguments = arguments;
        arguments["by"] = by.clone();
        let response = client.run(LIST, arguments).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(
            (&extensions["code"], &extensions["field"]),
            (&json!("BAD_USER_INPUT"), &json!(field)),
            "{response:#}"
        );
    }
}

/// A page of ten, with the command that read it.
pub(super) async fn read(gateway: &Gateway, by: &Value, after: &Value) -> (Value, Document) {
    let document = json!({ "query": LIST, "variables": { "by": by, "first": 10, "after": after } });
    let (data, mut commands) = reads(gateway, document).await;
    let page = data["products"].clone();
    assert!(page["edges"].is_array(), "{data:#}");
    (page, commands.remove(0))
}

/// The data of an operation, with the commands that read them.
async fn reads(gateway: &Gateway, document: Value) -> (Value, Vec<Document>) {
    let request: async_graphql::Request = serde_json::from_value(document).expect("a request");
    let requester = docgate::graphql::requester::Requester::default();
    let request = request.data(gateway.app.clone()).data(requester);
    let log = observe::Log::default();
    let schema = docgate::schema::build(gateway.app.config());
    let prepared = schema.prepare(request).expect("it may be asked");
    let response = observe::collect(log.clone(), schema.execute(Box::new(prepared))).await;
    let response = serde_json::to_value(response).expect("JSON");
    let log = log.lock().expect("a log");
    let commands = log.iter().map(|sent| sent.read.as_ref().expect("a read").command());
    (response["data"].clone(), commands.collect())
}

/// What searches and facets store stays in MongoDB.
#[tokio::test(flavor = "multi_thread")]
async fn reads_of_products_leave_out_what_no_client_sees() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    let mut input = item("a", "Word", [100, 50], generic(&[("colour", "red")]), None);
    input["categoryIds"] = json!([music]);
    create(&merchant, input).await;
    let stored = gateway.stored("products").await;
    assert!(stored[0].contains_key("search") && stored[0].contains_key("facets"), "{stored:?}");
    let product = "{ product(sku: \"a\") { sku title related(first: 1) { nodes { sku } } } }";
    let list = |by: Value| {
        let query = "query($by: ProductsBy!) { products(by: $by) { nodes { sku title } } }";
        json!({ "query": query, "variables": { "by": by } })
    };
    for (document, found) in [
        (json!({ "query": product }), "product"),
        (list(json!({ "category": { "subtree": "/music" } })), "products"),
        (list(json!({ "where": { "type": "thing", "order": "TITLE" } })), "products"),
        (list(json!({ "text": { "query": "word" } })), "products"),
    ] {
        let (data, commands) = reads(&gateway, document.clone()).await;
        assert!(data[found].to_string().contains("\"Word\""), "{document}: {data:#}");
        assert!(!commands.is_empty());
        for command in commands {
            let is_left_out = match command.get_array("pipeline") {
                Ok(stages) => {
                    stages.last().expect("a stage").to_string().contains("product.search")
                }
                Err(_) => command
                    .get_document("projection")
                    .is_ok_and(|fields| *fields == doc! { "search": 0, "facets": 0 }),
            };
            assert!(is_left_out, "{document}: {command}");
        }
    }
}

/// A read with what it cost, by the server's own count.
async fn figures(
    gateway: &Gateway,
    by: &Value,
    after: &Value,
) -> (usize, Value, explain::Statistics) {
    let (page, command) = read(gateway, by, after).await;
    let count = page["edges"].as_array().expect("edges").len();
    let figures = explain::statistics(gateway.app.database(), command).await.expect("figures");
    (count, page["pageInfo"]["endCursor"].clone(), figures)
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_look_at_what_they_return() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    category(&merchant, "jazz", Some(&music)).await;
    let lines = (0..200_i64).map(|n| {
        let details = if n % 2 == 0 {
            album_of(&["Jazz", "Bop"])
        } else {
            generic(&[("colour", "red"), ("size", &format!("{}", n % 4))])
        };
        let day = format!("19{:02}-01-01", n % 50);
        let mut line = item(
            &format!("t-{n:03}"),
            &format!("Title {}", n % 7),
            [1000, n * 5],
            details,
            Some(&day),
        );
        line["categories"] = json!(["/music/jazz"]);
        line
    });
    let lines: Vec<docgate::domains::catalog::ImportProduct> =
        serde_json::from_value(lines.collect::<Vec<_>>().into()).expect("lines");
    let said = docgate::domains::catalog::operations::import(&gateway.app, &lines).await;
    assert!(said.expect("imported").iter().all(Result::is_ok));
    let artist = person(&merchant, "Someone").await;
    for n in 0..30 {
        let input =
            json!({ "sku": format!("t-{:03}", n * 2), "personId": artist, "role": "artist" });
        change(&merchant, "creditPerson", input).await;
    }
    for by in [
        json!({ "discountAtLeast": 10 }),
        json!({ "albumsByGenre": "Jazz" }),
        json!({ "credited": { "by": { "personId": artist }, "role": "artist", "type": "album" } }),
        json!({ "credited": { "by": { "name": "Someone" }, "role": "artist", "type": "album" } }),
        json!({ "credited": { "by": { "personId": artist } } }),
        json!({ "titleStartsWith": { "prefix": "title" } }),
        json!({ "titleStartsWith": { "prefix": "title", "type": "album" } }),
        json!({ "category": { "exact": "/music/jazz" } }),
        json!({ "category": { "children": "/music" } }),
        json!({ "category": { "subtree": "/music" } }),
        json!({ "property": [{ "key": "colour", "value": "red" }] }),
        json!({ "priceBetween": { "currency": "EUR", "min": 5, "max": 1000 } }),
    ] {
        let mut after = Value::Null;
        for page in 0..3 {
            let (count, end, figures) = figures(&gateway, &by, &after).await;
            after = end;
            assert_eq!(count, 10, "{by}");
            // One more than the page where another one follows; and behind a cursor the server may
            // look at one more, where the ranges of its two branches meet.
            assert!((10..=12).contains(&figures.docs_examined), "{by}, page {page}: {figures:?}");
            assert!(figures.keys_examined <= 16, "{by}, page {page}: {figures:?}");
        }
    }
}
