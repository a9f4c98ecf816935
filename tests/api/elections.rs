//! Three members, whose primary is killed under load: what was acknowledged is there, and nothing is there twice.

mod checkouts;
mod failover;

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::Value;

use self::checkouts::Buyers;
use crate::{
    shop::{account, balance, stocked},
    support::{Client, Gateway, members::Members, shop::line},
    transfers::{TRANSFER, order},
};

const CALLERS: usize = 24;
const CALLS: usize = 12;
const ACCOUNTS: usize = 6;

/// The call, repeated under its idempotency key until it is acknowledged.
pub async fn acknowledged(client: &Client, (query, variables): (&str, Value)) -> Value {
    let since = Instant::now();
    loop {
        let sent = client.send(query, variables.clone()).await;
        let answer = sent.map(|(_, answer)| answer).unwrap_or_default();
        let fields = answer["data"].as_object();
        let field = fields.and_then(|fields| fields.values().next()).cloned().unwrap_or_default();
        if answer.get("errors").is_none() && !field.is_null() {
            return field;
        }
        let is_retryable = answer["errors"][0]["extensions"]["retryable"] == true;
        assert!(is_retryable || answer.is_null(), "{answer:#}");
        assert!(since.elapsed() < Duration::from_secs(120), "{answer:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_loses_nothing_and_repeats_nothing() {
    let members = Members::start().await;
    let bounds = |config: &mut docgate::config::Config| {
        (config.flow_run_millis, config.flow_command_millis) = (3_000, 1_500);
    };
    let gateway = Gateway::over_members(&members, bounds).await;
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        accounts.push(account(&gateway, "ann", 10_000).await);
    }
    stocked(&gateway, "a", 250, 10_000).await;
    stocked(&gateway, "b", 250, 10_000).await;
    let buyers = Buyers::new(&gateway).await;
    let (accounts, done) = (&accounts, &AtomicUsize::new(0));
    let pays = |caller: usize| {
        let ann = gateway.shopper("ann");
        async move {
            let mut moved: BTreeMap<usize, i64> = BTreeMap::new();
            for call in 0..CALLS {
                let (from, to) = (caller % ACCOUNTS, (caller + call + 1) % ACCOUNTS);
                if from == to {
                    continue;
                }
                let amount = i64::try_from(1 + call).expect("a small number");
                let key = format!("{caller} pays {call}");
                let sent = order(&accounts[from], &accounts[to], amount, Some(&key));
                let made = acknowledged(&ann, (TRANSFER, sent)).await;
                assert_eq!(made["__typename"], "Transfer", "{made:#}");
                *moved.entry(from).or_default() -= amount;
                *moved.entry(to).or_default() += amount;
                done.fetch_add(1, Relaxed);
            }
            moved
        }
    };
    let shops = |caller: usize| {
        let shopper = gateway.shopper(&format!("shopper-{caller}"));
        async move {
            let cart = shopper.open_cart("RESERVE").await;
            for call in 0..CALLS {
                let sku = ["a", "b"][call % 2];
                let key = format!("adds {call}");
                let (query, variables) = Client::adding(&cart, sku, 1, Some(&key));
                let added = acknowledged(&shopper, (&query, variables)).await;
                assert_eq!(added["__typename"], "Cart", "{added:#}");
                done.fetch_add(1, Relaxed);
            }
            (shopper, cart)
        }
    };
    let kill = async {
        while done.load(Relaxed) < CALLERS * CALLS / 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let is_early = done.load(Relaxed) < CALLERS * CALLS * 2 && buyers.are_busy();
        members.kill_primary().await;
        is_early
    };
    let calls = (0..CALLERS).map(pays);
    let (paid, carts, (), is_early) =
        tokio::join!(join_all(calls), join_all((0..CALLERS).map(shops)), buyers.buy(), kill);
    assert!(is_early, "the load was over before the primary was killed");

    let mut expected = [10_000; ACCOUNTS];
    for (account, moved) in paid.into_iter().flatten() {
        expected[account] += moved;
    }
    for (account, expected) in accounts.iter().zip(expected) {
        assert_eq!(balance(&gateway, account).await, expected);
    }
    let half = i64::try_from(CALLS / 2).expect("a small number");
    for (shopper, cart) in &carts {
        let cart = shopper.cart(cart).await;
        for sku in ["a", "b"] {
            assert_eq!(line(&cart, sku), (half, half), "{cart:#}");
        }
    }
    gateway.sweep().await;
    buyers.check(&gateway).await;
    gateway.assert_sound().await;
    let all = i64::try_from(CALLERS).expect("a small number") * half;
    for sku in ["a", "b"] {
        assert_eq!(gateway.available(sku).await, 10_000 - all);
    }
    let unfinished = gateway.raw("transfers");
    let unfinished = unfinished.count_documents(mongodb::bson::doc! { "state": { "$ne": "DONE" } });
    assert_eq!(unfinished.await.expect("counted"), 0);
}
