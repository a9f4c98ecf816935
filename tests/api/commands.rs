//! The commands that each main flow sends to MongoDB, so that a command that was saved stays saved. A
//! change that adds one has to change the list here, and say why.

use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::{
    assets, categories, comments,
    shop::{self, account, cart, checkout, stocked},
    support::{Client, Gateway, cuts, proxy::Seen, very_long_bounds},
    transfers::{TRANSFER, fund, open, order},
};

/// Commands that carry the number of a retryable write, for which MongoDB keeps a record. A chunk's number may be taken
/// only by the command itself, which nothing in the chunk tells. A late copy would take a lease for nobody, or restore the
/// former slug of a product or a removed name of a category.
const NUMBERED: [&str; 4] = [
    "insert assets.chunks",
    "findAndModify leases",
    "findAndModify products",
    "findAndModify categories",
];

/// Compares the commands of `flow` with `expected`: each command with its collection. Some are sent side by
/// side, so their order isn't compared. None but those in [`NUMBERED`] carries a transaction number.
pub async fn sends_only(base: &Gateway, flow: impl AsyncFn(&Gateway), expected: &[&str]) {
    // With the bounds of tests a busy machine adds commands that look what became of others.
    let patient = base.patient_sibling().await;
    let sent = cuts::sent(&patient, flow).await;
    let named = |seen: &Seen| format!("{} {}", seen.command, seen.collection);
    let mut numbered: Vec<_> = sent.iter().filter(|seen| seen.is_numbered).map(named).collect();
    numbered.retain(|command| !NUMBERED.contains(&command.as_str()));
    assert_eq!(numbered, [""; 0], "these commands carry a transaction number");
    let mut sent: Vec<_> = sent.iter().map(named).collect();
    let mut expected = expected.to_vec();
    sent.sort();
    expected.sort_unstable();
    assert_eq!(sent, expected);
    base.assert_sound().await;
}

/// The answer of a mutation, which must be of this type.
fn is(answer: &Value, name: &str) {
    assert_eq!(answer["__typename"], name, "{answer:#}");
}

