//! What goes on beside an erasure, or between two runs of one that is cut.

use docgate::{config::Config, domains::persons};
use serde_json::json;

use super::{BLOCK, CIRCLE, COMMENT, EVE, RECORD, VOTE, erased, places_of, votes};
use crate::{
    ads, buying, content,
    orders::fulfilment::{change, packed},
    shop::{account, cart, checkout, placed, settled, stocked},
    social::{deliver, does, people, posted_with},
    support::{
        Gateway,
        direct::in_time,
        proxy::{Cut, Seen},
        until,
    },
};

/// A gateway on the same database, whose bounds last for an erasure beside it on a slow machine, and whose way to MongoDB
/// can be cut.
async fn held_up(gateway: &Gateway) -> Gateway {
    let change = |config: &mut Config| {
        config.flow_run_millis = 60_000;
        config.flow_command_millis = 25_000;
    };
    gateway.sibling_with(change).await.sibling_behind_proxy().await
}

/// A merchant's call has read the order before the erasure, and writes its lists of shipments and returns after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_an_order_brings_no_erased_text_back() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 50).await;
    let client = gateway.shopper(EVE);
    let purse = account(&gateway, EVE, 1_000).await;
    let order = placed(&client, &purse, &[("a", 3)]).await;
    settled(&gateway).await;
    assert_eq!(packed(&gateway, &order, "a", 1).await, 1);
    let input = json!({ "shipmentNumber": 1, "carrier": "Post", "tracking": "tracked-4711" });
    let shipped = change(&gateway.merchant(), "shipOrder", &order, input).await;
    assert_eq!(shipped["__typename"], "Order", "{shipped:#}");
    let input = json!({ "shipmentNumber": 1, "reason": "said-by-eve" });
    let asked = change(&client, "requestReturn", &order, input).await;
    assert_eq!(asked["__typename"], "Order", "{asked:#}");

    let slow = held_up(&gateway).await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    let is_commit = |seen: &Seen| seen.collection == "orders" && seen.command == "findAndModify";
    let mut meeting = proxy.meet(is_commit);
    let merchant = slow.merchant();
    let lines = json!({ "lines": [{ "sku": "a", "quantity": 1 }] });
    let (done, ()) = tokio::join!(change(&merchant, "packOrder", &order, lines), async {
        meeting.arrived().await;
        erased(&gateway, &gateway.app, EVE).await;
        meeting.end();
    });
    assert_eq!(done["__typename"], "Order", "{done:#}");
    assert_eq!(done["shipments"].as_array().map(Vec::len), Some(2), "{done:#}");
    for text in [EVE, "tracked-4711", "said-by-eve"] {
        assert_eq!(places_of(&gateway, text).await, [], "{text}");
    }
    gateway.assert_sound().await;
}

