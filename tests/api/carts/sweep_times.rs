//! `sweepAt` of the stock, by which the sweep finds reservations: every write derives it, and what another version
//! stored is corrected.

use docgate::{config::Config, domains};
use futures_util::{StreamExt as _, stream};
use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{RESERVE, is, marks};
use crate::support::{Gateway, key, long_bounds, short_bounds};

/// All times in the arrays `fields` of an entry.
fn times(entry: &Document, fields: &[&str]) -> Vec<i64> {
    let marks = fields.iter().flat_map(|field| entry.get_array(field).expect("an array"));
    let at = |mark: &Bson| mark.as_document().expect("a mark").get_datetime("at").copied();
    marks.map(|mark| at(mark).expect("a time").timestamp_millis()).collect()
}

/// The value that `sweepAt` of the stock should have, computed without MongoDB.
fn expected(gateway: &Gateway, stock: &Document) -> Option<i64> {
    let quiet = gateway.app.bounds().two_grace_periods().as_millis();
    let delay = u128::from(gateway.app.config().reservation_seconds) * 1_000 - quiet;
    let delay = i64::try_from(delay).expect("a duration");
    let entries = stock.get_array("reservations").map_or(&[][..], Vec::as_slice);
    let of_entry = |entry: &Bson| {
        let entry = entry.as_document().expect("an entry");
        let at = entry.get_datetime("at").expect("a time").timestamp_millis() + delay;
        let mut all = times(entry, &["takes", "gifts"]);
        all.push(at);
        all
    };
    entries.iter().flat_map(of_entry).min()
}

/// Asserts that `sweepAt` of every stock document is as it should be, and returns the number of those that have it.
async fn assert_derived(gateway: &Gateway) -> usize {
    let mut found = 0;
    for stock in &gateway.snapshot().await["inventory"] {
        let sweep_at = stock.get_datetime("sweepAt").ok().map(|at| at.timestamp_millis());
        assert_eq!(sweep_at, expected(gateway, stock), "{stock}");
        found += usize::from(sweep_at.is_some());
    }
    found
}

/// The broken invariants whose text contains `sweepAt`.
async fn late(gateway: &Gateway) -> usize {
    let report = gateway.check().await;
    let own = report.rules.iter().filter(|(rule, _)| rule.contains("sweepAt"));
    own.map(|(_, broken)| broken.len()).sum()
}

