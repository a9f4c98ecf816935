//! The payment providers, called as the orders room calls them.

mod http;
mod stuck;

use std::time::Duration;

use docgate::{
    app::App,
    config::PaymentProvider,
    domains::{
        payments::{Authorisation, Charge, Refund, operations as payments},
        transfers as transfers_room,
        transfers::operations::{self as transfers, PayerAccount},
    },
    error::Error,
    graphql::{
        node_id::NodeKind,
        scalars::{CurrencyCode, Money},
    },
    invariants::Report,
};
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use crate::{
    support::{
        Gateway, cuts, direct::in_time, key, long_bounds, proxy::Cut, settled, short_bounds,
    },
    transfers::{WITHDRAW, balance, close, fund, nth_currency, open},
};

fn euros(minor_units: i64) -> Money {
    Money::new(minor_units, CurrencyCode::from_code("EUR").expect("a currency"))
}

fn charge(id: &str, account: Option<&str>, amount: i64) -> Charge {
    let (account, holder) = (account.map(key), "a cart".into());
    Charge { id: id.into(), holder, amount: euros(amount), account, token: None }
}

async fn authorise(app: &App, id: &str, account: &str, amount: i64) -> Authorisation {
    let charge = charge(id, Some(account), amount);
    in_time(async || payments::authorise(app, &charge).await).await
}

/// Balance of the merchant's receiving account.
async fn received(gateway: &Gateway) -> i64 {
    let merchant = gateway.shopper("merchant");
    let query = "{ myAccounts { nodes { balance { minorUnits } } } }";
    let accounts = merchant.field(query, json!({})).await;
    accounts["nodes"][0]["balance"]["minorUnits"].as_i64().expect("a balance")
}

async fn status(gateway: &Gateway, id: &str) -> Value {
    let query =
        "query($id: ID!) { transferStatus(by: { id: $id }) { id kind state failureReason } }";
    gateway.service().field(query, json!({ "id": *NodeKind::TRANSFER.id(id) })).await
}

async fn state(gateway: &Gateway, id: &str) -> String {
    status(gateway, id).await["state"].as_str().expect("a state").to_owned()
}

fn declined(said: &Authorisation) -> &str {
    match said {
        Authorisation::Declined(reason) => reason,
        Authorisation::Authorised => panic!("authorised"),
    }
}

/// Brings money out of an account. A call that ran out of time is repeated, and may find it done.
async fn withdraw(gateway: &Gateway, account: &Value, amount: i64) {
    let input = json!({ "input": { "accountId": account, "amount": amount } });
    let out = gateway.service().field(WITHDRAW, input).await;
    assert!(out["state"] == "CREDITED" || out["state"] == "DONE", "{out}");
}

/// The sweep of transfers alone, until nothing is left to finish: without carts and orders the
/// other rooms' sweeps would void what nobody checks out.
async fn sweep(gateway: &Gateway) {
    let quiet = gateway.app.bounds().two_grace_periods();
    tokio::time::sleep(quiet + Duration::from_millis(100)).await;
    while gateway.sweep_room(&transfers_room::ROOM).await > 0 {}
}

/// Payments without orders break the orders' invariants; those of the money must hold.
async fn assert_sound(gateway: &Gateway) {
    settled(gateway).await;
    let report = in_time(async || {
        let mut report = Report::default();
        transfers_room::invariants::check(&gateway.app, &mut report).await.map(|()| report)
    });
    let report = report.await;
    assert!(report.is_clean(), "{report:#?}");
}

async fn aftermath(gateway: &Gateway) {
    sweep(gateway).await;
    assert_sound(gateway).await;
}

