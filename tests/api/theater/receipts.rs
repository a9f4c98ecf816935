//! Receipts, and their refunds.

use docgate::config::PaymentProvider;
use serde_json::{Value, json};

use super::{
    PRICES, assert_map, begin, booking, check_out, complete, hall, hold, holding_seats, id_of,
    receipt, refunding, said, screening_in, stored, theater,
};
use crate::{
    shop::{account, balance, settled},
    support::{Client, Gateway, key, long_bounds, pages_both_ways, short_bounds, very_long_bounds},
};

/// A receipt of the client for these seats, paid from an account, with its booking.
async fn bought(
    gateway: &Gateway,
    client: &Client,
    purse: &str,
    screening: &str,
    seats: &[(&str, i32)],
) -> (String, String) {
    let id = holding_seats(client, screening, seats).await;
    let paid = check_out(client, &id, purse, "op").await;
    assert_eq!(said(&paid), "Receipt", "{paid:#}");
    complete(gateway, &id).await;
    (id_of(&paid), id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_refunded_once_and_its_seats_are_free_again() {
    let gateway = Gateway::with(short_bounds).await;
    let theater = theater(&gateway, &["AAA"]).await;
    let (one, two) =
        (screening_in(&gateway, &theater).await, screening_in(&gateway, &theater).await);
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = holding_seats(&ann, &one, &[("A", 1), ("A", 2)]).await;
    hold(&ann, &id, &two, &[("A", 3)]).await;
    let paid = check_out(&ann, &id, &purse, "op").await;
    complete(&gateway, &id).await;
    assert_map(&gateway, &one, &["ssA"]).await;
    let bought = id_of(&paid);
    let refunded = ann.does(refunding(&bought, "op")).await;
    assert_eq!(
        (said(&refunded), &refunded["state"]),
        ("Receipt", &json!("CANCELLED")),
        "{refunded:#}"
    );
    assert_eq!(refunded["refunded"]["minorUnits"], 3 * PRICES[0]);
    assert_map(&gateway, &one, &["AAA"]).await;
    assert_map(&gateway, &two, &["AAA"]).await;
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
    // Someone else buys the seat. A repeat of the refund doesn't touch it.
    let other = gateway.shopper("bob");
    let others = account(&gateway, "bob", 5_000).await;
    let theirs = holding_seats(&other, &one, &[("A", 1)]).await;
    assert_eq!(said(&check_out(&other, &theirs, &others, "op").await), "Receipt");
    complete(&gateway, &theirs).await;
    assert_eq!(ann.does(refunding(&bought, "op")).await, refunded);
    let again = ann.does(refunding(&bought, "another")).await;
    assert_eq!(again["receiptState"], "CANCELLED", "{again:#}");
    assert_map(&gateway, &one, &["sAA"]).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.sweep().await;
    let stands = stored(&gateway, "screenings", &one).await;
    assert_eq!(stands.get_array("freed").map(Vec::len).ok(), Some(0), "the marks are removed");
    assert_map(&gateway, &one, &["sAA"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_after_the_beginning_is_refused() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let (bought, _) = bought(&gateway, &ann, &purse, &screening, &[("A", 1)]).await;
    begin(&gateway, &screening).await;
    let before = gateway.snapshot().await;
    assert_eq!(said(&ann.does(refunding(&bought, "op")).await), "SCREENING_BEGUN");
    assert_eq!(said(&gateway.merchant().does(refunding(&bought, "op")).await), "SCREENING_BEGUN");
    assert_eq!(gateway.snapshot().await, before);
    assert_map(&gateway, &screening, &["sA"]).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - PRICES[0]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_refunds_at_once_refund_once() {
    let gateway = Gateway::with(long_bounds).await;
    let screening = hall(&gateway, &["AAAAAA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 6_000).await;
    for seat in 1..=4 {
        let (bought, _) = bought(&gateway, &ann, &purse, &screening, &[("A", seat)]).await;
        let (one, other) = (refunding(&bought, "one"), refunding(&bought, "other"));
        let (one, other) = tokio::join!(ann.does(one), ann.does(other));
        let mut all = [said(&one), said(&other)];
        all.sort_unstable();
        assert_eq!(all, ["RECEIPT_NOT_OPEN", "Receipt"], "{one:#} {other:#}");
    }
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 6_000);
    assert_map(&gateway, &screening, &["AAAAAA"]).await;
    gateway.assert_sound().await;
}

/// The merchant's account holds less than the refund: it stays due, and is paid when the money is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_cannot_be_paid_stays_due() {
    let gateway = Gateway::with(short_bounds).await;
    let screening = hall(&gateway, &["AA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let (bought, _) = bought(&gateway, &ann, &purse, &screening, &[("A", 1)]).await;
    let merchant = gateway.shopper("merchant");
    let own = "{ myAccounts { nodes { id } } }";
    let account = merchant.field(own, json!({})).await["nodes"][0]["id"].clone();
    let move_money = |name: &str| {
        let input = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
        format!("mutation($input: {input}!) {{ {name}(input: $input) {{ __typename }} }}")
    };
    let amount = json!({ "input": { "accountId": account, "amount": 1 } });
    let taken = gateway.service().field(&move_money("withdraw"), amount.clone()).await;
    assert_eq!(taken["__typename"], "Transfer", "{taken:#}");
    let due = ann.does(refunding(&bought, "op")).await;
    assert_eq!((&due["state"], &due["refunded"]["minorUnits"]), (&json!("CANCELLING"), &json!(0)));
    assert_map(&gateway, &screening, &["AA"]).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    assert_eq!(receipt(&ann, &bought).await["state"], "CANCELLING");
    gateway.service().field(&move_money("deposit"), amount).await;
    gateway.sweep().await;
    assert_eq!(receipt(&ann, &bought).await["state"], "CANCELLED");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

/// The theater has changed its setting since the receipt was paid.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_a_refund_of_a_receipt_stays_due() {
    let gateway = Gateway::with(short_bounds).await;
    let screening = hall(&gateway, &["AA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let (bought, _) = bought(&gateway, &ann, &purse, &screening, &[("A", 1)]).await;
    let without = gateway.sibling_with(|config| config.payments = PaymentProvider::None).await;
    let due = without.shopper("ann").does(refunding(&bought, "op")).await;
    assert_eq!((&due["state"], &due["refunded"]["minorUnits"]), (&json!("CANCELLING"), &json!(0)));
    without.sweep().await;
    assert_eq!(receipt(&ann, &bought).await["state"], "CANCELLING");
    gateway.assert_sound().await;
    gateway.sweep().await;
    assert_eq!(receipt(&ann, &bought).await["state"], "CANCELLED");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_for_its_owner_and_merchants() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAAAA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 9_000).await;
    let mut all = Vec::new();
    for seat in 1..=5 {
        all.push(bought(&gateway, &ann, &purse, &screening, &[("A", seat)]).await.0);
    }
    all.reverse();
    let listed = pages_both_ways(&ann, "myReceipts(", "id").await;
    let listed: Vec<_> = listed.iter().map(|node| node["id"].as_str().expect("an id")).collect();
    assert_eq!(listed, all);
    let before = gateway.snapshot().await;
    for stranger in [gateway.anonymous(), gateway.shopper("bob"), gateway.service()] {
        assert_eq!(receipt(&stranger, &all[0]).await, Value::Null);
        let refused = stranger.does(refunding(&all[0], "op")).await;
        assert_eq!((said(&refused), &refused["what"]), ("NOT_FOUND", &json!("receipt")));
    }
    assert_eq!(gateway.snapshot().await, before);
    let none = gateway.shopper("bob").field("{ myReceipts { nodes { id } } }", json!({})).await;
    assert_eq!(none["nodes"], json!([]));
    let merchant = gateway.merchant();
    assert_eq!(receipt(&merchant, &all[0]).await["id"], json!(all[0]));
    assert_eq!(said(&merchant.does(refunding(&all[0], "op")).await), "Receipt");
    // The id of a receipt doesn't follow from what others see of its payment.
    let stands = stored(&gateway, "receipts", &all[1]).await;
    let payment = stands.get_document("payment").expect("a payment").get_str("id").expect("an id");
    assert_ne!(payment.trim_start_matches("seats:"), key(&all[1]));
    gateway.assert_sound().await;
}

/// The seats of a receipt are still being sold when it is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_cancelled_before_its_seats_are_sold() {
    use crate::support::proxy::Cut;
    let gateway = Gateway::behind_proxy(very_long_bounds).await;
    let screening = hall(&gateway, &["AA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = holding_seats(&ann, &screening, &[("A", 1)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "screenings" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let paid = check_out(&ann, &id, &purse, "op").await;
    proxy.reached().await;
    proxy.heal();
    let sibling = gateway.sibling().await;
    let refunded = sibling.shopper("ann").does(refunding(&id_of(&paid), "op")).await;
    assert_eq!(refunded["state"], "CANCELLED", "{refunded:#}");
    assert_map(&gateway, &screening, &["AA"]).await;
    holding_seats(&sibling.anonymous(), &screening, &[("A", 1)]).await;
    proxy.release().await;
    settled(&gateway).await;
    assert_map(&gateway, &screening, &["hA"]).await;
    assert_eq!(booking(&ann, &id).await["state"], "COMPLETE");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    let stands = stored(&gateway, "screenings", &screening).await;
    assert_eq!(stands.get_array("sold").map(Vec::len).ok(), Some(0));
    gateway.assert_sound().await;
}
