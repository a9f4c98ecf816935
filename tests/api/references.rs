//! Objects beside their ids: callers get those that they may see, and those of a whole list cost one more command.

mod parts;

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::{
    assets, catalog,
    commands::sends_only,
    comments, content,
    shop::stocked,
    support::{Client, Gateway, commands, short_bounds},
};

/// Elements of the lists.
const MANY: usize = 20;
/// Fields of an object that can be discussed.
const SHOWN: &str = "{ __typename id ... on Product { sku pricing { pctSavings } }
    ... on Content { title } ... on Asset { path parent { id } } }";

/// The answer to a query that sends only these commands.
async fn reads_only(
    base: &Gateway,
    client: impl Fn(&Gateway) -> Client,
    query: &str,
    variables: Value,
    expected: &[&str],
) -> Value {
    let read = async |gateway: &Gateway| {
        client(gateway).field(query, variables.clone()).await;
    };
    sends_only(base, read, expected).await;
    // Development mode lists these commands, each once.
    let response = client(base).explained(query, variables).await;
    let (mut listed, mut expected) = (commands(&response), expected.to_vec());
    listed.sort();
    expected.sort_unstable();
    assert_eq!(listed, expected, "{response:#}");
    let data = response["data"].as_object().unwrap_or_else(|| panic!("{response:#}"));
    data.values().next().cloned().unwrap_or_default()
}

/// The nodes of a list, which has [`MANY`].
fn nodes(list: &Value) -> &[Value] {
    let nodes = list["nodes"].as_array().unwrap_or_else(|| panic!("{list:#}"));
    assert_eq!(nodes.len(), MANY, "{list:#}");
    nodes
}

/// A gallery that these roles can see once it is published.
async fn gallery(gateway: &Gateway, slug: &str, access: Value, is_published: bool) -> String {
    let text = json!({ "title": slug });
    let input = json!({ "type": "GALLERY", "slug": slug, "access": access, "text": text });
    let made = content::create(gateway, input).await;
    if is_published {
        content::publish(gateway, &made, None).await;
    }
    made["id"].as_str().expect("an id").to_owned()
}

