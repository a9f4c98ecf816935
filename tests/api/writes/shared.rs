//! What a response tells of the commands that its request shared with others.

use futures_util::future::join_all;
use serde_json::Value;

use crate::{
    metrics::Samples,
    shop::{cart, stocked},
    support::{Client, Gateway, proxy::Cut, until, very_long_bounds},
};

/// Number of callers whose reserves are held, each in a command of its own: no more commands are on their way at once.
const HELD: usize = 2;
/// Number of callers whose reserves wait for these, and are then sent by one command.
const WAITING: usize = 5;

/// With how many others each write of the stock shared its command.
fn shared(response: &Value) -> Vec<&Value> {
    let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
    let of_stock = |sent: &&Value| sent["collection"] == "inventory" && sent["command"] == "update";
    sent.iter().filter(of_stock).map(|sent| &sent["sharedWith"]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_whose_writes_share_a_command_are_told_so() {
    let gateway = Gateway::behind_proxy(very_long_bounds).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    stocked(&gateway, "a", 250, 100).await;
    let mut carts = Vec::new();
    for number in 0..HELD + WAITING {
        let shopper = gateway.shopper(&format!("shopper-{number}"));
        let id = cart(&shopper, "RESERVE", &[]).await;
        carts.push((shopper, id));
    }
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    let add = |(shopper, cart): &(Client, String)| {
        let (shopper, (query, variables)) =
            (shopper.clone(), Client::adding(cart, "a", 1, Some("op")));
        tokio::spawn(async move { shopper.explained(&query, variables).await })
    };
    let mut calls = Vec::new();
    for (number, cart) in carts[..HELD].iter().enumerate() {
        calls.push(add(cart));
        until("the reserve is held", async || proxy.seen().len() > number).await;
    }
    calls.extend(carts[HELD..].iter().map(add));
    let waiting = async || {
        let samples = Samples::of(&gateway).await;
        samples.get("docgate_writes_waiting{collection=\"inventory\"}") > 4.5
    };
    until("five reserves wait for a shared command", waiting).await;
    proxy.heal();
    proxy.release().await;
    for (number, answer) in join_all(calls).await.into_iter().enumerate() {
        let response = answer.expect("an answer");
        let others = if number < HELD { 0 } else { WAITING - 1 };
        assert_eq!(shared(&response), [others], "{number}: {response:#}");
    }
    assert_eq!(gateway.available("a").await, 100 - 7);
    gateway.assert_sound().await;
}
