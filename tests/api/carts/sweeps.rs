//! What sweeps find, return and leave alone, and what the check finds.

use std::time::Duration;

use docgate::{background, flow::earlier, mongo::expression::millis};
use mongodb::bson::{DateTime, doc};

use super::{RESERVE, marks};
use crate::support::{Gateway, key, mongod_port, proxy::Cut, short_bounds, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_take_whose_op_was_forgotten_is_not_returned() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    let forgotten = doc! { "$set": { "ops": [] } };
    gateway.raw("carts").update_one(doc! { "_id": key(&id) }, forgotten).await.expect("forgotten");
    assert_eq!(marks(&gateway.stock_document("a").await), 1);
    gateway.sweep().await;
    gateway.assert_sound().await;
    assert_eq!((gateway.available("a").await, marks(&gateway.stock_document("a").await)), (7, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_whose_cart_has_vanished_returns_after_its_own_time() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        // Longer than all that comes before it is over.
        config.reservation_seconds = 60;
    })
    .await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    shopper.set(&id, "a", 2).await;
    gateway.raw("carts").delete_one(doc! { "_id": key(&id) }).await.expect("removed by hand");
    gateway.sweep().await;
    assert_eq!(gateway.available("a").await, 8);
    let report = gateway.check().await;
    assert!(!report.is_clean());
    age(&gateway).await;
    let due = doc! { "$set": { "sweepAt": DateTime::from_millis(0) } };
    gateway.raw("inventory").update_one(doc! { "_id": "a" }, due).await.expect("due");
    gateway.sweep().await;
    assert_eq!(gateway.available("a").await, 10);
    gateway.assert_sound().await;
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_sees_every_page() {
    let gateway = Gateway::with(short_bounds).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let (holder, inventory) = (key(&id), gateway.raw("inventory"));
    // A busy cart's marks are the oldest of all; they must not keep the others waiting.
    let pages: Vec<_> = (0..350_i64)
        .map(|n| {
            let at = DateTime::from_millis(1_000_000_000_000 + n / 3);
            let (holder, held) =
                if n < 120 { ("order:raising", 0_i64) } else { (holder.as_str(), 2) };
            let take = doc! { "tag": format!("cut-{n}/0"), "quantity": 2_i64, "at": at };
            let entry = doc! {
                "holder": holder, "quantity": held, "takes": [take], "gifts": [], "at": at,
            };
            doc! {
                "_id": format!("p{n}"), "available": 5 - held, "sold": 0_i64, "received": 5_i64,
                "reservations": [entry], "ops": [], "v": 1,
            }
        })
        .collect();
    inventory.insert_many(pages).await.expect("inserted");
    gateway.sweep().await;
    gateway.assert_sound().await;
    let whole = inventory.count_documents(doc! { "available": 5_i64, "_id": { "$gt": "" } }).await;
    assert_eq!(whole.expect("counted"), 350);
}

#[tokio::test(flavor = "multi_thread")]
async fn carts_that_are_being_checked_out_are_left_alone() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    for state in ["PENDING", "VOIDING", "PAID", "DECIDED"] {
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, "a", 1).await;
        let moved = doc! { "$set": { "state": state, "lines": [] } };
        gateway.raw("carts").update_one(doc! { "_id": key(&id) }, moved).await.expect("moved");
    }
    gateway.sweep().await;
    assert_eq!((gateway.available("a").await, marks(&gateway.stock_document("a").await)), (6, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn reservations_of_a_cart_that_cant_be_read_hold_up_none_behind_them() {
    let gateway = Gateway::with(short_bounds).await;
    let id = gateway.shopper("someone").open_cart(RESERVE).await;
    let torn = doc! { "_id": "torn", "state": "ACTIVE", "v": 1 };
    gateway.raw("carts").insert_one(torn).await.expect("inserted");
    let holder = key(&id);
    let stocks = (0..60_i64).map(|n| {
        let at = DateTime::from_millis(1_000_000_000_000 + n);
        let holder = if n == 0 { "torn" } else { holder.as_str() };
        let take = doc! { "tag": format!("cut-{n}/0"), "quantity": 2_i64, "at": at };
        let entry = doc! {
            "holder": holder, "quantity": 2_i64, "takes": [take], "gifts": [], "at": at,
        };
        doc! {
            "_id": format!("p{n}"), "available": 3_i64, "sold": 0_i64, "received": 5_i64,
            "reservations": [entry], "ops": [], "sweepAt": at, "v": 1,
        }
    });
    let stocks: Vec<_> = stocks.collect();
    gateway.raw("inventory").insert_many(stocks).await.expect("inserted");
    until("the last one is returned", async || {
        // The pass fails for the torn cart.
        let room = &docgate::domains::carts::ROOM;
        let _failed = background::sweep_room(&gateway.app, room).await;
        gateway.available("p59").await == 5
    })
    .await;
    assert_eq!(gateway.available("p0").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_lines_and_reservations_that_disagree() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 50).await;
    let shopper = gateway.shopper("someone");
    let mut broken = Vec::new();
    for change in [
        doc! { "$set": { "lines.0.held": 1_i64 } },
        doc! { "$set": { "lines.0.held": 4_i64, "lines.0.quantity": 3_i64 } },
        doc! { "$set": { "lines": [] } },
        doc! { "$set": { "state": "EXPIRED" } },
        doc! { "$set": { "lines.0.quantity": 0_i64 } },
    ] {
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, "a", 2).await;
        gateway.raw("carts").update_one(doc! { "_id": key(&id) }, change).await.expect("changed");
        broken.push(id);
    }
    let sound = shopper.open_cart(RESERVE).await;
    shopper.add(&sound, "a", 2).await;
    let report = gateway.check().await;
    let found: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    for id in broken {
        assert!(found.iter().any(|what| what.contains(&key(&id))), "{id}: {found:#?}");
    }
    assert!(!found.iter().any(|what| what.contains(&key(&sound))), "{found:#?}");
}

/// Lets time pass: everything that happened so far moves into the past, far enough for sweeps.
async fn age(gateway: &Gateway) {
    let millis = millis(gateway.app.bounds().two_grace_periods()) + 60_000;
    let earlier = |field: &str| doc! { "$subtract": [field, millis] };
    let moved = |moments: &str| {
        let change = doc! { "$mergeObjects": ["$$this", { "at": earlier("$$this.at") }] };
        doc! { "$map": { "input": moments, "in": change } }
    };
    let entry = doc! { "$mergeObjects": ["$$entry", {
        "at": earlier("$$entry.at"),
        "takes": moved("$$entry.takes"),
        "gifts": moved("$$entry.gifts"),
    }] };
    let entries = doc! { "$map": { "input": "$reservations", "as": "entry", "in": entry } };
    let update = vec![doc! { "$set": { "reservations": entries } }];
    gateway.raw("inventory").update_many(doc! {}, update).await.expect("aged");
    let touched = doc! { "modifiedAt": earlier("$modifiedAt"), "outbox": moved("$outbox") };
    let update = vec![doc! { "$set": touched }];
    gateway.raw("carts").update_many(doc! {}, update).await.expect("aged");
}

/// Something to do for each part of the sweep; answers the carts' ids.
async fn left_behind(gateway: &Gateway) -> Vec<String> {
    let now = gateway.begin().await.now();
    let old = earlier(now, gateway.app.bounds().two_grace_periods() + Duration::from_secs(60));
    let now = now.timestamp_millis();
    let hour_ago = DateTime::from_millis(now - 3_600_000);
    let due = doc! { "tag": "cut", "sku": "sku-0", "quantity": 1_i64, "at": old };
    let take = |tag: &str, quantity: i64| doc! { "tag": tag, "quantity": quantity, "at": old };
    let (mut carts, mut stocks) = (Vec::new(), Vec::new());
    for (n, state, held, modified_at, outbox, undecided) in [
        // The give of a lowered line was cut.
        (0, "ACTIVE", 3_i64, old, vec![due], 0_i64),
        (1, "CANCELLING", 4, old, vec![], 0),
        // Idle for an hour.
        (2, "ACTIVE", 4, hour_ago, vec![], 0),
        // Expired, and its stock came back too late to be returned then.
        (3, "EXPIRED", 4, old, vec![], 0),
        // Two takes were never decided.
        (4, "ACTIVE", 4, old, vec![], 2),
    ] {
        let (id, sku) = (format!("cart-{n}"), format!("sku-{n}"));
        let line = doc! {
            "sku": &sku, "quantity": held, "held": held, "title": "A book", "type": "book",
            "unitPrice": 1_i64,
        };
        carts.push(doc! {
            "_id": &id, "policy": RESERVE, "currency": "EUR", "state": state, "lines": [line],
            "ops": [], "outbox": outbox, "attempts": 0, "openedAt": hour_ago,
            "modifiedAt": modified_at, "v": 1,
        });
        let mut takes = vec![take("decided/0", 4)];
        takes.extend((0..undecided).map(|n| take(&format!("cut-{n}/0"), 1)));
        let entry = doc! {
            "holder": id, "quantity": 4 + undecided, "takes": takes, "gifts": [], "at": old,
        };
        stocks.push(doc! {
            "_id": sku, "available": 6 - undecided, "sold": 0_i64, "received": 10_i64,
            "reservations": [entry], "ops": [], "v": 1,
        });
    }
    let id = |cart: &mongodb::bson::Document| {
        docgate::graphql::node_id::NodeKind::CART.id(cart.get_str("_id").expect("an id")).0
    };
    let ids = carts.iter().map(id).collect();
    gateway.raw("carts").insert_many(carts).await.expect("inserted");
    gateway.raw("inventory").insert_many(stocks).await.expect("inserted");
    ids
}

/// Time passes and sweeps run, until nothing is left to do.
async fn finish(gateway: &Gateway) {
    for _ in 0..3 {
        age(gateway).await;
        gateway.sweep_room(&docgate::domains::carts::ROOM).await;
    }
    gateway.assert_sound().await;
}

fn removing_closed(config: &mut docgate::config::Config) {
    short_bounds(config);
    config.cart_keep_expired = false;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_survives_a_cut_at_every_command() {
    let base = Gateway::start().await;
    let name = base.database.name();
    let gateway = Gateway::over(mongod_port(name), true, name, removing_closed).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| ["carts", "inventory"].contains(&seen.collection.as_str()));

    // A pass that ran out of time sends less.
    let mut commands = Vec::new();
    until("a pass is undisturbed", async || {
        clear(&gateway).await;
        left_behind(&base).await;
        proxy.record();
        let room = &docgate::domains::carts::ROOM;
        let swept = docgate::background::sweep_room(&gateway.app, room).await;
        commands = proxy.seen();
        swept.is_ok()
    })
    .await;
    assert!(commands.len() > 20, "{commands:#?}");
    // Each is applied and its reply lost: the sweep stops there with this and goes on with the rest.
    // A cut at a read leaves what a cut at the write before it leaves.
    for (at, seen) in commands.iter().enumerate().filter(|(_, seen)| seen.command != "find") {
        clear(&gateway).await;
        let ids = left_behind(&base).await;
        proxy.cut_with_retries(at, Cut::ReplyLost);
        let swept =
            docgate::background::sweep_room(&gateway.app, &docgate::domains::carts::ROOM).await;
        assert!(swept.is_err(), "{seen:?}");
        proxy.heal();
        finish(&gateway).await;
        assert_finished(&base, &ids, &format!("{seen:?}")).await;
    }
}

async fn clear(gateway: &Gateway) {
    for collection in ["carts", "inventory"] {
        gateway.raw(collection).delete_many(doc! {}).await.expect("cleared");
    }
}

/// Where the carts of [`left_behind`] stand in the end.
async fn assert_finished(gateway: &Gateway, ids: &[String], case: &str) {
    let shopper = gateway.shopper("someone");
    let expected = [(7, "ACTIVE"), (10, ""), (10, ""), (10, ""), (6, "ACTIVE")];
    for (n, (id, (available, state))) in ids.iter().zip(expected).enumerate() {
        let stock = gateway.stock_document(&format!("sku-{n}")).await;
        assert_eq!(stock.get_i64("available").expect("a number"), available, "{case}: {stock}");
        assert_eq!(marks(&stock), 0, "{case}: {stock}");
        let cart = shopper.cart(id).await;
        assert_eq!(cart["state"].as_str().unwrap_or_default(), state, "{case}: {cart:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sweeps_at_once_do_everything_once() {
    let gateway = Gateway::with(removing_closed).await;
    let ids = left_behind(&gateway).await;
    let sweep = || background::sweep_all(&gateway.app);
    let (one, two, three) = tokio::join!(sweep(), sweep(), sweep());
    // One may find that another was quicker; what was then left is done by the next.
    assert!([one, two, three].iter().any(Result::is_ok));
    finish(&gateway).await;
    assert_finished(&gateway, &ids, "three at once").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_looks_only_at_what_is_due() {
    let gateway = Gateway::with(short_bounds).await;
    left_behind(&gateway).await;
    // Three hundred more that are as they should be, and just as old.
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let cart = gateway.cart_document("cart-0").await;
    let at = *cart.get_datetime("modifiedAt").expect("a time");
    let stocks = (0..300).map(|n| {
        let entry = doc! {
            "holder": key(&id), "quantity": 1_i64, "takes": [], "gifts": [], "at": at,
        };
        doc! {
            "_id": format!("sound-{n}"), "available": 0_i64, "sold": 0_i64, "received": 1_i64,
            "reservations": [entry], "ops": [], "v": 1,
        }
    });
    gateway.raw("inventory").insert_many(stocks).await.expect("inserted");
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiled");
    gateway.sweep_room(&docgate::domains::carts::ROOM).await;
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("not any more");
    let mut profile = gateway.raw("system.profile").find(doc! {}).await.expect("a profile");
    let mut reads = 0;
    while profile.advance().await.expect("the next") {
        let read = profile.deserialize_current().expect("a document");
        if read.get_str("op").is_ok_and(|op| op == "query") {
            let number = |field: &str| read.get_i32(field).unwrap_or_default();
            assert!(number("docsExamined") <= 5, "{read}");
            assert!(read.get("hasSortStage").is_none(), "{read}");
            reads += 1;
        }
    }
    assert!(reads > 8, "{reads}");
}
