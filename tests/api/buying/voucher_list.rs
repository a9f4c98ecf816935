//! The list of vouchers, for merchants.

use mongodb::bson::{DateTime, doc};
use serde_json::json;

use super::{applied, checkout, created, marks};
use crate::{
    shop::{account, cart, settled, stocked},
    support::{Gateway, pages_both_ways},
};

const LIST: &str = "{ vouchers { nodes { voucherCode spentUses spent { minorUnits } } } }";

#[tokio::test(flavor = "multi_thread")]
async fn merchants_list_all_vouchers_the_newest_first() {
    let gateway = Gateway::start().await;
    let none = gateway.merchant().field(LIST, json!({})).await;
    assert_eq!(none["nodes"], json!([]));
    // C and A were created in the same millisecond.
    for (code, at) in [("B", 1), ("D", 2), ("A", 3), ("C", 3), ("E", 4)] {
        created(&gateway, code, json!({ "percent": 10 })).await;
        let at = DateTime::from_millis(1_700_000_000_000 + at);
        let set = doc! { "$set": { "createdAt": at } };
        gateway.raw("vouchers").update_one(doc! { "_id": code }, set).await.expect("set");
    }
    let merchant = gateway.merchant();
    // One that was ended stays in the list.
    let end = "mutation { endVoucher(input: {code: \"A\"}) { __typename } }";
    assert_eq!(merchant.field(end, json!({})).await["__typename"], "Voucher");
    let found = pages_both_ways(&merchant, "vouchers(", "voucherCode").await;
    let codes: Vec<_> = found.iter().map(|node| node["voucherCode"].clone()).collect();
    assert_eq!(codes, ["E", "C", "A", "D", "B"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_has_what_was_used() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "OFF", json!({ "percent": 10 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&shopper, &id, "OFF").await;
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 90, "{order:#}");
    settled(&gateway).await;
    // The list leaves the marks out.
    assert_eq!(marks(&gateway, "vouchers", "OFF").await, 1);
    let listed = gateway.merchant().field(LIST, json!({})).await;
    let expected = json!([{ "voucherCode": "OFF", "spentUses": 1, "spent": { "minorUnits": 10 } }]);
    assert_eq!(listed["nodes"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_lists_vouchers() {
    let gateway = Gateway::start().await;
    created(&gateway, "OFF", json!({ "percent": 10 })).await;
    for stranger in [gateway.shopper("ann"), gateway.service()] {
        assert_eq!(stranger.error_code(LIST, json!({})).await, "FORBIDDEN");
    }
    assert_eq!(gateway.anonymous().error_code(LIST, json!({})).await, "UNAUTHENTICATED");
}
