//! Sessions and their roll-ups: each level is always what a recount of the sessions gives.

mod cuts;
mod recording;
mod runs;

use std::collections::BTreeMap;

use docgate::config::Config;
use futures_util::TryStreamExt;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use crate::support::{Client, Gateway};

const RECORD: &str = "mutation($sessions: [SessionInput!]!, $key: ID) {
    recordSessions(input: { sessions: $sessions, idempotencyKey: $key }) {
        __typename ... on SessionsRecorded { count } ... on UserError { code }
        ... on SessionTooLate { field } ... on InvalidInput { field } } }";
const RUN: &str = "mutation($max: Int) { runRollup(input: { maxSessions: $max }) {
    __typename ... on RolledUp { sessions upTo isComplete } ... on InvalidInput { field } } }";
const REPORT: &str = "query($user: ID, $level: SessionLevel!, $from: DateTime!, $to: DateTime!) {
    sessionReport(userId: $user, level: $level, from: $from, to: $to) {
        count totalSeconds meanSeconds
        periods { startsAt count totalSeconds meanSeconds shortestSeconds longestSeconds } } }";

/// Each level with its collection and its unit in MongoDB.
const LEVELS: [(&str, &str, &str); 5] = [
    ("HOUR", "sessionStatsHourly", "hour"),
    ("DAY", "sessionStatsDaily", "day"),
    ("WEEK", "sessionStatsWeekly", "week"),
    ("MONTH", "sessionStatsMonthly", "month"),
    ("YEAR", "sessionStatsYearly", "year"),
];

/// Sessions are accepted however late they are, so that tests can name their times. A run has the time that it needs on a
/// busy machine, and the next one reads again what has just arrived.
fn late(config: &mut Config) {
    config.session_retention_seconds = 316_000_000;
    config.flow_run_millis = 60_000;
    config.flow_command_millis = 10_000;
}

fn session(user: &str, at: &str, seconds: i64) -> Value {
    json!({ "userId": user, "at": at, "seconds": seconds })
}

async fn record(client: &Client, sessions: &[Value], key: Option<&str>) -> Value {
    client.field(RECORD, json!({ "sessions": sessions, "key": key })).await
}

/// Records sessions, which must succeed.
async fn recorded(gateway: &Gateway, sessions: &[Value]) {
    let said = record(&gateway.service(), sessions, None).await;
    assert_eq!(said, json!({ "__typename": "SessionsRecorded", "count": sessions.len() }));
}

/// Rolls up, which must succeed, until a run is complete: a busy machine may need several. Returns the number of new
/// sessions.
async fn roll_up(gateway: &Gateway) -> i64 {
    let mut sessions = 0;
    for _ in 0..100 {
        let said = gateway.admin().field(RUN, json!({})).await;
        sessions += said["sessions"].as_i64().unwrap_or_else(|| panic!("a number: {said:#}"));
        if said["isComplete"] == true {
            return sessions;
        }
    }
    panic!("no run is complete");
}

async fn report(client: &Client, user: Option<&str>, level: &str, [from, to]: [&str; 2]) -> Value {
    let variables = json!({ "user": user, "level": level, "from": from, "to": to });
    client.field(REPORT, variables).await
}

/// Count, total, shortest and longest by user and start.
type Stats = BTreeMap<(String, DateTime), [i64; 4]>;

fn stats(found: Vec<Document>) -> Stats {
    let stat = |found: Document| {
        let id = found.get_document("_id").expect("an id");
        let number = |name: &str| match found.get(name) {
            Some(number) => number.as_i64().or(number.as_i32().map(i64::from)).expect("a number"),
            None => panic!("{name} is missing in {found}"),
        };
        let user = id.get_str("user").expect("a user").to_owned();
        let at = *id.get_datetime("at").expect("a start");
        ((user, at), ["count", "total", "shortest", "longest"].map(number))
    };
    found.into_iter().map(stat).collect()
}

/// Every level is a recount of the sessions that are stored, with weeks that begin on this day.
async fn assert_recount(gateway: &Gateway, week_start: &str) {
    let sessions = gateway.database.collection::<Document>("sessions");
    for (level, collection, unit) in LEVELS {
        let start = match unit {
            "week" => doc! { "date": "$at", "unit": unit, "startOfWeek": week_start },
            unit => doc! { "date": "$at", "unit": unit },
        };
        let recount = [
            doc! { "$match": { "arrivedAt": { "$gt": DateTime::from_millis(0) } } },
            doc! { "$group": {
                "_id": { "user": "$slot.user", "at": { "$dateTrunc": start } },
                "count": { "$sum": 1 }, "total": { "$sum": "$seconds" },
                "shortest": { "$min": "$seconds" }, "longest": { "$max": "$seconds" },
            } },
        ];
        let found = sessions.aggregate(recount).await.expect("a cursor");
        let recount = stats(found.try_collect().await.expect("documents"));
        assert_eq!(stats(gateway.stored(collection).await), recount, "{level}");
    }
    gateway.assert_sound().await;
}

