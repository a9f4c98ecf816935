//! Creating, updating, pricing and categorising.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{album, category, change, create, product, refused, thing};
use crate::support::{Gateway, commands, cuts, long_bounds, proxy::Seen, short_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn every_type_is_created_and_read_in_one_command() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let made = create(&merchant, album("als-1")).await;
    assert_eq!(made["__typename"], "Album");
    assert_eq!(made["pricing"]["savings"]["minorUnits"], 100);
    assert_eq!(made["pricing"]["pctSavings"], 8);
    assert_eq!(made["tracks"][1], json!({ "title": "Resolution", "seconds": null }));
    assert_eq!(made["shipping"]["dimensions"]["depth"], 10);
    assert_eq!(made["issueDate"], "1965-02-01");

    let film = json!({
        "sku": "film-1",
        "content": { "title": "Stalker", "details": { "film": {
            "genres": ["Drama"], "certificate": "PG", "aspectRatio": "1.37:1" } } },
        "pricing": { "list": 0, "retail": 0, "currency": "EUR" },
    });
    let film = create(&merchant, film).await;
    assert_eq!((&film["__typename"], &film["aspectRatio"]), (&json!("Film"), &json!("1.37:1")));
    assert_eq!(film["pricing"]["pctSavings"], 0);

    let book = json!({
        "sku": "book-1",
        "content": { "title": "$where", "description": "$$ROOT.{a}", "details": { "book": {
            "isbn": "978-3-16-148410-0", "pages": 250 } } },
        "pricing": { "list": 100_000_000_000_i64, "retail": 0, "currency": "JPY" },
    });
    let book = create(&merchant, book).await;
    assert_eq!((&book["title"], &book["isbn"]), (&json!("$where"), &json!("9783161484100")));
    assert_eq!(book["pricing"]["pctSavings"], 100);

    let mut generic = thing("thing-1", "Headphones");
    generic["content"]["details"]["generic"] = json!({ "type": "headphones",
        "properties": [{ "key": "$colour", "value": "a.b" }] });
    let generic = create(&merchant, generic).await;
    assert_eq!(
        (&generic["__typename"], &generic["type"]),
        (&json!("GenericProduct"), &json!("headphones"))
    );
    assert_eq!(generic["properties"], json!([{ "key": "$colour", "value": "a.b" }]));

    for made in [made, film, book, generic] {
        assert_eq!(product(&gateway, made["sku"].as_str().expect("a SKU")).await, made);
    }
    assert_eq!(product(&gateway, "nothing").await, Value::Null);
    let path = "{ product(sku: \"$ne\") { sku } }";
    assert_eq!(gateway.anonymous().field(path, json!({})).await, Value::Null);
    let read =
        gateway.anonymous().explained("{ product(sku: \"als-1\") { title } }", json!({})).await;
    assert_eq!(commands(&read), ["find products"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sku_is_taken_once_and_a_repeat_is_answered() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let made = create(&merchant, album("als-1")).await;
    let before = gateway.snapshot().await;
    assert_eq!(create(&merchant, album("als-1")).await, made);
    assert!(gateway.snapshot().await == before);
    let taken =
        refused(&gateway, "createProduct", thing("als-1", "Another"), "AlreadyExists").await;
    assert_eq!(taken["taken"], "als-1");

    let racers = (0..12).map(|n| {
        let merchant = merchant.clone();
        tokio::spawn(async move {
            change(&merchant, "createProduct", thing("race", &format!("Thing {n}"))).await
        })
    });
    let mut winners = 0;
    for racer in racers.collect::<Vec<_>>() {
        winners += i32::from(racer.await.expect("an answer")["__typename"] == "GenericProduct");
    }
    assert_eq!(winners, 1);
}

/// The input of [`thing`] with the value at a JSON pointer replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut input = album("new");
    if pointer.starts_with("/content/details/book") {
        input["content"]["details"] = json!({ "book": { "isbn": null, "pages": null } });
    }
    if pointer.starts_with("/content/details/generic") {
        input["content"]["details"] = json!({ "generic": { "type": "x", "properties": [] } });
    }
    *input.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = value;
    input
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_used_is_refused_by_name() {
    let gateway = Gateway::with(|config| config.body_bytes = 32 << 20).await;
    let long = |length| Value::from("x".repeat(length));
    let many = |count: usize, one: Value| Value::from(vec![one; count]);
    let faults = [
        ("/sku", json!(""), "sku"),
        ("/sku", json!("a.b"), "sku"),
        ("/sku", json!("$a"), "sku"),
        ("/sku", long(129), "sku"),
        ("/content/title", json!(""), "content.title"),
        ("/content/title", long(301), "content.title"),
        ("/content/title", long(16 << 20), "content.title"),
        ("/content/title", json!("a\u{0}b"), "content.title"),
        ("/content/description", long(10_001), "content.description"),
        ("/content/asin", json!("short"), "content.asin"),
        ("/content/shipping/weight", json!(-1), "content.shipping.weight"),
        ("/content/shipping/weight", json!(1_000_000_001), "content.shipping.weight"),
        ("/content/shipping/dimensions/width", json!(0), "content.shipping.dimensions.width"),
        ("/content/details/album/genres", many(21, json!("Jazz")), "content.details.album.genres"),
        ("/content/details/album/genres/1", json!(""), "content.details.album.genres.1"),
        ("/content/details/album/label", json!(""), "content.details.album.label"),
        (
            "/content/details/album/tracks",
            many(101, json!({ "title": "x" })),
            "content.details.album.tracks",
        ),
        (
            "/content/details/album/tracks/0/seconds",
            json!(-5),
            "content.details.album.tracks.0.seconds",
        ),
        ("/content/details/book/isbn", json!("978-3-16-148410-1"), "content.details.book.isbn"),
        ("/content/details/book/isbn", json!("nonsense"), "content.details.book.isbn"),
        ("/content/details/book/isbn", json!("080442957X1"), "content.details.book.isbn"),
        ("/content/details/book/pages", json!(0), "content.details.book.pages"),
        ("/content/details/generic/type", json!("album"), "content.details.generic.type"),
        (
            "/content/details/generic/properties",
            many(51, json!({ "key": "k", "value": "v" })),
            "content.details.generic.properties",
        ),
        (
            "/content/details/generic/properties",
            json!([{ "key": "k", "value": "" }]),
            "content.details.generic.properties.0.value",
        ),
        ("/pricing/list", json!(-1), "pricing.list"),
        ("/pricing/list", json!(100_000_000_001_i64), "pricing.list"),
        ("/pricing/retail", json!(1201), "pricing.retail"),
        ("/pricing/retail", json!(-1), "pricing.retail"),
    ];
    for (pointer, value, field) in faults {
        let said = refused(&gateway, "createProduct", with(pointer, value), "InvalidInput").await;
        assert_eq!(said["field"], format!("input.{field}"), "{pointer}");
    }
    for (pointer, value) in [
        ("/pricing/currency", json!("XXQ")),
        ("/content/language", json!("no language")),
        ("/content/issueDate", json!("2023-02-29")),
        ("/content/issueDate", json!("20230228")),
        ("/content/details", json!({ "album": {}, "film": {} })),
        ("/pricing/list", json!("9223372036854775808")),
    ] {
        let input = json!({ "input": with(pointer, value) });
        let code = gateway.merchant().error_code(&super::mutation("createProduct"), input).await;
        assert_eq!(code, "BAD_USER_INPUT", "{pointer}");
    }
    let mut isbn = with("/content/details/book/isbn", json!("0-8044-2957-X"));
    isbn["sku"] = json!("isbn-10");
    assert_eq!(create(&gateway.merchant(), isbn).await["isbn"], "080442957X");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_merchants_write() {
    let gateway = Gateway::start().await;
    let before = gateway.snapshot().await;
    let input = json!({ "input": album("als-1") });
    let create = super::mutation("createProduct");
    for (client, code) in
        [(gateway.anonymous(), "UNAUTHENTICATED"), (gateway.user("it", &["editor"]), "FORBIDDEN")]
    {
        assert_eq!(client.error_code(&create, input.clone()).await, code);
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_takes_the_nonce_that_was_read() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let made = create(&merchant, album("als-1")).await;
    let mut content = album("als-1")["content"].clone();
    content["title"] = json!("A Love Supreme (Deluxe)");
    content["asin"] = Value::Null;
    content["shipping"] = Value::Null;
    let update = json!({ "sku": "als-1", "version": made["version"], "content": content });
    let updated = change(&merchant, "updateProduct", update.clone()).await;
    assert_eq!(updated["title"], "A Love Supreme (Deluxe)");
    assert_eq!((&updated["asin"], &updated["shipping"]), (&Value::Null, &Value::Null));
    assert_eq!(updated["tracks"], made["tracks"]);
    assert_ne!(updated["version"], made["version"]);
    gateway.assert_sound().await;

    // The same call again is a repeat; another one with the old version is too late.
    let before = gateway.snapshot().await;
    assert_eq!(change(&merchant, "updateProduct", update.clone()).await, updated);
    assert!(gateway.snapshot().await == before);
    let mut late = update.clone();
    late["content"]["title"] = json!("Another");
    let conflict = refused(&gateway, "updateProduct", late.clone(), "Conflict").await;
    assert_eq!(conflict["currentVersion"], updated["version"]);
    late["version"] = json!("{\"$ne\": 1}");
    refused(&gateway, "updateProduct", late.clone(), "Conflict").await;
    late["sku"] = json!("nothing");
    refused(&gateway, "updateProduct", late, "NotFound").await;

    // Of many with one version one wins.
    let racers = (0..12).map(|n| {
        let (merchant, mut update) = (merchant.clone(), update.clone());
        update["version"] = updated["version"].clone();
        update["content"]["title"] = json!(format!("Title {n}"));
        tokio::spawn(async move { change(&merchant, "updateProduct", update).await })
    });
    let mut winners = 0;
    for racer in racers.collect::<Vec<_>>() {
        winners += i32::from(racer.await.expect("an answer")["__typename"] == "Album");
    }
    assert_eq!(winners, 1);

    // Another type takes its own fields along.
    let version = product(&gateway, "als-1").await["version"].clone();
    let content = json!({ "title": "The Book", "details": { "book": { "pages": 3 } },
        "shipping": { "weight": 5 } });
    let update = json!({ "sku": "als-1", "version": version, "content": content });
    let book = change(&merchant, "updateProduct", update).await;
    assert_eq!((&book["__typename"], &book["pages"]), (&json!("Book"), &json!(3)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn savings_follow_from_prices() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    create(&merchant, album("als-1")).await;
    let price = async |input: Value| {
        let mut input = input;
        input["sku"] = json!("als-1");
        let said = change(&merchant, "setProductPrice", input).await;
        gateway.assert_sound().await;
        let pricing = &said["pricing"];
        (
            pricing["list"]["minorUnits"].as_i64(),
            pricing["retail"]["minorUnits"].as_i64(),
            pricing["savings"]["minorUnits"].as_i64(),
            pricing["pctSavings"].as_i64(),
            pricing["list"]["currency"].as_str().map(str::to_owned),
        )
    };
    let is = |list, retail, savings, percent, currency: &str| {
        (Some(list), Some(retail), Some(savings), Some(percent), Some(currency.to_owned()))
    };
    assert_eq!(price(json!({ "retail": 400 })).await, is(1200, 400, 800, 66, "USD"));
    assert_eq!(price(json!({ "list": 400, "currency": "USD" })).await, is(400, 400, 0, 0, "USD"));
    assert_eq!(price(json!({ "list": 3, "retail": 1 })).await, is(3, 1, 2, 66, "USD"));
    assert_eq!(price(json!({ "list": 0, "retail": 0 })).await, is(0, 0, 0, 0, "USD"));
    let most = 100_000_000_000_i64;
    let all = json!({ "list": most, "retail": 1, "currency": "EUR" });
    assert_eq!(price(all).await, is(most, 1, most - 1, 99, "EUR"));
    assert_eq!(price(json!({ "retail": 0 })).await, is(most, 0, most, 100, "EUR"));
    assert_eq!(price(json!({ "list": 1000, "retail": 710 })).await, is(1000, 710, 290, 29, "EUR"));

    for (input, field) in [
        (json!({}), "retail"),
        (json!({ "currency": "USD" }), "retail"),
        (json!({ "retail": 1001 }), "retail"),
        (json!({ "list": 709 }), "list"),
        (json!({ "list": 5, "retail": 6 }), "retail"),
        (json!({ "retail": -1 }), "retail"),
        (json!({ "list": most + 1 }), "list"),
        (json!({ "list": 2000, "currency": "USD" }), "currency"),
    ] {
        let mut input = input;
        input["sku"] = json!("als-1");
        let said = refused(&gateway, "setProductPrice", input, "InvalidInput").await;
        assert_eq!(said["field"], format!("input.{field}"));
    }
    let nothing = json!({ "sku": "nothing", "retail": 1 });
    assert_eq!(refused(&gateway, "setProductPrice", nothing, "NotFound").await["what"], "product");

    // List and retail set at once by different callers never end up the wrong way round.
    let racers = (0..40_i64).map(|n| {
        let merchant = merchant.clone();
        let input = if n % 2 == 0 {
            json!({ "sku": "als-1", "list": 700 + n * 10 })
        } else {
            json!({ "sku": "als-1", "retail": 700 + n * 10 })
        };
        tokio::spawn(async move { change(&merchant, "setProductPrice", input).await })
    });
    for racer in racers.collect::<Vec<_>>() {
        racer.await.expect("an answer");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn categories_are_carried_with_their_names_and_trail() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    let jazz = category(&merchant, "jazz", Some(&music)).await;
    let mut input = album("als-1");
    input["categoryIds"] = json!([jazz, jazz]);
    let made = create(&merchant, input.clone()).await;
    assert_eq!(
        made["categories"],
        json!([{
            "id": jazz, "slug": "jazz", "path": "/music/jazz", "parentPath": "/music",
            "paths": ["/music", "/music/jazz"],
            "name": "jazz in English", "german": "jazz auf Deutsch",
        }])
    );
    assert_eq!(create(&merchant, input).await, made);
    // The language that the field above was asked in is the default of those below.
    let query = "{ product(sku: \"als-1\", locale: \"de-AT\") { categories { name } } }";
    let read = gateway.anonymous().field(query, json!({})).await;
    assert_eq!(read["categories"][0]["name"], "jazz auf Deutsch");

    let both = json!({ "sku": "als-1", "categoryIds": [music, jazz] });
    let categorized = change(&merchant, "categorizeProduct", both).await;
    assert_eq!(categorized["categories"][0]["path"], "/music");
    assert_eq!(categorized["categories"][1]["path"], "/music/jazz");
    let none = json!({ "sku": "als-1", "categoryIds": [] });
    assert_eq!(change(&merchant, "categorizeProduct", none).await["categories"], json!([]));

    let nothing = docgate::graphql::node_id::NodeKind::CATEGORY.id("nothing");
    for ids in [json!(["nonsense"]), json!([jazz, made["id"]]), json!([jazz, *nothing])] {
        let input = json!({ "sku": "als-1", "categoryIds": ids });
        let said = refused(&gateway, "categorizeProduct", input, "NotFound").await;
        assert_eq!(said["what"], "category", "{said:#}");
        let mut new = album("new");
        new["categoryIds"] = ids;
        refused(&gateway, "createProduct", new, "NotFound").await;
    }
    let unknown = json!({ "sku": "nothing", "categoryIds": [jazz] });
    assert_eq!(
        refused(&gateway, "categorizeProduct", unknown, "NotFound").await["what"],
        "product"
    );
    let many = json!({ "sku": "als-1", "categoryIds": vec![jazz; 21] });
    refused(&gateway, "categorizeProduct", many, "InvalidInput").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_is_categorized_while_its_categories_change_ends_up_right() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    let jazz = category(&merchant, "jazz", Some(&music)).await;
    let rock = category(&merchant, "rock", None).await;
    for n in 0..4 {
        create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
    }
    let categorizing = (0..24).map(|n| {
        let (merchant, all) = (merchant.clone(), [music.clone(), jazz.clone(), rock.clone()]);
        tokio::spawn(async move {
            let input = json!({ "sku": format!("t-{}", n % 4), "categoryIds": &all[n % 3..] });
            change(&merchant, "categorizeProduct", input).await;
        })
    });
    let categorizing: Vec<_> = categorizing.collect();
    let changing = {
        let (merchant, jazz, rock) = (merchant.clone(), jazz.clone(), rock.clone());
        tokio::spawn(async move {
            let rename = "mutation($input: RenameCategoryInput!) {
                renameCategory(input: $input) { __typename } }";
            let shift = "mutation($input: MoveCategoryInput!) {
                moveCategory(input: $input) { __typename } }";
            for n in 0..6 {
                let name =
                    json!({ "categoryId": jazz, "locale": "en", "name": format!("Jazz {n}") });
                merchant.field(rename, json!({ "input": name })).await;
                let parent = if n % 2 == 0 { Some(&rock) } else { None };
                let place = json!({ "categoryId": jazz, "parentId": parent });
                merchant.field(shift, json!({ "input": place })).await;
            }
        })
    };
    for task in categorizing {
        task.await.expect("categorized");
    }
    changing.await.expect("changed");
    gateway.assert_sound().await;
    let marked = gateway.database.collection::<mongodb::bson::Document>("products");
    let left = marked.count_documents(mongodb::bson::doc! { "copying.at": { "$exists": true } });
    assert_eq!(left.await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_finds_its_product_although_the_category_is_gone() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let doomed = category(&merchant, "doomed", None).await;
    let mut input = thing("t-1", "A thing");
    input["categoryIds"] = json!([doomed]);
    create(&merchant, input.clone()).await;
    let none = json!({ "sku": "t-1", "categoryIds": [] });
    assert_eq!(change(&merchant, "categorizeProduct", none).await["categories"], json!([]));
    let delete = "mutation($input: DeleteCategoryInput!) {
        deleteCategory(input: $input) { __typename } }";
    let gone = merchant.field(delete, json!({ "input": { "categoryId": doomed } })).await;
    assert_eq!(gone["__typename"], "DeletedCategory");
    assert_eq!(create(&merchant, input.clone()).await["categories"], json!([]));
    input["content"]["title"] = json!("Another thing");
    refused(&gateway, "createProduct", input, "NotFound").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_goes_or_its_products_keep_it() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let delete = "mutation($input: DeleteCategoryInput!) {
        deleteCategory(input: $input) { __typename } }";
    for n in 0..12 {
        let sku = format!("t-{n}");
        create(&merchant, thing(&sku, "A thing")).await;
        let doomed = category(&merchant, &format!("doomed-{n}"), None).await;
        let categorize = json!({ "sku": sku, "categoryIds": [doomed] });
        let deletion = json!({ "input": { "categoryId": doomed } });
        tokio::join!(
            change(&merchant, "categorizeProduct", categorize),
            merchant.field(delete, deletion),
        );
    }
    gateway.assert_sound().await;
    // An established product isn't pushed out by a deletion that is refused.
    let kept = category(&merchant, "kept", None).await;
    let artist = super::person(&merchant, "Someone").await;
    create(&merchant, thing("kept", "A thing")).await;
    change(&merchant, "categorizeProduct", json!({ "sku": "kept", "categoryIds": [kept] })).await;
    let raw = gateway.database.collection::<mongodb::bson::Document>("categories");
    let mark = mongodb::bson::doc! { "$set": { "deleting": {
    "by": "someone", "at": mongodb::bson::DateTime::from_millis(4_000_000_000_000) } } };
    raw.update_one(mongodb::bson::doc! { "slug": "kept" }, mark).await.expect("marked");
    let credit = json!({ "sku": "kept", "personId": artist, "role": "author" });
    let credited = change(&merchant, "creditPerson", credit).await;
    assert_eq!(credited["categories"][0]["slug"], "kept", "{credited:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let jazz = category(&gateway.merchant(), &format!("jazz-{n}"), None).await;
            (format!("t-{n}"), jazz)
        },
        async |gateway, (sku, jazz)| {
            let mut input = thing(sku, "A thing");
            input["categoryIds"] = json!([jazz]);
            let create = super::mutation("createProduct");
            gateway.merchant().send(&create, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            let product = product(gateway, &case.subject.0).await;
            assert_eq!(product["categories"][0]["id"], case.subject.1, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn categorizing_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
            (format!("t-{n}"), category(&merchant, &format!("jazz-{n}"), None).await)
        },
        async |gateway, (sku, jazz)| {
            let input = json!({ "input": { "sku": sku, "categoryIds": [jazz] } });
            let categorize = super::mutation("categorizeProduct");
            gateway.merchant().send(&categorize, input).await.ok();
        },
        async |gateway, case| {
            let product = product(gateway, &case.subject.0).await;
            assert_eq!(product["categories"][0]["id"], case.subject.1, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_is_an_error_where_it_is_asked_for() {
    let gateway = Gateway::start().await;
    create(&gateway.merchant(), album("whole")).await;
    let products = gateway.database.collection::<Document>("products");
    let damage = async |sku: &str, part: Document| {
        let mut stored =
            products.find_one(doc! { "_id": "whole" }).await.expect("read").expect("it");
        stored.insert("_id", sku);
        stored.extend(part);
        products.insert_one(stored).await.expect("inserted");
    };
    damage("nested", doc! { "contributors": [{ "name": "nobody" }] }).await;
    damage("whole-field", doc! { "title": 7 }).await;
    damage("newer", doc! { "v": 2 }).await;
    let read = "query($sku: ID!) { product(sku: $sku) { title contributors { name } } }";
    let client = gateway.anonymous();
    for sku in ["nested", "whole-field", "newer"] {
        let response = client.run(read, json!({ "sku": sku })).await;
        assert_eq!(response["data"], json!({ "product": null }), "{response:#}");
        let error = &response["errors"][0];
        let (code, message) = match sku {
            "newer" => (
                "NEWER_VERSION",
                "the data was stored by a newer docgate; this gateway has to be updated",
            ),
            _ => ("INTERNAL_SERVER_ERROR", "internal error"),
        };
        assert_eq!(error["extensions"]["code"], code, "{response:#}");
        let depth = if sku == "nested" { 2 } else { 1 };
        assert_eq!(error["path"].as_array().map(Vec::len), Some(depth), "{response:#}");
        assert_eq!(error["message"], message, "nothing of the document: {response:#}");
    }
    let title = "query($sku: ID!) { product(sku: $sku) { title } }";
    let shown = client.field(title, json!({ "sku": "nested" })).await;
    assert_eq!(shown["title"], "A Love Supreme");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_price_or_of_categories_undoes_no_later_change() {
    let base = Gateway::start().await;
    create(&base.merchant(), thing("a", "A")).await;
    let is_change = |seen: &Seen| seen.collection == "products" && seen.command == "findAndModify";
    let price = async |gateway: &Gateway, retail: i64| {
        let input = json!({ "sku": "a", "retail": retail });
        let said = change(&gateway.merchant(), "setProductPrice", input).await;
        assert_eq!(said["pricing"]["retail"]["minorUnits"], retail, "{said:#}");
    };
    let first = async |gateway: &Gateway| price(gateway, 10).await;
    cuts::with_late_copy(&base, is_change, first, async || price(&base, 12).await).await;
    assert_eq!(product(&base, "a").await["pricing"]["retail"]["minorUnits"], 12);
    // Nothing is changed by the first, because the price is that already.
    let first = async |gateway: &Gateway| price(gateway, 12).await;
    cuts::with_late_copy(&base, is_change, first, async || price(&base, 11).await).await;
    assert_eq!(product(&base, "a").await["pricing"]["retail"]["minorUnits"], 11);

    let ids = [category(&base.merchant(), "one", None).await];
    let categorize = async |gateway: &Gateway, ids: &[String]| {
        let input = json!({ "sku": "a", "categoryIds": ids });
        let said = change(&gateway.merchant(), "categorizeProduct", input).await;
        assert_eq!(said["categories"].as_array().map(Vec::len), Some(ids.len()), "{said:#}");
    };
    let first = async |gateway: &Gateway| categorize(gateway, &ids).await;
    cuts::with_late_copy(&base, is_change, first, async || categorize(&base, &[]).await).await;
    assert_eq!(product(&base, "a").await["categories"], json!([]));
    base.assert_sound().await;
}
