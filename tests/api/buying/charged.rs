//! What orders are charged: quotes that have to be computed again, and the tax on pieces that are added.

use docgate::config::Config;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use super::{
    applied, created,
    quoted_outside::{Mode, asks, service, there},
    quotes::{checkout, chosen, sums, with_tables},
};
use crate::{
    orders::{
        adjust,
        fulfilment::{change, shipped},
    },
    shop::{account, balance, cart, settled, stocked},
    support::{Gateway, key},
};

/// A voucher takes nearly everything off the first piece, and nothing off the second one.
#[tokio::test(flavor = "multi_thread")]
async fn the_tax_on_a_piece_that_was_added_is_given_back_with_it() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 1_000, 100).await;
    created(&gateway, "OFF", json!({ "amount": 900 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&shopper, &id, "OFF").await;
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 100 + 7 + 595);
    let placed = checkout(&shopper, &id, &purse, "op").await;
    let order = placed["id"].as_str().unwrap_or_else(|| panic!("{placed:#}"));
    settled(&gateway).await;
    adjust(&shopper, order, "a", 2, "more").await;
    settled(&gateway).await;
    assert_eq!(sums(&shopper, order).await, [702 + 1_070, 77 + 95, 900, 0]);
    for _ in 0..2 {
        adjust(&shopper, order, "a", 1, "less").await;
        settled(&gateway).await;
        assert_eq!(sums(&shopper, order).await, [702, 7 + 95, 900, 1_070]);
    }
    gateway.assert_sound().await;
    // So it is if it is returned.
    adjust(&shopper, order, "a", 2, "again").await;
    settled(&gateway).await;
    assert_eq!(shipped(&gateway, order, "a", 2).await, 1);
    let lines = json!([{ "sku": "a", "quantity": 1 }]);
    let input = json!({ "shipmentNumber": 1, "lines": lines, "reason": "Too small" });
    change(&shopper, "requestReturn", order, input).await;
    let input = json!({ "returnNumber": 1, "idempotencyKey": "accept" });
    let accepted = change(&gateway.merchant(), "acceptReturn", order, input).await;
    assert_eq!(accepted["__typename"], "Order", "{accepted:#}");
    settled(&gateway).await;
    assert_eq!(sums(&shopper, order).await, [702, 7 + 95, 900, 2 * 1_070]);
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 702);
    gateway.assert_sound().await;
}

