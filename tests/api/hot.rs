//! 64 callers at eight documents: SKUs, accounts, and discussed products.

mod forgetting;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    comments::{self, discussed, mutation, shown},
    shop::{account, balance, settled, stocked},
    support::{Client, Gateway, very_long_bounds},
    transfers::{TRANSFER, order},
};

const CALLERS: usize = 64;
const DOCUMENTS: usize = 8;

/// All calls at once, each in a task of its own.
async fn at_once(calls: Vec<(Client, (String, Value))>) -> Vec<Value> {
    let call = |(client, (query, variables)): (Client, (String, Value))| {
        tokio::spawn(async move { client.field(&query, variables).await })
    };
    let answers = join_all(calls.into_iter().map(call)).await;
    answers.into_iter().map(|answer| answer.expect("an answer")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_skus_are_sold_until_nothing_is_left() {
    let gateway = Gateway::with(very_long_bounds).await;
    let skus: Vec<_> = (0..DOCUMENTS).map(|number| format!("sku-{number}")).collect();
    for sku in &skus {
        stocked(&gateway, sku, 100, 100).await;
    }
    let mut calls = Vec::new();
    for number in 0..CALLERS {
        let shopper = gateway.shopper(&format!("shopper-{number}"));
        let cart = shopper.open_cart("RESERVE").await;
        // Two of each: 128 are wanted, and 100 are there.
        // A call that ran out of time is repeated, and adds no more.
        let adding = |sku: &String| (shopper.clone(), Client::adding(&cart, sku, 2, Some(sku)));
        calls.extend(skus.iter().map(adding));
    }
    let answers = at_once(calls).await;
    let sold = answers.iter().filter(|answer| answer["__typename"] == "Cart").count();
    let short = answers.iter().filter(|answer| answer["__typename"] == "InsufficientStock").count();
    assert_eq!((sold, sold + short), (50 * DOCUMENTS, CALLERS * DOCUMENTS));
    for sku in &skus {
        assert_eq!(gateway.available(sku).await, 0, "{sku}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_accounts_keep_their_sum() {
    let gateway = Gateway::with(very_long_bounds).await;
    let mut accounts = Vec::new();
    for _ in 0..DOCUMENTS {
        accounts.push(account(&gateway, "ann", 100).await);
    }
    let ann = gateway.shopper("ann");
    let mut expected = [100; DOCUMENTS];
    let mut calls = Vec::new();
    for caller in 0..CALLERS {
        for call in 1..4 {
            let (from, to) = (caller % DOCUMENTS, (caller + call) % DOCUMENTS);
            expected[from] -= 1;
            expected[to] += 1;
            // A call that ran out of time is repeated, and moves no more.
            let key = format!("{caller} {call}");
            let sent = order(&accounts[from], &accounts[to], 1, Some(&key));
            calls.push((ann.clone(), (TRANSFER.to_owned(), sent)));
        }
    }
    for answer in at_once(calls).await {
        assert_eq!(answer["__typename"], "Transfer", "{answer:#}");
    }
    settled(&gateway).await;
    for (account, expected) in accounts.iter().zip(expected) {
        assert_eq!(balance(&gateway, account).await, expected);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_products_count_every_comment() {
    let gateway = Gateway::with(comments::very_long_bounds).await;
    let mut products = Vec::new();
    for number in 0..DOCUMENTS {
        let layout = if number == 0 { "EMBEDDED" } else { "PER_DOCUMENT" };
        products.push(discussed(&gateway, &format!("p{number}"), layout).await);
    }
    let query = mutation("postComment");
    let mut calls = Vec::new();
    for number in 0..CALLERS {
        let shopper = gateway.shopper(&format!("shopper-{number}"));
        calls.extend(products.iter().map(|on| {
            let input = json!({ "subjectId": on, "text": "It", "idempotencyKey": "op" });
            (shopper.clone(), (query.clone(), json!({ "input": input })))
        }));
    }
    for answer in at_once(calls).await {
        assert_eq!(answer["__typename"], "Comment", "{answer:#}");
    }
    for number in 0..DOCUMENTS {
        let discussion = shown(&gateway, &format!("p{number}")).await;
        assert_eq!(discussion["commentCount"], CALLERS, "{discussion:#}");
        assert_eq!(discussion["latestComments"].as_array().map(Vec::len), Some(10));
    }
    gateway.assert_sound().await;
}