async fn payer(gateway: &Gateway, money: i64) -> String {
    let account = open(&gateway.shopper("payer"), "EUR").await;
    fund(gateway, &account, money).await;
    settled(gateway).await;
    account
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_sets_aside_captures_and_refunds() {
    let gateway = Gateway::with(long_bounds).await;
    let app = &gateway.app;
    let account = payer(&gateway, 100).await;

    assert_eq!(authorise(app, "p1", &account, 60).await, Authorisation::Authorised);
    assert_eq!(authorise(app, "p1", &account, 60).await, Authorisation::Authorised);
    assert_eq!(balance(&gateway, &account).await, 40);
    assert_eq!(received(&gateway).await, 0);
    assert_eq!(state(&gateway, "p1").await, "AUTHORISED");
    assert_sound(&gateway).await;
    // What is set aside can't be set aside again, nor cancelled or reversed by anyone.
    assert_eq!(
        declined(&authorise(app, "p2", &account, 41).await),
        "the account holds less than the total"
    );
    assert_eq!(state(&gateway, "p2").await, "CANCELLED");
    let p1 = json!({ "id": *NodeKind::TRANSFER.id("p1") });
    let cancel = "mutation($id: ID!) { cancelTransfer(input: { transferId: $id }) {
        ... on UserError { code message } } }";
    let said = gateway.shopper("payer").field(cancel, p1.clone()).await;
    assert_eq!(said["code"], "TRANSFER_NOT_CANCELLABLE");
    let why = "payments and refunds belong to an order: cancel the order";
    assert_eq!(said["message"], why);
    let reverse = "mutation($id: ID!) { reverseTransfer(input: { transferId: $id }) {
        ... on UserError { code } } }";
    let said = gateway.service().field(reverse, p1).await;
    assert_eq!(said["code"], "TRANSFER_NOT_CANCELLABLE");
    let other = payments::authorise(app, &charge("p1", Some(&account), 61)).await;
    assert!(matches!(other, Err(Error::Internal(_))), "{other:?}");

    let early = payments::refund(app, "p1", "r0", euros(1)).await;
    assert!(matches!(early, Err(Error::Unavailable(_))), "{early:?}");
    for _ in 0..2 {
        payments::capture(app, "p1").await.expect("captured");
    }
    assert_eq!((balance(&gateway, &account).await, received(&gateway).await), (40, 60));
    let late = payments::void(app, "p1").await;
    assert!(matches!(late, Err(Error::Internal(_))), "{late:?}");
    assert_eq!(authorise(app, "p1", &account, 60).await, Authorisation::Authorised);

    for (refund, amount) in [("r1", 20), ("r1", 20), ("r2", 5), ("r3", 0)] {
        let said = payments::refund(app, "p1", refund, euros(amount)).await;
        assert_eq!(said.expect("an outcome"), Refund::Made);
    }
    assert_eq!((balance(&gateway, &account).await, received(&gateway).await), (65, 35));
    let other = payments::refund(app, "p1", "r1", euros(21)).await;
    assert!(matches!(other, Err(Error::Internal(_))), "{other:?}");
    let unknown = payments::capture(app, "nothing").await;
    assert!(matches!(unknown, Err(Error::Internal(_))), "{unknown:?}");
    let unknown = payments::refund(app, "nothing", "r", euros(1)).await;
    assert!(matches!(unknown, Err(Error::Unavailable(_))), "{unknown:?}");
    assert_sound(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_ledger_voids_stays_void() {
    let gateway = Gateway::with(long_bounds).await;
    let app = &gateway.app;
    let account = payer(&gateway, 100).await;
    authorise(app, "p1", &account, 60).await;
    for _ in 0..2 {
        payments::void(app, "p1").await.expect("void");
    }
    assert_eq!(balance(&gateway, &account).await, 100);
    assert_eq!(
        declined(&authorise(app, "p1", &account, 60).await),
        "the checkout of the payment was aborted"
    );
    for _ in 0..2 {
        payments::void(app, "never begun").await.expect("void");
    }
    let said = authorise(app, "never begun", &account, 60).await;
    assert_eq!(declined(&said), "the checkout of the payment was aborted");
    let capture = payments::capture(app, "p1").await;
    assert!(matches!(capture, Err(Error::Internal(_))), "{capture:?}");
    assert_eq!(balance(&gateway, &account).await, 100);
    assert_sound(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_cannot_pay_is_told_before_and_declined_after() {
    let gateway = Gateway::with(long_bounds).await;
    let app = &gateway.app;
    let payer_client = gateway.shopper("payer");
    let (euro, dollar) = (open(&payer_client, "EUR").await, open(&payer_client, "USD").await);
    let closed = open(&payer_client, "EUR").await;
    close(&payer_client, &closed).await;
    // Opens the receiving account.
    authorise(app, "first", &euro, 1).await;
    let receiving = "{ myAccounts { nodes { id } } }";
    let receiving = gateway.shopper("merchant").field(receiving, json!({})).await;
    let receiving = receiving["nodes"][0]["id"].as_str().expect("an account").to_owned();

    let currency = euros(0).currency;
    let usd = CurrencyCode::from_code("USD").expect("a currency");
    for (subject, account, expected) in [
        ("payer", euro.as_str(), PayerAccount::Usable),
        ("another", euro.as_str(), PayerAccount::NotFound),
        ("payer", "nothing", PayerAccount::NotFound),
        ("payer", "$where", PayerAccount::NotFound),
        ("payer", "world:EUR", PayerAccount::NotFound),
        ("merchant", receiving.as_str(), PayerAccount::NotFound),
        ("payer", closed.as_str(), PayerAccount::Closed),
        ("payer", dollar.as_str(), PayerAccount::OtherCurrency(usd)),
    ] {
        let found = transfers::payer(app, &key(account)).await.expect("an answer");
        let answer = transfers::may_pay(found.as_ref(), subject, currency);
        assert_eq!(answer, expected, "{subject} {account}");
    }
    for (n, account) in [&closed, &dollar, &receiving].into_iter().enumerate() {
        declined(&authorise(app, &format!("bad-{n}"), account, 1).await);
    }
    let nobody = payments::authorise(app, &charge("bad", None, 1)).await.expect("an outcome");
    declined(&nobody);
    let close = "mutation($id: ID!) { closeAccount(input: { accountId: $id }) {
        ... on UserError { code } } }";
    let said = gateway.shopper("merchant").field(close, json!({ "id": receiving })).await;
    assert_eq!(said["code"], "IN_USE");
    assert_sound(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_waits_for_the_merchants_money_and_reaches_a_closed_account() {
    let gateway = Gateway::with(short_bounds).await;
    let app = &gateway.app;
    let account = payer(&gateway, 100).await;
    authorise(app, "p1", &account, 100).await;
    in_time(async || payments::capture(app, "p1").await).await;
    let receiving = "{ myAccounts { nodes { id } } }";
    let receiving = gateway.shopper("merchant").field(receiving, json!({})).await;
    withdraw(&gateway, &receiving["nodes"][0]["id"], 90).await;
    close(&gateway.shopper("payer"), &account).await;

    for _ in 0..2 {
        let short = in_time(async || payments::refund(app, "p1", "r1", euros(40)).await).await;
        assert_eq!(short, Refund::Due);
    }
    sweep(&gateway).await;
    assert_sound(&gateway).await;
    assert_eq!((balance(&gateway, &account).await, received(&gateway).await), (0, 10));
    let pending = "{ transfers(state: PENDING) { nodes { id kind } } }";
    let pending = gateway.service().field(pending, json!({})).await;
    assert_eq!(pending["nodes"][0]["kind"], "REFUND");
    // Nobody may cancel what is owed.
    let cancel = "mutation($id: ID!) { cancelTransfer(input: { transferId: $id }) {
        ... on UserError { code } } }";
    let id = json!({ "id": pending["nodes"][0]["id"] });
    let said = gateway.shopper("merchant").field(cancel, id).await;
    assert_eq!(said["code"], "TRANSFER_NOT_CANCELLABLE");

    let second = payer(&gateway, 30).await;
    authorise(app, "p2", &second, 30).await;
    in_time(async || payments::capture(app, "p2").await).await;
    sweep(&gateway).await;
    assert_eq!((balance(&gateway, &account).await, received(&gateway).await), (40, 0));
    let made = in_time(async || payments::refund(app, "p1", "r1", euros(40)).await).await;
    assert_eq!(made, Refund::Made, "by the sweep");
    // What a refund brought to a closed account leaves it by a withdrawal.
    withdraw(&gateway, &json!(account), 40).await;
    sweep(&gateway).await;
    assert_sound(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_leaves_authorisations_to_their_checkouts() {
    let gateway = Gateway::start().await;
    let app = &gateway.app;
    let account = payer(&gateway, 100).await;
    authorise(app, "p1", &account, 10).await;
    authorise(app, "p2", &account, 10).await;
    payments::capture(app, "p2").await.expect("captured");
    // One that was cut after its debit: it is neither authorised nor void.
    let cut = gateway.sibling_behind_proxy().await;
    cut.proxy.as_ref().expect("a proxy").cut_all_from(3, Cut::BeforeForwarding);
    let lost = payments::authorise(&cut.app, &charge("p3", Some(&account), 10)).await;
    assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
    sweep(&gateway).await;
    assert_eq!(state(&gateway, "p1").await, "AUTHORISED");
    assert_eq!(state(&gateway, "p3").await, "PENDING");
    assert_eq!(balance(&gateway, &account).await, 70);
    let (beginning, now) = (DateTime::from_millis(0), gateway.begin().await.now());
    let listed = async |from: DateTime, limit: i64| {
        let open = transfers::open_authorisations(app, from, now, limit).await.expect("a list");
        open.into_iter().map(|open| (open.at, open.document.expect("decoded"))).collect::<Vec<_>>()
    };
    let open = listed(beginning, 10).await;
    let ids: Vec<&str> = open.iter().map(|(_at, open)| open.id.as_str()).collect();
    assert_eq!(ids, ["p1", "p3"]);
    assert!(open.iter().all(|(_at, open)| open.holder.as_deref() == Some("a cart")), "{open:?}");
    assert_eq!(listed(beginning, 1).await, open[..1]);
    assert_eq!(listed(open[1].0.expect("a time"), 1).await, open[1..]);
    for (_at, open) in &open {
        payments::void(app, &open.id).await.expect("void");
    }
    assert_eq!(balance(&gateway, &account).await, 90);
    assert_eq!(state(&gateway, "p3").await, "CANCELLED");
    let open = listed(beginning, 10).await;
    assert!(open.is_empty(), "{open:?}");
    sweep(&gateway).await;
    assert_sound(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_void_and_an_authorisation_at_once_leave_nothing_set_aside() {
    let gateway = Gateway::with(short_bounds).await;
    let app = &gateway.app;
    let account = payer(&gateway, 1_000).await;
    for n in 0..24 {
        let id = format!("p{n}");
        let charge = charge(&id, Some(&account), 10);
        let void = async {
            // Each time a little later, to meet the authorisation at every step.
            tokio::time::sleep(std::time::Duration::from_micros(400 * n)).await;
            while payments::void(app, &id).await.is_err() {}
        };
        let (_said, ()) = tokio::join!(payments::authorise(app, &charge), void);
        declined(&authorise(app, &id, &account, 10).await);
    }
    sweep(&gateway).await;
    assert_eq!(balance(&gateway, &account).await, 1_000);
    assert_sound(&gateway).await;
}

/// A payment of 60 by an account that holds 100.
#[derive(Debug)]
struct Paying {
    id: String,
    account: String,
}

async fn begin(gateway: &Gateway, n: usize, authorised: bool, captured: bool) -> Paying {
    let paying = Paying { id: format!("payment-{n}"), account: payer(gateway, 100).await };
    if authorised {
        authorise(&gateway.app, &paying.id, &paying.account, 60).await;
    }
    if captured {
        payments::capture(&gateway.app, &paying.id).await.expect("captured");
    }
    paying
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorisation_that_is_cut_anywhere_sets_aside_once() {
    // A currency for each case, so that the receiving account is opened on the way.
    let charge = |paying: &Paying, n: usize| {
        let currency = CurrencyCode::from_code(nth_currency(n)).expect("a currency");
        let amount = Money::new(60, currency);
        Charge { amount, ..charge(&paying.id, Some(&paying.account), 60) }
    };
    cuts::everywhere_then(
        short_bounds,
        async |gateway, n| {
            let account = open(&gateway.shopper("payer"), nth_currency(n)).await;
            fund(gateway, &account, 100).await;
            settled(gateway).await;
            (Paying { id: format!("payment-{n}"), account }, n)
        },
        async |gateway, (paying, n): &(Paying, usize)| {
            let _cut = payments::authorise(&gateway.app, &charge(paying, *n)).await;
        },
        async |gateway, case| {
            let (Paying { id, account }, _) = &case.subject;
            assert_eq!(state(gateway, id).await, "AUTHORISED", "{case:?}");
            assert_eq!(balance(gateway, account).await, 40);
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_is_cut_anywhere_arrives_once() {
    cuts::everywhere_then(
        short_bounds,
        async |gateway, n| begin(gateway, n, true, false).await,
        async |gateway, paying: &Paying| {
            let _cut = payments::capture(&gateway.app, &paying.id).await;
        },
        async |gateway, case| {
            let state = state(gateway, &case.subject.id).await;
            assert!(state == "DONE" || state == "CREDITED", "{case:?} {state}");
            assert_eq!(balance(gateway, &case.subject.account).await, 40);
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_void_that_is_cut_anywhere_gives_all_back() {
    for authorised in [true, false] {
        cuts::everywhere_then(
            short_bounds,
            async |gateway, n| begin(gateway, n, authorised, false).await,
            async |gateway, paying: &Paying| {
                let _cut = payments::void(&gateway.app, &paying.id).await;
            },
            async |gateway, case| {
                let Paying { id, account } = &case.subject;
                assert_eq!(state(gateway, id).await, "CANCELLED", "{case:?}");
                assert_eq!(balance(gateway, account).await, 100);
                declined(&authorise(&gateway.app, id, account, 60).await);
            },
            aftermath,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_is_cut_anywhere_arrives_once() {
    cuts::everywhere_then(
        short_bounds,
        async |gateway, n| begin(gateway, n, true, true).await,
        async |gateway, paying: &Paying| {
            let _cut = payments::refund(&gateway.app, &paying.id, "r1", euros(25)).await;
        },
        async |gateway, case| {
            assert_eq!(balance(gateway, &case.subject.account).await, 65, "{case:?}");
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_only_what_costs_nothing_is_sold() {
    let gateway = Gateway::with(|config| config.payments = PaymentProvider::None).await;
    let app = &gateway.app;
    let free = payments::authorise(app, &charge("p1", None, 0)).await.expect("an outcome");
    assert_eq!(free, Authorisation::Authorised);
    let dear = payments::authorise(app, &charge("p2", None, 1)).await.expect("an outcome");
    assert_eq!(declined(&dear), "this shop takes no payments");
    // Another provider has authorised what is to be captured or voided.
    for answer in [payments::capture(app, "p3").await, payments::void(app, "p3").await] {
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
    assert!(gateway.snapshot().await.is_empty());
}
