//! The change hub: what feeds subscriptions.

use std::{collections::BTreeSet, time::Duration};

use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};
use serde_json::json;

use super::{MOMENT, STOCK, available, set, stock};
use crate::support::{Gateway, Turn, token, until};

/// How many change streams the gateway has open on a collection.
pub async fn change_streams(gateway: &Gateway, collection: &str) -> usize {
    let admin = gateway.database.client().database("admin");
    let place = format!("{}.{collection}", gateway.database.name());
    let all = doc! { "$currentOp": { "idleCursors": true, "allUsers": true } };
    let of_place = doc! { "$match": {
        "ns": place, "cursor.originatingCommand.pipeline.0.$changeStream": { "$exists": true },
    } };
    let found = admin.aggregate([all, of_place]).await.expect("the operations");
    let found: Vec<Document> = found.try_collect().await.expect("the operations");
    let id = |found: &Document| {
        found.get_document("cursor").and_then(|cursor| cursor.get_i64("cursorId")).expect("an id")
    };
    found.iter().map(id).collect::<BTreeSet<_>>().len()
}

/// Waits until the gateways have so many change streams open on the stock.
pub async fn has_streams(gateway: &Gateway, wanted: usize) {
    let are_open = async || change_streams(gateway, "inventory").await == wanted;
    until("the change streams are open", are_open).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_subscribers_of_a_collection_share_one_change_stream() {
    let gateway = Gateway::start().await;
    for sku in ["a", "b"] {
        stock(&gateway, sku, 1).await;
    }
    assert_eq!(change_streams(&gateway, "inventory").await, 0);
    let mut sockets = Vec::new();
    for n in 0..20 {
        let mut socket = gateway.session(None).await;
        let sku = if n % 2 == 0 { "a" } else { "b" };
        socket.subscribe("1", STOCK, json!({ "sku": sku })).await;
        assert_eq!(available(&socket.next("1").await), 1);
        sockets.push(socket);
    }
    let client = gateway.anonymous();
    let mut events = client.events(STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&events.event().await.expect("an event").1), 1);
    let mut parts = client.parts(STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&parts.part().await.expect("a part")["payload"]), 1);
    tokio::time::sleep(MOMENT).await;
    has_streams(&gateway, 1).await;
    set(&gateway, "a", 2).await;
    for (n, socket) in sockets.iter_mut().enumerate() {
        if n % 2 == 0 {
            assert_eq!(available(&socket.next("1").await), 2);
        }
    }
    assert_eq!(available(&events.event().await.expect("an event").1), 2);
    assert_eq!(available(&parts.part().await.expect("a part")["payload"]), 2);
    // Who follows another document hears nothing of it.
    sockets[1].is_silent(MOMENT).await;
    assert_eq!(change_streams(&gateway, "inventory").await, 1);
    // Another gateway has its own.
    let sibling = gateway.sibling().await;
    let mut there = sibling.session(None).await;
    there.subscribe("1", STOCK, json!({ "sku": "b" })).await;
    assert_eq!(available(&there.next("1").await), 1);
    tokio::time::sleep(MOMENT).await;
    has_streams(&gateway, 2).await;
    drop((sockets, events, parts, there));
    let is_closed = async || change_streams(&gateway, "inventory").await == 0;
    until("the stream that nobody follows is closed", is_closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_again_gets_a_stream_again() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 0).await;
    for n in 1..=3 {
        let mut socket = gateway.session(None).await;
        socket.subscribe("1", STOCK, json!({ "sku": "a" })).await;
        assert_eq!(available(&socket.next("1").await), n - 1);
        set(&gateway, "a", n).await;
        assert_eq!(available(&socket.next("1").await), n);
        drop(socket);
        // Between just left and long closed.
        tokio::time::sleep(Duration::from_millis(700 * n.unsigned_abs())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_clients_do_not_see_is_no_answer() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let mut socket = gateway.session(None).await;
    socket.subscribe("1", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&socket.next("1").await), 1);
    let inventory = gateway.database.collection::<Document>("inventory");
    for n in 0..5 {
        let unseen = doc! { "$set": { "unseen": n } };
        inventory.update_one(doc! { "_id": "a" }, unseen).await.expect("updated");
    }
    socket.is_silent(MOMENT).await;
    set(&gateway, "a", 2).await;
    let next = socket.next("1").await;
    assert_eq!((available(&next), next.get("extensions")), (2, None));
    // What is removed is over.
    inventory.delete_one(doc! { "_id": "a" }).await.expect("deleted");
    assert_eq!(socket.hear().await, json!({ "id": "1", "type": "complete" }));
}

