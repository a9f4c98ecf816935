//! Checkouts and cancellations with a voucher that were cut at any of their commands, or overtaken.

use axum::{Router, extract::Path, routing::post};
use docgate::config::Config;
use serde_json::{Value, json};

use super::{applied, cancel, checkout, checkout_query, created, remove, sums, used};
use crate::{
    shop::{
        account, balance, cart, checkout_input, complete, paid_at, settled, state, stock, stocked,
    },
    support::{Gateway, cuts, long_bounds, outside, proxy::Cut, short_bounds},
};

/// A cart with a voucher, and who pays it.
struct Subject {
    shopper: String,
    cart: String,
    input: Value,
    purse: String,
}

/// A shop with two vouchers, of which only one has a limit per customer.
async fn open_shop(gateway: &Gateway) {
    stocked(gateway, "a", 100, 100_000).await;
    created(gateway, "MINE", json!({ "amount": 30, "budgetUses": 100_000, "perCustomer": 1 }))
        .await;
    created(gateway, "ANY", json!({ "percent": 30, "budget": 10_000_000 })).await;
}

async fn subject(gateway: &Gateway, n: usize, code: &str) -> Subject {
    if n == 1 {
        open_shop(gateway).await;
    }
    let shopper = format!("shopper-{n}");
    let client = gateway.shopper(&shopper);
    let purse = account(gateway, &shopper, 1_000).await;
    let cart = cart(&client, "AT_CHECKOUT", &[("a", 2)]).await;
    applied(&client, &cart, code).await;
    let input = checkout_input(&cart, &purse, "op");
    Subject { shopper, cart, input, purse }
}

/// Someone pays, so that the merchant has an account: the first payment opens it by further commands.
async fn paid_once(gateway: &Gateway) {
    let client = gateway.shopper("the-first");
    let purse = account(gateway, "the-first", 1_000).await;
    let cart = cart(&client, "AT_CHECKOUT", &[("a", 1)]).await;
    checkout(&client, &cart, &purse, "op").await;
    complete(&client, &cart).await;
}