/// The tax on what a voucher leaves doesn't tell that on a piece at its full price.
#[tokio::test(flavor = "multi_thread")]
async fn a_piece_is_added_only_if_the_tax_on_it_is_known() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    stocked(&gateway, "a", 1_000, 1_000).await;
    created(&gateway, "ALL", json!({ "amount": 1_000 })).await;
    created(&gateway, "NEARLY", json!({ "amount": 997 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 50_000).await;
    for (n, (voucher, lines, net, more)) in [
        (Some("ALL"), json!([]), 0, None),
        (Some("ALL"), json!([{ "sku": "a", "tax": 0 }]), 0, None),
        (Some("ALL"), json!([{ "sku": "a", "tax": 0, "rate": 19_000 }]), 0, Some(1_190)),
        (Some("ALL"), json!([{ "sku": "a", "tax": 0, "rate": 0 }]), 0, Some(1_000)),
        (Some("NEARLY"), json!([{ "sku": "a", "tax": 1 }]), 4, None),
        (Some("NEARLY"), json!([{ "sku": "a", "tax": 1, "rate": 19_000 }]), 4, Some(1_190)),
        (None, json!([{ "sku": "a", "tax": 190 }]), 1_190, Some(1_190)),
        (None, json!([]), 1_000, Some(1_000)),
    ]
    .into_iter()
    .enumerate()
    {
        let method = json!({ "name": "parcel", "title": "Parcel", "price": 490, "tax": 93 });
        let answer = json!({ "currency": "EUR", "methods": [method], "lines": lines });
        service.answers(Mode::Text(200, answer.to_string()));
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        if let Some(code) = voucher {
            applied(&shopper, &id, code).await;
        }
        let total = net + 583;
        assert_eq!(chosen(&shopper, &id, "parcel", there()).await, total, "{lines}");
        let placed = checkout(&shopper, &id, &purse, &format!("op-{n}")).await;
        let order = placed["id"].as_str().unwrap_or_else(|| panic!("{placed:#}"));
        settled(&gateway).await;
        let before = gateway.snapshot().await;
        let raised = adjust(&shopper, order, "a", 2, "more").await;
        let Some(more) = more else {
            assert_eq!(raised["field"], "input.quantity", "{lines}: {raised:#}");
            assert!(gateway.snapshot().await == before, "{lines}");
            continue;
        };
        assert_eq!(raised["total"]["minorUnits"], total + more, "{lines}: {raised:#}");
        settled(&gateway).await;
        let lowered = adjust(&shopper, order, "a", 1, "less").await;
        assert_eq!(lowered["total"]["minorUnits"], total, "{lines}: {lowered:#}");
        settled(&gateway).await;
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_is_old_or_of_another_type_of_product_is_not_charged() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let change = async |change: Document| {
        let of = doc! { "_id": key(&id) };
        let changed = gateway.raw("carts").update_one(of, change).await.expect("changed");
        assert_eq!(changed.matched_count, 1);
    };
    let seen = async |gateway: &Gateway| {
        let query =
            "query($id: ID!) { cart(id: $id) { total { minorUnits } quote { isCurrent } } }";
        let cart = gateway.shopper("ann").field(query, json!({ "id": id })).await;
        (cart["total"]["minorUnits"].clone(), cart["quote"]["isCurrent"].clone())
    };
    let without_methods = |config: &mut Config| {
        config.shipping_methods.clear();
        config.taxes.clear();
    };
    let long_ago = doc! { "$set": { "quote.at": DateTime::from_millis(1) } };
    for outdated in [
        long_ago.clone(),
        // As a quote of an earlier release.
        doc! { "$unset": { "quote.at": "" } },
        // The line was removed, and added again when the product had another type.
        doc! { "$set": { "lines.0.type": "album" } },
    ] {
        assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 702);
        assert_eq!(seen(&gateway).await, (json!(702), json!(true)));
        change(outdated.clone()).await;
        assert_eq!(seen(&gateway).await, (json!(100), json!(false)), "{outdated}");
        let before = gateway.snapshot().await;
        let refused = checkout(&shopper, &id, &purse, "op").await;
        assert_eq!(refused["quoteFault"], "OUTDATED", "{outdated}: {refused:#}");
        assert!(gateway.snapshot().await == before, "{outdated}");
    }
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 100 + 19 + 595);
    change(long_ago.clone()).await;
    // A gateway without shipping methods computes no other one.
    let other = gateway.sibling_with(without_methods).await;
    assert_eq!(seen(&other).await, (json!(714), json!(true)));
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 714);
    assert_eq!(checkout(&shopper, &id, &purse, "op").await["total"]["minorUnits"], 714);
    settled(&gateway).await;
    // The cart keeps what was paid.
    change(long_ago).await;
    assert_eq!(seen(&gateway).await, (json!(714), json!(true)));
    gateway.assert_sound().await;
}

/// The amounts of the tables aren't those of the city for which the service is asked from now on.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_from_before_the_service_is_outdated() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 702);
    let (_service, url) = service().await;
    let asking = gateway.sibling_with(|config| asks(config, &url)).await;
    let shopper = asking.shopper("ann");
    let before = gateway.snapshot().await;
    let refused = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(refused["quoteFault"], "OUTDATED", "{refused:#}");
    assert!(gateway.snapshot().await == before);
    assert_eq!(chosen(&shopper, &id, "parcel", there()).await, 693);
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 693, "{order:#}");
    settled(&asking).await;
    asking.assert_sound().await;
}