/// A socket that follows, with its change stream open.
async fn following(gateway: &Gateway) -> crate::support::live::Socket {
    stock(gateway, "a", 0).await;
    let mut socket = gateway.session(None).await;
    socket.subscribe("1", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&socket.next("1").await), 0);
    set(gateway, "a", 1).await;
    assert_eq!(available(&socket.next("1").await), 1);
    tokio::time::sleep(MOMENT).await;
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_stream_has_lost_its_place_subscribers_are_told() {
    let gateway = Gateway::start().await;
    let turn = Turn::take().await;
    let mut socket = following(&gateway).await;
    // ChangeStreamHistoryLost
    let lost = doc! { "failCommands": ["getMore"], "errorCode": 286 };
    let point = gateway.fail_point_in(turn, doc! { "times": 1 }, lost.clone()).await;
    let next = socket.next("1").await;
    assert_eq!(available(&next), 1, "also where nothing is new");
    assert_eq!(next["extensions"]["docgate"], json!({ "reset": true }));
    let turn = point.off().await;
    // Changes while there is no stream.
    let point = gateway.fail_point_in(turn, doc! { "times": 1 }, lost).await;
    set(&gateway, "a", 2).await;
    // It may come before the stream breaks, and on a busy machine after the reset.
    let (mut newest, mut was_reset) = (1, false);
    while newest != 2 || !was_reset {
        let next = socket.next("1").await;
        newest = available(&next);
        if let Some(told) = next.get("extensions") {
            assert_eq!(told["docgate"], json!({ "reset": true }));
            was_reset = true;
        }
    }
    point.off().await;
    // And on it goes.
    set(&gateway, "a", 3).await;
    let next = socket.next("1").await;
    assert_eq!((available(&next), next.get("extensions")), (3, None));
    assert_eq!(change_streams(&gateway, "inventory").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_stream_breaks_and_goes_on_nothing_is_lost() {
    let gateway = Gateway::start().await;
    let turn = Turn::take().await;
    let mut socket = following(&gateway).await;
    // Not now, also not when it is opened again: as in an election.
    let away = doc! { "failCommands": ["getMore", "aggregate"], "errorCode": 11_602 };
    let point = gateway.fail_point_in(turn, doc! { "times": 3 }, away).await;
    tokio::time::sleep(2 * MOMENT).await;
    set(&gateway, "a", 2).await;
    let next = socket.next("1").await;
    assert_eq!((available(&next), next.get("extensions")), (2, None));
    let turn = point.off().await;
    let cut = doc! { "failCommands": ["getMore"], "closeConnection": true };
    let point = gateway.fail_point_in(turn, doc! { "times": 1 }, cut).await;
    tokio::time::sleep(2 * MOMENT).await;
    set(&gateway, "a", 3).await;
    let next = socket.next("1").await;
    assert_eq!((available(&next), next.get("extensions")), (3, None));
    point.off().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_room_is_followed_in_the_same_way() {
    let gateway = Gateway::start().await;
    let account = crate::shop::account(&gateway, "anna", 100).await;
    let mut socket = gateway.session(Some(&token("anna", &[]))).await;
    let query =
        "subscription($id: ID!) { balanceChanged(accountId: $id) { balance { minorUnits } } }";
    socket.subscribe("1", query, json!({ "id": account })).await;
    let shown = |answer: &serde_json::Value| {
        answer["data"]["balanceChanged"]["balance"]["minorUnits"].as_i64().expect("a balance")
    };
    assert_eq!(shown(&socket.next("1").await), 100);
    let deposit = "mutation($input: DepositInput!) { deposit(input: $input) { __typename } }";
    let input = json!({ "accountId": account, "amount": 1 });
    gateway.service().data(deposit, json!({ "input": input })).await;
    while shown(&socket.next("1").await) != 101 {}
    assert_eq!(change_streams(&gateway, "accounts").await, 1);
}