async fn adding_sends_only(policy: &str, expected: &[&str]) {
    let base = Gateway::start().await;
    stocked(&base, "a", 250, 10).await;
    let id = cart(&base.shopper("ann"), policy, &[]).await;
    let add = async |gateway: &Gateway| {
        let (query, variables) = Client::adding(&id, "a", 2, Some("op"));
        is(&gateway.shopper("ann").field(&query, variables).await, "Cart");
    };
    sends_only(&base, add, expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_a_line() {
    let expected = ["find carts", "find products", "findAndModify carts"];
    adding_sends_only("AT_CHECKOUT", &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_a_line_that_is_reserved() {
    let expected = ["find carts", "find products", "update inventory", "findAndModify carts"];
    adding_sends_only("RESERVE", &expected).await;
}

/// The cart after the addition is known, except for its time.
#[tokio::test(flavor = "multi_thread")]
async fn adding_a_line_whose_time_is_not_shown() {
    let base = Gateway::start().await;
    stocked(&base, "a", 250, 10).await;
    for (policy, reserves) in [("AT_CHECKOUT", None), ("RESERVE", Some("update inventory"))] {
        let id = cart(&base.shopper("ann"), policy, &[]).await;
        for _ in 0..2 {
            let add = async |gateway: &Gateway| {
                is(&shop::add(&gateway.shopper("ann"), &id, "a", 2).await, "Cart");
            };
            let mut expected = vec!["find carts", "find products", "update carts"];
            expected.extend(reserves);
            sends_only(&base, add, &expected).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout() {
    let base = Gateway::start().await;
    stocked(&base, "a", 250, 10).await;
    stocked(&base, "b", 100, 10).await;
    let purse = account(&base, "ann", 5_000).await;
    let id = cart(&base.shopper("ann"), "RESERVE", &[("a", 2), ("b", 1)]).await;
    let pay = async |gateway: &Gateway| {
        is(&checkout(&gateway.shopper("ann"), &id, &purse, "op").await, "Order");
    };
    let expected = [
        // The cart and the payer's account, side by side.
        "find carts",
        "find accounts",
        // The lines are reserved already; the money is held.
        "update accounts",
        // The decision.
        "update carts",
        "insert orders",
        "insert orderNumbers",
        "insert transfers",
        // After the answer: goods and money move. This order is the first to pay the merchant.
        "update inventory",
        "update accounts",
        "find accounts",
        "insert accounts",
        "update accounts",
        "update transfers",
        "update accounts",
        "update carts",
    ];
    sends_only(&base, pay, &expected).await;
}

/// A checkout by itself sends nothing that forgets its reservations. Of a SKU in demand, one command forgets those of
/// sixteen checkouts.
#[tokio::test(flavor = "multi_thread")]
async fn sixteen_checkouts_of_one_sku() {
    let base = Gateway::with(very_long_bounds).await;
    stocked(&base, "a", 250, 100).await;
    let purse = account(&base, "ann", 5_000).await;
    let mut carts = Vec::new();
    for _ in 0..16 {
        carts.push(cart(&base.shopper("ann"), "RESERVE", &[("a", 1)]).await);
    }
    let sent = cuts::sent(&base, async |gateway| {
        for cart in &carts {
            is(&checkout(&gateway.shopper("ann"), cart, &purse, "op").await, "Order");
            shop::settled(gateway).await;
        }
    });
    let sent = sent.await;
    let of_stock = sent.iter().filter(|seen| seen.collection == "inventory").count();
    assert_eq!(of_stock, 16 + 1, "{sent:#?}");
    base.assert_sound().await;
}

/// Of thirteen commands eight are sent before the answer, four deep: the reads, the reservations, the decision, the inserts.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_of_three_lines_that_are_not_reserved() {
    let base = Gateway::start().await;
    let lines = [("a", 2), ("b", 1), ("c", 1)];
    for (sku, _) in lines {
        stocked(&base, sku, 100, 10).await;
    }
    let purse = account(&base, "ann", 5_000).await;
    let first = cart(&base.shopper("ann"), "AT_CHECKOUT", &lines).await;
    is(&checkout(&base.shopper("ann"), &first, &purse, "op").await, "Order");
    shop::settled(&base).await;
    let id = cart(&base.shopper("ann"), "AT_CHECKOUT", &lines).await;
    let pay = async |gateway: &Gateway| {
        is(&checkout(&gateway.shopper("ann"), &id, &purse, "op").await, "Order");
    };
    let expected = [
        "find carts",
        "find accounts",
        "update inventory",
        "update accounts",
        "update carts",
        "insert orders",
        "insert orderNumbers",
        "insert transfers",
        // After the answer.
        "update inventory",
        "update accounts",
        "update transfers",
        "update accounts",
        "update carts",
    ];
    sends_only(&base, pay, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_products_of_all_lines_are_one_command() {
    let base = Gateway::start().await;
    let skus: Vec<String> = (0..20).map(|n| format!("free-{n:02}")).collect();
    for sku in &skus {
        stocked(&base, sku, 0, 10).await;
    }
    let lines: Vec<_> = skus.iter().map(|sku| (sku.as_str(), 1)).collect();
    let cart = cart(&base.shopper("ann"), "RESERVE", &lines).await;
    reads_only(&base, "cart", &cart, "lines { sku }", &["find carts"]).await;
    let fields = "lines { sku product { sku title } } order { id }";
    let seen = reads_only(&base, "cart", &cart, fields, &["find carts", "find products"]).await;
    assert!(seen["order"].is_null(), "{seen:#}");
    let order = checkout(&base.shopper("ann"), &cart, "none", "op").await["id"].clone();
    let order = order.as_str().expect("an order");
    shop::settled(&base).await;
    reads_only(&base, "order", order, "lines { sku }", &["find orders"]).await;
    let fields = "lines { sku product { sku title } } cart { id }";
    let expected = ["find orders", "find products", "find carts"];
    let seen = reads_only(&base, "order", order, fields, &expected).await;
    assert_eq!(seen["cart"]["id"], json!(cart), "{seen:#}");
    let seen =
        reads_only(&base, "cart", &cart, "order { id }", &["find carts", "find orders"]).await;
    assert_eq!(seen["order"]["id"], json!(order), "{seen:#}");
    // A merchant sees the order, and not the cart of another. A product that is gone is null.
    base.raw("products").delete_one(doc! { "_id": &skus[0] }).await.expect("deleted");
    let query = "query($id: ID!) { order(id: $id) { cart { id } lines { product { sku } } } }";
    let seen = base.merchant().field(query, json!({ "id": order })).await;
    assert!(seen["cart"].is_null() && seen["lines"][0]["product"].is_null(), "{seen:#}");
    assert_eq!(seen["lines"][1]["product"]["sku"], json!(skus[1]), "{seen:#}");
}

/// What ann sees of a cart or an order, whose lines have products, if any, of the same SKU.
async fn reads_only(
    base: &Gateway,
    root: &str,
    id: &str,
    fields: &str,
    expected: &[&str],
) -> Value {
    let query = format!("query($id: ID!) {{ {root}(id: $id) {{ {fields} }} }}");
    let read = async |gateway: &Gateway| {
        let seen = gateway.shopper("ann").field(&query, json!({ "id": id })).await;
        for line in seen["lines"].as_array().into_iter().flatten() {
            assert!(line["product"].is_null() || line["product"]["sku"] == line["sku"], "{line:#}");
        }
    };
    sends_only(base, read, expected).await;
    base.shopper("ann").field(&query, json!({ "id": id })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer() {
    let base = Gateway::start().await;
    let ann = base.shopper("ann");
    let (from, to) = (open(&ann, "EUR").await, open(&ann, "EUR").await);
    fund(&base, &from, 100).await;
    let transfer = async |gateway: &Gateway| {
        let sent = order(&from, &to, 30, Some("op"));
        is(&gateway.shopper("ann").field(TRANSFER, sent).await, "Transfer");
    };
    let expected = [
        "find accounts",
        "insert transfers",
        "update accounts",
        "update transfers",
        "update accounts",
        "update transfers",
        // Both marks are removed by one command.
        "update accounts",
        "update transfers",
    ];
    sends_only(&base, transfer, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_transfer_is_sent_with_the_next_one() {
    let base = Gateway::start().await;
    let ann = base.shopper("ann");
    let (from, to) = (open(&ann, "EUR").await, open(&ann, "EUR").await);
    fund(&base, &from, 100).await;
    let ten_transfers = async |round: usize| {
        let sent = cuts::sent(&base, async |gateway| {
            for number in 0..10 {
                let sent = order(&from, &to, 1, Some(&format!("op {round} {number}")));
                is(&gateway.shopper("ann").field(TRANSFER, sent).await, "Transfer");
            }
        });
        sent.await.len()
    };
    // Each transfer sends six commands before its answer. By itself it sends two more after it. On a busy machine the next
    // one may come too late to take them along.
    let mut counts = Vec::new();
    for round in 0..8 {
        counts.push(ten_transfers(round).await);
        if (60..75).contains(counts.last().expect("a count")) {
            break;
        }
    }
    let last = counts.last().expect("a count");
    assert!((60..75).contains(last), "{counts:?} commands for ten transfers");
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_accounts_of_a_statement_are_one_command() {
    let base = Gateway::start().await;
    let ann = base.shopper("ann");
    let from = open(&ann, "EUR").await;
    fund(&base, &from, 100).await;
    let mut paid = Vec::new();
    for _ in 0..20 {
        let to = open(&ann, "EUR").await;
        is(&ann.field(TRANSFER, order(&from, &to, 1, None)).await, "Transfer");
        paid.push(to);
    }
    paid.reverse();
    let query = "query($id: ID!) { account(id: $id) { statement(first: 20) {
        nodes { counterparty { id } transfer { source { id } destination { id } } } } } }";
    let read = async |gateway: &Gateway| {
        let seen = gateway.shopper("ann").field(query, json!({ "id": from })).await;
        let nodes = seen["statement"]["nodes"].as_array().expect("nodes");
        let other = |node: &Value| node["transfer"]["destination"]["id"].clone();
        assert_eq!(nodes.iter().map(other).collect::<Vec<_>>(), paid);
        let other = |node: &Value| node["counterparty"]["id"].clone();
        assert_eq!(nodes.iter().map(other).collect::<Vec<_>>(), paid);
        assert!(nodes.iter().all(|node| node["transfer"]["source"]["id"] == json!(from)));
    };
    sends_only(&base, read, &["find accounts", "find transfers", "find accounts"]).await;
}

async fn commenting_sends_only(layout: &str, expected: &[&str]) {
    let base = Gateway::start().await;
    let on = comments::discussed(&base, "a", layout).await;
    comments::posted(&base.shopper("early"), &on, "early", None).await;
    let post = async |gateway: &Gateway| {
        let input = json!({ "subjectId": on, "text": "A comment", "idempotencyKey": "op" });
        is(&comments::does(&gateway.shopper("ann"), "postComment", input).await, "Comment");
    };
    sends_only(&base, post, expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_per_document() {
    let expected = ["find products", "insert comments", "update products", "update comments"];
    commenting_sends_only("PER_DOCUMENT", &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_in_pages() {
    let expected = [
        "find products",
        "findAndModify commentPages",
        "update products",
        "update authoredComments",
        "update commentPages",
    ];
    commenting_sends_only("PAGED", &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_comment() {
    let expected =
        ["find products", "update products", "update authoredComments", "update products"];
    commenting_sends_only("EMBEDDED", &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload() {
    let base = Gateway::start().await;
    let gallery = assets::parent(&base, "/gallery", "gallery", &[]).await;
    // Three chunks.
    let sent = assets::file("a.bin", "x/y", assets::noise(600_000));
    let upload = async |gateway: &Gateway| {
        let input = json!({ "slug": "it", "parentId": gallery, "idempotencyKey": "op" });
        let body = assets::with_file("uploadAsset", input, &sent);
        let (_, answer) = assets::send_form(&assets::editor(gateway), body).await.expect("sent");
        is(&answer["data"]["uploadAsset"], "Asset");
    };
    let expected = [
        "find assetEntries",
        "find nodes",
        "find nodes",
        "find identities",
        "insert assetEntries",
        "find nodes",
        "insert assets.chunks",
        "insert assets.files",
        "findAndModify assetEntries",
    ];
    sends_only(&base, upload, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_a_category() {
    let base = Gateway::start().await;
    let [_, jazz, bop, film] = categories::music(&base).await;
    categories::put_product(&base, "one", &[&bop]).await;
    let relocate = async |gateway: &Gateway| {
        let input = json!({ "categoryId": jazz, "parentId": film });
        is(&categories::ask(&gateway.merchant(), "moveCategory", input).await, "Category");
    };
    let expected = [
        "findAndModify leases",
        "insert leases",
        "find categories",
        "find categories",
        "aggregate categories",
        "findAndModify categories",
        "update leases",
        // The new parent once more, and the children of the moved category.
        "find categories",
        "find categories",
        "update categories",
        "update products",
        "find categories",
        "find categories",
        "update products",
        "update categories",
    ];
    sends_only(&base, relocate, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn languages_of_a_category() {
    let base = Gateway::start().await;
    let [.., bop, _] = categories::music(&base).await;
    categories::put_product(&base, "one", &[&bop]).await;
    for (name, input) in [
        ("addTranslation", json!({ "categoryId": bop, "locale": "fi", "name": "Nimi" })),
        ("renameCategory", json!({ "categoryId": bop, "locale": "fi", "name": "Toinen" })),
        ("removeTranslation", json!({ "categoryId": bop, "locale": "fi" })),
    ] {
        let change = async |gateway: &Gateway| {
            is(&categories::ask(&gateway.merchant(), name, input.clone()).await, "Category");
        };
        let expected = [
            "findAndModify categories",
            // The look for children, which finds none.
            "find categories",
            "update products",
            "update categories",
        ];
        sends_only(&base, change, &expected).await;
    }
}