/// Two runs are cut when the vote exists under both names. Another one votes before the third run.
#[tokio::test(flavor = "multi_thread")]
async fn a_vote_counts_once_while_it_is_given_to_the_pseudonym() {
    let gateway = Gateway::start().await;
    people(&gateway, &[EVE, "bob"]).await;
    let poll = json!({ "audience": "PUBLIC", "text": "which?",
        "detail": { "poll": { "choices": ["this", "that"] } } });
    let poll = posted_with(&gateway, "bob", poll).await;
    let vote = json!({ "postId": poll, "choice": 0 });
    does(&gateway, EVE, VOTE, vote.clone()).await;
    deliver(&gateway).await;
    for _ in 0..2 {
        let cut = gateway.sibling_behind_proxy().await;
        let proxy = cut.proxy.as_ref().expect("a proxy");
        proxy.count_only(|seen| seen.collection == "votes" && seen.command == "delete");
        proxy.cut_all_from(0, Cut::Refused);
        // On a busy machine it may run out of time before.
        until("it comes to the vote", async || {
            persons::erase(&cut.app, EVE, false).await.expect_err("it is cut");
            !proxy.seen().is_empty()
        })
        .await;
        assert_eq!(gateway.stored("votes").await.len(), 2, "one under each name");
    }
    does(&gateway, "bob", VOTE, vote).await;
    assert_eq!(votes(&gateway, &poll).await, 2);
    deliver(&gateway).await;
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(votes(&gateway, &poll).await, 2);
    assert_eq!(gateway.stored("votes").await.len(), 2);
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// Others follow and block the person when the collections with that have been searched.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_can_name_a_person_who_is_being_erased() {
    let gateway = Gateway::start().await;
    people(&gateway, &[EVE, "bob"]).await;
    let slow = held_up(&gateway).await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    let is_walk = |seen: &Seen| seen.collection == "users" && seen.command == "find";
    let mut meeting = proxy.meet(is_walk);
    let (first, ()) =
        tokio::join!(in_time(async || persons::erase(&slow.app, EVE, false).await), async {
            meeting.arrived().await;
            let circled =
                does(&gateway, "bob", CIRCLE, json!({ "userId": EVE, "circle": "x" })).await;
            let blocked = does(&gateway, "bob", BLOCK, json!({ "userId": EVE })).await;
            for said in [circled, blocked] {
                assert_eq!(said["__typename"], "NotFound", "{said:#}");
            }
            meeting.end();
        });
    assert!(first.waits.is_empty(), "{first:#?}");
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// A campaign is launched: the ads that are still to be written to its zone name the advertiser.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_a_campaign_that_is_copied_to_zones() {
    let gateway = Gateway::start().await;
    ads::zone(&gateway, "top").await;
    let slow = held_up(&gateway).await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    let is_copy = |seen: &Seen| seen.collection == "adZones" && seen.command == "update";
    let mut meeting = proxy.meet(is_copy);
    let plan = ads::plan(&slow, &["top"]);
    let (launched, waits) = tokio::join!(ads::launch_as(&slow, EVE, plan), async {
        meeting.arrived().await;
        let first = in_time(async || persons::erase(&gateway.app, EVE, false).await).await;
        meeting.end();
        first.waits
    });
    assert_eq!(launched["state"], "RUNNING", "{launched:#}");
    assert!(!waits.is_empty(), "the campaign is due");
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// A version that the person has replaced is stored when the former versions have been searched.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_a_version_that_an_edit_replaced() {
    const EDIT: &str =
        "mutation($input: EditContentInput!) { editContent(input: $input) { __typename } }";
    let gateway = Gateway::start().await;
    let text = |body: &str| json!({ "title": "page", "body": body });
    let page = json!({ "type": "PAGE", "slug": "page", "text": text("One.") });
    let page = content::create(&gateway, page).await;
    let slow = held_up(&gateway).await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    let is_version = |seen: &Seen| seen.collection == "nodeRevisions" && seen.command == "insert";
    let mut meeting = proxy.meet(is_version);
    let editor = slow.user(EVE, &["editor"]);
    let version = &page["draft"]["version"];
    let input = json!({ "contentId": page["id"], "version": version, "text": text("Two.") });
    let (done, waits) = tokio::join!(editor.field(EDIT, json!({ "input": input })), async {
        meeting.arrived().await;
        let first = in_time(async || persons::erase(&gateway.app, EVE, false).await).await;
        meeting.end();
        first.waits
    });
    assert_eq!(done["__typename"], "Page", "{done:#}");
    assert!(waits.iter().any(|wait| wait.starts_with("nodes: ")), "{waits:#?}");
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(gateway.stored("nodeRevisions").await.len(), 1);
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// A roll-up is running: it may have read the sessions of the person, and still has to store what it computes from them.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_a_roll_up_of_sessions() {
    let gateway = Gateway::start().await;
    let at = docgate::app::rfc3339(gateway.app.clock());
    let session = json!({ "sessions": [{ "userId": EVE, "at": at, "seconds": 5 }] });
    let recorded = gateway.service().field(RECORD, json!({ "input": session })).await;
    assert_eq!(recorded["__typename"], "SessionsRecorded", "{recorded:#}");
    let slow = held_up(&gateway).await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    let is_computation =
        |seen: &Seen| seen.collection == "sessionStatsHourly" && seen.command == "aggregate";
    let mut meeting = proxy.meet(is_computation);
    let admin = slow.admin();
    // Its erasure doesn't wait for long.
    let change = |config: &mut Config| {
        config.flow_run_millis = 5_000;
        config.flow_command_millis = 4_000;
    };
    let erasing = gateway.sibling_with(change).await;
    let run = "mutation { runRollup(input: {}) { __typename } }";
    let (done, first) = tokio::join!(admin.field(run, json!({})), async {
        meeting.arrived().await;
        let first = in_time(async || persons::erase(&erasing.app, EVE, false).await).await;
        meeting.end();
        first
    });
    assert_eq!(done["__typename"], "RolledUp", "{done:#}");
    let mut waits = first.waits.iter();
    assert!(waits.any(|wait| wait.starts_with("sessionStatsHourly: ")), "{first:#?}");
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// The copies of a post don't have the last comment yet. Whoever is about to write them has read it.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_the_copies_of_a_post() {
    let gateway = Gateway::start().await;
    people(&gateway, &[EVE, "bob"]).await;
    let post = json!({ "audience": "PUBLIC", "text": "hello" });
    let post = posted_with(&gateway, "bob", post).await;
    deliver(&gateway).await;
    does(&gateway, EVE, COMMENT, json!({ "postId": post, "text": "said-by-eve" })).await;
    let first = in_time(async || persons::erase(&gateway.app, EVE, false).await).await;
    assert!(!first.waits.is_empty(), "{first:#?}");
    deliver(&gateway).await;
    erased(&gateway, &gateway.app, EVE).await;
    for text in [EVE, "said-by-eve"] {
        assert_eq!(places_of(&gateway, text).await, [], "{text}");
    }
    gateway.assert_sound().await;
}

