//! Products in bulk.

use docgate::{
    domains::{
        catalog::{
            ImportProduct,
            import::{Earlier, check},
            operations::import,
        },
        people::import::{ImportPerson, import as import_people},
    },
    graphql::node_id::NodeKind,
};
use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{category, change, create, person, product, thing, variants::variant, works};
use crate::support::{Gateway, cuts, direct::in_time, long_bounds, proxy::Seen, short_bounds};

/// Of each line whether it came in, or what is wrong with which field.
async fn run(gateway: &Gateway, lines: Value) -> Vec<Result<(), String>> {
    let lines: Vec<ImportProduct> = serde_json::from_value(lines).expect("lines");
    let said = in_time(async || import(&gateway.app, &lines).await).await;
    said.into_iter().map(|said| said.map_err(|refused| refused.fault.message)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_inserted_replaced_or_refused_one_by_one() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    category(&merchant, "music", None).await;
    let mut line = super::album("als-1");
    line["categories"] = json!(["/music", "/music"]);
    let mut unknown = thing("t-2", "Nowhere");
    unknown["categories"] = json!(["/nothing"]);
    let mut dear = thing("t-3", "Dear");
    dear["pricing"]["retail"] = json!(2001);
    let lines = json!([line, thing("t-1", "$title"), unknown, dear, thing("$sku", "Bad")]);
    let said = run(&gateway, lines.clone()).await;
    assert!(said[0].is_ok() && said[1].is_ok(), "{said:?}");
    let reasons: Vec<&str> =
        said[2..].iter().map(|one| one.as_ref().expect_err("refused").as_str()).collect();
    assert_eq!(reasons[0], "input.categories.0: there is no category \"/nothing\"");
    assert_eq!(reasons[1], "input.pricing.retail: is above the list price");
    assert!(reasons[2].starts_with("input.sku: "));
    let made = product(&gateway, "als-1").await;
    assert_eq!(made["categories"][0]["path"], "/music");
    assert_eq!(made["pricing"]["pctSavings"], 8);
    assert_eq!(product(&gateway, "t-1").await["title"], "$title");
    assert_eq!(product(&gateway, "t-2").await, Value::Null);
    gateway.assert_sound().await;

    // Who made it stays, and follows a new title.
    let someone = person(&merchant, "Someone").await;
    let credit = json!({ "sku": "als-1", "personId": someone, "role": "artist" });
    change(&merchant, "creditPerson", credit).await;
    let mut again = lines[0].clone();
    again["content"]["title"] = json!("Another");
    again["content"]["shipping"] = Value::Null;
    again["categories"] = json!([]);
    assert!(run(&gateway, json!([again])).await[0].is_ok());
    let replaced = product(&gateway, "als-1").await;
    assert_eq!(replaced["contributors"][0]["name"], "Someone");
    assert_eq!((&replaced["categories"], &replaced["shipping"]), (&json!([]), &Value::Null));
    assert_ne!(replaced["version"], made["version"]);
    assert_eq!(works(&gateway, &someone).await[0]["title"], "Another");
    gateway.assert_sound().await;

    // What is being removed isn't brought back.
    let delete = "mutation { deleteProduct(input: { sku: \"t-1\" }) { __typename } }";
    merchant.field(delete, json!({})).await;
    let said = run(&gateway, json!([lines[1], lines[0]])).await;
    assert!(said[0].is_err() && said[1].is_ok(), "{said:?}");
    assert_eq!(product(&gateway, "t-1").await, Value::Null);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_of_the_same_new_products_at_once_refuse_none() {
    let gateway = Gateway::start().await;
    let lines = |round: usize| -> Vec<Value> {
        let one = |n: usize| {
            let sku = format!("r{round}-{n}");
            let of = variant(&format!("{sku}.m"), ["red", "M"], -50);
            line(&sku, "variants", json!([of]))
        };
        (0..30).map(one).collect()
    };
    for round in 0..3 {
        let all = json!(lines(round));
        let said = join_all((0..4).map(|_| run(&gateway, all.clone()))).await;
        for said in said {
            assert_eq!(said, vec![Ok(()); 30]);
        }
        let made = product(&gateway, &format!("r{round}-0")).await;
        assert_eq!(made["title"], format!("Title of r{round}-0"));
    }
    gateway.assert_sound().await;
}

/// A line with a slug or variants.
fn line(sku: &str, field: &str, value: Value) -> Value {
    let mut line = thing(sku, &format!("Title of {sku}"));
    line[field] = value;
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_refuses_the_lines_that_the_import_refuses() {
    let gateway = Gateway::start().await;
    let red = |sku: &str, difference: i64| variant(sku, ["red", "M"], difference);
    let blue = |sku: &str| variant(sku, ["blue", "M"], 0);
    let first = json!([
        line("a", "slug", json!("one")),
        line("b", "variants", json!([red("b.x", 0)])),
        line("p", "variants", json!([red("p.x", -300)])),
        thing("gone", "Gone"),
    ]);
    assert_eq!(run(&gateway, first).await, [Ok(()), Ok(()), Ok(()), Ok(())]);
    assert_eq!(run(&gateway, json!([line("a", "slug", json!("two"))])).await, [Ok(())]);
    let delete = "mutation { deleteProduct(input: { sku: \"gone\" }) { __typename } }";
    gateway.merchant().field(delete, json!({})).await;

    let mut with_image = red("b.x", 0);
    with_image["imageId"] = json!(NodeKind::ASSET.id("nobody").0);
    let price = |retail: i64, currency: &str| json!({ "list": 2000, "retail": retail, "currency": currency });
    let lines = json!([
        thing("gone", "Back"),
        line("c", "slug", json!("one")),
        line("a", "slug", json!("one")),
        line("d", "slug", json!("new")),
        line("b", "variants", json!([red("b.y", 0)])),
        line("b", "variants", json!([red("b.x", 1), blue("b.y")])),
        line("e", "variants", json!([red("e.x", 0), red("e.y", 0)])),
        line("f", "variants", json!([red("f.x", -1_000_000)])),
        line("g", "variants", json!([red("h.x", 0)])),
        line("h", "variants", json!([red("h.x", 0), blue("h.x")])),
        line("b", "variants", json!([with_image])),
        line("p", "pricing", price(299, "EUR")),
        line("p", "pricing", price(1500, "USD")),
        line("p", "pricing", price(300, "EUR")),
        // The second one has the slug of an earlier line.
        line("i", "slug", json!("both")),
        line("j", "slug", json!("both")),
        line("i", "slug", json!("both")),
    ]);
    let before = gateway.snapshot().await;
    let all: Vec<ImportProduct> = serde_json::from_value(lines.clone()).expect("lines");
    let mut earlier = Earlier::default();
    let said = check(&gateway.app, &all, &mut earlier).await.expect("checked");
    let said: Vec<_> =
        said.into_iter().map(|said| said.map_err(|refused| refused.fault.message)).collect();
    assert!(gateway.snapshot().await == before);
    let fine: Vec<bool> = said.iter().map(Result::is_ok).collect();
    let (own, more) = fine.split_at(9);
    assert_eq!(own, [false, false, true, true, false, true, false, false, false], "{said:#?}");
    assert_eq!(more, [false, false, false, false, true, true, false, true], "{said:#?}");
    // One after the other, as lines are checked by themselves.
    for (line, said) in lines.as_array().expect("lines").iter().zip(said) {
        assert_eq!(run(&gateway, json!([line])).await, [said], "{line}");
    }
    gateway.assert_sound().await;
}

/// Of a line the first refusal is told, and the rest is imported.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_whose_slug_is_refused_has_its_variants() {
    let gateway = Gateway::start().await;
    assert_eq!(run(&gateway, json!([line("a", "slug", json!("taken"))])).await, [Ok(())]);
    for (sku, difference) in [("b", 0), ("c", -1_000_000)] {
        let own = |code: &str, difference: i64| {
            variant(&format!("{sku}.{code}"), ["red", code], difference)
        };
        let mut line = line(sku, "slug", json!("taken"));
        line["variants"] = json!([own("x", difference), own("y", 0)]);
        let all: Vec<ImportProduct> = serde_json::from_value(json!([line])).expect("lines");
        let checked = check(&gateway.app, &all, &mut Earlier::default()).await.expect("checked");
        let said =
            run(&gateway, json!([line])).await.pop().expect("an answer").expect_err("refused");
        assert!(said.starts_with("input.slug: "), "{said}");
        assert_eq!(checked[0].as_ref().map_err(|refused| &refused.fault.message), Err(&said));
        let stored = gateway.raw("products").find_one(doc! { "_id": sku }).await.expect("read");
        let stored = stored.expect("a product");
        let variants = stored.get_array("variants").expect("variants").len();
        assert_eq!(variants, if difference == 0 { 2 } else { 1 }, "{stored:#?}");
    }
    gateway.assert_sound().await;
}

/// The first of two lines gets the slug, and the later line of one product is the one that stays.
#[tokio::test(flavor = "multi_thread")]
async fn lines_that_have_a_sku_or_a_slug_in_common_come_in_their_order() {
    let gateway = Gateway::with(long_bounds).await;
    let (mut lines, mut expected) = (Vec::new(), Vec::new());
    for number in 0..20 {
        let [first, second] = ["first", "second"].map(|name| format!("{name}-{number}"));
        let same = json!(format!("same-{number}"));
        lines.extend([line(&first, "slug", same.clone()), line(&second, "slug", same)]);
        expected.extend([true, false]);
        let own = format!("own-{number}");
        for slug in ["one", "two", "three"] {
            lines.push(line(&own, "slug", json!(format!("{slug}-{number}"))));
        }
        let red = |code: &str| variant(&format!("{own}.{code}"), ["red", "M"], 0);
        let blue = variant(&format!("{own}.x"), ["blue", "M"], 0);
        for variants in [json!([red("x")]), json!([blue]), json!([red("y")])] {
            lines.push(line(&own, "variants", variants));
        }
        expected.extend([true; 6]);
    }
    let all: Vec<ImportProduct> = serde_json::from_value(json!(lines)).expect("lines");
    let said = import(&gateway.app, &all).await.expect("imported");
    assert_eq!(said.iter().map(Result::is_ok).collect::<Vec<_>>(), expected, "{said:#?}");
    for product in gateway.stored("products").await {
        let sku = product.get_str("_id").expect("a SKU");
        let (name, number) = sku.split_once('-').expect("a number");
        let (slug, variants) = match name {
            "first" => (Some(format!("same-{number}")), 0),
            "second" => (None, 0),
            _ => (Some(format!("three-{number}")), 2),
        };
        assert_eq!(product.get_str("slug").ok(), slug.as_deref(), "{sku}");
        assert_eq!(product.get_array("variants").map_or(0, Vec::len), variants, "{sku}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_lines_take_few_commands_and_leave_no_mark() {
    let gateway = Gateway::with(long_bounds).await;
    category(&gateway.merchant(), "music", None).await;
    let lines: Vec<Value> = (0..600)
        .map(|n| {
            let mut line = thing(&format!("t-{n}"), &format!("Thing {n}"));
            line["categories"] = json!(["/music"]);
            line
        })
        .collect();
    for _ in 0..2 {
        assert!(run(&gateway, lines.clone().into()).await.iter().all(Result::is_ok));
    }
    let products = gateway.snapshot().await.remove("products").expect("products");
    assert_eq!(products.len(), 600);
    assert!(products.iter().all(|product| !product.contains_key("copying")));
    gateway.assert_sound().await;
    // Two lines of one SKU: the later one stays.
    let twice = json!([thing("twice", "First"), thing("twice", "Second")]);
    assert!(run(&gateway, twice).await.iter().all(Result::is_ok));
    assert_eq!(product(&gateway, "twice").await["title"], "Second");
    create(&gateway.merchant(), thing("fresh", "Fresh")).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_products_with_many_contributors_come_in() {
    let gateway = Gateway::with(long_bounds).await;
    let people = (0..100).map(|n| {
        let name = format!("{n:03}{}", "x".repeat(197));
        json!({ "key": format!("p-{n}"), "name": name })
    });
    let people: Value = people.collect();
    let people: Vec<ImportPerson> = serde_json::from_value(people).expect("lines");
    let said = import_people(&gateway.app, &people).await.expect("imported");
    assert!(said.iter().all(Result::is_ok), "{said:?}");
    let cast = (0..100).map(|n| json!({ "personKey": format!("p-{n}"), "role": "actor" }));
    let cast: Value = cast.collect();
    // Together their updates are larger than the 16 MiB of a command.
    let lines = (0..160).map(|n| {
        let mut line = thing(&format!("t-{n}"), "Title");
        line["contributors"] = cast.clone();
        line
    });
    let said = run(&gateway, lines.collect::<Value>()).await;
    assert!(said.iter().all(Result::is_ok), "{said:?}");
    for sku in ["t-0", "t-159"] {
        assert_eq!(parts(&gateway, sku).await.len(), 100, "{sku}");
    }
}

/// The parts in a product, as `role: name`.
async fn parts(gateway: &Gateway, sku: &str) -> Vec<String> {
    let made = product(gateway, sku).await;
    let parts = made["contributors"].as_array().expect("a list").iter();
    parts.map(|part| format!("{}: {}", part["role"], part["name"]).replace('"', "")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_made_it_comes_with_the_line() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let (ann, bob) = (person(&merchant, "Ann").await, person(&merchant, "Bob").await);
    let line = |sku: &str, parts: Value| {
        let mut line = thing(sku, &format!("Title of {sku}"));
        line["contributors"] = parts;
        line
    };
    let part = |person: &str, role: &str| json!({ "personId": person, "role": role });
    let lines = json!([
        line("a", json!([part(&ann, "author"), part(&ann, "editor"), part(&bob, "author")])),
        line("b", json!([part(&ann, "author"), part(&ann, "author")])),
        line("c", json!([])),
        line("d", json!([part("nobody", "author")])),
        line("e", json!([part(&NodeKind::PERSON.id("nobody"), "author")])),
        line("f", json!(vec![part(&ann, "author"); 101])),
    ]);
    let said = run(&gateway, lines.clone()).await;
    assert!(said[..3].iter().all(Result::is_ok), "{said:?}");
    for (said, reason) in said[3..].iter().zip([
        "input.contributors.0.personId: there is no such person",
        "input.contributors.0.personId: there is no such person",
        "input.contributors: takes at most 100 elements",
    ]) {
        assert_eq!(said.as_ref().expect_err("refused"), reason);
    }
    assert_eq!(parts(&gateway, "a").await, ["author: Ann", "editor: Ann", "author: Bob"]);
    assert_eq!(parts(&gateway, "b").await, ["author: Ann"]);
    assert_eq!(works(&gateway, &ann).await.len(), 2);
    gateway.assert_sound().await;

    // Again, then others, then no word of them, then nobody.
    assert!(run(&gateway, lines).await[..3].iter().all(Result::is_ok));
    assert_eq!(works(&gateway, &ann).await.len(), 2);
    assert!(run(&gateway, json!([line("a", json!([part(&bob, "editor")]))])).await[0].is_ok());
    assert_eq!(parts(&gateway, "a").await, ["editor: Bob"]);
    assert_eq!(works(&gateway, &ann).await.len(), 1);
    assert!(run(&gateway, json!([thing("a", "Another")])).await[0].is_ok());
    assert_eq!(works(&gateway, &bob).await[0]["title"], "Another");
    gateway.assert_sound().await;
    assert!(run(&gateway, json!([line("a", json!([]))])).await[0].is_ok());
    assert!(works(&gateway, &bob).await.is_empty());
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_named_by_the_key_of_their_import() {
    let gateway = Gateway::start().await;
    let people = json!([{ "key": "ann", "name": "Ann" }, { "key": "bob:2", "name": "Bob" }]);
    let people: Vec<ImportPerson> = serde_json::from_value(people).expect("lines");
    let said = import_people(&gateway.app, &people).await.expect("imported");
    assert!(said.iter().all(Result::is_ok), "{said:?}");
    let line = |sku: &str, part: Value| {
        let mut line = thing(sku, "Title");
        line["contributors"] = json!([part]);
        line
    };
    let both =
        json!({ "personKey": "ann", "personId": NodeKind::PERSON.id("x"), "role": "author" });
    let lines = json!([
        line("a", json!({ "personKey": "ann", "role": "author" })),
        line("b", json!({ "personKey": "bob:2", "role": "author" })),
        line("c", json!({ "personKey": "eve", "role": "author" })),
        line("d", json!({ "personKey": "", "role": "author" })),
        line("e", json!({ "role": "author" })),
        line("f", both),
    ]);
    let said = run(&gateway, lines).await;
    assert!(said[..2].iter().all(Result::is_ok), "{said:?}");
    for (said, field) in said[2..].iter().zip(["personKey", "personKey", "personId", "personId"]) {
        let fault = said.as_ref().expect_err("refused");
        assert!(fault.starts_with(&format!("input.contributors.0.{field}: ")), "{fault}");
    }
    let fault = said[2].as_ref().expect_err("refused");
    assert!(fault.ends_with("there is no person with the key \"eve\""), "{fault}");
    assert_eq!(parts(&gateway, "a").await, ["author: Ann"]);
    assert_eq!(parts(&gateway, "b").await, ["author: Bob"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_import_goes_on_where_it_was() {
    let line = |n: usize, who: &str, name: &str| {
        let mut line = thing(&format!("t-{n}-{name}"), "Title");
        line["contributors"] = json!([{ "personId": who, "role": "author" }]);
        line["categories"] = json!([format!("/music-{n}")]);
        line
    };
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            category(&merchant, &format!("music-{n}"), None).await;
            let ann = person(&merchant, &format!("Ann {n}")).await;
            json!([line(n, &ann, "one"), line(n, &ann, "two")])
        },
        async |gateway, lines: &Value| {
            let lines: Vec<ImportProduct> = serde_json::from_value(lines.clone()).expect("lines");
            let _cut = import(&gateway.app, &lines).await;
        },
        async |gateway, case| {
            let said = run(gateway, case.subject.clone()).await;
            assert!(said.iter().all(Result::is_ok), "{:?} at {}", case.way, case.at);
            let person = case.subject[0]["contributors"][0]["personId"].as_str().expect("an id");
            let works = works(gateway, person).await;
            assert_eq!(works.len(), 2, "{:?} at {}", case.way, case.at);
        },
    )
    .await;
}

#[test]
fn unknown_fields_are_faults_of_a_line() {
    for line in [
        json!({ "sku": "a" }),
        json!({ "sku": "a", "content": { "title": "T", "details": { "book": {} } }, "pricing": {
            "list": 1, "retail": 1, "currency": "EUR" }, "extra": 1 }),
        json!({ "sku": "a", "content": { "title": "T", "details": { "book": { "label": "x" } } },
            "pricing": { "list": 1, "retail": 1, "currency": "EUR" } }),
        json!({ "sku": "a", "content": { "title": "T", "details": { "book": {} } }, "pricing": {
            "list": 1, "retail": 1, "currency": "nothing" } }),
    ] {
        assert!(serde_json::from_value::<ImportProduct>(line.clone()).is_err(), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_an_import_undoes_no_later_change() {
    let base = Gateway::start().await;
    create(&base.merchant(), thing("t-1", "A thing")).await;
    let is_write = |seen: &Seen| seen.collection == "products" && seen.command == "update";
    let first = async |gateway: &Gateway| {
        let said = run(gateway, json!([thing("t-1", "Imported")])).await;
        assert!(said[0].is_ok(), "{said:?}");
    };
    let later = async || {
        let input = json!({ "sku": "t-1", "retail": 7 });
        let said = change(&base.merchant(), "setProductPrice", input).await;
        assert_eq!(said["pricing"]["retail"]["minorUnits"], 7, "{said:#}");
    };
    cuts::with_late_copy(&base, is_write, first, later).await;
    let found = product(&base, "t-1").await;
    let retail = &found["pricing"]["retail"]["minorUnits"];
    assert_eq!((&found["title"], retail), (&json!("Imported"), &json!(7)));
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn products_of_a_person_with_all_works_are_imported_again() {
    let gateway = Gateway::start().await;
    let someone = person(&gateway.merchant(), "Someone").await;
    let line = |sku: &str, title: &str| {
        let mut line = thing(sku, title);
        line["contributors"] = json!([{ "personId": someone, "role": "author" }]);
        line
    };
    assert!(run(&gateway, json!([line("t-1", "One")])).await[0].is_ok());
    let work = |n| doc! { "sku": format!("s{n}"), "title": "T", "roles": ["r"], "version": 1_i64 };
    let others: Vec<Document> = (1..2_000).map(work).collect();
    let push = doc! { "$push": { "works": { "$each": others } } };
    gateway.raw("people").update_one(doc! {}, push).await.expect("full");

    let lines = json!([line("t-1", "Another"), line("t-2", "One too many")]);
    let all: Vec<ImportProduct> = serde_json::from_value(lines.clone()).expect("lines");
    let checked = check(&gateway.app, &all, &mut Earlier::default()).await.expect("checked");
    let checked: Vec<_> =
        checked.into_iter().map(|said| said.map_err(|refused| refused.fault.message)).collect();
    let said = run(&gateway, lines).await;
    let full = "input.contributors.0.personId: has 2000 works already".to_owned();
    assert_eq!(said, [Ok(()), Err(full)]);
    assert_eq!(checked, said);
    assert_eq!(product(&gateway, "t-1").await["title"], "Another");
    assert_eq!(product(&gateway, "t-2").await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn works_of_one_batch_are_counted_together() {
    let gateway = Gateway::start().await;
    let someone = person(&gateway.merchant(), "Someone").await;
    let work = |n| doc! { "sku": format!("s{n}"), "title": "T", "roles": ["r"], "version": 1_i64 };
    let others: Vec<Document> = (0..1_998).map(work).collect();
    let push = doc! { "$push": { "works": { "$each": others } } };
    gateway.raw("people").update_one(doc! {}, push).await.expect("nearly full");

    let line = |sku: &str| {
        let mut line = thing(sku, sku);
        line["contributors"] = json!([{ "personId": someone, "role": "author" }]);
        line
    };
    // The same product twice is one work.
    let lines = json!([line("t-1"), line("t-1"), line("t-2"), line("t-3"), thing("t-4", "t-4")]);
    let all: Vec<ImportProduct> = serde_json::from_value(lines.clone()).expect("lines");
    let checked = check(&gateway.app, &all, &mut Earlier::default()).await.expect("checked");
    let checked: Vec<_> =
        checked.into_iter().map(|said| said.map_err(|refused| refused.fault.message)).collect();
    let said = run(&gateway, lines.clone()).await;
    let full = "input.contributors.0.personId: has 2000 works already".to_owned();
    assert_eq!(said, [Ok(()), Ok(()), Ok(()), Err(full), Ok(())]);
    assert_eq!(checked, said);
    assert_eq!(product(&gateway, "t-2").await["title"], "t-2");
    assert_eq!(product(&gateway, "t-3").await, Value::Null);
    assert_eq!(run(&gateway, lines).await, said, "also when they are imported again");
}
