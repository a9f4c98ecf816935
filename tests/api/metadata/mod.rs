//! Metadata through the door: pairs on documents of every room that has them.

mod lists;
mod writes;

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use crate::{
    categories::music,
    content,
    shop::{account, placed, stocked},
    social::people,
    support::{Client, Gateway, http},
};

const SET: &str = "mutation($input: SetMetadataInput!) { setMetadata(input: $input) {
    __typename
    ... on MetadataChange { ownerId owner { id } metadata { version pairs {
        key text number date flag roles } } }
    ... on UserError { code message } ... on Conflict { currentVersion }
    ... on InvalidInput { field reason } ... on NotFound { what id } } }";

/// Metadata of anything that has some.
const NODE: &str = "query($id: ID!) { node(id: $id) {
    ... on Product { metadata { ...M } } ... on Category { metadata { ...M } }
    ... on Content { metadata { ...M } } ... on Asset { metadata { ...M } }
    ... on Order { metadata { ...M } } ... on User { metadata { ...M } } } }
    fragment M on Metadata { version pairs { key text number date flag roles }
        colour: pair(key: \"colour\") { text } cost: pair(key: \"cost\") { number } }";

/// Sets pairs of an object, whatever becomes of it.
pub(crate) async fn set(client: &Client, owner: &str, set: Value) -> Value {
    change(client, json!({ "ownerId": owner, "set": set })).await
}

async fn change(client: &Client, input: Value) -> Value {
    client.field(SET, json!({ "input": input })).await
}

/// A pair with a text that everyone may read.
pub(crate) fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "text": value } })
}

/// Keys of the pairs that a caller sees of an object, or null if the object isn't visible.
async fn seen(client: &Client, owner: &str) -> Value {
    let node = client.field(NODE, json!({ "id": owner })).await;
    keys(&node["metadata"])
}

/// Keys of the pairs of metadata.
fn keys(metadata: &Value) -> Value {
    let Some(pairs) = metadata["pairs"].as_array() else { return Value::Null };
    pairs.iter().map(|pair| pair["key"].clone()).collect()
}

/// The global id of a new product.
async fn product(gateway: &Gateway, sku: &str) -> String {
    gateway.product(sku, 100, "EUR").await;
    NodeKind::PRODUCT.id(sku).0
}

