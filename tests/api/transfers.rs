//! Accounts and transfers: what each operation does, how it refuses, and what races leave.

mod crowds;
mod cuts;
mod names;

use std::{collections::BTreeMap, time::Duration};

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::support::{
    Client, Gateway, all_nodes, commands, fresh_name, key, long_bounds, pages_both_ways, settled,
    texts_of, until, very_long_bounds,
};

const OPEN: &str = "mutation($input: OpenAccountInput!) { openAccount(input: $input) {
    __typename ... on Account { id currency state balance { minorUnits } }
    ... on UserError { code message } } }";
const CLOSE: &str = "mutation($id: ID!) { closeAccount(input: { accountId: $id }) {
    __typename ... on Account { id state } ... on UserError { code message }
    ... on AccountNotEmpty { balance { minorUnits } underWay } } }";
pub(crate) const ACCOUNT: &str = "query($id: ID!) { account(id: $id) {
    id state currency balance { minorUnits } setAside { minorUnits }
    largestBalance { minorUnits } } }";
pub(crate) const TRANSFER: &str = "mutation($input: TransferInput!) { transfer(input: $input) {
    __typename ... on Transfer { id state failureReason kind sourceId destinationId
        amount { minorUnits currency } history { state } }
    ... on UserError { code message }
    ... on NotFound { what id } ... on InvalidInput { field }
    ... on InsufficientFunds { accountId requested { minorUnits } available { minorUnits } }
    ... on AccountClosed { accountId } ... on AccountFull { accountId }
    ... on CurrencyMismatch { expected found } } }";
const DEPOSIT: &str = "mutation($input: DepositInput!) { deposit(input: $input) {
    __typename ... on Transfer { id state kind sourceId destinationId }
    ... on UserError { code message } } }";
pub(crate) const WITHDRAW: &str = "mutation($input: WithdrawInput!) { withdraw(input: $input) {
    __typename ... on Transfer { id state kind sourceId destinationId }
    ... on UserError { code message }
    ... on InsufficientFunds { available { minorUnits } } } }";
const CANCEL: &str = "mutation($id: ID!) { cancelTransfer(input: { transferId: $id }) {
    __typename ... on Transfer { id state failureReason } ... on UserError { code message }
    ... on TransferNotCancellable { state } } }";
const REVERSE: &str = "mutation($id: ID!) { reverseTransfer(input: { transferId: $id }) {
    __typename ... on Transfer { id state kind sourceId destinationId reversesId reverses { id }
        amount { minorUnits } }
    ... on UserError { code message } ... on TransferNotCancellable { state } } }";
const STATUS: &str =
    "query($by: TransferBy!) { transferStatus(by: $by) { id state failureReason } }";
pub(crate) const TRANSFERS: &str = "query($state: TransferState!, $first: Int, $after: String) {
    transfers(state: $state, first: $first, after: $after) {
        edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }";
const STATEMENT: &str =
    "query($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { account(id: $id) {
    statement(first: $first, after: $after, last: $last, before: $before) {
        nodes { effect { minorUnits } counterpartyId counterparty { id }
            transfer { id state kind source { id } destination { id } } }
        pageInfo { hasNextPage endCursor hasPreviousPage startCursor } } } }";

/// Opens an account of that caller's.
pub(crate) async fn open(client: &Client, currency: &str) -> String {
    let opened = client.field(OPEN, json!({ "input": { "currency": currency } })).await;
    opened["id"].as_str().unwrap_or_else(|| panic!("an account: {opened}")).to_owned()
}

/// Opens an account of that caller's that takes no more than `largest`.
async fn open_capped(client: &Client, largest: i64) -> String {
    let input = json!({ "currency": "EUR", "largestBalance": largest });
    let opened = client.field(OPEN, json!({ "input": input })).await;
    opened["id"].as_str().expect("an account").to_owned()
}

/// Brings money into an account.
pub(crate) async fn fund(gateway: &Gateway, account: &str, amount: i64) {
    let key = fresh_name();
    let input = json!({ "accountId": account, "amount": amount, "idempotencyKey": key });
    let funded = gateway.service().field(DEPOSIT, json!({ "input": input })).await;
    // A call that ran out of time is repeated, and may find it done.
    assert!(funded["state"] == "CREDITED" || funded["state"] == "DONE", "{funded}");
}

pub(crate) async fn balance(gateway: &Gateway, account: &str) -> i64 {
    let found = gateway.service().field(ACCOUNT, json!({ "id": account })).await;
    found["balance"]["minorUnits"].as_i64().unwrap_or_else(|| panic!("a balance: {found}"))
}

/// Closes an account, once what has just arrived is settled.
pub(crate) async fn close(client: &Client, account: &str) {
    until("the account is empty", async || {
        let closed = client.field(CLOSE, json!({ "id": account })).await;
        let is_closed = closed["state"] == "CLOSED";
        assert!(is_closed || closed["code"] == "ACCOUNT_NOT_EMPTY", "{closed}");
        is_closed
    })
    .await;
}

/// A page looks at what it returns, and at most also at what its cursor stands on.
fn assert_looked_at_one_page(figures: &Value) {
    let figure = |name: &str| figures[name].as_i64().expect("a number");
    assert!(figure("docsExamined") <= figure("returned") + 1, "{figures}");
}

pub(crate) fn order(
    source: &str,
    destination: &str,
    amount: i64,
    idempotency_key: Option<&str>,
) -> Value {
    json!({ "input": {
        "sourceId": source, "destinationId": destination, "amount": amount, "idempotencyKey": idempotency_key,
    } })
}

