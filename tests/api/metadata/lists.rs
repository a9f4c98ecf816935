//! Objects by a pair of metadata.

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use super::{product, set, text};
use crate::{
    catalog::change,
    categories::{ask, music},
    content,
    shop::{placed, stocked},
    social::people,
    support::{Client, Gateway, commands, pages_both_ways},
};

const PRODUCTS: &str = "query($by: ProductsBy!) { products(by: $by) { nodes { sku } } }";
const ORDERS: &str = "query($by: OrdersBy!) { orders(by: $by) { nodes { id } } }";
const CONTENTS: &str = "query($by: ContentsBy!) { contents(by: $by) { nodes { id } } }";

const CATEGORIES: &str =
    "query($metadata: MetadataFilter!) { categoriesWith(metadata: $metadata) { nodes { id } } }";
const USERS: &str =
    "query($metadata: MetadataFilter!) { usersWith(metadata: $metadata) { nodes { id } } }";

fn having(key: &str, value: Value) -> Value {
    json!({ "by": with(key, value) })
}

fn with(key: &str, value: Value) -> Value {
    json!({ "metadata": { "key": key, "value": value } })
}

/// The same global ids in the order of their keys.
fn by_key(ids: &[&String]) -> Vec<String> {
    let mut ids: Vec<_> = ids.iter().map(|id| (crate::support::key(id), (*id).clone())).collect();
    ids.sort();
    ids.into_iter().map(|(_, id)| id).collect()
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
async fn a_pair_is_combined_with_other_conditions_of_products() {
    let gateway = Gateway::start().await;
    let (merchant, anyone) = (gateway.merchant(), gateway.anonymous());
    let [music, ..] = music(&gateway).await;
    for (sku, badge, is_music) in
        [("a", "new", true), ("b", "new", false), ("c", "old", true), ("d", "new", true)]
    {
        let owner = product(&gateway, sku).await;
        let roles = if sku == "d" { json!(["analyst"]) } else { json!([]) };
        let pair = json!({ "key": "badge", "value": { "text": badge }, "roles": roles });
        set(&merchant, &owner, json!([pair])).await;
        if is_music {
            change(&merchant, "categorizeProduct", json!({ "sku": sku, "categoryIds": [music] }))
                .await;
        }
    }
    let new = json!({ "key": "badge", "value": { "text": "new" } });
    let listed = async |client: &Client, conditions: Value| {
        let response = client.explained(PRODUCTS, json!({ "by": { "where": conditions } })).await;
        assert_eq!(commands(&response).len(), 1, "{response:#}");
        let nodes = response["data"]["products"]["nodes"].as_array().expect("nodes").iter();
        nodes.map(|node| node["sku"].as_str().expect("a SKU").to_owned()).collect::<Vec<_>>()
    };
    let alone = json!({ "metadata": new });
    assert_eq!(listed(&anyone, alone.clone()).await, ["a", "b"]);
    assert_eq!(listed(&merchant, alone.clone()).await, ["a", "b", "d"]);
    let books = json!({ "metadata": new, "type": "book", "order": "SKU" });
    assert_eq!(listed(&anyone, books).await, ["a", "b"]);
    // A category has its own orders, and the pair is checked.
    for order in ["TITLE", "NEWEST"] {
        let below = json!({ "metadata": new, "category": { "subtree": "/music" }, "order": order });
        assert_eq!(listed(&anyone, below.clone()).await, ["a"], "{order}");
        assert_eq!(listed(&merchant, below).await, ["a", "d"], "{order}");
    }
    let newest = json!({ "by": { "where": { "metadata": new, "order": "NEWEST" } } });
    assert_eq!(anyone.error_code(PRODUCTS, newest).await, "BAD_USER_INPUT");
    let list =
        "products(by: { where: { metadata: { key: \"badge\", value: { text: \"new\" } } } }, ";
    let nodes = pages_both_ways(&merchant, list, "sku").await;
    assert_eq!(json!(nodes), json!(["a", "b", "d"].map(|sku| json!({ "sku": sku }))));
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_found_by_a_pair_newest_first() {
    let gateway = Gateway::start().await;
    let (merchant, ann) = (gateway.merchant(), gateway.shopper("ann"));
    stocked(&gateway, "a", 0, 100).await;
    let mut orders = Vec::new();
    for number in 0..8 {
        let order = placed(&ann, "none", &[("a", 1)]).await;
        let roles = if number == 2 { json!(["merchant"]) } else { json!([]) };
        let batch = if number == 7 { "18" } else { "17" };
        let pairs = json!([
            { "key": "batch", "value": { "text": batch }, "roles": roles },
            text("channel", "17"),
        ]);
        let done = set(&merchant, &order, pairs).await;
        assert_eq!(done["__typename"], "MetadataChange", "{done:#}");
        orders.push(order);
        // Times are in milliseconds.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let newest = |at: &[usize]| at.iter().map(|at| orders[*at].clone()).collect::<Vec<_>>();
    let batch = |batch: &str| having("batch", json!({ "text": batch }));
    // Those for everyone and those for merchants are in one order.
    assert_eq!(found(&merchant, ORDERS, batch("17")).await, newest(&[6, 5, 4, 3, 2, 1, 0]));
    assert_eq!(found(&merchant, ORDERS, batch("18")).await, newest(&[7]));
    assert_eq!(found(&merchant, ORDERS, batch("19")).await, newest(&[]));
    let time = "query($id: ID!) { order(id: $id) { placedAt } }";
    let second = merchant.field(time, json!({ "id": orders[1] })).await;
    let mut later = batch("17");
    later["by"]["placedFrom"] = second["placedAt"].clone();
    assert_eq!(found(&merchant, ORDERS, later).await, newest(&[6, 5, 4, 3, 2, 1]));
    let list = "orders(by: { metadata: { key: \"batch\", value: { text: \"17\" } } }, ";
    let nodes = pages_both_ways(&merchant, list, "id").await;
    let expected: Vec<Value> =
        newest(&[6, 5, 4, 3, 2, 1, 0]).iter().map(|id| json!({ "id": id })).collect();
    assert_eq!(nodes, expected);
    // The index has the order: a page reads what it returns and one more, also behind a cursor.
    let page = "query($by: OrdersBy!, $after: String) { orders(by: $by, first: 1, after: $after) {
        nodes { id } pageInfo { endCursor } } }";
    let mut variables = batch("17");
    for at in [6, 5] {
        let response = merchant.explained(page, variables.clone()).await;
        let listed = &response["data"]["orders"];
        assert_eq!(listed["nodes"], json!([{ "id": newest(&[at])[0] }]), "{response:#}");
        let sent = &response["extensions"]["docgate"]["commands"][0];
        assert!(sent["docsExamined"].as_i64().is_some_and(|docs| docs <= 3), "{response:#}");
        variables["after"] = listed["pageInfo"]["endCursor"].clone();
    }

    let mut two = batch("17");
    two["by"]["customerId"] = json!("ann");
    let refused = merchant.run(ORDERS, two).await;
    assert_eq!(refused["errors"][0]["extensions"]["field"], "by", "{refused:#}");
    let refused = merchant.run(ORDERS, having("1", json!({ "text": "17" }))).await;
    assert_eq!(refused["errors"][0]["extensions"]["field"], "by.metadata.key", "{refused:#}");
    assert_eq!(ann.error_code(ORDERS, batch("17")).await, "FORBIDDEN");
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
    let both = by_key(&[&page, &folder]);
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

/// A page of one behind each cursor reads what it returns and one more, and the cursor belongs to this pair alone.
async fn assert_paged(client: &Client, field: &str, arguments: Value, ids: &[String]) {
    let page = format!(
        "query($metadata: MetadataFilter!, $after: String) {{
            {field}(metadata: $metadata, first: 1, after: $after) {{
                nodes {{ id }} pageInfo {{ endCursor }} }} }}"
    );
    let mut variables = arguments;
    for id in ids {
        let response = client.explained(&page, variables.clone()).await;
        let listed = &response["data"][field];
        assert_eq!(listed["nodes"], json!([{ "id": id }]), "{response:#}");
        let sent = &response["extensions"]["docgate"]["commands"];
        assert_eq!(commands(&response).len(), 1, "{response:#}");
        assert!(sent[0]["docsExamined"].as_i64().is_some_and(|docs| docs <= 3), "{response:#}");
        variables["after"] = listed["pageInfo"]["endCursor"].clone();
    }
    variables["metadata"]["value"] = json!({ "text": "another" });
    assert_eq!(client.error_code(&page, variables).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn categories_are_found_by_the_pairs_that_the_caller_may_read() {
    let gateway = Gateway::start().await;
    let (merchant, anyone) = (gateway.merchant(), gateway.anonymous());
    let [music, jazz, bebop, film] = music(&gateway).await;
    for (owner, roles) in [(&music, json!([])), (&jazz, json!(["analyst"])), (&bebop, json!([]))] {
        let pairs = json!([
            { "key": "template", "value": { "text": "dark" }, "roles": roles },
            { "key": "rank", "value": { "number": 1 } },
        ]);
        let done = set(&merchant, owner, pairs).await;
        assert_eq!(done["__typename"], "MetadataChange", "{done:#}");
    }
    let dark = || with("template", json!({ "text": "dark" }));
    let all = by_key(&[&music, &jazz, &bebop]);
    assert_eq!(found(&anyone, CATEGORIES, dark()).await, by_key(&[&music, &bebop]));
    for client in [&merchant, &gateway.user("x", &["analyst"])] {
        assert_eq!(found(client, CATEGORIES, dark()).await, all);
    }
    assert_eq!(found(&anyone, CATEGORIES, with("rank", json!({ "number": 1.0 }))).await, all);
    assert_eq!(found(&anyone, CATEGORIES, with("rank", json!({ "text": "1" }))).await, [""; 0]);
    let list = "categoriesWith(metadata: { key: \"template\", value: { text: \"dark\" } }, ";
    let nodes = pages_both_ways(&merchant, list, "id").await;
    assert_eq!(json!(nodes), all.iter().map(|id| json!({ "id": id })).collect::<Value>());

    let both = gateway.user("y", &["analyst", "operator"]);
    assert_paged(&both, "categoriesWith", dark(), &all).await;

    // A pair stays with its category when that moves, and goes with it.
    let moved = json!({ "categoryId": bebop, "parentId": film });
    assert_eq!(ask(&merchant, "moveCategory", moved).await["path"], "/film/bop");
    assert_eq!(found(&merchant, CATEGORIES, dark()).await, all);
    let deleted = ask(&merchant, "deleteCategory", json!({ "categoryId": bebop })).await;
    assert_eq!(deleted["__typename"], "DeletedCategory", "{deleted:#}");
    assert_eq!(found(&merchant, CATEGORIES, dark()).await, by_key(&[&music, &jazz]));
    let refused = anyone.run(CATEGORIES, with("1", json!({ "text": "dark" }))).await;
    assert_eq!(refused["errors"][0]["extensions"]["field"], "metadata.key", "{refused:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn merchants_find_users_by_a_pair() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let names = ["ann", "ben", "cat", "dan"];
    people(&gateway, &names).await;
    let ids = names.map(|name| NodeKind::USER.id(name).0);
    for (at, owner) in ids.iter().enumerate() {
        let tier = if at == 3 { "silver" } else { "gold" };
        let roles = if at == 1 { json!(["analyst"]) } else { json!([]) };
        let pair = json!({ "key": "tier", "value": { "text": tier }, "roles": roles });
        set(&merchant, owner, json!([pair])).await;
    }
    let gold = || with("tier", json!({ "text": "gold" }));
    assert_eq!(found(&merchant, USERS, gold()).await, ids[..3]);
    assert_eq!(found(&gateway.admin(), USERS, gold()).await, ids[..3]);
    assert_eq!(found(&merchant, USERS, with("tier", json!({ "text": "g" }))).await, [""; 0]);
    let list = "usersWith(metadata: { key: \"tier\", value: { text: \"gold\" } }, ";
    let nodes = pages_both_ways(&merchant, list, "id").await;
    assert_eq!(json!(nodes), ids[..3].iter().map(|id| json!({ "id": id })).collect::<Value>());
    assert_paged(&merchant, "usersWith", gold(), &ids[..3]).await;
    // A list of users tells who they are, so others have none, whatever pairs they may read.
    for other in [gateway.shopper("ann"), gateway.user("x", &["analyst"])] {
        assert_eq!(other.error_code(USERS, gold()).await, "FORBIDDEN");
    }
    assert_eq!(gateway.anonymous().error_code(USERS, gold()).await, "UNAUTHENTICATED");
    let refused = merchant.run(USERS, with("1", json!({ "text": "gold" }))).await;
    assert_eq!(refused["errors"][0]["extensions"]["field"], "metadata.key", "{refused:#}");
    gateway.assert_sound().await;
}
