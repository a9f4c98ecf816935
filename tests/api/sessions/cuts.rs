//! Recording and rolling up, cut at every command in every way.

use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use super::{RECORD, RUN, assert_recount, late, record, roll_up, session};
use crate::support::{Gateway, commands, cuts, short_bounds};

const AT: &str = "2024-02-29T23:30:00Z";

fn settings(config: &mut docgate::config::Config) {
    late(config);
    short_bounds(config);
}

#[tokio::test(flavor = "multi_thread")]
async fn recording_may_be_cut_anywhere() {
    let sessions =
        |user: &String| json!([session(user, AT, 1), session(user, AT, 2), session(user, AT, 4)]);
    cuts::everywhere(
        settings,
        async |_, n| format!("user {n}"),
        async |gateway, user| {
            let variables = json!({ "sessions": sessions(user), "key": user });
            gateway.service().send(RECORD, variables).await.ok();
        },
        async |gateway, case| {
            let all = gateway.database.collection::<Document>("sessions");
            let hour = gateway.app.clock();
            let hour = doc! { "slot": { "$lt": { "hour": hour } }, "slot.user": &case.subject };
            assert_eq!(all.count_documents(hour).await.expect("a count"), 3, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_be_cut_anywhere() {
    cuts::everywhere_apart(
        settings,
        async |gateway, n| {
            // A first run also inserts the lease and the watermark.
            if n == 1 {
                roll_up(gateway).await;
            }
            // As if the lease of the case before had run out.
            let leases = gateway.database.collection::<Document>("leases");
            let over = doc! { "$set": { "until": DateTime::from_millis(0) } };
            leases.update_one(doc! { "_id": "sessionRollup" }, over).await.expect("updated");
            // A user of its own, and one whom all cases share.
            let user = format!("user {n}");
            let sessions = [session(&user, AT, 1), session("ann", AT, 2)];
            let said = record(&gateway.service(), &sessions, Some(&user)).await;
            assert_eq!(said["count"], 2, "{said:#}");
            user
        },
        async |gateway, _| {
            gateway.admin().send(RUN, json!({})).await.ok();
        },
        async |gateway, case| {
            let stats = gateway.stored("sessionStatsYearly").await;
            let found = super::stats(stats);
            let of = found.iter().filter(|((user, _), _)| *user == case.subject);
            let counts: Vec<i64> = of.map(|(_, [count, ..])| *count).collect();
            assert_eq!(counts, [1], "{case:?}");
        },
        async |gateway| {
            gateway.sweep().await;
            gateway.assert_sound().await;
            roll_up(gateway).await;
            assert_recount(gateway, "monday").await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_a_call() {
    let gateway = Gateway::with(late).await;
    let sessions = [session("ann", AT, 1), session("bob", AT, 2)];
    let service = gateway.service();
    let response = service.explained(RECORD, json!({ "sessions": sessions, "key": "k" })).await;
    let sent = commands(&response);
    assert_eq!(sent.iter().filter(|sent| *sent == "update sessions").count(), 2, "{sent:?}");
    assert!(sent.len() <= 3, "the clock may be read: {sent:?}");
    roll_up(&gateway).await;
    let response = gateway.admin().explained(RUN, json!({})).await;
    let sent = commands(&response);
    let merges = [
        "aggregate sessions",
        "aggregate sessionStatsHourly",
        "aggregate sessionStatsDaily",
        "aggregate sessionStatsDaily",
        "aggregate sessionStatsMonthly",
    ];
    let found: Vec<&String> = sent.iter().filter(|sent| sent.starts_with("aggregate")).collect();
    assert_eq!(found, merges.iter().collect::<Vec<_>>(), "{sent:?}");
}