/// Waits until what goes on behind answers is done, and proves that nothing is left over.
async fn assert_settled(gateway: &Gateway) {
    settled(gateway).await;
    gateway.assert_sound().await;
}

/// Fails unless all answers tell of one transfer, which has arrived.
fn assert_one_arrived(answers: &[Value]) {
    for answer in answers {
        assert!(answer["state"] == "CREDITED" || answer["state"] == "DONE", "{answer}");
        assert_eq!(answer["id"], answers[0]["id"]);
    }
}

/// The n-th of many currencies. After the last one comes the first one again.
pub(crate) fn nth_currency(n: usize) -> &'static str {
    const CURRENCIES: &str = "\
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD \
    CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB FJD FKP GBP GEL GHS GIP \
    GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW \
    KWD KYD KZT LAK LBP LKR LRD LSL LYD";
    CURRENCIES.split(' ').cycle().nth(n).expect("a currency")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_arrives_and_is_forgotten_by_both_accounts() {
    let gateway = Gateway::start().await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let (from, to) = (open(&anna, "EUR").await, open(&bert, "EUR").await);
    fund(&gateway, &from, 1_000).await;
    assert_settled(&gateway).await;

    let response = anna.explained(TRANSFER, order(&from, &to, 300, Some("op-1"))).await;
    let sent = &response["data"]["transfer"];
    assert_eq!(sent["state"], "CREDITED", "{response}");
    assert_eq!((&sent["sourceId"], &sent["destinationId"]), (&json!(from), &json!(to)));
    assert_eq!(sent["amount"], json!({ "minorUnits": 300, "currency": "EUR" }));
    // Both accounts, the transfer, the debit, the decision, the credit, its note. Settling goes on
    // behind the answer and may already be under way.
    assert_eq!(
        commands(&response)[..6],
        [
            "find accounts",
            "insert transfers",
            "update accounts",
            "update transfers",
            "update accounts",
            "update transfers",
        ]
    );
    assert_settled(&gateway).await;
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (700, 300));

    let by_id = json!({ "by": { "id": sent["id"] } });
    let done = anna.field(STATUS, by_id.clone()).await;
    assert_eq!(done, json!({ "id": sent["id"], "state": "DONE", "failureReason": null }));
    assert_eq!(anna.field(STATUS, json!({ "by": { "idempotencyKey": "op-1" } })).await, done);
    assert_eq!(gateway.service().field(STATUS, by_id.clone()).await, done);
    assert_eq!(bert.field(STATUS, by_id).await, json!(null), "bert didn't ask for it");
    assert_eq!(
        bert.field(STATUS, json!({ "by": { "idempotencyKey": "op-1" } })).await,
        json!(null)
    );

    let again = anna.field(TRANSFER, order(&from, &to, 300, Some("op-1"))).await;
    assert_eq!((&again["id"], &again["state"]), (&sent["id"], &json!("DONE")));
    let states: Vec<_> = again["history"].as_array().expect("a list").iter().collect();
    assert_eq!(states.len(), 4, "{states:?}");
    let other = anna.field(TRANSFER, order(&from, &to, 301, Some("op-1"))).await;
    assert_eq!(other["code"], "CONFLICT");
    let foreign = bert.field(TRANSFER, order(&to, &from, 300, Some("op-1"))).await;
    assert_eq!(foreign["state"], "CREDITED", "bert's idempotency keys are his own");
    assert_settled(&gateway).await;
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (1_000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_change_nothing() {
    let gateway = Gateway::start().await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let (from, to) = (open(&anna, "EUR").await, open(&bert, "EUR").await);
    let dollars = open(&anna, "USD").await;
    let closed = open(&bert, "EUR").await;
    let capped = open_capped(&bert, 50).await;
    close(&bert, &closed).await;
    fund(&gateway, &from, 100).await;
    assert_settled(&gateway).await;
    let before = gateway.snapshot().await;

    let nobody = NodeKind::ACCOUNT.id("nobody").0;
    let world = NodeKind::ACCOUNT.id("world:EUR").0;
    let cases = [
        (order(&from, &to, 0, None), "INVALID_INPUT"),
        (order(&from, &to, -5, None), "INVALID_INPUT"),
        (order(&from, &to, i64::MIN, None), "INVALID_INPUT"),
        (order(&from, &to, i64::MAX, None), "INVALID_INPUT"),
        (order(&from, &from, 1, None), "INVALID_INPUT"),
        (order("", &to, 1, None), "NOT_FOUND"),
        (order("$where", &to, 1, None), "NOT_FOUND"),
        (order(&from, "a.b", 1, None), "NOT_FOUND"),
        (order(&from, &to, 1, Some("")), "INVALID_INPUT"),
        (order(&from, &nobody, 1, None), "NOT_FOUND"),
        (order(&nobody, &to, 1, None), "NOT_FOUND"),
        (order(&to, &from, 1, None), "NOT_FOUND"),
        (order(&from, &world, 1, None), "NOT_FOUND"),
        (order(&world, &from, 1, None), "NOT_FOUND"),
        (order(&from, &dollars, 1, None), "CURRENCY_MISMATCH"),
        (order(&from, &closed, 1, None), "ACCOUNT_CLOSED"),
        (order(&from, &capped, 51, None), "ACCOUNT_FULL"),
        (order(&from, &to, 101, Some("op")), "INSUFFICIENT_FUNDS"),
    ];
    for (variables, code) in cases {
        let refused = anna.field(TRANSFER, variables.clone()).await;
        assert_eq!(refused["code"], code, "{variables} {refused}");
    }
    let short = anna.field(TRANSFER, order(&from, &to, 101, Some("op"))).await;
    assert_eq!(short["available"]["minorUnits"], 100);
    assert_eq!(short["requested"]["minorUnits"], 101);
    let service = gateway.service();
    for (query, account, amount, code) in [
        (DEPOSIT, nobody.as_str(), 1, "NOT_FOUND"),
        (DEPOSIT, &*world, 1, "NOT_FOUND"),
        (DEPOSIT, closed.as_str(), 1, "ACCOUNT_CLOSED"),
        (DEPOSIT, capped.as_str(), 51, "ACCOUNT_FULL"),
        (DEPOSIT, from.as_str(), 0, "INVALID_INPUT"),
        (DEPOSIT, "{$gt: 1}", 1, "NOT_FOUND"),
        (WITHDRAW, nobody.as_str(), 1, "NOT_FOUND"),
        (WITHDRAW, from.as_str(), 101, "INSUFFICIENT_FUNDS"),
        (WITHDRAW, from.as_str(), -1, "INVALID_INPUT"),
    ] {
        let input = json!({ "input": { "accountId": account, "amount": amount } });
        let refused = service.field(query, input.clone()).await;
        assert_eq!(refused["code"], code, "{query} {input} {refused}");
    }
    let kept = anna.field(CLOSE, json!({ "id": from })).await;
    assert_eq!(kept["code"], "ACCOUNT_NOT_EMPTY");
    let (says, why) = (kept["message"].as_str(), "the account isn't empty: balance 1.00 EUR");
    assert!(says.is_some_and(|message| message.starts_with(why)), "{kept}");
    let dollars = anna.field(TRANSFER, order(&from, &dollars, 1, None)).await;
    let why = "the currencies differ: source account EUR, destination account USD";
    assert_eq!(dollars["message"], why);
    assert_eq!(anna.field(CLOSE, json!({ "id": to })).await["code"], "NOT_FOUND");
    assert_eq!(anna.field(CLOSE, json!({ "id": "$x" })).await["code"], "NOT_FOUND");
    assert_eq!(
        anna.field(CANCEL, json!({ "id": *NodeKind::TRANSFER.id("nothing") })).await["code"],
        "NOT_FOUND"
    );
    assert_eq!(
        service.field(REVERSE, json!({ "id": *NodeKind::TRANSFER.id("nothing") })).await["code"],
        "NOT_FOUND"
    );
    let input = json!({ "input": { "currency": "EUR", "largestBalance": 0 } });
    assert_eq!(anna.field(OPEN, input).await["code"], "INVALID_INPUT");
    for none in ["EURO", "XXX", "XTS"] {
        let unknown = json!({ "input": { "currency": none } });
        assert_eq!(anna.error_code(OPEN, unknown).await, "BAD_USER_INPUT", "{none}");
    }
    let mut after = gateway.snapshot().await;
    assert_eq!(refused_transfers(&before, &mut after), 7);
    assert_eq!(after, before);

    // A refused op is tried again.
    let enough = anna.field(TRANSFER, order(&from, &to, 100, Some("op-2"))).await;
    assert_eq!(enough["state"], "CREDITED");
    let refused = anna.field(TRANSFER, order(&from, &to, 101, Some("op"))).await;
    assert_eq!(refused["code"], "INSUFFICIENT_FUNDS");
    fund(&gateway, &from, 101).await;
    let applied = anna.field(TRANSFER, order(&from, &to, 101, Some("op"))).await;
    assert_eq!(applied["state"], "CREDITED");
    assert_settled(&gateway).await;
    // And one that was applied is told so, also when it would be refused now.
    close(&anna, &from).await;
    let again = anna.field(TRANSFER, order(&from, &to, 101, Some("op"))).await;
    assert_eq!((&again["id"], &again["state"]), (&applied["id"], &json!("DONE")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_money_that_no_transfer_brought() {
    let gateway = Gateway::start().await;
    let account = open(&gateway.shopper("anna"), "EUR").await;
    fund(&gateway, &account, 100).await;
    assert_settled(&gateway).await;
    // Booked twice on both sides: the sum of all is still nothing.
    let accounts = gateway.raw("accounts");
    for (id, amount) in [(crate::support::key(&account), 100_i64), ("world:EUR".to_owned(), -100)] {
        let twice = mongodb::bson::doc! { "$inc": { "balance": amount } };
        let booked = accounts.update_one(mongodb::bson::doc! { "_id": id }, twice).await;
        assert_eq!(booked.expect("an update").modified_count, 1);
    }
    let report = gateway.check().await;
    let broken: Vec<_> = report.rules.iter().filter(|(_, broken)| !broken.is_empty()).collect();
    assert_eq!(broken.len(), 1, "{broken:#?}");
    assert_eq!(broken[0].1.len(), 2, "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_any_size_are_refused_as_such() {
    let gateway = Gateway::with(|config| config.body_bytes = 40 << 20).await;
    let anna = gateway.shopper("anna");
    let before = gateway.snapshot().await;
    let huge = "x".repeat(16 << 20);
    let [someones, nobody] = ["from", "to"].map(|key| NodeKind::ACCOUNT.id(key).0);
    let refused = anna.field(TRANSFER, order(&huge, "to", 1, None)).await;
    assert_eq!(refused["code"], "NOT_FOUND");
    let refused = anna.field(TRANSFER, order(&someones, &nobody, 1, Some(&huge))).await;
    assert_eq!(refused["field"], "input.idempotencyKey");
    assert_eq!(anna.field(ACCOUNT, json!({ "id": huge })).await, Value::Null);
    assert_eq!(anna.field(ACCOUNT, json!({ "id": "$where" })).await, Value::Null);
    let by = json!({ "by": { "id": huge } });
    assert_eq!(anna.field(STATUS, by).await, Value::Null);
    let by = json!({ "by": { "idempotencyKey": huge } });
    assert_eq!(anna.error_code(STATUS, by).await, "BAD_USER_INPUT");
    let both = json!({ "by": { "idempotencyKey": "a", "id": "b" } });
    assert_eq!(anna.error_code(STATUS, both).await, "BAD_USER_INPUT");
    assert_eq!(gateway.snapshot().await, before);
    let cursor = json!({ "id": open(&anna, "EUR").await, "after": huge });
    assert_eq!(anna.error_code(STATEMENT, cursor).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_its_owners() {
    let gateway = Gateway::start().await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let input = json!({ "input": { "currency": "EUR", "idempotencyKey": "mine" } });
    let opened = anna.field(OPEN, input.clone()).await;
    assert_eq!((&opened["state"], &opened["currency"]), (&json!("OPEN"), &json!("EUR")));
    assert_eq!(anna.field(OPEN, input.clone()).await["id"], opened["id"]);
    assert_ne!(bert.field(OPEN, input).await["id"], opened["id"]);
    let other = json!({ "input": { "currency": "USD", "idempotencyKey": "mine" } });
    assert_eq!(anna.field(OPEN, other).await["code"], "CONFLICT");

    let id = json!({ "id": opened["id"] });
    assert_eq!(anna.field(ACCOUNT, id.clone()).await["id"], opened["id"]);
    assert_eq!(gateway.service().field(ACCOUNT, id.clone()).await["id"], opened["id"]);
    assert_eq!(bert.field(ACCOUNT, id.clone()).await, json!(null));
    assert_eq!(gateway.merchant().field(ACCOUNT, id.clone()).await, json!(null));
    assert_eq!(bert.field(STATEMENT, id.clone()).await, json!(null));
    assert_eq!(gateway.anonymous().error_code(ACCOUNT, id.clone()).await, "UNAUTHENTICATED");
    for query in [DEPOSIT, WITHDRAW] {
        let input = json!({ "input": { "accountId": opened["id"], "amount": 1 } });
        assert_eq!(anna.error_code(query, input).await, "FORBIDDEN");
    }
    assert_eq!(anna.error_code(TRANSFERS, json!({ "state": "DONE" })).await, "FORBIDDEN");
    assert_eq!(anna.error_code(REVERSE, json!({ "id": "x" })).await, "FORBIDDEN");

    close(&anna, opened["id"].as_str().expect("an id")).await;
    assert_eq!(anna.field(CLOSE, id.clone()).await["state"], "CLOSED", "closing it again");
    assert_eq!(bert.field(CLOSE, id).await["code"], "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn deposits_and_withdrawals_pass_the_world() {
    let gateway = Gateway::start().await;
    let anna = gateway.shopper("anna");
    let account = open(&anna, "JPY").await;
    let service = gateway.service();
    let input = json!({ "input": { "accountId": account, "amount": 500, "idempotencyKey": "in" } });
    let first = service.field(DEPOSIT, input.clone()).await;
    assert_eq!(
        (&first["kind"], &first["sourceId"]),
        (&json!("DEPOSIT"), &json!(*NodeKind::ACCOUNT.id("world:JPY")))
    );
    assert_eq!(service.field(DEPOSIT, input.clone()).await["id"], first["id"]);
    // One scope of idempotency keys for all that moves money.
    assert_eq!(service.field(WITHDRAW, input).await["code"], "CONFLICT");
    let by = json!({ "by": { "idempotencyKey": "in" } });
    assert_eq!(service.field(STATUS, by).await["id"], first["id"]);
    let input =
        json!({ "input": { "accountId": account, "amount": 200, "idempotencyKey": "out" } });
    let out = service.field(WITHDRAW, input.clone()).await;
    assert_eq!(
        (&out["kind"], &out["destinationId"]),
        (&json!("WITHDRAWAL"), &json!(*NodeKind::ACCOUNT.id("world:JPY")))
    );
    assert_eq!(service.field(WITHDRAW, input).await["id"], out["id"]);
    assert_settled(&gateway).await;
    assert_eq!(balance(&gateway, &account).await, 300);
    assert_eq!(balance(&gateway, &NodeKind::ACCOUNT.id("world:JPY")).await, -300);
    assert_eq!(
        anna.field(ACCOUNT, json!({ "id": *NodeKind::ACCOUNT.id("world:JPY") })).await,
        json!(null)
    );

    // There is a bound to all the money of a currency, so that no sum leaves 64 bits.
    let most = 1_000_000_000_000_000_000_i64;
    let too_much = json!({ "input": { "accountId": account, "amount": (most - 1).to_string() } });
    assert_eq!(service.field(DEPOSIT, too_much).await["code"], "ACCOUNT_FULL");
    let other = open(&anna, "JPY").await;
    let too_much = json!({ "input": { "accountId": other, "amount": most.to_string() } });
    assert_eq!(service.field(DEPOSIT, too_much).await["code"], "INSUFFICIENT_FUNDS");
    let all = json!({ "input": { "accountId": other, "amount": (most - 300).to_string() } });
    assert_eq!(service.field(DEPOSIT, all).await["state"], "CREDITED");
    assert_settled(&gateway).await;
}

/// What is stored, by collection.
type Stored = BTreeMap<String, Vec<Document>>;

/// Takes the transfers that were written between the two, which must be refused ones. Returns their number.
fn refused_transfers(before: &Stored, after: &mut Stored) -> usize {
    let known = before.get("transfers").cloned().unwrap_or_default();
    let Some(all) = after.remove("transfers") else { return 0 };
    let (kept, written): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| known.contains(one));
    for transfer in &written {
        assert_eq!(transfer.get_str("state").ok(), Some("CANCELLED"), "{transfer}");
    }
    if before.contains_key("transfers") {
        after.insert("transfers".into(), kept);
    }
    written.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_reversed_once() {
    let gateway = Gateway::with(long_bounds).await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let (from, to) = (open(&anna, "EUR").await, open(&bert, "EUR").await);
    fund(&gateway, &from, 100).await;
    let sent = anna.field(TRANSFER, order(&from, &to, 60, None)).await;
    assert_settled(&gateway).await;
    let service = gateway.service();
    let id = json!({ "id": sent["id"] });

    // What bert has spent can't be taken back. Only the refused transfer is written.
    let onward = bert.field(TRANSFER, order(&to, &from, 50, None)).await;
    assert_settled(&gateway).await;
    let before = gateway.snapshot().await;
    assert_eq!(service.field(REVERSE, id.clone()).await["code"], "INSUFFICIENT_FUNDS");
    let mut after = gateway.snapshot().await;
    assert_eq!(refused_transfers(&before, &mut after), 1);
    assert_eq!(after, before);
    let back = service.field(REVERSE, json!({ "id": onward["id"] })).await;
    assert_eq!((&back["kind"], &back["reversesId"]), (&json!("REVERSAL"), &onward["id"]));
    assert_settled(&gateway).await;

    // Who asks while another's run of it is under way waits for that.
    let all = (0..8).map(|_| service.field(REVERSE, id.clone()));
    assert_one_arrived(&futures_util::future::join_all(all).await);
    assert_settled(&gateway).await;
    let reversed = service.field(REVERSE, id.clone()).await;
    assert_eq!((&reversed["state"], &reversed["reverses"]["id"]), (&json!("DONE"), &sent["id"]));
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (100, 0));
    // A reversal is a transfer like any other, and can itself be reversed.
    let forth = service.field(REVERSE, json!({ "id": reversed["id"] })).await;
    assert_eq!(forth["state"], "CREDITED");
    assert_settled(&gateway).await;
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (40, 60));
    let late = anna.field(CANCEL, id).await;
    assert_eq!(
        (&late["code"], &late["state"]),
        (&json!("TRANSFER_NOT_CANCELLABLE"), &json!("DONE"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_shows_what_each_transfer_did() {
    let gateway = Gateway::start().await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let (mine, other) = (open(&anna, "EUR").await, open(&bert, "EUR").await);
    fund(&gateway, &mine, 100).await;
    for amount in 1..=9 {
        anna.field(TRANSFER, order(&mine, &other, amount, None)).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_settled(&gateway).await;
    let response = anna.run(STATEMENT, json!({ "id": mine, "first": 2 })).await;
    let read = async |gateway: &Gateway| {
        gateway.shopper("anna").field(STATEMENT, json!({ "id": mine, "first": 9 })).await;
    };
    let sent = crate::support::cuts::sent(&gateway, read).await;
    let mut sent: Vec<_> =
        sent.iter().map(|seen| format!("{} {}", seen.command, seen.collection)).collect();
    sent.sort();
    // The account, its statement, and the accounts of all its transfers.
    assert_eq!(sent, ["find accounts", "find accounts", "find transfers"]);
    let page = &response["data"]["account"]["statement"];
    let transfer = &page["nodes"][0]["transfer"];
    assert_eq!(transfer["source"]["id"], json!(mine));
    assert_eq!(transfer["destination"], Value::Null, "another's account");
    let effects = |page: &Value| -> Vec<i64> {
        let nodes = page["nodes"].as_array().expect("a list");
        nodes.iter().map(|node| node["effect"]["minorUnits"].as_i64().expect("a number")).collect()
    };
    assert_eq!(effects(page), [-9, -8]);
    assert_eq!(page["nodes"][0]["counterpartyId"], json!(other));
    assert_eq!(page["nodes"][0]["counterparty"], Value::Null, "another's account");
    // A service sees every account, also the one of the outside world, from which the deposit came.
    let all = gateway.service().field(STATEMENT, json!({ "id": mine })).await;
    let entries = all["statement"]["nodes"].as_array().expect("entries");
    assert_eq!(entries.len(), 10);
    for entry in entries {
        assert_eq!(entry["counterparty"]["id"], entry["counterpartyId"]);
    }
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    let after = &page["pageInfo"]["endCursor"];
    let of = |found: Value| found["statement"].clone();
    let response =
        anna.explained(STATEMENT, json!({ "id": mine, "first": 2, "after": after })).await;
    assert_eq!(effects(&response["data"]["account"]["statement"]), [-7, -6]);
    let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
    let list = sent.iter().find(|sent| sent["collection"] == "transfers").expect("the list");
    assert_looked_at_one_page(list);
    let next = &response["data"]["account"]["statement"]["pageInfo"]["endCursor"];
    let tail = of(anna.field(STATEMENT, json!({ "id": mine, "after": next })).await);
    assert_eq!(effects(&tail), [-5, -4, -3, -2, -1, 100]);
    assert_eq!(tail["pageInfo"]["hasNextPage"], false);
    assert_eq!(
        effects(&of(bert.field(STATEMENT, json!({ "id": other })).await)),
        [9, 8, 7, 6, 5, 4, 3, 2, 1]
    );
    // From the end.
    let oldest = of(anna.field(STATEMENT, json!({ "id": mine, "last": 2 })).await);
    assert_eq!(effects(&oldest), [-1, 100]);
    let (info, start) = (&oldest["pageInfo"], &oldest["pageInfo"]["startCursor"]);
    assert_eq!((&info["hasPreviousPage"], &info["hasNextPage"]), (&json!(true), &json!(false)));
    let further = json!({ "id": mine, "last": 20, "before": start });
    let further = of(anna.field(STATEMENT, further).await);
    assert_eq!(effects(&further), [-9, -8, -7, -6, -5, -4, -3, -2]);
    let info = &further["pageInfo"];
    assert_eq!((&info["hasPreviousPage"], &info["hasNextPage"]), (&json!(false), &json!(true)));
    let both = json!({ "id": mine, "first": 1, "last": 1 });
    assert_eq!(anna.error_code(STATEMENT, both).await, "BAD_USER_INPUT");
    // A cursor belongs to its list.
    let foreign = json!({ "id": other, "after": after });
    assert_eq!(bert.error_code(STATEMENT, foreign).await, "BAD_USER_INPUT");
    for first in [0, -1, 101] {
        let bad = json!({ "id": mine, "first": first });
        assert_eq!(anna.error_code(STATEMENT, bad).await, "BAD_USER_INPUT");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged_by_index() {
    let gateway = Gateway::start().await;
    let anna = gateway.shopper("anna");
    let mut mine = Vec::new();
    for _ in 0..5 {
        mine.push(open(&anna, "EUR").await);
        fund(&gateway, mine.last().expect("one"), 1).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    open(&gateway.shopper("bert"), "EUR").await;
    assert_settled(&gateway).await;
    assert_eq!(texts_of(&pages_both_ways(&anna, "myAccounts(", "id").await, "id"), mine);

    let service = gateway.service();
    let seen = all_nodes(json!({ "state": "DONE", "first": 2 }), async |page| {
        let response = service.explained(TRANSFERS, page).await;
        let figures = &response["extensions"]["docgate"]["commands"][0];
        assert_looked_at_one_page(figures);
        response["data"]["transfers"].clone()
    })
    .await;
    assert_eq!(seen.len(), 5);
    assert_eq!(pages_both_ways(&service, "transfers(state: DONE,", "id").await, seen);
    let none = service.field(TRANSFERS, json!({ "state": "PENDING" })).await;
    assert_eq!(none["edges"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_can_be_followed() {
    let gateway = Gateway::start().await;
    let anna = gateway.shopper("anna");
    let account = open(&anna, "EUR").await;
    let query =
        "subscription($id: ID!) { balanceChanged(accountId: $id) { balance { minorUnits } } }";
    let mut live = anna.follow(query, json!({ "id": account })).await;
    let shown = |message: Value| message["data"]["balanceChanged"]["balance"]["minorUnits"].clone();
    assert_eq!(shown(live.next().await), 0);
    fund(&gateway, &account, 42).await;
    let mut last = json!(0);
    while last != 42 {
        last = shown(live.next().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_transfers_around_a_ring_lose_nothing() {
    let gateway = Gateway::with(very_long_bounds).await;
    let mut ring = Vec::new();
    for n in 0..8 {
        let client = gateway.shopper(&format!("member-{n}"));
        let account = open(&client, "EUR").await;
        fund(&gateway, &account, 100).await;
        ring.push((client, account));
    }
    assert_settled(&gateway).await;
    let runs = (0..64_usize).map(|n| {
        let (client, from) = ring[n % 8].clone();
        let to = ring[(n + 1) % 8].1.clone();
        async move { client.field(TRANSFER, order(&from, &to, 30, Some(&n.to_string()))).await }
    });
    let answers = futures_util::future::join_all(runs).await;
    let (mut moved, mut short) = (0, 0);
    for answer in &answers {
        match (&answer["state"], &answer["code"]) {
            (state, _) if state == "CREDITED" || state == "DONE" => moved += 1,
            (_, code) if code == "INSUFFICIENT_FUNDS" => short += 1,
            _ => panic!("{answer}"),
        }
    }
    assert_eq!(moved + short, 64);
    assert_settled(&gateway).await;
    let mut total = 0;
    for (_, account) in &ring {
        total += balance(&gateway, account).await;
    }
    assert_eq!(total, 800);
    assert_eq!(balance(&gateway, &NodeKind::ACCOUNT.id("world:EUR")).await, -800);
    // Whatever was refused is tried again until its turn has come, and repeats change nothing.
    let mut waiting: Vec<usize> = (0..64).collect();
    while !waiting.is_empty() {
        let mut short = Vec::new();
        for n in &waiting {
            let (client, from) = &ring[n % 8];
            let to = &ring[(n + 1) % 8].1;
            let again = client.field(TRANSFER, order(from, to, 30, Some(&n.to_string()))).await;
            match &again {
                again if again["code"] == "INSUFFICIENT_FUNDS" => short.push(*n),
                again => {
                    assert!(again["state"] == "CREDITED" || again["state"] == "DONE", "{again}");
                }
            }
        }
        assert!(short.len() < waiting.len(), "none of {short:?} ever gets its turn");
        waiting = short;
    }
    assert_settled(&gateway).await;
    for (_, account) in &ring {
        assert_eq!(balance(&gateway, account).await, 100, "each gave and got eight times 30");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_want_the_last_money_as_many_get_it_as_there_is() {
    let gateway = Gateway::with(very_long_bounds).await;
    let anna = gateway.shopper("anna");
    let (from, to) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&gateway, &from, 70).await;
    let wants = (0..32).map(|n| anna.field(TRANSFER, order(&from, &to, 10, Some(&n.to_string()))));
    let answers = futures_util::future::join_all(wants).await;
    let won = answers.iter().filter(|answer| answer["__typename"] == "Transfer").count();
    let lost = answers.iter().filter(|answer| answer["code"] == "INSUFFICIENT_FUNDS").count();
    assert_eq!((won, lost), (7, 25));
    assert_settled(&gateway).await;
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (0, 70));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_op_that_is_sent_many_times_at_once_moves_once() {
    let gateway = Gateway::with(long_bounds).await;
    let sibling = gateway.sibling().await;
    let (anna, annas_other) = (gateway.shopper("anna"), sibling.shopper("anna"));
    let (from, to) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&gateway, &from, 1_000).await;
    let sends = (0..16).map(|n| {
        let client = if n % 2 == 0 { &anna } else { &annas_other };
        client.field(TRANSFER, order(&from, &to, 10, Some("op")))
    });
    assert_one_arrived(&futures_util::future::join_all(sends).await);
    settled(&sibling).await;
    assert_settled(&gateway).await;
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (990, 10));
    // With another input at the same time one of the two is a conflict.
    let sends = (0..16).map(|n| anna.field(TRANSFER, order(&from, &to, 1 + n % 2, Some("both"))));
    let answers = futures_util::future::join_all(sends).await;
    let (moved, others): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer["__typename"] == "Transfer");
    assert_one_arrived(&moved);
    assert_eq!((moved.len(), others.len()), (8, 8), "{others:?}");
    assert!(others.iter().all(|other| other["code"] == "CONFLICT"), "{others:?}");
    assert_settled(&gateway).await;
    let moved = 990 - balance(&gateway, &from).await;
    assert!(moved == 1 || moved == 2, "{moved}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_and_a_withdrawal_that_are_sent_many_times_at_once_pass_once() {
    let gateway = Gateway::with(long_bounds).await;
    let account = open(&gateway.shopper("anna"), "EUR").await;
    let service = gateway.service();
    for (query, op, amount, after) in [(DEPOSIT, "in", 100, 100), (WITHDRAW, "out", 70, 30)] {
        let input = json!({ "accountId": account, "amount": amount, "idempotencyKey": op });
        let sends = (0..12).map(|_| service.field(query, json!({ "input": input })));
        assert_one_arrived(&futures_util::future::join_all(sends).await);
        assert_settled(&gateway).await;
        assert_eq!(balance(&gateway, &account).await, after);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_transfer_that_is_refused_hears_the_refusal() {
    let gateway = Gateway::with(long_bounds).await;
    let anna = gateway.shopper("anna");
    let (from, to) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&gateway, &from, 30).await;
    // More ops than there is money for, each sent several times.
    let sends = (0..24).map(|n| {
        let op = format!("op-{}", n % 6);
        let sent = order(&from, &to, 10, Some(&op));
        let anna = anna.clone();
        async move { (n % 6, anna.field(TRANSFER, sent).await) }
    });
    let mut moved = std::collections::BTreeMap::new();
    for (op, answer) in futures_util::future::join_all(sends).await {
        if answer["__typename"] == "Transfer" {
            let first = moved.entry(op).or_insert(answer["id"].clone());
            assert_eq!(*first, answer["id"], "one op makes one transfer");
        } else {
            assert_eq!(answer["code"], "INSUFFICIENT_FUNDS", "{answer}");
        }
    }
    assert_eq!(moved.len(), 3);
    assert_settled(&gateway).await;
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (0, 30));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_speak_of_accounts_in_the_callers_terms() {
    let gateway = Gateway::start().await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let (from, closed) = (open(&anna, "EUR").await, open(&bert, "EUR").await);
    let capped = open_capped(&bert, 50).await;
    close(&bert, &closed).await;
    fund(&gateway, &from, 100).await;
    let cases = [
        (
            anna.field(TRANSFER, order(&from, &closed, 1, None)).await,
            &closed,
            "the destination account is closed",
        ),
        (
            anna.field(TRANSFER, order(&from, &capped, 51, None)).await,
            &capped,
            "the amount exceeds the limit of the destination account",
        ),
    ];
    for (refused, account, why) in cases {
        assert_eq!(refused["message"], why);
        assert_eq!(refused["accountId"], json!(account));
    }
    let sent = anna.field(TRANSFER, order(&from, &capped, 10, None)).await;
    let late = anna.field(CANCEL, json!({ "id": sent["id"] })).await;
    let state = late["state"].as_str().expect("a state");
    assert_eq!(
        late["message"],
        format!("a transfer in the state {state} can't be cancelled: it is already committed")
    );
    assert_settled(&gateway).await;
}

/// A call under an idempotency key that was refused a hundred times isn't one that waiting helps.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_refused_too_often_needs_a_new_one() {
    let gateway = Gateway::start().await;
    let anna = gateway.shopper("anna");
    let (from, to) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&gateway, &from, 100).await;
    let sent = anna.field(TRANSFER, order(&from, &to, 10, Some("op"))).await;
    let (transfers, id) = (gateway.raw("transfers"), key(sent["id"].as_str().expect("an id")));
    assert_settled(&gateway).await;
    let made = transfers.find_one(doc! { "_id": &id }).await.expect("read").expect("a transfer");
    let refused = (0..100).map(|number: u64| {
        let again = gateway.app.ids().derived(&["attempt", &id, &number.to_string()]);
        let mut refused = made.clone();
        refused.insert("_id", if number == 0 { id.clone() } else { again });
        refused.insert("state", "CANCELLED");
        refused.insert("reason", "INSUFFICIENT_FUNDS");
        refused
    });
    let refused: Vec<_> = refused.collect();
    transfers.delete_one(doc! { "_id": &id }).await.expect("removed");
    transfers.insert_many(refused).await.expect("inserted");
    // The tries that were refused aren't read one by one.
    let few = |response: &Value| assert!(commands(response).len() < 30, "{response}");
    let status = anna.explained(STATUS, json!({ "by": { "idempotencyKey": "op" } })).await;
    few(&status);
    let newest = gateway.app.ids().derived(&["attempt", &id, "99"]);
    assert_eq!(status["data"]["transferStatus"]["id"], *NodeKind::TRANSFER.id(&newest));
    let last = anna.explained(TRANSFER, order(&from, &to, 10, Some("op"))).await;
    few(&last);
    let last = &last["data"]["transfer"];
    assert_eq!(last["code"], "INVALID_INPUT", "{last}");
    assert_eq!(last["field"], "input.idempotencyKey");
    assert_eq!(
        last["message"],
        "input.idempotencyKey: was used for 100 refused calls: use a new one"
    );
    let next = anna.field(TRANSFER, order(&from, &to, 10, Some("another"))).await;
    assert_eq!(next["state"], "CREDITED", "{next}");
}

/// A script that repeats a reversal until the account is funded uses up any number of tries.
#[tokio::test(flavor = "multi_thread")]
async fn a_reversal_that_was_refused_often_is_made_once_there_is_money() {
    let gateway = Gateway::with(long_bounds).await;
    let (anna, bert) = (gateway.shopper("anna"), gateway.shopper("bert"));
    let (from, to) = (open(&anna, "EUR").await, open(&bert, "EUR").await);
    fund(&gateway, &from, 100).await;
    let sent = anna.field(TRANSFER, order(&from, &to, 60, None)).await;
    assert_settled(&gateway).await;
    bert.field(TRANSFER, order(&to, &from, 50, None)).await;
    assert_settled(&gateway).await;
    let (service, id) = (gateway.service(), json!({ "id": sent["id"] }));
    assert_eq!(service.field(REVERSE, id.clone()).await["code"], "INSUFFICIENT_FUNDS");
    let original = key(sent["id"].as_str().expect("an id"));
    let (transfers, ids) = (gateway.raw("transfers"), gateway.app.ids());
    let op = ids.derived(&["reversal", &original]);
    let try_id = |number: u64| ids.derived(&["attempt", &op, &number.to_string()]);
    let refused = transfers.find_one(doc! { "_id": &op }).await.expect("read").expect("a try");
    let tries = (1..=150).map(|number| {
        let mut again = refused.clone();
        again.insert("_id", try_id(number));
        again
    });
    transfers.insert_many(tries.collect::<Vec<_>>()).await.expect("inserted");

    let refused = service.field(REVERSE, id.clone()).await;
    assert_eq!(refused["code"], "INSUFFICIENT_FUNDS", "{refused}");
    fund(&gateway, &to, 50).await;
    let all = (0..8).map(|_| service.field(REVERSE, id.clone()));
    assert_one_arrived(&futures_util::future::join_all(all).await);
    assert_settled(&gateway).await;
    let reversed = service.field(REVERSE, id).await;
    assert_eq!(reversed["state"], "DONE", "{reversed}");
    // The refused call has the try before it.
    assert_eq!(reversed["id"], *NodeKind::TRANSFER.id(&try_id(152)));
    assert_eq!((balance(&gateway, &from).await, balance(&gateway, &to).await), (150, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelling_and_its_transfer_agree() {
    // A repeat of what ran out of time would be answered with another state.
    let gateway = Gateway::with(very_long_bounds).await;
    let anna = gateway.shopper("anna");
    let (from, to) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&gateway, &from, 1_000).await;
    let mut arrived = 0;
    for n in 0..40 {
        let op = format!("op-{n}");
        let id =
            NodeKind::TRANSFER.id(&gateway.app.ids().op(&["anna", "transfer"], Some(&op), &()).id);
        let cancel = async {
            // Each time a little later, to meet the transfer at every step.
            tokio::time::sleep(Duration::from_micros(500 * n)).await;
            loop {
                let said = anna.field(CANCEL, json!({ "id": *id })).await;
                if said["code"] != "NOT_FOUND" {
                    return said;
                }
            }
        };
        let (sent, said) =
            tokio::join!(anna.field(TRANSFER, order(&from, &to, 10, Some(&op))), cancel);
        if sent["state"] == "CREDITED" {
            arrived += 1;
            assert_eq!(said["code"], "TRANSFER_NOT_CANCELLABLE", "{sent} {said}");
        } else {
            assert_eq!(sent["state"], "CANCELLED", "{sent} {said}");
            assert_eq!(said["__typename"], "Transfer", "{said}");
            assert_eq!(sent["failureReason"], "CANCELLED_BY_OWNER");
            let again = anna.field(CANCEL, json!({ "id": id })).await;
            assert_eq!(again["state"], "CANCELLED");
            let retried = anna.field(TRANSFER, order(&from, &to, 10, Some(&op))).await;
            assert_eq!(retried["state"], "CANCELLED", "what was cancelled stays so");
        }
    }
    assert_settled(&gateway).await;
    assert_eq!(balance(&gateway, &from).await, 1_000 - 10 * arrived);
    assert_eq!(balance(&gateway, &to).await, 10 * arrived);
}
