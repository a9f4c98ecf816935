//! Variants of products: SKUs and prices of their own, whoever calls at once and wherever a call is cut.

use docgate::domains::{
    catalog::{ImportProduct, export, operations::import},
    inventory::operations::{self as inventory, Holder, Reserved},
};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{change, create, product, thing};
use crate::support::{Client, Gateway, commands, cuts, long_bounds, proxy::Seen, short_bounds};

/// A mutation of variants.
fn mutation(name: &str) -> String {
    let input = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
    let more = match name {
        "addVariant" => "... on AlreadyExists { taken: id }",
        _ => "... on Conflict { currentVersion }",
    };
    format!(
        "mutation($input: {input}!) {{ {name}(input: $input) {{ __typename
            ... on Product {{ sku variants {{ sku title version }} }}
            ... on UserError {{ code message }} ... on InvalidInput {{ field }}
            ... on NotFound {{ what }} {more} }} }}"
    )
}

/// The input of a variant in a colour and a size.
pub fn variant(sku: &str, [colour, size]: [&str; 2], difference: i64) -> Value {
    let options = json!([{ "name": "colour", "value": colour }, { "name": "size", "value": size }]);
    json!({ "sku": sku, "options": options, "priceDifference": difference })
}

/// Adds a variant.
pub async fn add(client: &Client, input: Value) -> Value {
    client.field(&mutation("addVariant"), json!({ "input": input })).await
}

/// As [`add`], and it must be added.
pub async fn added(gateway: &Gateway, input: Value) {
    let added = add(&gateway.merchant(), input).await;
    assert!(added["sku"].is_string(), "{added:#}");
}

/// Updates a variant of this version.
pub async fn update(client: &Client, mut input: Value, version: &str) -> Value {
    input["version"] = json!(version);
    client.field(&mutation("updateVariant"), json!({ "input": input })).await
}

/// Deletes a variant.
pub async fn delete(client: &Client, sku: &str) -> Value {
    let delete = "mutation($sku: ID!) { deleteVariant(input: { sku: $sku }) {
        __typename ... on DeletedVariant { sku } ... on UserError { code message }
        ... on NotFound { what } } }";
    client.field(delete, json!({ "sku": sku })).await
}

/// The variants of a product.
async fn variants(gateway: &Gateway, sku: &str) -> Vec<Value> {
    let query = "query($sku: ID!) { product(sku: $sku) { variants { sku title version
        priceDifference { minorUnits } pricing { list { minorUnits } retail { minorUnits } } } } }";
    let found = gateway.anonymous().field(query, json!({ "sku": sku })).await;
    found["variants"].as_array().unwrap_or_else(|| panic!("{sku}: {found:#}")).clone()
}

/// The version of a product's only or first variant.
async fn version(gateway: &Gateway, sku: &str) -> String {
    variants(gateway, sku).await[0]["version"].as_str().expect("a version").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_displayed_alike_are_the_same() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, variant("shirt.a", ["ros\u{e9}", "M"], 0)).await;
    let alike = variant("shirt.b", ["rose\u{301}", "M"], 0);
    let refused = add(&merchant, alike.clone()).await;
    assert_eq!(refused["field"], "input.options", "{refused:#}");
    // A repeat in the other form is the same call.
    added(&gateway, variant("shirt.a", ["rose\u{301}", "M"], 0)).await;
    let mut line = thing("shirt", "A shirt");
    line["variants"] = json!([alike]);
    let lines: Vec<ImportProduct> = serde_json::from_value(json!([line])).expect("lines");
    let said = import(&gateway.app, &lines).await.expect("imported");
    assert!(said[0].is_err(), "{said:?}");
    let found = variants(&gateway, "shirt").await;
    assert_eq!((found.len(), &found[0]["title"]), (1, &json!("ros\u{e9} / M")), "{found:#?}");
    let mut twice = variant("shirt.c", ["red", "L"], 0);
    twice["options"] = json!([
        { "name": "t\u{e9}", "value": "1" }, { "name": "te\u{301}", "value": "2" },
    ]);
    let refused = add(&merchant, twice).await;
    assert_eq!(refused["code"], "INVALID_INPUT", "{refused:#}");
}

