//! Facets: the counts of a category's page follow its products, whatever happens to these.

use docgate::{
    background,
    config::Config,
    domains::{self, ROOMS},
    invariants::Progress,
};
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ask, music};
use crate::{
    catalog::{self, change, create, person},
    support::{
        Client, Gateway, commands, cuts,
        direct::in_time,
        proxy::{Cut, Seen},
        short_bounds, until,
    },
};

const FACETS: &str = "query($path: String!) { category(by: { path: $path }) { facets {
    countedAt total direct types { value count } prices { currency min max count }
    contributors { personId name count } properties { key values { value count } } } } }";

/// Lets the sweep of categories follow what changed.
pub(crate) async fn follow(gateway: &Gateway) {
    gateway.sweep_whole_room(&domains::categories::ROOM).await;
}

async fn facets(gateway: &Gateway, path: &str) -> Value {
    let category = gateway.anonymous().field(FACETS, json!({ "path": path })).await;
    category["facets"].clone()
}

/// The number of products of the category and of everything below it.
async fn total(gateway: &Gateway, path: &str) -> Value {
    facets(gateway, path).await["total"].clone()
}

/// A generic product in these categories.
fn thing(sku: &str, price: i64, colours: &[&str], categories: &[&String]) -> Value {
    let colours = colours.iter().map(|colour| json!({ "key": "colour", "value": colour }));
    let generic = json!({ "type": "thing", "properties": colours.collect::<Vec<_>>() });
    json!({
        "sku": sku,
        "content": { "title": sku, "details": { "generic": generic } },
        "pricing": { "list": price, "retail": price, "currency": "EUR" },
        "categoryIds": categories,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_has_its_counts_in_one_document() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [music, jazz, bop, film] = music(&gateway).await;
    let nothing = facets(&gateway, "/music").await;
    assert_eq!(
        nothing,
        json!({ "countedAt": null, "total": 0, "direct": 0, "types": [], "prices": [],
            "contributors": [], "properties": [] })
    );
    for input in [
        thing("a", 50, &["red"], &[&jazz]),
        thing("b", 199, &["red", "blue"], &[&bop, &music]),
        thing("c", 200, &["blue"], &[&music]),
        thing("d", 200, &["red"], &[&film]),
    ] {
        create(&merchant, input).await;
    }
    let mut book = thing("e", 100_000_000_000, &[], &[&bop]);
    book["content"]["details"] = json!({ "book": {} });
    create(&merchant, book).await;
    let someone = person(&merchant, "Someone").await;
    for (sku, role) in [("a", "author"), ("a", "editor"), ("c", "author")] {
        let credit = json!({ "sku": sku, "personId": someone, "role": role });
        change(&merchant, "creditPerson", credit).await;
    }
    gateway.assert_sound().await;
    follow(&gateway).await;
    gateway.assert_sound().await;

    let mut found = facets(&gateway, "/music").await;
    assert!(found["countedAt"].is_string(), "{found:#}");
    found["countedAt"] = Value::Null;
    let band = |min: i64, max: Value, count: i32| json!({ "currency": "EUR", "min": min, "max": max, "count": count });
    assert_eq!(
        found,
        json!({
            "countedAt": null,
            "total": 4,
            "direct": 2,
            "types": [{ "value": "thing", "count": 3 }, { "value": "book", "count": 1 }],
            "prices": [
                band(0, json!(99), 1),
                band(100, json!(199), 1),
                band(200, json!(499), 1),
                band(100_000_000_000, json!(199_999_999_999_i64), 1),
            ],
            "contributors": [{ "personId": someone, "name": "Someone", "count": 2 }],
            "properties": [{ "key": "colour",
                "values": [{ "value": "blue", "count": 2 }, { "value": "red", "count": 2 }] }],
        }),
        "{found:#}"
    );
    assert_eq!(total(&gateway, "/music/jazz").await, 3);
    assert_eq!(total(&gateway, "/film").await, 1);
    let response = gateway.anonymous().explained(FACETS, json!({ "path": "/music" })).await;
    let mut sent = commands(&response);
    sent.sort();
    assert_eq!(sent, ["find categories", "find categoryFacets"]);
    // The people themselves are one command more.
    let query = "query($path: String!) { category(by: { path: $path }) { facets {
        contributors { person { id name } } } } }";
    let response = gateway.anonymous().explained(query, json!({ "path": "/music" })).await;
    let contributors = &response["data"]["category"]["facets"]["contributors"];
    assert_eq!(*contributors, json!([{ "person": { "id": someone, "name": "Someone" } }]));
    let mut sent = commands(&response);
    sent.sort();
    assert_eq!(sent, ["find categories", "find categoryFacets", "find people"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn they_follow_every_kind_of_change() {
    let gateway = Gateway::with(short_bounds).await;
    let merchant = gateway.merchant();
    let [music, jazz, bop, film] = music(&gateway).await;
    for (sku, category) in [("a", &jazz), ("b", &bop), ("c", &film)] {
        create(&merchant, thing(sku, 150, &["red"], &[category])).await;
    }
    let someone = person(&merchant, "Someone").await;
    let credit = json!({ "sku": "b", "personId": someone, "role": "author" });
    change(&merchant, "creditPerson", credit.clone()).await;
    let totals = async |expected: [(&str, i32); 3]| {
        gateway.assert_sound().await;
        follow(&gateway).await;
        gateway.assert_sound().await;
        for (path, count) in expected {
            assert_eq!(total(&gateway, path).await, count, "{path}");
        }
    };
    totals([("/music", 2), ("/music/jazz", 2), ("/film", 1)]).await;

    // A price.
    change(&merchant, "setProductPrice", json!({ "sku": "b", "list": 700, "retail": 600 })).await;
    totals([("/music", 2), ("/music/jazz", 2), ("/film", 1)]).await;
    let prices = facets(&gateway, "/music").await["prices"].clone();
    let bands: Vec<_> = prices.as_array().expect("bands").iter().map(|one| &one["min"]).collect();
    assert_eq!(bands, [&json!(100), &json!(500)]);

    // The categories of a product.
    let input = json!({ "sku": "a", "categoryIds": [film] });
    change(&merchant, "categorizeProduct", input).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/film", 2)]).await;

    // A content.
    let version = catalog::product(&gateway, "a").await["version"].clone();
    let content = json!({ "title": "A", "details": { "book": {} } });
    let input = json!({ "sku": "a", "version": version, "content": content });
    change(&merchant, "updateProduct", input).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/film", 2)]).await;
    let types = facets(&gateway, "/film").await["types"].clone();
    assert_eq!(types, json!([{ "value": "book", "count": 1 }, { "value": "thing", "count": 1 }]));

    // A name, and the end of a credit.
    let rename = "mutation($id: ID!) { renamePerson(input: { personId: $id, name: \"Another\" }) {
        __typename } }";
    merchant.field(rename, json!({ "id": someone })).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/film", 2)]).await;
    assert_eq!(facets(&gateway, "/music").await["contributors"][0]["name"], "Another");
    change(&merchant, "uncreditPerson", credit).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/film", 2)]).await;
    assert_eq!(facets(&gateway, "/music").await["contributors"], json!([]));

    // A move of a category, also back, before anything was followed.
    let moved = |parent: &String| json!({ "categoryId": jazz, "parentId": parent });
    ask(&merchant, "moveCategory", moved(&film)).await;
    totals([("/music", 0), ("/film", 3), ("/film/jazz", 1)]).await;
    ask(&merchant, "moveCategory", moved(&music)).await;
    ask(&merchant, "moveCategory", moved(&film)).await;
    ask(&merchant, "moveCategory", moved(&music)).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/film", 2)]).await;
    let slug = json!({ "categoryId": film, "slug": "films" });
    ask(&merchant, "changeCategorySlug", slug).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/films", 2)]).await;

    // A deletion, and another product of the same SKU.
    let delete = "mutation($sku: ID!) { deleteProduct(input: { sku: $sku }) { __typename } }";
    merchant.field(delete, json!({ "sku": "b" })).await;
    totals([("/music", 0), ("/music/jazz", 0), ("/films", 2)]).await;
    gateway.sweep().await;
    create(&merchant, thing("b", 1, &[], &[&bop])).await;
    totals([("/music", 1), ("/music/jazz", 1), ("/films", 2)]).await;

    // What a product left before it was followed isn't forgotten.
    for categories in [vec![&music], vec![&film], vec![], vec![&bop], vec![&film]] {
        let input = json!({ "sku": "b", "categoryIds": categories });
        change(&merchant, "categorizeProduct", input).await;
        // Another product's change has its path counted in between.
        let input = json!({ "sku": "c", "list": 9, "retail": 9 });
        change(&merchant, "setProductPrice", input).await;
        gateway.assert_sound().await;
    }
    totals([("/music", 0), ("/music/jazz", 0), ("/films", 3)]).await;

    // An import.
    let mut line = thing("d", 5, &["green"], &[]);
    line.as_object_mut().expect("a line").remove("categoryIds");
    line["categories"] = json!(["/music/jazz/bop"]);
    let lines: Vec<docgate::domains::catalog::ImportProduct> =
        serde_json::from_value(json!([line])).expect("lines");
    let said = docgate::domains::catalog::operations::import(&gateway.app, &lines).await;
    assert!(said.expect("imported")[0].is_ok());
    totals([("/music", 1), ("/music/jazz", 1), ("/films", 3)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_is_in_no_category_has_no_mark() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("a", 100, &[], &[])).await;
    change(&merchant, "setProductPrice", json!({ "sku": "a", "list": 9, "retail": 9 })).await;
    let products = gateway.stored("products").await;
    assert!(!products[0].contains_key("facets"), "{products:?}");
}

/// The marks of products, in the order of their SKUs: their number of changes, and whether the last one was followed.
async fn marked(gateway: &Gateway) -> Vec<(i64, bool)> {
    let products = gateway.stored("products").await;
    let marks = products.iter().map(|product| product.get_document("facets").expect("a mark"));
    marks
        .map(|mark| (mark.get_i64("changes").expect("a number"), !mark.contains_key("at")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_counted_is_followed() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [_, jazz, bop, film] = music(&gateway).await;
    create(&merchant, thing("a", 150, &["red"], &[&jazz])).await;
    create(&merchant, thing("b", 150, &["red"], &[&bop])).await;
    follow(&gateway).await;
    let before = marked(&gateway).await;
    assert!(before.iter().all(|(_, is_followed)| *is_followed), "{before:?}");

    // Another title, another list price, the same categories, and another name of a category with many below it.
    let version = catalog::product(&gateway, "a").await["version"].clone();
    let mut content = thing("a", 150, &["red"], &[])["content"].clone();
    content["title"] = json!("Another");
    let input = json!({ "sku": "a", "version": version, "content": content });
    change(&merchant, "updateProduct", input).await;
    change(&merchant, "setProductPrice", json!({ "sku": "a", "list": 999, "retail": 150 })).await;
    change(&merchant, "categorizeProduct", json!({ "sku": "a", "categoryIds": [jazz] })).await;
    let name = json!({ "categoryId": jazz, "locale": "en", "name": "Renamed" });
    assert_eq!(ask(&merchant, "renameCategory", name).await["name"], "Renamed");
    let shown = gateway.stored("products").await;
    assert!(shown[0].to_string().contains("Renamed"), "the copies have followed: {shown:?}");
    assert_eq!(marked(&gateway).await, before);
    gateway.assert_sound().await;

    // Each of these changes what is counted.
    content["details"]["generic"]["properties"] = json!([]);
    let version = catalog::product(&gateway, "a").await["version"].clone();
    let input = json!({ "sku": "a", "version": version, "content": content });
    change(&merchant, "updateProduct", input).await;
    let changed = marked(&gateway).await;
    assert_eq!((changed[0], changed[1]), ((before[0].0 + 1, false), before[1]));
    change(&merchant, "setProductPrice", json!({ "sku": "b", "list": 999, "retail": 151 })).await;
    assert_eq!(marked(&gateway).await[1], (before[1].0 + 1, false));
    change(&merchant, "categorizeProduct", json!({ "sku": "b", "categoryIds": [film] })).await;
    let moved = json!({ "categoryId": jazz, "parentId": film });
    ask(&merchant, "moveCategory", moved).await;
    let after = marked(&gateway).await;
    assert_eq!((after[0].0, after[1].0), (before[0].0 + 2, before[1].0 + 2), "{after:?}");
    gateway.assert_sound().await;
    follow(&gateway).await;
    gateway.assert_sound().await;
    assert_eq!(total(&gateway, "/film").await, 2);
    assert_eq!(total(&gateway, "/music").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_may_be_cut_at_each_of_its_writes() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let merchant = gateway.merchant();
    let [_, jazz, _, film] = music(&gateway).await;
    create(&merchant, thing("a", 100, &[], &[&jazz])).await;
    follow(&gateway).await;
    let rooms = || ROOMS.iter().copied().filter(|room| room.name == "categories");
    for how in [Cut::Refused, Cut::ReplyLost, Cut::BeforeForwarding] {
        // Marks, settles, and counts of two or three paths.
        for at in 0..5 {
            let place = if at % 2 == 0 { &film } else { &jazz };
            let input = json!({ "sku": "a", "categoryIds": [place] });
            change(&merchant, "categorizeProduct", input).await;
            proxy.count_only(|seen| {
                ["categoryFacets", "products"].contains(&seen.collection.as_str())
                    && ["update", "delete", "findAndModify"].contains(&seen.command.as_str())
            });
            proxy.cut_with_retries(at, how);
            // Whatever becomes of it.
            background::sweep_each(&gateway.app, rooms()).await.ok();
            proxy.heal();
            let sibling = gateway.sibling().await;
            sibling.assert_sound().await;
            follow(&sibling).await;
            sibling.assert_sound().await;
            let [in_jazz, in_film] = if at % 2 == 0 { [0, 1] } else { [1, 0] };
            assert_eq!(total(&sibling, "/music").await, in_jazz, "{how:?} at {at}");
            assert_eq!(total(&sibling, "/film").await, in_film, "{how:?} at {at}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_cut_anywhere_is_followed() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            let [from, to] = ["from", "to"].map(|name| format!("{name}-{n}"));
            let from = catalog::category(&merchant, &from, None).await;
            let to = catalog::category(&merchant, &to, None).await;
            create(&merchant, thing(&format!("t-{n}"), 100, &[], &[&from])).await;
            (format!("t-{n}"), format!("/to-{n}"), to)
        },
        async |gateway, (sku, _, to)| {
            let query = "mutation($input: CategorizeProductInput!) {
                categorizeProduct(input: $input) { __typename } }";
            let input = json!({ "input": { "sku": sku, "categoryIds": [to] } });
            gateway.merchant().send(query, input).await.ok();
        },
        async |gateway, case| {
            let (sku, path, _) = &case.subject;
            let categories = catalog::product(gateway, sku).await["categories"].clone();
            assert_eq!(categories[0]["path"], json!(path), "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_gateways_change_and_follow_at_once() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [music, jazz, bop, film] = music(&gateway).await;
    for number in 0..6 {
        create(&merchant, thing(&format!("t-{number}"), 100, &[], &[&jazz])).await;
    }
    let sibling = gateway.sibling().await;
    let places = [music, jazz, bop, film];
    let changes = async |client: Client, begin: usize| {
        for number in begin..begin + 30 {
            let sku = format!("t-{}", number % 6);
            let input = json!({ "sku": sku, "categoryIds": [places[number * 7 % 4]] });
            change(&client, "categorizeProduct", input).await;
            let input = json!({ "sku": sku, "list": 900, "retail": number * 13 });
            change(&client, "setProductPrice", input).await;
        }
    };
    let sweeps = async |gateway: &Gateway| {
        let rooms = || ROOMS.iter().copied().filter(|room| room.name == "categories");
        for _ in 0..30 {
            // Both may insert the same document, or one may overtake the other.
            background::sweep_each(&gateway.app, rooms()).await.ok();
        }
    };
    tokio::join!(
        changes(gateway.merchant(), 0),
        changes(sibling.merchant(), 3),
        sweeps(&gateway),
        sweeps(&sibling),
    );
    gateway.assert_sound().await;
    follow(&gateway).await;
    gateway.assert_sound().await;
    let all = [total(&gateway, "/music").await, total(&gateway, "/film").await];
    let sum: i64 = all.iter().filter_map(Value::as_i64).sum();
    assert_eq!(sum, 6, "{all:?}");
}

/// It doesn't keep the others waiting, and isn't lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_fails_goes_behind_the_others() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let [_, jazz, _, film] = music(&gateway).await;
    create(&gateway.merchant(), thing("a", 100, &[], &[&jazz, &film])).await;
    follow(&gateway).await;
    let stored = gateway.raw("categoryFacets");
    for (path, millis) in [("/film", 1_000), ("/music", 2_000)] {
        let dirty = doc! {
            "$set": { "counts.total": 7_i64, "dirtyAt": DateTime::from_millis(millis) },
            "$inc": { "changes": 1_i64 },
        };
        stored.update_one(doc! { "_id": path }, dirty).await.expect("changed");
    }
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "products" && seen.command == "aggregate");
    proxy.cut_with_retries(0, Cut::Refused);
    let rooms = ROOMS.iter().copied().filter(|room| room.name == "categories");
    assert!(background::sweep_each(&gateway.app, rooms).await.is_err());
    proxy.heal();
    assert_eq!(total(&gateway, "/music").await, 1);
    assert_eq!(total(&gateway, "/film").await, 7);
    let failed = stored.find_one(doc! { "_id": "/film" }).await.expect("read").expect("facets");
    assert!(failed.get_datetime("dirtyAt").is_ok_and(|at| at.timestamp_millis() > 2_000));
    follow(&gateway).await;
    assert_eq!(total(&gateway, "/film").await, 1);
    gateway.assert_sound().await;
}

/// The count of a large category takes minutes, and the flows of other rooms are swept meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn sweeps_go_on_while_a_category_is_counted() {
    let gateway = Gateway::behind_proxy(|config| config.sweep_millis = 20).await;
    let merchant = gateway.merchant();
    let [_, jazz, _, film] = music(&gateway).await;
    create(&merchant, thing("a", 100, &[], &[&jazz])).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let is_count = |seen: &Seen| seen.collection == "products" && seen.command == "aggregate";
    let mut count = proxy.meet(is_count);
    let stop = CancellationToken::new();
    let running = sweep_and_count(&gateway, &stop);
    count.arrived().await;
    create(&merchant, thing("b", 100, &[], &[&film])).await;
    let stored = gateway.raw("categoryFacets");
    until("the sweep follows", async || {
        stored.find_one(doc! { "_id": "/film" }).await.expect("read").is_some()
    })
    .await;
    assert_eq!(total(&gateway, "/music").await, 0, "the count is still held up");
    count.end();
    until("both are counted", async || {
        total(&gateway, "/music").await == 1 && total(&gateway, "/film").await == 1
    })
    .await;
    stop.cancel();
    running.await.expect("no panic");
    gateway.assert_sound().await;
}

/// Runs the sweeps and the counts beside each other, as a gateway does, until `stop` is cancelled.
fn sweep_and_count(gateway: &Gateway, stop: &CancellationToken) -> JoinHandle<()> {
    let (app, stop) = (gateway.app.clone(), stop.clone());
    tokio::spawn(async move {
        tokio::join!(background::run(app.clone(), stop.clone()), background::recount(app, stop));
    })
}

/// Another gateway doesn't count the same meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_count_keeps_its_lease() {
    let often = |config: &mut Config| {
        short_bounds(config);
        config.sweep_millis = 20;
    };
    let gateway = Gateway::behind_proxy(often).await;
    let [_, jazz, ..] = music(&gateway).await;
    create(&gateway.merchant(), thing("a", 100, &[], &[&jazz])).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let is_count = |seen: &Seen| seen.collection == "products" && seen.command == "aggregate";
    let mut count = proxy.meet(is_count);
    let stop = CancellationToken::new();
    let running = sweep_and_count(&gateway, &stop);
    count.arrived().await;
    let leases = gateway.raw("leases");
    let until_when = async || {
        let lease = leases.find_one(doc! { "_id": "counts" }).await.expect("read");
        *lease.expect("a lease").get_datetime("until").expect("a time")
    };
    let first = until_when().await;
    until("the lease is kept", async || until_when().await > first).await;
    count.end();
    until("it is counted", async || total(&gateway, "/music").await == 1).await;
    stop.cancel();
    running.await.expect("no panic");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_compares_with_a_recount_and_a_repair_counts_again() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [_, jazz, ..] = music(&gateway).await;
    create(&merchant, thing("a", 100, &["red"], &[&jazz])).await;
    follow(&gateway).await;
    let stored = gateway.database.collection::<mongodb::bson::Document>("categoryFacets");
    let wrong = doc! { "$set": { "counts.total": 7_i64 } };
    stored.update_one(doc! { "_id": "/music" }, wrong).await.expect("changed");
    stored.delete_one(doc! { "_id": "/music/jazz" }).await.expect("removed");
    let rooms = ROOMS.iter().copied().filter(|room| room.name == "categories");
    let report = in_time(async || {
        domains::check_each(&gateway.app, rooms.clone(), Progress::default()).await
    })
    .await;
    let broken: Vec<_> = report.rules.iter().filter(|(_, broken)| !broken.is_empty()).collect();
    assert_eq!(broken.len(), 1, "{broken:#?}");
    let found = &broken[0].1;
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[1].starts_with("/music/jazz has products"), "{found:#?}");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["the facets of /music", "the facets of /music/jazz"]);
    assert!(gateway.repair().await.is_empty());
    assert_eq!(total(&gateway, "/music").await, 1);
    assert_eq!(total(&gateway, "/music/jazz").await, 1);
    // Without any of the documents all are counted. A product that a version without facets has stored has none to miss.
    stored.delete_many(doc! {}).await.expect("removed");
    let unmarked = doc! { "$unset": { "facets": 1 } };
    let products = gateway.raw("products");
    let before = products.find_one(doc! { "_id": "a" }).await.expect("read").expect("a product");
    products.update_one(doc! { "_id": "a" }, unmarked).await.expect("changed");
    gateway.assert_sound().await;
    products.replace_one(doc! { "_id": "a" }, before).await.expect("changed");
    let report = in_time(async || {
        domains::check_each(&gateway.app, rooms.clone(), Progress::default()).await
    })
    .await;
    let found: usize = report.rules.iter().map(|(_, broken)| broken.len()).sum();
    assert_eq!(found, 2, "{report:#?}");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["the facets of /music", "the facets of /music/jazz"]);
    assert_eq!(total(&gateway, "/music").await, 1);
    gateway.assert_sound().await;
}