/// What is reserved and what is spent of the uses of each voucher by each customer.
async fn uses(gateway: &Gateway) -> Vec<[i64; 2]> {
    let each = gateway.stored("voucherCustomers").await.into_iter();
    let numbers = ["reservedUses", "spentUses"];
    each.map(|own| numbers.map(|field| own.get_i64(field).expect("a number"))).collect()
}

/// With a token that is still valid, the person buys once more when the erasure has read the uses of the voucher. The checkout
/// has reserved one when they are to be removed.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_a_use_of_a_voucher_that_is_reserved_meanwhile() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 50).await;
    buying::created(&gateway, "TWICE", json!({ "percent": 100, "perCustomer": 2 })).await;
    let client = gateway.shopper(EVE);
    let filled = async || {
        let id = cart(&client, "AT_CHECKOUT", &[("a", 1)]).await;
        buying::applied(&client, &id, "TWICE").await;
        id
    };
    let free = checkout(&client, &filled().await, "none", "first").await;
    assert_eq!(free["__typename"], "Order", "{free:#}");
    settled(&gateway).await;
    assert_eq!(uses(&gateway).await, [[0, 1]]);

    let (slow, shop) = (held_up(&gateway).await, held_up(&gateway).await);
    let is_removal =
        |seen: &Seen| seen.collection == "voucherCustomers" && seen.command == "delete";
    let mut removal = slow.proxy.as_ref().expect("a proxy").meet(is_removal);
    // It comes after that of the customer.
    let is_reservation = |seen: &Seen| {
        seen.collection == "vouchers" && matches!(&*seen.command, "findAndModify" | "update")
    };
    let mut reservation = shop.proxy.as_ref().expect("a proxy").meet(is_reservation);
    let (tell, told) = tokio::sync::oneshot::channel();
    let erasing = async {
        let first = in_time(async || persons::erase(&slow.app, EVE, false).await).await;
        tell.send(()).expect("the checkout waits for it");
        first
    };
    let placing = async {
        removal.arrived().await;
        let (client, id) = (shop.shopper(EVE), filled().await);
        let until_erased = async {
            reservation.arrived().await;
            assert_eq!(uses(&gateway).await, [[1, 1]]);
            removal.end();
            told.await.expect("the erasure ends");
            assert_eq!(uses(&gateway).await, [[1, 1]]);
            reservation.end();
        };
        let placed = checkout(&client, &id, "none", "second");
        let (placed, ()) = tokio::join!(placed, until_erased);
        placed
    };
    let (first, free) = tokio::join!(erasing, placing);
    let mut waits = first.waits.iter();
    assert!(waits.any(|wait| wait.starts_with("voucherCustomers: ")), "{first:#?}");
    assert_eq!(free["__typename"], "Order", "{free:#}");
    settled(&shop).await;
    assert_eq!(uses(&gateway).await, [[0, 2]]);

    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    assert!(uses(&gateway).await.is_empty());
    gateway.assert_sound().await;
}
