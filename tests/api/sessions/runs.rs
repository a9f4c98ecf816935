//! Runs of the roll-up: late sessions, runs at once, slow runs, long backlogs, and the end of what is kept.

use std::time::Duration;

use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{LEVELS, RUN, assert_recount, late, recorded, roll_up, session};
use crate::support::{Gateway, proxy::Cut, short_bounds};

fn at(millis: i64) -> String {
    docgate::app::rfc3339(DateTime::from_millis(millis))
}

const HOUR: i64 = 3_600_000;

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_arrive_late_correct_every_level() {
    let gateway = Gateway::with(|_| {}).await;
    let now = gateway.app.clock().timestamp_millis();
    let users = ["ann", "bob", "cyd"];
    for round in 0..6_i64 {
        // In this hour, an hour ago, and up to five days ago.
        let ago = [0, HOUR, 26 * HOUR, 120 * HOUR][usize::try_from(round % 4).expect("a number")];
        let sessions: Vec<Value> = users
            .iter()
            .zip(round..)
            .map(|(user, seconds)| session(user, &at(now - ago), seconds))
            .collect();
        recorded(&gateway, &sessions).await;
        assert_eq!(roll_up(&gateway).await, 3, "{round}");
        assert_recount(&gateway, "monday").await;
    }
    assert_eq!(roll_up(&gateway).await, 0);
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_at_once_while_sessions_arrive() {
    let gateway = Gateway::with(late).await;
    let sibling = gateway.sibling().await;
    let gateways = [&gateway, &sibling];
    let recording = (0..40_i64).map(async |number| {
        tokio::time::sleep(Duration::from_millis(number.unsigned_abs() * 20)).await;
        let user = format!("user {}", number % 7);
        let time = 1_700_000_000_000 + number % 5 * 13 * HOUR;
        recorded(gateways[usize::from(number % 2 == 0)], &[session(&user, &at(time), number)])
            .await;
    });
    let running = (0..10).map(async |number: usize| {
        tokio::time::sleep(Duration::from_millis(60) * u32::try_from(number).expect("few")).await;
        // One that had to wait for too long leaves it to the others.
        let _ = gateways[number % 2].admin().send(RUN, json!({})).await;
    });
    tokio::join!(join_all(recording), join_all(running));
    roll_up(&gateway).await;
    assert_recount(&gateway, "monday").await;
}

/// Lets one run stop at its command number `at`, lets another one run with more sessions meanwhile, and then lets the
/// first one go on.
async fn overtake(at: usize) {
    let gateway = Gateway::with(late).await;
    let time = "2024-05-06T07:08:09Z";
    recorded(&gateway, &[session("ann", time, 10), session("bob", time, 10)]).await;
    let slow = gateway.sibling_behind_proxy().await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command == "aggregate");
    proxy.cut(at, Cut::Hold);
    let admin = slow.admin();
    let (first, ()) = tokio::join!(admin.run(RUN, json!({})), async {
        proxy.reached().await;
        recorded(&gateway, &[session("ann", "2024-05-06T07:30:00Z", 100)]).await;
        // As if the lease had run out.
        let leases = gateway.database.collection::<Document>("leases");
        leases.delete_one(doc! { "_id": "sessionRollup" }).await.expect("removed");
        assert_eq!(roll_up(&gateway).await, 3);
        recorded(&gateway, &[session("ann", "2024-05-06T07:50:00Z", 1_000)]).await;
        proxy.release().await;
    });
    assert!(first["errors"].is_array(), "it was overtaken: {first:#}");
    gateway.assert_sound().await;
    assert_eq!(roll_up(&gateway).await, 1);
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_overtaken_loses_nothing() {
    join_all((0..5).map(overtake)).await;
}

/// Changes the hour of the only session as if a run with this fence had computed it.
async fn tamper(gateway: &Gateway, fence: i64) {
    let hours = gateway.database.collection::<Document>("sessionStatsHourly");
    let id = gateway.stored("sessionStatsHourly").await.remove(0).remove("_id");
    let changed = doc! { "$set": { "total": 77_i64, "fence": fence } };
    hours.update_one(doc! { "_id": id }, changed).await.expect("updated");
}

async fn hours(gateway: &Gateway) -> Vec<i64> {
    let found = gateway.stored("sessionStatsHourly").await;
    found.iter().map(|hour| hour.get_i64("total").expect("a total")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_later_run_has_computed_stays() {
    let gateway = Gateway::with(late).await;
    recorded(&gateway, &[session("ann", "2024-05-06T07:08:09Z", 10)]).await;
    roll_up(&gateway).await;
    tamper(&gateway, 3).await;
    // The second run reads the session again, because it has just arrived.
    roll_up(&gateway).await;
    assert_eq!(hours(&gateway).await, [77]);
    // The third run has the same fence, and the sum is right again.
    roll_up(&gateway).await;
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_computes_nothing_after_its_deadline() {
    let gateway = Gateway::with(|config| {
        late(config);
        // Long enough to come to its computation.
        config.flow_run_millis = 4_000;
        config.flow_command_millis = 2_000;
    })
    .await;
    recorded(&gateway, &[session("ann", "2024-05-06T07:08:09Z", 10)]).await;
    roll_up(&gateway).await;
    tamper(&gateway, 0).await;
    recorded(&gateway, &[session("ann", "2024-05-06T07:30:00Z", 100)]).await;
    let slow = gateway.sibling_behind_proxy().await;
    let (proxy, admin) = (slow.proxy.as_ref().expect("a proxy"), slow.admin());
    proxy.count_only(|seen| seen.command == "aggregate");
    proxy.cut(0, Cut::Hold);
    let (said, ()) = tokio::join!(admin.run(RUN, json!({})), async {
        proxy.reached().await;
        tokio::time::sleep(gateway.app.bounds().attempt).await;
        proxy.release().await;
    });
    assert!(said["errors"].is_array(), "it was too slow: {said:#}");
    assert_eq!(hours(&gateway).await, [77]);
    roll_up(&gateway).await;
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_becomes_visible_after_the_watermark_is_read_by_the_next_run() {
    let gateway = Gateway::with(late).await;
    recorded(&gateway, &[session("ann", "2024-05-06T07:08:09Z", 10)]).await;
    roll_up(&gateway).await;
    let rollup = gateway.stored("sessionRollups").await.remove(0);
    let upto = rollup.get_datetime("upto").expect("a watermark").timestamp_millis();
    // Its insert began before the run did.
    let mut session = gateway.stored("sessions").await.remove(0);
    session.insert("_id", "another.00");
    session.insert("arrivedAt", DateTime::from_millis(upto - 3_000));
    let sessions = gateway.database.collection::<Document>("sessions");
    sessions.insert_one(session).await.expect("inserted");
    roll_up(&gateway).await;
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_backlog_is_rolled_up_part_by_part() {
    let gateway = Gateway::with(late).await;
    for call in 0..8_i64 {
        let sessions: Vec<Value> = (0..100)
            .map(|number| {
                let user = format!("user {}", number % 50);
                session(&user, &at(1_700_000_000_000 + (call * 100 + number) * HOUR), number)
            })
            .collect();
        recorded(&gateway, &sessions).await;
    }
    // All of them arrived within one grace period; still each run gets further than the one before.
    for _ in 0..2 {
        let said = gateway.admin().field(RUN, json!({ "max": 1 })).await;
        assert_eq!(
            (&said["sessions"], &said["isComplete"]),
            (&json!(100), &json!(false)),
            "{said:#}"
        );
        gateway.assert_sound().await;
    }
    // What arrives meanwhile belongs to the next window.
    recorded(&gateway, &[session("late", "2024-05-06T07:08:09Z", 10)]).await;
    assert_eq!(roll_up(&gateway).await, 600);
    gateway.assert_sound().await;
    assert_eq!(roll_up(&gateway).await, 1);
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_rolls_up_at_intervals() {
    let gateway = Gateway::with(|config| {
        late(config);
        short_bounds(config);
        config.session_rollup_seconds = 1;
    })
    .await;
    gateway.sweep().await;
    assert!(gateway.stored("sessionRollups").await.is_empty(), "there is nothing to roll up");
    recorded(&gateway, &[session("ann", "2024-05-06T07:08:09Z", 10)]).await;
    // With short bounds a busy machine may leave a part to the next sweep.
    let rolled_up = async || {
        let before = gateway.stored("sessionStatsYearly").await;
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(1_100)).await;
            gateway.sweep().await;
            if gateway.stored("sessionStatsYearly").await != before {
                break;
            }
        }
        assert_recount(&gateway, "monday").await;
    };
    rolled_up().await;
    recorded(&gateway, &[session("ann", "2024-05-06T07:08:09Z", 20)]).await;
    rolled_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_removed_when_their_hour_cant_change_any_more() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.session_retention_seconds = 60;
    })
    .await;
    let now = gateway.app.clock().timestamp_millis();
    recorded(&gateway, &[session("ann", &at(now - 30_000), 10)]).await;
    let recent = gateway.stored("sessions").await.remove(0);
    let sessions = gateway.database.collection::<Document>("sessions");
    let old = |id: &str, hours: i64, seconds: i64| {
        let (mut old, time) = (recent.clone(), now - hours * HOUR);
        old.insert("_id", id);
        old.insert("at", DateTime::from_millis(time));
        let hour = DateTime::from_millis(time - time.rem_euclid(HOUR));
        old.insert("slot", doc! { "hour": hour, "user": "ann" });
        old.insert("seconds", seconds);
        old.insert("arrivedAt", DateTime::from_millis(time + 1_000));
        old
    };
    let all = [old("a.00", 5, 1), old("b.00", 5, 2), old("c.00", 30, 4)];
    sessions.insert_many(all).await.expect("inserted");
    assert_eq!(roll_up(&gateway).await, 4);
    gateway.assert_sound().await;
    assert_eq!(gateway.stored("sessions").await.len(), 1, "three are too old");
    let reports = async || {
        let mut all = Vec::new();
        for (_, collection, _) in LEVELS {
            all.push(super::stats(gateway.stored(collection).await));
        }
        all
    };
    let before = reports().await;
    // One whose insert took hours can't lower the sums of the removed ones.
    let mut lost = old("d.00", 5, 8);
    lost.insert("arrivedAt", DateTime::from_millis(gateway.app.clock().timestamp_millis()));
    sessions.insert_one(lost).await.expect("inserted");
    roll_up(&gateway).await;
    assert_eq!(reports().await, before);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_a_level_that_isnt_right() {
    // Sessions of the last grace period may not be rolled up yet; here it is short.
    let gateway = Gateway::with(|config| {
        late(config);
        short_bounds(config);
    })
    .await;
    recorded(&gateway, &[session("ann", "2024-05-06T07:08:09Z", 10)]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    roll_up(&gateway).await;
    gateway.assert_sound().await;
    for (_, collection, _) in LEVELS {
        let stats = gateway.database.collection::<Document>(collection);
        let before = gateway.stored(collection).await.remove(0);
        let id = doc! { "_id": before.get("_id") };
        for field in ["count", "total", "longest", "shortest"] {
            stats.update_one(id.clone(), doc! { "$inc": { field: 1 } }).await.expect("updated");
            let report = gateway.check().await;
            stats.replace_one(id.clone(), &before).await.expect("replaced");
            let broken = |(rule, found): &&(String, Vec<String>)| {
                rule.starts_with("sessions: ") && !found.is_empty()
            };
            assert!(report.rules.iter().any(|rule| broken(&rule)), "{collection} {field}");
        }
        stats.delete_one(id).await.expect("removed");
        let report = gateway.check().await;
        assert!(!report.is_clean(), "{collection}");
        stats.insert_one(&before).await.expect("inserted");
    }
    gateway.assert_sound().await;
}