/// Cuts the checkout at each of its commands.
async fn cut_everywhere(code: &str, off: i64) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let subject = subject(gateway, n, code).await;
            if n == 1 {
                paid_once(gateway).await;
            }
            subject
        },
        async |gateway, subject: &Subject| {
            let client = gateway.shopper(&subject.shopper);
            let input = json!({ "input": subject.input });
            let _answer_or_trouble = client.send(checkout_query(), input).await;
        },
        async |gateway, case| {
            let Subject { shopper, cart, purse, .. } = &case.subject;
            let named = format!("{:?} at {}", case.way, case.at);
            let client = gateway.shopper(shopper);
            let order = checkout(&client, cart, purse, "op").await;
            assert_eq!(order["discount"]["minorUnits"], off, "{named}: {order:#}");
            assert_eq!(balance(gateway, purse).await, 1_000 - 200 + off, "{named}");
            complete(&client, cart).await;
            if code == "MINE" {
                let own = sums(gateway, "voucherCustomers", &format!("MINE:{shopper}")).await;
                assert_eq!(own, [0, off, 0, 1], "{named}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_checkout_spends_a_customers_voucher_once() {
    cut_everywhere("MINE", 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_checkout_spends_a_voucher_once() {
    cut_everywhere("ANY", 60).await;
}

/// The answer of a provider that does what it is asked.
async fn answer(Path(action): Path<String>) -> String {
    let status = match action.as_str() {
        "authorise" => "authorised",
        "capture" => "captured",
        "void" => "voided",
        _ => "refunded",
    };
    json!({ "status": status }).to_string()
}

/// Starts that provider, and returns the settings of a gateway that pays there.
pub(super) async fn paid_outside() -> impl Fn(&mut Config) {
    let url = outside(Router::new().route("/pay/{action}", post(answer))).await;
    paid_at(format!("{url}/pay/"))
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_checkout_with_a_claim_spends_a_voucher_once() {
    cuts::everywhere(
        paid_outside().await,
        async |gateway, n| {
            let mut subject = subject(gateway, n, "MINE").await;
            subject.input["payment"] = json!({ "token": "tok" });
            subject
        },
        async |gateway, subject: &Subject| {
            let client = gateway.shopper(&subject.shopper);
            let input = json!({ "input": subject.input });
            let _answer_or_trouble = client.send(checkout_query(), input).await;
        },
        async |gateway, case| {
            let Subject { shopper, cart, input, .. } = &case.subject;
            let named = format!("{:?} at {}", case.way, case.at);
            let client = gateway.shopper(shopper);
            let order = client.field(checkout_query(), json!({ "input": input })).await;
            assert_eq!(order["total"]["minorUnits"], 170, "{named}: {order:#}");
            complete(&client, cart).await;
            let own = sums(gateway, "voucherCustomers", &format!("MINE:{shopper}")).await;
            assert_eq!(own, [0, 30, 0, 1], "{named}");
        },
    )
    .await;
}

/// Where a checkout with a claim fails after its voucher was reserved, the voucher is released.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_fails_gives_the_voucher_back() {
    for is_outside in [false, true] {
        let gateway = if is_outside {
            Gateway::with(paid_outside().await).await
        } else {
            Gateway::with(short_bounds).await
        };
        let gateway = gateway.patient_sibling().await;
        stocked(&gateway, "a", 100, 1).await;
        created(&gateway, "MINE", json!({ "amount": 30, "perCustomer": 1 })).await;
        let shopper = gateway.shopper("ann");
        let purse = account(&gateway, "ann", 1_000).await;
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 2)]).await;
        applied(&shopper, &id, "MINE").await;
        let mut input = checkout_input(&id, &purse, "op");
        if is_outside {
            input["payment"] = json!({ "token": "tok" });
        }
        let input = json!({ "input": input });
        for _ in 0..2 {
            let short = shopper.field(checkout_query(), input.clone()).await;
            assert_eq!(short["__typename"], "CheckoutShort", "{short:#}");
            assert_eq!(state(&gateway, "carts", &id).await, "ACTIVE");
            assert_eq!(used(&gateway, "MINE").await, [0; 4]);
            assert_eq!(sums(&gateway, "voucherCustomers", "MINE:ann").await, [0; 4]);
        }
        shopper.set(&id, "a", 1).await;
        let order = shopper.field(checkout_query(), input).await;
        assert_eq!(order["total"]["minorUnits"], 70, "{order:#}");
        settled(&gateway).await;
        assert_eq!(used(&gateway, "MINE").await, [0, 30, 0, 1]);
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_cancellation_gives_the_voucher_back_once() {
    let order = "mutation($id: ID!) { cancelOrder(input: {orderId: $id, idempotencyKey: \"op\"}) { \
        __typename } }";
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            // With short bounds a busy machine leaves the end of a checkout to the sweep.
            let gateway = &gateway.patient_sibling().await;
            let subject = subject(gateway, n, "MINE").await;
            let client = gateway.shopper(&subject.shopper);
            let placed = checkout(&client, &subject.cart, &subject.purse, "op").await;
            complete(&client, &subject.cart).await;
            settled(gateway).await;
            (subject, placed["id"].as_str().expect("an order").to_owned())
        },
        async |gateway, (subject, id): &(Subject, String)| {
            let client = gateway.shopper(&subject.shopper);
            let _answer_or_trouble = client.send(order, json!({ "id": id })).await;
        },
        async |gateway, case| {
            let (Subject { shopper, purse, .. }, id) = &case.subject;
            let named = format!("{:?} at {}", case.way, case.at);
            let cancelled = cancel(&gateway.shopper(shopper), id, "op").await;
            assert_eq!(cancelled["state"], "CANCELLED", "{named}: {cancelled:#}");
            let own = sums(gateway, "voucherCustomers", &format!("MINE:{shopper}")).await;
            assert_eq!(own, [0; 4], "{named}");
            assert_eq!(balance(gateway, purse).await, 1_000, "{named}");
        },
    )
    .await;
}

/// The decision is held back while the voucher of the cart changes: the order pays what the cart shows then.
#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_that_changes_while_the_checkout_reserves_is_not_spent() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "OFF", json!({ "percent": 50 })).await;
    created(&gateway, "LESS", json!({ "percent": 20 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let other = gateway.sibling().await;
    let others = other.shopper("ann");
    for (change, total) in [(None, 100), (Some("LESS"), 80)] {
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        applied(&shopper, &id, "OFF").await;
        settled(&gateway).await;
        proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
        proxy.cut(0, Cut::Hold);
        let (order, ()) = tokio::join!(checkout(&shopper, &id, &purse, "op"), async {
            proxy.reached().await;
            assert_eq!(used(&gateway, "OFF").await, [50, 0, 1, 0]);
            match change {
                Some(code) => drop(applied(&others, &id, code).await),
                None => drop(remove(&others, &id).await),
            }
            proxy.release().await;
        });
        proxy.heal();
        assert_eq!(order["total"]["minorUnits"], total, "{order:#}");
        settled(&gateway).await;
        assert_eq!(used(&gateway, "OFF").await, [0; 4]);
    }
    assert_eq!(used(&gateway, "LESS").await, [0, 20, 0, 1]);
    assert_eq!(balance(&gateway, &purse).await, 1_000 - 180);
    assert_eq!(stock(&gateway, "a").await, (8, 0, 2));
    gateway.assert_sound().await;
}

/// An order can be cancelled before its voucher is spent.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_cancelled_before_its_voucher_is_spent() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "OFF", json!({ "percent": 50 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    applied(&shopper, &id, "OFF").await;
    settled(&gateway).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    // The first write of the voucher reserves, the second one spends.
    proxy.count_only(|seen| seen.collection == "vouchers" && seen.command == "update");
    proxy.cut(1, Cut::Hold);
    let order = checkout(&shopper, &id, &purse, "op").await["id"].clone();
    let other = gateway.sibling().await;
    let order = order.as_str().expect("an order");
    let (cancelled, ()) =
        tokio::join!(async { cancel(&other.shopper("ann"), order, "op").await }, async {
            proxy.reached().await;
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            proxy.release().await;
        });
    proxy.heal();
    assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
    settled(&gateway).await;
    settled(&other).await;
    assert_eq!(used(&gateway, "OFF").await, [0; 4]);
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    gateway.assert_sound().await;
}