/// Puts a file that everyone can see into a gallery, or at the root.
async fn put(gateway: &Gateway, gallery: Option<&str>, slug: &str) -> String {
    let input = json!({ "slug": slug, "parentId": gallery, "access": [], "tags": ["all"] });
    let made = assets::uploaded(gateway, input, &assets::file("a", "text/plain", "x")).await;
    made["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parents_of_all_assets_are_one_command() {
    let base = Gateway::start().await;
    for number in 0..MANY {
        let gallery = gallery(&base, &format!("g{number}"), json!([]), true).await;
        put(&base, Some(&gallery), "it").await;
    }
    let query = "{ assets(by: { tag: \"all\" }, first: 20) { nodes {
        path parentId parent { __typename id path } } } }";
    let expected = ["find assetEntries", "find nodes"];
    let found = reads_only(&base, Gateway::anonymous, query, json!({}), &expected).await;
    for asset in nodes(&found) {
        let parent = &asset["parent"];
        assert_eq!((&parent["__typename"], &parent["id"]), (&json!("Gallery"), &asset["parentId"]));
        let path = parent["path"].as_str().expect("a path");
        assert_eq!(asset["path"], format!("{path}/it"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parent_of_an_asset_is_seen_by_who_may_see_it() {
    let gateway = Gateway::start().await;
    let all = json!(["ANALYST"]);
    let parents = [
        (gallery(&gateway, "public", json!([]), true).await, vec!["anyone", "analyst", "editor"]),
        (gallery(&gateway, "staff", all, true).await, vec!["analyst", "editor"]),
        (gallery(&gateway, "draft", json!([]), false).await, vec!["editor"]),
    ];
    let query = "query($id: ID!, $parent: ID!) {
        asset(by: { id: $id }) { parentId parent { id title } }
        node(id: $parent) { ... on Gallery { id title } } }";
    let clients = [
        ("anyone", gateway.anonymous()),
        ("analyst", gateway.user("a", &["analyst"])),
        ("editor", assets::editor(&gateway)),
    ];
    for (parent, seen_by) in parents {
        let asset = put(&gateway, Some(&parent), "it").await;
        for (name, client) in &clients {
            let seen = client.data(query, json!({ "id": asset, "parent": parent })).await;
            assert_eq!(seen["asset"]["parentId"], json!(parent), "{name}");
            assert_eq!(seen["asset"]["parent"], seen["node"], "{name}");
            assert_eq!(seen["node"]["id"] == json!(parent), seen_by.contains(name), "{name}");
        }
    }
    let root = put(&gateway, None, "root").await;
    let query = "query($id: ID!) { asset(by: { id: $id }) { parentId parent { id } } }";
    let seen = gateway.anonymous().field(query, json!({ "id": root })).await;
    assert_eq!(seen, json!({ "parentId": null, "parent": null }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_subjects_of_all_comments_are_one_command() {
    let base = Gateway::start().await;
    for number in 0..MANY {
        let on = comments::discussed(&base, &format!("p{number}"), "PER_DOCUMENT").await;
        comments::posted(&base.shopper("ann"), &on, "A comment", None).await;
    }
    let query = "{ commentsBy(first: 20) { nodes {
        subjectId subject { __typename id ... on Product { sku } } } } }";
    let expected = [
        "find comments",
        "find authoredComments",
        // Whether the caller sees what is discussed.
        "find products",
        "find products",
    ];
    let ann = |gateway: &Gateway| gateway.shopper("ann");
    let found = reads_only(&base, ann, query, json!({}), &expected).await;
    for (number, comment) in nodes(&found).iter().rev().enumerate() {
        let sku = format!("p{number}");
        let subject = json!({ "__typename": "Book", "id": comment["subjectId"], "sku": sku });
        assert_eq!(comment["subject"], subject);
        assert_eq!(comment["subjectId"], NodeKind::PRODUCT.id(&sku).0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_subject_of_a_comment_is_what_its_id_names() {
    let gateway = Gateway::start().await;
    let (ann, editor) = (gateway.shopper("ann"), content::editor(&gateway));
    let product = comments::discussed(&gateway, "a", "EMBEDDED").await;
    let page = content::put(&gateway, "PAGE", "page", None).await;
    let asset = put(&gateway, None, "it").await;
    for (on, layout) in [(&page, "PER_DOCUMENT"), (&asset, "PAGED")] {
        comments::open(&editor, on, layout).await;
    }
    let query = format!(
        "query($id: ID!, $on: ID!) {{ node(id: $on) {SHOWN}
            comment(by: {{ id: $id }}) {{ subjectId subject {SHOWN} }} }}"
    );
    for (on, kind) in [(&product, "Book"), (&page, "Page"), (&asset, "Asset")] {
        let comment = comments::posted(&ann, on, "A comment", None).await;
        let variables = json!({ "id": comment, "on": on });
        // The second time the text of the query is known.
        for _ in 0..2 {
            let seen = gateway.anonymous().data(&query, variables.clone()).await;
            let (comment, node) = (&seen["comment"], &seen["node"]);
            assert_eq!((&comment["subject"], &node["__typename"]), (node, &json!(kind)));
            assert_eq!((&comment["subjectId"], &node["id"]), (&json!(on), &json!(on)));
        }
        // A field that the caller may not see is null there too.
        if kind == "Page" {
            let query = "query($id: ID!) { comment(by: { id: $id }) {
                subject { ... on Page { title draft { title } } } } }";
            let of_comment = json!({ "id": comment });
            let answer = ann.run(query, of_comment.clone()).await;
            let subject = json!({ "title": "page", "draft": null });
            assert_eq!(answer["data"]["comment"]["subject"], subject, "{answer:#}");
            let error = &answer["errors"][0];
            assert_eq!(error["extensions"]["code"], "FORBIDDEN");
            assert_eq!(error["path"], json!(["comment", "subject", "draft"]));
            let seen = editor.field(query, of_comment).await;
            assert_eq!(seen["subject"]["draft"]["title"], "page");
        }
        // It isn't there without its room.
        let alone = gateway.sibling_with(|config| config.rooms = vec!["comments".into()]).await;
        let query =
            "query($id: ID!) { comment(by: { id: $id }) { text subjectId subject { id } } }";
        let seen = alone.anonymous().field(query, json!({ "id": comment })).await;
        let expected = json!({ "text": "A comment", "subjectId": on, "subject": null });
        assert_eq!(seen, expected);
    }
    // A comment on what the caller doesn't see isn't there, so it shows no subject either.
    let nodes = gateway.raw("nodes");
    let hide = doc! { "$set": { "metadata.access": ["analyst"] } };
    nodes.update_one(doc! { "_id": crate::support::key(&page) }, hide).await.expect("hidden");
    let query = "{ commentsBy { nodes { subject { __typename } } } }";
    let seen = ann.field(query, json!({})).await;
    let kinds =
        json!([{ "subject": { "__typename": "Asset" } }, { "subject": { "__typename": "Book" } }]);
    assert_eq!(seen["nodes"], kinds);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_products_of_all_works_are_one_command() {
    let base = Gateway::start().await;
    let merchant = base.merchant();
    let person = catalog::person(&merchant, "Ann").await;
    for number in 0..MANY {
        let sku = format!("p{number}");
        base.product(&sku, 100, "EUR").await;
        let input = json!({ "sku": sku, "personId": person, "role": "author" });
        catalog::change(&merchant, "creditPerson", input).await;
    }
    let category = catalog::category(&merchant, "books", None).await;
    let input = json!({ "sku": "p0", "categoryIds": [category] });
    catalog::change(&merchant, "categorizeProduct", input).await;
    let query = "query($id: ID!) { person(id: $id) { works {
        sku title product(locale: \"de\") { __typename sku title categories { name } } } } }";
    let variables = json!({ "id": person });
    let expected = ["find people", "find products"];
    let found = reads_only(&base, Gateway::anonymous, query, variables.clone(), &expected).await;
    let works = found["works"].as_array().expect("works");
    assert_eq!(works.len(), MANY);
    for work in works {
        let product = &work["product"];
        assert_eq!((&product["sku"], &product["title"]), (&work["sku"], &work["title"]));
        let is_first = work["sku"] == "p0";
        let categories =
            if is_first { json!([{ "name": "books auf Deutsch" }]) } else { json!([]) };
        assert_eq!(product["categories"], categories);
    }
    // Of a product that is gone, the copy is left.
    base.raw("products").delete_one(doc! { "_id": "p0" }).await.expect("deleted");
    let found = base.anonymous().field(query, variables).await;
    let works = found["works"].as_array().expect("works");
    let gone = works.iter().find(|work| work["sku"] == "p0").expect("the work");
    let expected = json!({ "sku": "p0", "title": "Title of p0", "product": null });
    assert_eq!(*gone, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stock_of_all_products_is_one_command() {
    let base = Gateway::start().await;
    for number in 0..MANY {
        let sku = format!("p{number:02}");
        // Half of them never had stock.
        if number % 2 == 0 {
            stocked(&base, &sku, 100, 7).await;
        } else {
            base.product(&sku, 100, "EUR").await;
        }
    }
    let query = "{ products(by: { titleStartsWith: { prefix: \"title\" } }, first: 20) {
        nodes { sku stock { sku available } } } }";
    let expected = ["find products", "find inventory"];
    let found = reads_only(&base, Gateway::anonymous, query, json!({}), &expected).await;
    for (number, product) in nodes(&found).iter().enumerate() {
        let (sku, available) = (format!("p{number:02}"), if number % 2 == 0 { 7 } else { 0 });
        let stock = json!({ "sku": sku, "available": available });
        assert_eq!(*product, json!({ "sku": sku, "stock": stock }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stock_of_a_product_is_that_of_its_sku() {
    let gateway = Gateway::with(short_bounds).await;
    let anyone = gateway.anonymous();
    let both = async |sku: &str| {
        let query = "query($sku: ID!) { stock(sku: $sku) { sku available }
            product(sku: $sku) { stock { sku available } } }";
        let seen = anyone.data(query, json!({ "sku": sku })).await;
        let shown = seen["product"].get("stock").unwrap_or(&Value::Null);
        assert_eq!(seen["stock"], *shown, "{seen:#}");
        shown["available"].clone()
    };
    gateway.product("new", 100, "EUR").await;
    assert_eq!(both("new").await, 0);
    stocked(&gateway, "a", 100, 7).await;
    assert_eq!(both("a").await, 7);
    // Its guarded fields are the merchants'.
    let query = "{ product(sku: \"a\") { stock { available received } } }";
    let seen = gateway.merchant().field(query, json!({})).await;
    assert_eq!(seen["stock"], json!({ "available": 7, "received": 7 }));
    let answer = gateway.shopper("ann").run(query, json!({})).await;
    let stock = &answer["data"]["product"]["stock"];
    assert_eq!(*stock, json!({ "available": 7, "received": null }), "{answer:#}");
    assert_eq!(answer["errors"][0]["path"], json!(["product", "stock", "received"]));
    // The rest of a deleted product's stock is the next one's.
    let delete = "mutation { deleteProduct(input: { sku: \"a\" }) { __typename } }";
    gateway.merchant().field(delete, json!({})).await;
    assert_eq!(both("a").await, Value::Null);
    gateway.sweep().await;
    assert_eq!(both("a").await, Value::Null);
    gateway.product("a", 100, "EUR").await;
    assert_eq!(both("a").await, 7);
    gateway.assert_sound().await;
    // A product whose deletion is committed has none, although it is still shown for a moment.
    let product = gateway.raw("products").find_one(doc! { "_id": "new" }).await.expect("read");
    let generation = product.expect("the product").get_str("incarnation").expect("one").to_owned();
    gateway.merchant().receive_stock(json!({ "sku": "new", "quantity": 1 })).await;
    assert_eq!(both("new").await, 1);
    let deleting = doc! { "$set": { "deleting": true, "deleted": generation } };
    gateway.raw("inventory").update_one(doc! { "_id": "new" }, deleting).await.expect("marked");
    assert_eq!(both("new").await, Value::Null);
}
