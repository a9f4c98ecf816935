//! Objects by a pair of metadata.

use serde_json::{Value, json};

use super::{product, set, text};
use crate::{
    content,
    support::{Client, Gateway, commands, pages_both_ways},
};

const PRODUCTS: &str = "query($by: ProductsBy!) { products(by: $by) { nodes { sku } } }";
const CONTENTS: &str = "query($by: ContentsBy!) { contents(by: $by) { nodes { id } } }";

fn having(key: &str, value: Value) -> Value {
    json!({ "by": { "metadata": { "key": key, "value": value } } })
}

/// What a list finds, by one command that looks at no more than it returns.
async fn found(client: &Client, query: &str, arguments: Value) -> Vec<String> {
    let response = client.explained(query, arguments).await;
    assert!(response.get("errors").is_none(), "{response:#}");
    let data = response["data"].as_object().expect("data").values().next().expect("a field");
    let nodes = data["nodes"].as_array().expect("nodes");
    let sent = &response["extensions"]["docgate"]["commands"];
    assert_eq!(commands(&response).len(), 1, "{response:#}");
    assert_eq!(sent[0]["docsExamined"], nodes.len(), "{response:#}");
    let name = |node: &Value| {
        let name = node.get("sku").or_else(|| node.get("id")).and_then(Value::as_str);
        name.expect("a name").to_owned()
    };
    nodes.iter().map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_found_by_the_pairs_that_the_caller_may_read() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for sku in ["a", "b", "c", "d", "e"] {
        let owner = product(&gateway, sku).await;
        let roles = if sku == "e" { json!(["analyst", "operator"]) } else { json!([]) };
        let pairs = json!([
            { "key": "colour", "value": { "text": "red" }, "roles": roles },
            { "key": "cost", "value": { "number": 3 }, "roles": ["analyst"] },
            { "key": "since", "value": { "date": "2020-01-01T00:00:00Z" } },
            { "key": "fragile", "value": { "flag": sku == "a" } },
            text("size", "3"),
        ]);
        let done = set(&merchant, &owner, pairs).await;
        assert_eq!(done["__typename"], "MetadataChange", "{done:#}");
    }
    let (anyone, analyst) = (gateway.anonymous(), gateway.user("x", &["analyst"]));
    let both = gateway.user("y", &["analyst", "operator"]);
    let four = ["a", "b", "c", "d"];
    let five = ["a", "b", "c", "d", "e"];
    let red = || having("colour", json!({ "text": "red" }));
    let cost = || having("cost", json!({ "number": 3.0 }));
    assert_eq!(found(&anyone, PRODUCTS, red()).await, four);
    assert_eq!(found(&gateway.user("z", &["editor"]), PRODUCTS, red()).await, four);
    for client in [&analyst, &both, &merchant, &gateway.admin()] {
        assert_eq!(found(client, PRODUCTS, red()).await, five, "each once");
        assert_eq!(found(client, PRODUCTS, cost()).await, five);
    }
    assert_eq!(found(&anyone, PRODUCTS, cost()).await, [""; 0]);
    let since = having("since", json!({ "date": "2020-01-01T00:00:00Z" }));
    assert_eq!(found(&anyone, PRODUCTS, since).await, five);
    let fragile = having("fragile", json!({ "flag": true }));
    assert_eq!(found(&anyone, PRODUCTS, fragile).await, ["a"]);
    // The types must match, and a key is no pattern.
    for (key, value) in [
        ("size", json!({ "number": 3 })),
        ("cost", json!({ "text": "3" })),
        ("colou.", json!({ "text": "red" })),
        ("colour", json!({ "text": "re" })),
        ("none", json!({ "text": "red" })),
    ] {
        assert_eq!(found(&anyone, PRODUCTS, having(key, value)).await, [""; 0], "{key}");
    }
    let list = "products(by: { metadata: { key: \"colour\", value: { text: \"red\" } } }, ";
    let nodes = pages_both_ways(&anyone, list, "sku").await;
    assert_eq!(json!(nodes), json!(four.map(|sku| json!({ "sku": sku }))));
    let nodes = pages_both_ways(&both, list, "sku").await;
    assert_eq!(json!(nodes), json!(five.map(|sku| json!({ "sku": sku }))));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_found_by_a_pair_once_it_is_published() {
    let gateway = Gateway::start().await;
    let (editor, anyone) = (content::editor(&gateway), gateway.anonymous());
    let page = content::put(&gateway, "PAGE", "page", None).await;
    let folder = content::put(&gateway, "FOLDER", "folder", None).await;
    for owner in [&page, &folder] {
        set(&editor, owner, json!([text("layout", "wide")])).await;
    }
    let wide = || having("layout", json!({ "text": "wide" }));
    let mut both = [page.clone(), folder.clone()].map(|id| (crate::support::key(&id), id));
    both.sort();
    let both = both.map(|(_, id)| id);
    assert_eq!(found(&anyone, CONTENTS, wide()).await, both);
    assert_eq!(found(&editor, CONTENTS, wide()).await, both);
    content::ask(&gateway, "unpublishContent", json!({ "contentId": page })).await;
    let seen = anyone.field(CONTENTS, wide()).await;
    assert_eq!(seen["nodes"], json!([{ "id": folder }]));
    let roles = json!({ "contentId": folder, "roles": ["ANALYST"] });
    content::ask(&gateway, "setContentAccess", roles).await;
    let seen = anyone.field(CONTENTS, wide()).await;
    assert_eq!(seen["nodes"], json!([]), "a pair for everyone of content that isn't for everyone");
    let seen = gateway.user("x", &["analyst"]).field(CONTENTS, wide()).await;
    assert_eq!(seen["nodes"], json!([{ "id": folder }]));
    gateway.assert_sound().await;
}
