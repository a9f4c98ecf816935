//! Changes of metadata: what they refuse, and what races, repeats and cuts leave.

use docgate::graphql::node_id::NodeKind;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{NODE, SET, change, keys, product, seen, set, text};
use crate::support::{Gateway, cuts, proxy::Seen, short_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_values_that_cant_be_used_are_refused_by_their_field() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let owner = product(&gateway, "a").await;
    set(&merchant, &owner, json!([text("colour", "red")])).await;
    let before = gateway.snapshot().await;
    let hostile = [
        "",
        " ",
        "$set",
        "$where",
        "a$",
        "1a",
        ".a",
        "_id",
        "a b",
        "a\u{0}",
        "ä",
        "a/b",
        "a\"b",
        "{\"$ne\": 1}",
        "-",
    ];
    for key in hostile.into_iter().map(str::to_owned).chain(["x".repeat(65)]) {
        let refused = set(&merchant, &owner, json!([text("fine", "x"), text(&key, "x")])).await;
        assert_eq!(refused["field"], "input.set.1.key", "{key:?}: {refused:#}");
        let input = json!({ "ownerId": owner, "remove": [key] });
        let refused = change(&merchant, input).await;
        assert_eq!(refused["field"], "input.remove.0", "{key:?}: {refused:#}");
        let query = "query($key: String!) { products(by: { metadata: { key: $key, value: { text: \"x\" } } })
            { nodes { sku } } }";
        assert_eq!(merchant.error_code(query, json!({ "key": key })).await, "BAD_USER_INPUT");
    }
    let long = "x".repeat(1_001);
    let many: Vec<_> = (0..201).map(|n| text(&format!("k{n}"), "x")).collect();
    let names: Vec<_> = (0..201).map(|n| format!("k{n}")).collect();
    for (input, field) in [
        (json!({ "set": [text("a", &long)] }), "input.set.0.value"),
        (json!({ "set": [text("a", "b\u{0}")] }), "input.set.0.value"),
        (json!({ "set": [text("a", "b"), text("a", "c")] }), "input.set.1.key"),
        (
            json!({ "set": [{ "key": "a", "value": { "flag": true }, "roles": ["everyone"] }] }),
            "input.set.0.roles",
        ),
        (
            json!({ "set": [{ "key": "a", "value": { "flag": true }, "roles": ["$in"] }] }),
            "input.set.0.roles",
        ),
        (json!({ "set": many }), "input.set"),
        (json!({ "remove": names }), "input.remove"),
    ] {
        let mut input = input;
        input["ownerId"] = json!(owner);
        let refused = change(&merchant, input).await;
        assert_eq!(refused["field"], field, "{refused:#}");
    }
    for id in ["", "nonsense", &NodeKind::PRODUCT.id("b").0, &NodeKind::CART.id("a").0] {
        let refused = set(&merchant, id, json!([text("a", "b")])).await;
        assert_eq!((&refused["code"], &refused["id"]), (&json!("NOT_FOUND"), &json!(id)));
    }
    assert!(gateway.snapshot().await == before);

    // What MongoDB would take for a path, a variable or an operator is a text like any other.
    for value in ["$_id", "$$ROOT", "{\"$ne\": 1}", "", " x "] {
        let done = set(&merchant, &owner, json!([text("a.b:c", value)])).await;
        assert_eq!(done["metadata"]["pairs"][0]["text"], value, "{done:#}");
    }
    assert_eq!(seen(&gateway.anonymous(), &owner).await, json!(["a.b:c", "colour"]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_has_so_many_pairs_and_bytes() {
    let gateway = Gateway::with(|config| config.metadata_pairs = 3).await;
    let merchant = gateway.merchant();
    let owner = product(&gateway, "a").await;
    let three = json!([text("a", "1"), text("b", "2"), text("c", "3")]);
    assert_eq!(keys(&set(&merchant, &owner, three).await["metadata"]), json!(["a", "b", "c"]));
    let full = set(&merchant, &owner, json!([text("d", "4")])).await;
    assert_eq!(full["field"], "input.set", "{full:#}");
    let again = set(&merchant, &owner, json!([text("b", "4")])).await;
    assert_eq!(keys(&again["metadata"]), json!(["a", "b", "c"]));
    let input = json!({ "ownerId": owner, "set": [text("d", "4")], "remove": ["a"] });
    assert_eq!(keys(&change(&merchant, input).await["metadata"]), json!(["b", "c", "d"]));

    let roomy = gateway.sibling_with(|config| config.metadata_pairs = 200).await;
    let long = "\u{1d4b3}".repeat(1_000);
    let many: Vec<_> = (0..17).map(|n| text(&format!("k{n}"), &long)).collect();
    let refused = set(&roomy.merchant(), &owner, json!(many)).await;
    assert_eq!(refused["field"], "input.set", "{refused:#}");
    let done = set(&roomy.merchant(), &owner, json!(many[..10])).await;
    assert_eq!(keys(&done["metadata"]).as_array().map(Vec::len), Some(13), "{done:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_changed_once_and_a_repeat_is_answered() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let owner = product(&gateway, "a").await;
    let of = |version: &Value, value: &str| json!({ "ownerId": owner, "version": version, "set": [text("colour", value)] });
    let mut version = json!("0");
    for round in 0..5 {
        let values = ["red", "green", "blue", "white"];
        let racers = values.map(|value| change(&merchant, of(&version, value)));
        let answers = join_all(racers).await;
        let won: Vec<_> =
            answers.iter().filter(|one| one["__typename"] == "MetadataChange").collect();
        let [won] = won.as_slice() else { panic!("round {round}: {answers:#?}") };
        let colour = won["metadata"]["pairs"][0]["text"].as_str().expect("a colour");
        for lost in answers.iter().filter(|one| one["__typename"] != "MetadataChange") {
            assert_eq!(lost["code"], "CONFLICT", "{lost:#}");
            assert_eq!(lost["currentVersion"], won["metadata"]["version"]);
        }
        let before = gateway.snapshot().await;
        assert_eq!(change(&merchant, of(&version, colour)).await, **won, "a repeat");
        assert!(gateway.snapshot().await == before);
        version = won["metadata"]["version"].clone();
    }
    let stale = change(&merchant, of(&json!("0"), "red")).await;
    assert_eq!(stale["currentVersion"], version, "{stale:#}");
    let hostile = change(&merchant, of(&json!("$where"), "red")).await;
    assert_eq!(hostile["code"], "CONFLICT", "{hostile:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_who_set_different_keys_dont_hinder_each_other() {
    let gateway = Gateway::with(|config| config.metadata_pairs = 20).await;
    let merchant = gateway.merchant();
    let owner = product(&gateway, "a").await;
    let pair = |n: usize| json!([text(&format!("k{n:02}"), "x")]);
    let answers = join_all((0..20).map(|n| set(&merchant, &owner, pair(n)))).await;
    for answer in &answers {
        assert_eq!(answer["__typename"], "MetadataChange", "{answer:#}");
    }
    let all: Vec<_> = (0..20).map(|n| format!("k{n:02}")).collect();
    assert_eq!(seen(&merchant, &owner).await, json!(all));
    // Together they don't pass the bound either.
    let input = json!({ "ownerId": owner, "remove": all[5..] });
    change(&merchant, input).await;
    let answers = join_all((20..52).map(|n| set(&merchant, &owner, pair(n)))).await;
    let won = answers.iter().filter(|one| one["__typename"] == "MetadataChange").count();
    assert_eq!(won, 15, "{answers:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_cut_anywhere_is_made_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| product(gateway, &format!("m-{n}")).await,
        async |gateway, owner| {
            let input = json!({
                "ownerId": owner, "version": "0", "set": [text("a", "1"), text("b", "2")],
            });
            gateway.merchant().send(SET, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            let found = gateway.merchant().field(NODE, json!({ "id": case.subject })).await;
            assert_eq!(keys(&found["metadata"]), json!(["a", "b"]), "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_change_undoes_no_later_one() {
    let base = Gateway::start().await;
    let owner = product(&base, "a").await;
    let is_change = |seen: &Seen| seen.collection == "products" && seen.command == "findAndModify";
    let colour = async |gateway: &Gateway, colour: &str| {
        let done = set(&gateway.merchant(), &owner, json!([text("colour", colour)])).await;
        assert_eq!(done["__typename"], "MetadataChange", "{done:#}");
    };
    let first = async |gateway: &Gateway| colour(gateway, "red").await;
    let later = async || colour(&base, "blue").await;
    cuts::with_late_copy(&base, is_change, first, later).await;
    let found = base.merchant().field(NODE, json!({ "id": owner })).await;
    assert_eq!(found["metadata"]["colour"]["text"], "blue", "{found:#}");
    base.assert_sound().await;
}