/// The input of a variant with one value, which reads as the two values of another one.
fn of_one_value(sku: &str) -> Value {
    json!({ "sku": sku, "options": [{ "name": "set", "value": "red / M" }], "priceDifference": 0 })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_value_is_not_two_with_the_same_title() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, of_one_value("shirt.a")).await;
    added(&gateway, variant("shirt.b", ["red", "M"], 0)).await;
    let found = variants(&gateway, "shirt").await;
    let titles: Vec<_> = found.iter().map(|one| &one["title"]).collect();
    assert_eq!(titles, [&json!("red / M"); 2], "{found:#?}");
    // Each can be updated, and nobody gets the values of another one.
    let read = |at: usize| found[at]["version"].as_str().expect("a version");
    let refused = update(&merchant, variant("shirt.a", ["red", "M"], 5), read(0)).await;
    assert_eq!(refused["field"], "input.options", "{refused:#}");
    for taken in [variant("shirt.c", ["red", "M"], 5), of_one_value("shirt.c")] {
        let refused = add(&merchant, taken).await;
        assert_eq!(refused["field"], "input.options", "{refused:#}");
    }
    let mut dearer = of_one_value("shirt.a");
    dearer["priceDifference"] = json!(5);
    assert_eq!(update(&merchant, dearer, read(0)).await["sku"], "shirt");
    let updated = update(&merchant, variant("shirt.b", ["red", "M"], 5), read(1)).await;
    assert_eq!(updated["sku"], "shirt", "{updated:#}");
    let mut line = thing("tie", "A tie");
    line["variants"] = json!([of_one_value("tie.a"), variant("tie.b", ["red", "M"], 0)]);
    let lines: Vec<ImportProduct> = serde_json::from_value(json!([line])).expect("lines");
    let said = import(&gateway.app, &lines).await.expect("imported");
    assert!(said[0].is_ok(), "{said:?}");
    assert_eq!(variants(&gateway, "tie").await.len(), 2);
    gateway.assert_sound().await;
}