/// Removes what a version without the field doesn't store.
async fn forget(gateway: &Gateway) {
    let unset = doc! { "$unset": { "sweepAt": 1 } };
    gateway.raw("inventory").update_many(doc! {}, unset).await.expect("unset");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_of_two_gateways_derive_it() {
    let bounds = |config: &mut Config| {
        (config.flow_run_millis, config.flow_command_millis) = (6_000, 3_000);
        config.flow_skew_millis = 100;
    };
    let one = Gateway::with(bounds).await;
    let two = one.sibling_with(bounds).await;
    for sku in ["a", "b"] {
        one.stocked(sku, 1_000).await;
    }
    let shop = |n: usize| {
        let shopper = [&one, &two][n % 2].shopper(&format!("shopper-{n}"));
        async move {
            let id = shopper.open_cart(RESERVE).await;
            for (sku, quantity) in [("a", 3), ("b", 2)] {
                shopper.add(&id, sku, quantity).await;
            }
            match n % 3 {
                0 => assert!(is(&shopper.set(&id, "a", 1).await, "Cart")),
                1 => assert!(is(&shopper.cancel(&id).await, "Cart")),
                _ => {}
            }
        }
    };
    stream::iter((0..64).map(shop)).for_each_concurrent(64, |shopping| shopping).await;
    assert_eq!(assert_derived(&one).await, 2);
    assert_eq!(late(&one).await, 0);
    one.sweep().await;
    assert_eq!(assert_derived(&one).await, 2, "the entries stay, and their marks have gone");
    assert_eq!(marks(&one.stock_document("a").await), 0);
    one.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_deletions_and_empty_stock_have_none() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    assert_eq!(assert_derived(&gateway).await, 1);
    shopper.cancel(&id).await;
    assert_eq!(assert_derived(&gateway).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_of_an_earlier_version_is_swept() {
    let gateway = Gateway::with(short_bounds).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    for sku in ["a", "b"] {
        gateway.stocked(sku, 10).await;
        shopper.add(&id, sku, 3).await;
    }
    forget(&gateway).await;
    assert_eq!(late(&gateway).await, 2);
    // A gateway of that version reserves at the same time, and its caller is cut before the commit.
    let at = DateTime::from_millis(1_000_000_000_000);
    let take = doc! { "tag": "cut/0", "quantity": 2_i64, "at": at };
    let entry =
        doc! { "holder": key(&id), "quantity": 2_i64, "takes": [take], "gifts": [], "at": at };
    let stock = doc! {
        "_id": "c", "available": 8_i64, "sold": 0_i64, "received": 10_i64, "ops": [], "v": 1,
        "reservations": [entry],
    };
    gateway.raw("inventory").insert_one(stock).await.expect("inserted");
    gateway.sweep().await;
    assert_eq!(gateway.available("c").await, 10);
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
    assert_eq!(assert_derived(&gateway).await, 2);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reserve_of_an_earlier_version_is_found_behind_a_later_time() {
    let gateway = Gateway::with(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    gateway.sweep().await;
    let at = DateTime::from_millis(1_000_000_000_000);
    let take = doc! { "tag": "cut/0", "quantity": 2_i64, "at": at };
    let change = doc! {
        "$push": { "reservations.0.takes": take },
        "$inc": { "available": -2_i64, "reservations.0.quantity": 2_i64 },
        "$set": { "reservations.0.at": at },
    };
    gateway.raw("inventory").update_one(doc! { "_id": "a" }, change).await.expect("reserved");
    assert_eq!(late(&gateway).await, 1);
    gateway.sweep().await;
    assert_eq!(gateway.available("a").await, 7);
    assert_eq!(assert_derived(&gateway).await, 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_corrects_all_of_the_stock() {
    let gateway = Gateway::start().await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    gateway.stocked("a", 10).await;
    gateway.stocked("free", 10).await;
    shopper.add(&id, "a", 3).await;
    let held = gateway.stock_document("a").await;
    let copies = (0..1_100).map(|n| {
        let mut copy = held.clone();
        copy.insert("_id", format!("copy-{n:04}"));
        copy.remove("sweepAt");
        copy
    });
    gateway.raw("inventory").insert_many(copies).await.expect("inserted");
    assert_eq!(late(&gateway).await, 100, "the report is bounded");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["the time of the sweep of 1100 SKUs"]);
    assert_eq!((assert_derived(&gateway).await, late(&gateway).await), (1_101, 0));
    assert_eq!(gateway.repair().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_reads_the_range_of_one_index() {
    // So long that nothing is due, however busy the machine is.
    let gateway = Gateway::with(long_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiled");
    gateway.sweep_room(&domains::carts::ROOM).await;
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("not any more");
    let mut profile = gateway.raw("system.profile").find(doc! {}).await.expect("a profile");
    let mut reads = 0;
    while profile.advance().await.expect("the next") {
        let read = profile.deserialize_current().expect("a document");
        let filter = read.get_document("command").and_then(|sent| sent.get_document("filter"));
        if !filter.is_ok_and(|filter| filter.contains_key("sweepAt")) {
            continue;
        }
        assert_eq!(read.get_str("planSummary").ok(), Some("IXSCAN { sweepAt: 1 }"), "{read}");
        assert_eq!(read.get_i32("docsExamined").ok(), Some(0), "it isn't due: {read}");
        assert!(read.get("hasSortStage").is_none(), "{read}");
        reads += 1;
    }
    assert_eq!(reads, 1);
}
