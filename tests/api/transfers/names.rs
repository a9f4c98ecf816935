//! Names of accounts, and purposes of transfers.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{OPEN, TRANSFER, close, fund, open, order};
use crate::support::{Client, Gateway, cuts, long_bounds, proxy::Seen, settled, short_bounds};

const NAME: &str = "query($id: ID!) { account(id: $id) { name } }";
const RENAME: &str = "mutation($input: RenameAccountInput!) { renameAccount(input: $input) {
    __typename ... on Account { id name } ... on UserError { code message }
    ... on AccountClosed { accountId } ... on InvalidInput { field } } }";
const PURPOSES: &str = "query($id: ID!) { account(id: $id) {
    statement { nodes { transfer { purpose } } } } }";

async fn rename(client: &Client, account: &str, name: Option<&str>) -> Value {
    let input = json!({ "accountId": account, "name": name });
    client.field(RENAME, json!({ "input": input })).await
}

async fn name(client: &Client, account: &str) -> Value {
    client.field(NAME, json!({ "id": account })).await["name"].clone()
}

/// A transfer of 1 with a purpose.
fn with_purpose(from: &str, to: &str, purpose: &str, op: &str) -> Value {
    let mut order = order(from, to, 1, Some(op));
    order["input"]["purpose"] = json!(purpose);
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_a_name_that_its_owner_gives_and_sees() {
    let gateway = Gateway::start().await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    let input = |name: &str| json!({ "input": { "currency": "EUR", "name": name, "idempotencyKey": "op" } });
    let opened = ann.field(OPEN, input(" Holiday ")).await;
    let account = opened["id"].as_str().expect("an account").to_owned();
    assert_eq!(name(&ann, &account).await, "Holiday");
    assert_eq!(name(&gateway.service(), &account).await, "Holiday");
    let hidden = bob.field(NAME, json!({ "id": account })).await;
    assert_eq!(hidden, Value::Null);
    assert_eq!(ann.field(OPEN, input("Holiday")).await["id"], *account, "a repeat");
    assert_eq!(ann.field(OPEN, input("Other")).await["code"], "CONFLICT");
    let plain = open(&ann, "EUR").await;
    assert_eq!(name(&ann, &plain).await, Value::Null);

    for (given, kept) in [(Some("Rent"), json!("Rent")), (Some("$name"), json!("$name"))] {
        let renamed = rename(&ann, &account, given).await;
        assert_eq!((&renamed["id"], &renamed["name"]), (&json!(account), &kept), "{renamed:#}");
        let before = gateway.snapshot().await;
        assert_eq!(rename(&ann, &account, given).await, renamed, "a repeat");
        assert!(gateway.snapshot().await == before);
    }
    let before = gateway.snapshot().await;
    let long = "x".repeat(101);
    for unfit in ["", " ", "a\nb", "a\u{0}", long.as_str()] {
        assert_eq!(rename(&ann, &account, Some(unfit)).await["field"], "input.name", "{unfit:?}");
        assert_eq!(ann.field(OPEN, input(unfit)).await["code"], "INVALID_INPUT", "{unfit:?}");
    }
    for client in [&bob, &gateway.service()] {
        assert_eq!(rename(client, &account, Some("Mine")).await["code"], "NOT_FOUND");
    }
    assert!(gateway.snapshot().await == before);
    assert_eq!(rename(&ann, &account, None).await["name"], Value::Null);
    close(&ann, &account).await;
    let closed = rename(&ann, &account, Some("Late")).await;
    assert_eq!(
        (&closed["code"], &closed["accountId"]),
        (&json!("ACCOUNT_CLOSED"), &json!(account))
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_beside_transfers_changes_no_balance() {
    let gateway = Gateway::with(long_bounds).await;
    let ann = gateway.shopper("ann");
    let (from, to) = (open(&ann, "EUR").await, open(&ann, "EUR").await);
    fund(&gateway, &from, 100).await;
    let moves = (0..20).map(|n| {
        let (ann, from, to) = (ann.clone(), from.clone(), to.clone());
        async move {
            rename(&ann, &from, Some(&format!("Name {n}"))).await;
            ann.field(TRANSFER, order(&from, &to, 1, Some(&format!("op-{n}")))).await
        }
    });
    for done in join_all(moves).await {
        assert_eq!(done["__typename"], "Transfer", "{done:#}");
    }
    settled(&gateway).await;
    assert_eq!(super::balance(&gateway, &from).await, 80);
    assert_eq!(super::balance(&gateway, &to).await, 20);
    let name = name(&ann, &from).await;
    assert!(name.as_str().is_some_and(|name| name.starts_with("Name ")), "{name}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_that_is_cut_anywhere_is_made() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let subject = format!("owner-{n}");
            let account = open(&gateway.shopper(&subject), "EUR").await;
            (subject, account)
        },
        async |gateway, (subject, account)| {
            let input = json!({ "accountId": account, "name": "Rent" });
            gateway.shopper(subject).send(RENAME, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            let (subject, account) = &case.subject;
            assert_eq!(name(&gateway.shopper(subject), account).await, "Rent", "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_name_undoes_no_later_one() {
    let base = Gateway::start().await;
    let ann = base.shopper("ann");
    let account = open(&ann, "EUR").await;
    let is_change = |seen: &Seen| seen.collection == "accounts" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| {
        let renamed = rename(&gateway.shopper("ann"), &account, Some("First")).await;
        assert_eq!(renamed["name"], "First", "{renamed:#}");
    };
    let later = async || {
        let renamed = rename(&ann, &account, Some("Later")).await;
        assert_eq!(renamed["name"], "Later", "{renamed:#}");
    };
    cuts::with_late_copy(&base, is_change, first, later).await;
    assert_eq!(name(&ann, &account).await, "Later");
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_parties_see_what_a_transfer_is_for() {
    let gateway = Gateway::start().await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    let (from, to) = (open(&ann, "EUR").await, open(&bob, "EUR").await);
    fund(&gateway, &from, 100).await;
    let done = ann.field(TRANSFER, with_purpose(&from, &to, " Rent, May ", "op")).await;
    assert_eq!(done["__typename"], "Transfer", "{done:#}");
    let repeat = ann.field(TRANSFER, with_purpose(&from, &to, "Rent, May", "op")).await;
    assert_eq!(repeat["id"], done["id"]);
    // The purpose is a part of what the idempotency key stands for.
    let other = ann.field(TRANSFER, with_purpose(&from, &to, "Rent, June", "op")).await;
    assert_eq!(other["code"], "CONFLICT", "{other:#}");
    let without = ann.field(TRANSFER, order(&from, &to, 1, Some("op"))).await;
    assert_eq!(without["code"], "CONFLICT", "{without:#}");
    let seen = bob.field(PURPOSES, json!({ "id": to })).await;
    assert_eq!(seen["statement"]["nodes"][0]["transfer"]["purpose"], "Rent, May", "{seen:#}");
    let seen = ann.field(PURPOSES, json!({ "id": from })).await;
    let nodes = seen["statement"]["nodes"].as_array().expect("entries");
    let purposes: Vec<_> = nodes.iter().map(|node| &node["transfer"]["purpose"]).collect();
    assert_eq!(purposes, [&json!("Rent, May"), &Value::Null], "the deposit has none");
    settled(&gateway).await;
    let before = gateway.snapshot().await;
    let long = "x".repeat(141);
    for unfit in ["", "a\nb", "a\u{0}", long.as_str()] {
        let refused = ann.field(TRANSFER, with_purpose(&from, &to, unfit, "unfit")).await;
        assert_eq!(refused["field"], "input.purpose", "{unfit:?}: {refused:#}");
    }
    assert!(gateway.snapshot().await == before);
    gateway.assert_sound().await;
}

/// The purposes in the statement of an account, newest first.
async fn purposes(client: &Client, account: &str) -> Vec<Value> {
    let seen = client.field(PURPOSES, json!({ "id": account })).await;
    let nodes = seen["statement"]["nodes"].as_array().expect("entries");
    nodes.iter().map(|node| node["transfer"]["purpose"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_transfer_is_in_the_statement_of_its_payer_alone() {
    let gateway = Gateway::with(long_bounds).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    let (from, to) = (open(&ann, "EUR").await, open(&bob, "EUR").await);
    let rent = with_purpose(&from, &to, "rent", "rent");
    let refused = ann.field(TRANSFER, rent.clone()).await;
    assert_eq!(refused["code"], "INSUFFICIENT_FUNDS", "{refused:#}");
    assert_eq!(purposes(&ann, &from).await, ["rent"]);
    for client in [&bob, &gateway.service()] {
        assert!(purposes(client, &to).await.is_empty());
    }
    // What arrives is seen, by a repeat too.
    fund(&gateway, &from, 1).await;
    assert_eq!(ann.field(TRANSFER, rent).await["__typename"], "Transfer");
    assert_eq!(purposes(&bob, &to).await, ["rent"]);
    // Of several at once, some are refused by the debit itself.
    fund(&gateway, &from, 1).await;
    let all = (0..8).map(|n| {
        let (ann, race) = (ann.clone(), with_purpose(&from, &to, "race", &format!("race-{n}")));
        async move { ann.field(TRANSFER, race).await }
    });
    let all = join_all(all).await;
    let arrived = all.iter().filter(|one| one["__typename"] == "Transfer").count();
    assert_eq!(arrived, 1, "{all:#?}");
    settled(&gateway).await;
    assert_eq!(purposes(&bob, &to).await, ["race", "rent"]);
    gateway.assert_sound().await;
}