/// So the name of an option is changed, one variant after the other.
#[tokio::test(flavor = "multi_thread")]
async fn variants_of_a_product_may_have_different_options() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, variant("shirt.a", ["red", "M"], 0)).await;
    added(&gateway, variant("shirt.b", ["red", "L"], 0)).await;
    let query = "{ product(sku: \"shirt\") { options { name values } } }";
    let options = async || {
        let found = gateway.anonymous().field(query, json!({})).await;
        found["options"].clone()
    };
    let option = |name: &str, values: &[&str]| json!({ "name": name, "values": values });
    assert_eq!(options().await, json!([option("colour", &["red"]), option("size", &["M", "L"])]));
    let all = variants(&gateway, "shirt").await;
    for (one, size) in all.iter().zip(["M", "L"]) {
        let mut input = variant("", ["red", size], 0);
        input["sku"] = one["sku"].clone();
        input["options"][0]["name"] = json!("tint");
        let version = one["version"].as_str().expect("a version");
        let updated = update(&merchant, input, version).await;
        assert!(updated["sku"].is_string(), "{updated:#}");
        if size == "M" {
            let mixed =
                [option("tint", &["red"]), option("size", &["M", "L"]), option("colour", &["red"])];
            assert_eq!(options().await, json!(mixed));
        }
    }
    assert_eq!(options().await, json!([option("tint", &["red"]), option("size", &["M", "L"])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_has_variants_with_prices_of_their_own() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    let red_m = variant("shirt.red-m", ["red", "M"], 200);
    added(&gateway, red_m.clone()).await;
    added(&gateway, variant("shirt.red-l", ["red", "L"], -300)).await;
    let found = variants(&gateway, "shirt").await;
    let prices = |at: usize| {
        let pricing = &found[at]["pricing"];
        (pricing["list"]["minorUnits"].as_i64(), pricing["retail"]["minorUnits"].as_i64())
    };
    assert_eq!(prices(0), (Some(2200), Some(1700)));
    assert_eq!(prices(1), (Some(1700), Some(1200)));
    assert_eq!(found[1]["priceDifference"]["minorUnits"], -300);
    assert_eq!((&found[0]["title"], &found[1]["title"]), (&json!("red / M"), &json!("red / L")));

    // Each of the SKUs finds the product, by one command.
    let query = "query($sku: ID!) { product(sku: $sku) { sku options { name values } } }";
    let options = json!([{ "name": "colour", "values": ["red"] },
        { "name": "size", "values": ["M", "L"] }]);
    for sku in ["shirt", "shirt.red-m", "shirt.red-l"] {
        let response = gateway.anonymous().explained(query, json!({ "sku": sku })).await;
        let expected = json!({ "sku": "shirt", "options": options });
        assert_eq!(response["data"]["product"], expected, "{sku}");
        assert_eq!(commands(&response), ["find products"], "{sku}");
    }
    for sku in ["shirt.blue-m", "shirt.", ".red-m", "shirt.red-m.x", "red-m"] {
        let found = gateway.anonymous().field(query, json!({ "sku": sku })).await;
        assert_eq!(found, Value::Null, "{sku}");
    }
    let plain = create(&merchant, thing("plain", "No variants")).await;
    assert_eq!(plain["sku"], "plain");
    let found = gateway.anonymous().field(query, json!({ "sku": "plain" })).await;
    assert_eq!(found["options"], json!([]));

    // A repeat changes nothing; another variant of the SKU is refused.
    let before = gateway.snapshot().await;
    assert_eq!(add(&merchant, red_m).await["sku"], "shirt");
    let other = add(&merchant, variant("shirt.red-m", ["red", "XL"], 0)).await;
    assert_eq!(
        (&other["code"], &other["taken"]),
        (&json!("ALREADY_EXISTS"), &json!("shirt.red-m"))
    );
    assert!(gateway.snapshot().await == before);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_a_variant_is_refused() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, variant("shirt.red-m", ["red", "M"], -300)).await;
    let before = gateway.snapshot().await;
    let twice = json!([{ "name": "size", "value": "M" }, { "name": "size", "value": "L" }]);
    let blue = |sku: &str| variant(sku, ["blue", "M"], 0);
    for (input, place) in [
        (blue("shirt"), "input.sku"),
        (blue("shirt."), "input.sku"),
        (blue(".blue-m"), "input.sku"),
        (blue("shirt.blue.m"), "input.sku"),
        (blue("shirt.$blue"), "input.sku"),
        (json!({ "sku": "shirt.x", "options": [] }), "input.options"),
        (json!({ "sku": "shirt.x", "options": twice }), "input.options.1.name"),
        (variant("shirt.x", ["", "M"], 0), "input.options.0.value"),
        // These are the options of another variant.
        (variant("shirt.x", ["red", "M"], 0), "input.options"),
        (variant("shirt.x", ["blue", "M"], -1501), "input.priceDifference"),
    ] {
        let refused = add(&merchant, input.clone()).await;
        assert_eq!(refused["field"], place, "{input:#} gave {refused:#}");
    }
    assert_eq!(add(&merchant, blue("trousers.blue-m")).await["what"], "product");
    for (name, input, place) in [
        ("setProductPrice", json!({ "sku": "shirt", "retail": 299 }), "input.retail"),
        (
            "setProductPrice",
            json!({ "sku": "shirt", "list": 900, "retail": 900, "currency": "USD" }),
            "input.currency",
        ),
    ] {
        let refused = change(&merchant, name, input).await;
        assert_eq!(refused["field"], place, "{refused:#}");
    }
    let input = json!({ "input": blue("shirt.blue-m") });
    let add_it = &mutation("addVariant");
    assert_eq!(gateway.shopper("ann").error_code(add_it, input.clone()).await, "FORBIDDEN");
    assert_eq!(gateway.anonymous().error_code(add_it, input).await, "UNAUTHENTICATED");
    assert!(gateway.snapshot().await == before);
    assert_eq!(
        change(&merchant, "setProductPrice", json!({ "sku": "shirt", "retail": 300 })).await["sku"],
        "shirt"
    );
    assert_eq!(variants(&gateway, "shirt").await[0]["pricing"]["retail"]["minorUnits"], 0);

    // At most a hundred.
    let of = |number: i32| {
        let value = format!("n{number}");
        doc! { "sku": format!("shirt.{value}"), "generation": &value, "title": &value,
        "options": [{ "name": "number", "value": &value }], "difference": 0_i64,
        "version": &value, "origin": &value }
    };
    let many: Vec<Document> = (0..100).map(of).collect();
    let set = doc! { "$set": { "variants": many } };
    gateway.raw("products").update_one(doc! { "_id": "shirt" }, set).await.expect("written");
    assert_eq!(add(&merchant, blue("shirt.blue-m")).await["field"], "input.sku");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_is_updated_if_it_is_as_it_was_read() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, variant("shirt.a", ["red", "M"], 0)).await;
    added(&gateway, variant("shirt.b", ["red", "L"], 0)).await;
    let read = version(&gateway, "shirt").await;
    let new = variant("shirt.a", ["green", "M"], 50);
    assert_eq!(update(&merchant, new.clone(), &read).await["sku"], "shirt");
    let found = variants(&gateway, "shirt").await;
    assert_eq!((&found[0]["sku"], &found[0]["title"]), (&json!("shirt.a"), &json!("green / M")));
    assert_eq!(found[0]["priceDifference"]["minorUnits"], 50);
    assert_ne!(found[0]["version"], json!(read));

    let before = gateway.snapshot().await;
    // A repeat, a stale version, what another one has, and what doesn't exist.
    assert_eq!(update(&merchant, new.clone(), &read).await["sku"], "shirt");
    let stale = update(&merchant, variant("shirt.a", ["blue", "M"], 50), &read).await;
    assert_eq!(
        (&stale["code"], &stale["currentVersion"]),
        (&json!("CONFLICT"), &found[0]["version"])
    );
    let now = found[0]["version"].as_str().expect("a version");
    let same = update(&merchant, variant("shirt.a", ["red", "L"], 50), now).await;
    assert_eq!(same["field"], "input.options");
    let dear = update(&merchant, variant("shirt.a", ["green", "M"], -1501), now).await;
    assert_eq!(dear["field"], "input.priceDifference");
    for sku in ["shirt", "shirt.c", "shirt.$a", ""] {
        let missing = update(&merchant, variant(sku, ["blue", "M"], 0), now).await;
        assert_eq!(missing["__typename"], "NotFound", "{sku}: {missing:#}");
    }
    assert!(gateway.snapshot().await == before);
    // The variant keeps its own options with another price.
    assert_eq!(update(&merchant, variant("shirt.a", ["green", "M"], 0), now).await["sku"], "shirt");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_callers_at_once_one_adds_a_variant() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    let at_once = async |inputs: Vec<Value>| {
        let calls = inputs.into_iter().map(|input| {
            let merchant = merchant.clone();
            tokio::spawn(async move { add(&merchant, input).await })
        });
        let mut said = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            said.push(call.await.expect("an answer")["__typename"].clone());
        }
        said
    };
    let won = |said: &[Value]| said.iter().filter(|name| *name == "GenericProduct").count();
    let sizes: Vec<String> = (0..8).map(|number| format!("{number}")).collect();
    let said =
        at_once(sizes.iter().map(|size| variant("shirt.x", ["red", size], 0)).collect()).await;
    assert_eq!(won(&said), 1, "{said:?}");
    assert_eq!(said.iter().filter(|name| *name == "AlreadyExists").count(), 7, "{said:?}");
    let sku = |size: &String| format!("shirt.{size}");
    let said =
        at_once(sizes.iter().map(|size| variant(&sku(size), ["blue", "M"], 0)).collect()).await;
    assert_eq!(won(&said), 1, "{said:?}");
    assert_eq!(said.iter().filter(|name| *name == "InvalidInput").count(), 7, "{said:?}");
    let more = |size: &String| variant(&format!("shirt.more-{size}"), ["green", size], 0);
    assert_eq!(won(&at_once(sizes.iter().map(more).collect()).await), 8);
    assert_eq!(variants(&gateway, "shirt").await.len(), 10);

    // Of two updates of one version one is made.
    let read = version(&gateway, "shirt").await;
    let [one, other] = ["S", "XS"].map(|size| variant("shirt.x", ["red", size], 0));
    let (one, other) = tokio::join!(update(&merchant, one, &read), update(&merchant, other, &read));
    let mut said = [&one["__typename"], &other["__typename"]];
    said.sort_by_key(|name| name.as_str());
    assert_eq!(said, ["Conflict", "GenericProduct"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_variants_are_added_and_updated_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("shirt-{n}");
            create(&gateway.merchant(), thing(&sku, "A shirt")).await;
            added(gateway, variant(&format!("{sku}.a"), ["red", "M"], 0)).await;
            let read = version(gateway, &sku).await;
            (sku, read)
        },
        async |gateway, (sku, read): &(String, String)| {
            let merchant = gateway.merchant();
            let new = variant(&format!("{sku}.b"), ["red", "L"], 10);
            merchant.send(&mutation("addVariant"), json!({ "input": new })).await.ok();
            let mut new = variant(&format!("{sku}.a"), ["blue", "M"], 20);
            new["version"] = json!(read);
            merchant.send(&mutation("updateVariant"), json!({ "input": new })).await.ok();
        },
        async |gateway, case| {
            let found = variants(gateway, &case.subject.0).await;
            let mut titles: Vec<_> = found.iter().filter_map(|one| one["title"].as_str()).collect();
            titles.sort_unstable();
            assert_eq!(titles, ["blue / M", "red / L"], "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_an_import_add_and_change_variants() {
    let gateway = Gateway::start().await;
    let line = |sku: &str, variants: Value| {
        let mut line = thing(sku, "A shirt");
        line["variants"] = variants;
        line
    };
    let run = async |lines: Value| {
        let lines: Vec<ImportProduct> = serde_json::from_value(lines).expect("lines");
        let said = import(&gateway.app, &lines).await.expect("imported");
        said.into_iter().map(|said| said.map_err(|refused| refused.fault.field)).collect::<Vec<_>>()
    };
    let red = |sku: &str, difference: i64| variant(sku, ["red", "M"], difference);
    let lines = json!([
        line("a", json!([red("a.x", 10), variant("a.y", [" blue ", "M"], 0)])),
        line("b", Value::Null),
        line("c", json!([red("b.x", 0)])),
    ]);
    for _ in 0..2 {
        let refused = Err("input.variants.0.sku".to_owned());
        assert_eq!(run(lines.clone()).await, [Ok(()), Ok(()), refused]);
        let found = variants(&gateway, "a").await;
        assert_eq!((found.len(), &found[1]["title"]), (2, &json!("blue / M")));
    }
    let first = version(&gateway, "a").await;
    // Another price; what the line doesn't have stays, also without variants in the line.
    for variants in [json!([red("a.x", 20)]), Value::Null] {
        assert_eq!(run(json!([line("a", variants)])).await, [Ok(())]);
    }
    let found = variants(&gateway, "a").await;
    assert_eq!((found.len(), &found[0]["priceDifference"]["minorUnits"]), (2, &json!(20)));
    assert_ne!(found[0]["version"], json!(first));
    let said = run(json!([line("b", json!([red("b.x", 0), red("b.y", 0)]))])).await;
    assert_eq!(said, [Err("input.variants.1.options".to_owned())]);

    // What is exported changes nothing.
    let mut lines = Vec::new();
    export::for_each(&gateway.app, |line| lines.push(line)).await.expect("exported");
    let before = (variants(&gateway, "a").await, variants(&gateway, "b").await);
    assert_eq!(run(Value::Array(lines)).await, [Ok(()), Ok(())]);
    assert_eq!((variants(&gateway, "a").await, variants(&gateway, "b").await), before);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_imported_but_for_what_is_refused() {
    let gateway = Gateway::start().await;
    let run = async |change: Value| {
        let mut line = thing("shirt", "A shirt");
        for (field, value) in change.as_object().expect("fields") {
            line[field] = value.clone();
        }
        let lines: Vec<ImportProduct> = serde_json::from_value(json!([line])).expect("a line");
        let said = import(&gateway.app, &lines).await.expect("imported").pop().expect("an answer");
        said.map_err(|refused| refused.fault.field)
    };
    let titles = async || {
        let found = variants(&gateway, "shirt").await;
        found.iter().map(|one| one["title"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let red = variant("shirt.a", ["red", "M"], -300);
    assert_eq!(run(json!({ "variants": [red] })).await, Ok(()));
    // The first one has the options of another variant.
    let [same, green] = [["red", "M"], ["green", "M"]];
    let lines = json!([variant("shirt.b", same, 0), variant("shirt.c", green, 0)]);
    let refused = Err("input.variants.0.options".to_owned());
    assert_eq!(run(json!({ "variants": lines })).await, refused);
    let found: Vec<String> = titles().await;
    assert_eq!(found, ["red / M", "green / M"]);
    // The first one takes the options that the second one gives away.
    let lines = json!([variant("shirt.b", green, 0), variant("shirt.c", ["grey", "M"], 0)]);
    assert_eq!(run(json!({ "variants": lines })).await, Ok(()));
    let found: Vec<String> = titles().await;
    assert_eq!(found, ["red / M", "grey / M", "green / M"]);

    // Prices that don't fit the variants, as in `setProductPrice`.
    let before = gateway.snapshot().await;
    let price = |retail: i64, currency: &str| json!({ "pricing": { "list": 2000, "retail": retail, "currency": currency } });
    let refused = |field: &str| Err(format!("input.pricing.{field}"));
    assert_eq!(run(price(299, "EUR")).await, refused("retail"));
    assert_eq!(run(price(1500, "USD")).await, refused("currency"));
    assert!(gateway.snapshot().await == before);
    assert_eq!(run(price(300, "EUR")).await, Ok(()));
    assert_eq!(variants(&gateway, "shirt").await[0]["pricing"]["retail"]["minorUnits"], 0);
    let equal = variant("shirt.a", ["red", "M"], 0);
    assert_eq!(run(json!({ "variants": [equal] })).await, Ok(()));
    assert_eq!(run(price(1500, "USD")).await, Ok(()));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_variant_is_nowhere_and_its_sku_is_free_again() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    let red = variant("shirt.red", ["red", "M"], 0);
    added(&gateway, red.clone()).await;
    let receive = async |quantity: i64| {
        merchant.receive_stock(json!({ "sku": "shirt.red", "quantity": quantity })).await
    };
    assert_eq!(receive(7).await["available"], 7);
    // A product with variants isn't deleted.
    let before = gateway.snapshot().await;
    let delete_product = "mutation { deleteProduct(input: { sku: \"shirt\" }) { __typename } }";
    assert_eq!(merchant.field(delete_product, json!({})).await["__typename"], "InUse");
    assert!(gateway.snapshot().await == before);

    let gone = json!({ "__typename": "DeletedVariant", "sku": "shirt.red" });
    assert_eq!(delete(&merchant, "shirt.red").await, gone);
    assert_eq!(variants(&gateway, "shirt").await, [] as [Value; 0]);
    assert_eq!(product(&gateway, "shirt.red").await, Value::Null);
    let stock = "{ stock(sku: \"shirt.red\") { available } }";
    assert_eq!(gateway.anonymous().field(stock, json!({})).await, Value::Null);
    assert_eq!(receive(1).await["__typename"], "NotFound");
    // A repeat is as good.
    let before = gateway.snapshot().await;
    assert_eq!(delete(&merchant, "shirt.red").await, gone);
    for sku in ["shirt.blue", "shirt", "none.red", "$sku", ""] {
        assert_eq!(delete(&merchant, sku).await["__typename"], "NotFound", "{sku}");
    }
    let input = "mutation { deleteVariant(input: { sku: \"shirt.red\" }) { __typename } }";
    assert_eq!(gateway.shopper("ann").error_code(input, json!({})).await, "FORBIDDEN");
    assert!(gateway.snapshot().await == before);

    added(&gateway, red).await;
    assert_eq!(gateway.anonymous().field(stock, json!({})).await["available"], 7);
    assert_eq!(receive(3).await["available"], 10);
    gateway.sweep().await;
    assert_eq!(variants(&gateway, "shirt").await.len(), 1, "the sweep deletes no later variant");
    gateway.assert_sound().await;
    assert_eq!(delete(&merchant, "shirt.red").await, gone);
    assert_eq!(merchant.field(delete_product, json!({})).await["__typename"], "DeletedProduct");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_deletion_and_a_reservation_of_a_variant_one_wins() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    for n in 0..10 {
        let sku = format!("shirt.{n}");
        added(&gateway, variant(&sku, ["red", &n.to_string()], 0)).await;
        merchant.receive_stock(json!({ "sku": sku, "quantity": 5 })).await;
        let run = gateway.begin().await;
        let holder = Holder { app: &gateway.app, name: "cart", tag: "tag", attempt: &run };
        let (deleted, reserved) =
            tokio::join!(delete(&merchant, &sku), async { holder.reserve(&sku, 2, 10).await });
        let is_reserved = reserved.expect("an outcome") == Reserved::Reserved;
        assert_ne!(deleted["__typename"] == "DeletedVariant", is_reserved, "{sku}: {deleted:#}");
        assert!(is_reserved || deleted["__typename"] == "DeletedVariant", "{deleted:#}");
        // No cart stands behind the reservation.
        inventory::release(&gateway.app, &sku, "cart", "tag").await.expect("released");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_variant_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("shirt-{n}");
            create(&gateway.merchant(), thing(&sku, "A shirt")).await;
            added(gateway, variant(&format!("{sku}.a"), ["red", "M"], 0)).await;
            added(gateway, variant(&format!("{sku}.b"), ["red", "L"], 0)).await;
            // One has stock, the other one never had.
            let stocked = json!({ "sku": format!("{sku}.a"), "quantity": 5 });
            gateway.merchant().receive_stock(stocked).await;
            sku
        },
        async |gateway, sku: &String| {
            let delete =
                "mutation($sku: ID!) { deleteVariant(input: { sku: $sku }) { __typename } }";
            for code in ["a", "b"] {
                let variables = json!({ "sku": format!("{sku}.{code}") });
                gateway.merchant().send(delete, variables).await.ok();
            }
        },
        async |gateway, case| {
            let sku = &case.subject;
            assert_eq!(variants(gateway, sku).await, [] as [Value; 0], "{case:?}");
            let again = delete(&gateway.merchant(), &format!("{sku}.a")).await;
            assert_eq!(again["__typename"], "DeletedVariant", "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_an_addition_brings_no_deleted_variant_back() {
    let base = Gateway::with(long_bounds).await;
    create(&base.merchant(), thing("shirt", "A shirt")).await;
    let red = variant("shirt.red", ["red", "M"], 0);
    let is_change = |seen: &Seen| seen.collection == "products" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| added(gateway, red.clone()).await;
    let later = async || {
        let gone = delete(&base.merchant(), "shirt.red").await;
        assert_eq!(gone["__typename"], "DeletedVariant", "{gone:#}");
    };
    cuts::with_late_copy(&base, is_change, first, later).await;
    assert_eq!(variants(&base, "shirt").await, [] as [Value; 0]);
    base.assert_sound().await;
}