/// Starts of the periods, with count and total.
fn periods(report: &Value) -> Vec<(String, i64, i64)> {
    let periods = report["periods"].as_array().expect("periods").iter();
    let number = |value: &Value| value.as_i64().expect("a number");
    let period = |one: &Value| {
        let start = one["startsAt"].as_str().expect("a time").replace(":00:00.000Z", "");
        (start, number(&one["count"]), number(&one["totalSeconds"]))
    };
    periods.map(period).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_every_level() {
    let gateway = Gateway::with(late).await;
    let times = [
        ("2020-02-29T23:59:59.999Z", 1),
        ("2020-12-27T12:00:00Z", 10),
        ("2020-12-28T00:00:00Z", 100),
        ("2020-12-31T23:00:00Z", 1_000),
        ("2020-12-31T23:59:59Z", 3_000),
        ("2021-01-01T00:00:00Z", 10_000),
        ("2021-01-03T23:00:00Z", 20_000),
        ("2021-01-04T00:00:00Z", 0),
    ];
    let sessions: Vec<_> = times.iter().map(|(at, seconds)| session("ann", at, *seconds)).collect();
    recorded(&gateway, &sessions).await;
    recorded(&gateway, &[session("bob", "2020-12-31T23:00:00Z", 7)]).await;
    assert_eq!(roll_up(&gateway).await, 9);
    assert_recount(&gateway, "monday").await;
    let ann = gateway.shopper("ann");
    let years = ["2020-01-01T00:00:00Z", "2022-01-01T00:00:00Z"];
    let expected = |all: &[(&str, i64, i64)]| -> Vec<(String, i64, i64)> {
        all.iter().map(|(at, count, total)| ((*at).to_owned(), *count, *total)).collect()
    };
    let hours = ["2020-12-31T22:30:00Z", "2021-01-01T01:00:00Z"];
    for (level, between, all) in [
        ("HOUR", hours, expected(&[("2020-12-31T23", 2, 4_000), ("2021-01-01T00", 1, 10_000)])),
        ("HOUR", ["2020-12-31T23:30:00Z", "2021-01-01T00:00:00Z"], {
            expected(&[("2020-12-31T23", 2, 4_000)])
        }),
        ("DAY", years, {
            expected(&[
                ("2020-02-29T00", 1, 1),
                ("2020-12-27T00", 1, 10),
                ("2020-12-28T00", 1, 100),
                ("2020-12-31T00", 2, 4_000),
                ("2021-01-01T00", 1, 10_000),
                ("2021-01-03T00", 1, 20_000),
                ("2021-01-04T00", 1, 0),
            ])
        }),
        // Week 53 begins on the 28th and ends in the next year.
        ("WEEK", years, {
            expected(&[
                ("2020-02-24T00", 1, 1),
                ("2020-12-21T00", 1, 10),
                ("2020-12-28T00", 5, 34_100),
                ("2021-01-04T00", 1, 0),
            ])
        }),
        ("MONTH", years, {
            expected(&[
                ("2020-02-01T00", 1, 1),
                ("2020-12-01T00", 4, 4_110),
                ("2021-01-01T00", 3, 30_000),
            ])
        }),
        ("YEAR", years, expected(&[("2020-01-01T00", 5, 4_111), ("2021-01-01T00", 3, 30_000)])),
        ("YEAR", ["2021-06-01T00:00:00Z", "2021-06-02T00:00:00Z"], {
            expected(&[("2021-01-01T00", 3, 30_000)])
        }),
    ] {
        let found = report(&ann, None, level, between).await;
        assert_eq!(periods(&found), all, "{level} {between:?}");
        assert_eq!(found["count"], all.iter().map(|one| one.1).sum::<i64>());
    }
    let year = report(&ann, Some("ann"), "YEAR", ["2021-01-01T00:00:00Z", years[1]]).await;
    assert_eq!(
        year,
        json!({ "count": 3, "totalSeconds": 30_000, "meanSeconds": 10_000.0, "periods": [{
            "startsAt": "2021-01-01T00:00:00.000Z", "count": 3, "totalSeconds": 30_000,
            "meanSeconds": 10_000.0, "shortestSeconds": 0, "longestSeconds": 20_000,
        }] })
    );
    let none = report(&ann, None, "DAY", ["2022-01-01T00:00:00Z", "2022-02-01T00:00:00Z"]).await;
    let empty = json!({ "count": 0, "totalSeconds": 0, "meanSeconds": null, "periods": [] });
    assert_eq!(none, empty);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_when_a_week_begins() {
    let gateway = Gateway::with(|config| {
        late(config);
        config.session_week_start = docgate::config::Weekday::Sunday;
    })
    .await;
    let days = ["2021-01-02T12:00:00Z", "2021-01-03T00:00:00Z", "2021-01-09T23:59:59Z"];
    recorded(&gateway, &days.map(|at| session("ann", at, 60))).await;
    roll_up(&gateway).await;
    let between = ["2020-12-27T00:00:00Z", "2021-02-01T00:00:00Z"];
    let found = report(&gateway.shopper("ann"), None, "WEEK", between).await;
    let weeks = [("2020-12-27T00".to_owned(), 1, 60), ("2021-01-03T00".to_owned(), 2, 120)];
    assert_eq!(periods(&found), weeks);
    assert_recount(&gateway, "sunday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_one_index_range_of_ones_own_sessions() {
    let gateway = Gateway::with(late).await;
    recorded(&gateway, &[session("ann", "2024-01-01T00:00:00Z", 60)]).await;
    roll_up(&gateway).await;
    let year = ["2024-01-01T00:00:00Z", "2024-03-01T00:00:00Z"];
    let variables = |user: Option<&str>, [from, to]: [&str; 2], level: &str| json!({ "user": user, "level": level, "from": from, "to": to });
    let response = gateway.shopper("ann").explained(REPORT, variables(None, year, "DAY")).await;
    assert_eq!(response["data"]["sessionReport"]["count"], 1, "{response:#}");
    let sent = crate::support::commands(&response);
    assert_eq!(sent, ["find sessionStatsDaily"]);
    let analyst = gateway.user("an-analyst", &["analyst"]);
    assert_eq!(report(&analyst, Some("ann"), "HOUR", year).await["count"], 1);
    // Another one learns nothing, not even whether there is such a user.
    for user in ["ann", "nobody"] {
        let code =
            gateway.shopper("bob").error_code(REPORT, variables(Some(user), year, "DAY")).await;
        assert_eq!(code, "FORBIDDEN");
    }
    // Without `to`, the fault is one of `from`.
    let since = "query($from: DateTime!) { sessionReport(level: HOUR, from: $from) { count } }";
    for from in [year[0], "2099-01-01T00:00:00Z"] {
        let response = analyst.run(since, json!({ "from": from })).await;
        assert_eq!(response["errors"][0]["extensions"]["field"], "from", "{response:#}");
    }
    // Without `from`, it is one of `to`.
    let until = "query($to: DateTime!) { sessionReport(level: YEAR, to: $to) { count } }";
    for to in ["2000-01-01T00:00:00Z", "1960-01-01T00:00:00Z", "9999-01-01T00:00:00Z"] {
        let response = analyst.run(until, json!({ "to": to })).await;
        assert_eq!(response["errors"][0]["extensions"]["field"], "to", "{response:#}");
    }
    for (between, level, field) in [
        ([year[1], year[0]], "DAY", "to"),
        ([year[0], year[0]], "DAY", "to"),
        ([year[0], "2024-03-04T00:00:00Z"], "HOUR", "to"),
        ([year[0], "2099-01-01T00:00:00Z"], "MONTH", "from"),
        (["1969-01-01T00:00:00Z", year[0]], "YEAR", "from"),
        ([year[0], "9999-01-01T00:00:00Z"], "YEAR", "to"),
    ] {
        let response = analyst.run(REPORT, variables(Some("ann"), between, level)).await;
        let extensions = &response["errors"][0]["extensions"];
        if field == "from" && level == "MONTH" {
            // 900 months are few enough.
            assert_eq!(response["data"]["sessionReport"]["count"], 1, "{response:#}");
            continue;
        }
        assert_eq!(
            (&extensions["code"], &extensions["field"]),
            (&json!("BAD_USER_INPUT"), &json!(field))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_as_many_periods_as_it_may() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    // 1,500 periods each. Of months and years no two need have the same length.
    for (level, from, to, beyond) in [
        ("HOUR", "2024-01-01T00:00:00Z", "2024-03-03T12:00:00Z", "2024-03-03T12:00:00.001Z"),
        ("DAY", "2024-01-01T07:00:00Z", "2028-02-09T00:00:00Z", "2028-02-09T00:00:00.001Z"),
        ("WEEK", "2024-01-01T00:00:00Z", "2052-09-30T00:00:00Z", "2052-09-30T00:00:00.001Z"),
        ("MONTH", "2000-01-31T00:00:00Z", "2125-01-01T00:00:00Z", "2125-01-01T00:00:00.001Z"),
        ("YEAR", "2000-12-31T00:00:00Z", "3500-01-01T00:00:00Z", "3500-01-01T00:00:00.001Z"),
    ] {
        let found = report(&ann, None, level, [from, to]).await;
        assert_eq!(found["count"], 0, "{level}: {found:#}");
        let variables = json!({ "level": level, "from": from, "to": beyond });
        let refused = ann.run(REPORT, variables).await;
        assert_eq!(refused["errors"][0]["extensions"]["field"], "to", "{level}: {refused:#}");
    }
}
