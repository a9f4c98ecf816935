//! What orders are charged: the tax on pieces that are added.

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
    support::Gateway,
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