/// Puts a file at a path; returns its global id.
async fn file(gateway: &Gateway, path: &str) -> String {
    let url = format!("http://{}/assets{path}", gateway.address);
    let token = content::editor(gateway).token.expect("a token");
    let request = http().put(url).body("a text").bearer_auth(token);
    let made: Value = request.send().await.expect("an answer").json().await.expect("JSON");
    made["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_owner_has_typed_pairs_for_everyone_or_for_roles() {
    let gateway = Gateway::start().await;
    let (merchant, editor) = (gateway.merchant(), content::editor(&gateway));
    let (anyone, ann) = (gateway.anonymous(), gateway.shopper("ann"));
    stocked(&gateway, "a", 100, 10).await;
    people(&gateway, &["ann"]).await;
    let purse = account(&gateway, "ann", 1_000).await;
    let order = placed(&ann, &purse, &[("a", 1)]).await;
    let [music, ..] = music(&gateway).await;
    let page = content::put(&gateway, "PAGE", "page", None).await;
    let asset = file(&gateway, "/notes").await;
    let pairs = json!([
        { "key": "weight", "value": { "number": 1.5 } },
        { "key": "colour", "value": { "text": "red" } },
        { "key": "cost", "value": { "number": 3 }, "roles": ["analyst"] },
        { "key": "since", "value": { "date": "2020-01-01T00:00:00Z" } },
        { "key": "fragile", "value": { "flag": true } },
    ]);
    for (owner, by, role, reader) in [
        (NodeKind::PRODUCT.id("a").0, &merchant, "merchant", &anyone),
        (music, &merchant, "merchant", &anyone),
        (page, &editor, "editor", &anyone),
        (asset, &editor, "editor", &anyone),
        (order, &merchant, "merchant", &ann),
        (NodeKind::USER.id("ann").0, &merchant, "merchant", &ann),
    ] {
        let nothing = by.field(NODE, json!({ "id": owner })).await;
        let empty = json!({ "version": "0", "pairs": [], "colour": null, "cost": null });
        assert_eq!(nothing["metadata"], empty, "{owner}");
        let done = set(by, &owner, pairs.clone()).await;
        assert_eq!(done["ownerId"], *owner, "{done:#}");
        assert_eq!(done["owner"]["id"], *owner);
        let found = by.field(NODE, json!({ "id": owner })).await["metadata"].clone();
        let pair = |key: &str| {
            let pairs = found["pairs"].as_array().expect("pairs");
            pairs.iter().find(|pair| pair["key"] == key).expect("a pair").clone()
        };
        assert_eq!(keys(&found), json!(["colour", "cost", "fragile", "since", "weight"]));
        assert_eq!(found["version"], done["metadata"]["version"]);
        assert_eq!(found["pairs"], done["metadata"]["pairs"]);
        assert_eq!(
            pair("weight"),
            json!({ "key": "weight", "text": null, "number": 1.5, "date": null, "flag": null,
                "roles": [] })
        );
        assert_eq!(pair("since")["date"], "2020-01-01T00:00:00.000Z");
        assert_eq!(pair("fragile")["flag"], true);
        let mut roles = ["analyst", role];
        roles.sort_unstable();
        assert_eq!(pair("cost")["roles"], json!(roles), "the role that edits reads it too");
        assert_eq!(found["cost"]["number"], 3.0);

        // A pair for a role isn't there for others, by its key neither.
        let open = reader.field(NODE, json!({ "id": owner })).await["metadata"].clone();
        assert_eq!(keys(&open), json!(["colour", "fragile", "since", "weight"]), "{owner}");
        assert_eq!((&open["colour"]["text"], &open["cost"]), (&json!("red"), &Value::Null));
        let analyst = gateway.user("ann", &["analyst"]);
        assert_eq!(seen(&analyst, &owner).await.as_array().map(Vec::len), Some(5), "{owner}");

        // Others don't write, whatever the object.
        let variables = json!({ "input": { "ownerId": owner, "set": pairs } });
        let other = if role == "merchant" { &editor } else { &merchant };
        assert_eq!(other.error_code(SET, variables.clone()).await, "FORBIDDEN");
        assert_eq!(ann.error_code(SET, variables.clone()).await, "FORBIDDEN");
        assert_eq!(anyone.error_code(SET, variables).await, "UNAUTHENTICATED");

        // Pairs that aren't named stay.
        let change = json!({ "ownerId": owner, "set": [text("colour", "blue")], "remove": ["since", "none"] });
        let changed = self::change(by, change).await["metadata"].clone();
        assert_eq!(keys(&changed), json!(["colour", "cost", "fragile", "weight"]));
        assert_eq!(changed["pairs"][0]["text"], "blue");
        assert_ne!(changed["version"], found["version"]);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_shows_its_pairs_to_those_who_see_it() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let purse = account(&gateway, "ann", 1_000).await;
    let order = placed(&gateway.shopper("ann"), &purse, &[("a", 1)]).await;
    let done = set(&gateway.merchant(), &order, json!([text("gift", "yes")])).await;
    assert_eq!(done["__typename"], "MetadataChange", "{done:#}");
    assert_eq!(seen(&gateway.shopper("ann"), &order).await, json!(["gift"]));
    assert_eq!(seen(&gateway.shopper("bob"), &order).await, Value::Null);
    // The pairs stay when the order changes, and go with it.
    let cancelled = crate::orders::cancel(&gateway.shopper("ann"), &order, "op").await;
    assert_eq!(cancelled["__typename"], "Order", "{cancelled:#}");
    crate::shop::settled(&gateway).await;
    gateway.sweep().await;
    assert_eq!(seen(&gateway.shopper("ann"), &order).await, json!(["gift"]));
    let deleted = crate::orders::delete(&gateway.admin(), &order).await;
    assert_eq!(deleted["__typename"], "DeletedOrder", "{deleted:#}");
    let stored = gateway.stored("orders").await;
    assert!(stored.iter().all(|order| !order.contains_key("meta")), "{stored:?}");
    let gone = set(&gateway.merchant(), &order, json!([text("gift", "no")])).await;
    assert_eq!(gone["__typename"], "NotFound", "{gone:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_has_no_pairs() {
    let gateway = Gateway::start().await;
    let (merchant, editor) = (gateway.merchant(), content::editor(&gateway));
    let book = product(&gateway, "a").await;
    let page = content::put(&gateway, "PAGE", "page", None).await;
    let asset = file(&gateway, "/notes").await;
    for (client, owner, delete) in [
        (&merchant, &book, "deleteProduct(input: { sku: \"a\" })".to_owned()),
        (&editor, &page, format!("deleteContent(input: {{ contentId: {page:?} }})")),
        (&editor, &asset, format!("deleteAsset(input: {{ assetId: {asset:?} }})")),
    ] {
        let done = set(client, owner, json!([text("colour", "red")])).await;
        assert_eq!(done["__typename"], "MetadataChange", "{done:#}");
        let delete = format!("mutation {{ {delete} {{ __typename }} }}");
        let deleted = client.field(&delete, json!({})).await;
        let kind = deleted["__typename"].as_str().expect("a type");
        assert!(kind.starts_with("Deleted"), "{deleted:#}");
        let gone = set(client, owner, json!([text("colour", "blue")])).await;
        assert_eq!((&gone["code"], &gone["id"]), (&json!("NOT_FOUND"), &json!(owner)), "{gone:#}");
    }
    for collection in ["products", "nodes", "assetEntries"] {
        let stored = gateway.stored(collection).await;
        assert!(stored.iter().all(|one| !one.contains_key("meta")), "{stored:?}");
    }
    gateway.assert_sound().await;
}
