//! Ranges by day and by moment, in UTC and in other time zones.

use docgate::app::rfc3339;
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use super::{REPORT, days, hit, record};
use crate::support::Gateway;

/// A report: its total, the number of its buckets, and the hits of those that have some, by label.
type Shown = (i64, usize, Vec<(String, i64)>);

fn shown(total: i64, buckets: usize, hits: &[(&str, i64)]) -> Shown {
    (total, buckets, hits.iter().map(|(label, hits)| ((*label).to_owned(), *hits)).collect())
}

/// Reads a report of `/a` by one command. Returns also the command, and the number of documents that it examined.
async fn read(gateway: &Gateway, range: Value, by: &str, zone: Option<&str>) -> (Shown, Value) {
    let variables = json!({ "page": "/a", "range": range, "by": by, "zone": zone });
    let response = gateway.user("an-analyst", &["analyst"]).explained(REPORT, variables).await;
    let commands = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
    assert_eq!(commands.len(), 1, "{response:#}");
    let report = &response["data"]["report"];
    let buckets = report["buckets"].as_array().expect("buckets");
    let hits = buckets.iter().filter(|bucket| bucket["hits"] != 0).map(|bucket| {
        let label = bucket["label"].as_str().expect("a label").to_owned();
        (label, bucket["hits"].as_i64().expect("a number"))
    });
    let total = report["total"].as_i64().expect("a number");
    ((total, buckets.len(), hits.collect()), commands[0].clone())
}

async fn counted(gateway: &Gateway, times: &[&str]) {
    let hits: Vec<Value> = times.iter().map(|at| hit("/a", at)).collect();
    record(&gateway.service(), &hits).await;
}

fn between(from: &str, to: &str) -> Value {
    json!({ "moments": { "from": from, "to": to } })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_by_minute_may_cross_midnight() {
    let gateway = Gateway::start().await;
    counted(
        &gateway,
        &[
            "2023-12-31T23:29:59.999Z",
            "2023-12-31T23:30:00Z",
            "2023-12-31T23:59:59.999Z",
            "2024-01-01T00:00:00Z",
            "2024-01-01T00:29:59.999Z",
            "2024-01-01T00:30:00Z",
        ],
    )
    .await;
    let expected = shown(
        4,
        60,
        &[
            ("2023-12-31T23:30+00:00", 1),
            ("2023-12-31T23:59+00:00", 1),
            ("2024-01-01T00:00+00:00", 1),
            ("2024-01-01T00:29+00:00", 1),
        ],
    );
    // The minutes at both ends are included as a whole.
    for (from, to) in [
        ("2023-12-31T23:30:00Z", "2024-01-01T00:30:00Z"),
        ("2023-12-31T23:30:59.999Z", "2024-01-01T00:29:00.001Z"),
        ("2024-01-01T00:30:00+01:00", "2024-01-01T01:30:00+01:00"),
    ] {
        let (report, command) = read(&gateway, between(from, to), "MINUTE", None).await;
        assert_eq!(report, expected, "{from} {to}");
        assert_eq!(command["docsExamined"], 2, "{command:#}");
    }
    // Buckets at the ends are counted in part.
    let range = between("2023-12-31T23:30:00Z", "2024-01-01T00:30:00Z");
    for (by, buckets, hits) in [
        ("HOUR", 2, [("2023-12-31T23:00+00:00", 2), ("2024-01-01T00:00+00:00", 2)]),
        ("DAY", 2, [("2023-12-31", 2), ("2024-01-01", 2)]),
        ("MONTH", 2, [("2023-12", 2), ("2024-01", 2)]),
        ("WEEK", 2, [("2023-W52", 2), ("2024-W01", 2)]),
    ] {
        let (report, _) = read(&gateway, range.clone(), by, None).await;
        assert_eq!(report, shown(4, buckets, &hits), "{by}");
    }
    // Whole days are counted by the month's document, however they are given.
    let range = between("2023-12-31T00:00:00Z", "2024-01-02T00:00:00Z");
    let (report, command) = read(&gateway, range, "DAY", None).await;
    assert_eq!(report, shown(6, 2, &[("2023-12-31", 3), ("2024-01-01", 3)]));
    assert_eq!(command["collection"], "statsMonthly");
}

#[tokio::test(flavor = "multi_thread")]
async fn days_are_those_of_the_zone_also_when_the_clocks_are_changed() {
    let gateway = Gateway::start().await;
    counted(
        &gateway,
        &[
            "2024-03-30T23:59:00Z",
            "2024-03-31T00:00:00Z",
            "2024-03-31T00:30:00Z",
            "2024-03-31T01:00:00Z",
            "2024-03-31T22:59:00Z",
            "2024-03-31T23:00:00Z",
            "2024-10-26T22:59:00Z",
            "2024-10-26T23:00:00Z",
            "2024-10-27T00:10:00Z",
            "2024-10-27T01:10:00Z",
            "2024-10-27T23:59:00Z",
            "2024-10-28T00:00:00Z",
        ],
    )
    .await;
    let lisbon = Some("Europe/Lisbon");
    let (report, command) = read(&gateway, days("2024-03-30", "2024-04-01"), "DAY", lisbon).await;
    let hits = [("2024-03-30", 1), ("2024-03-31", 4), ("2024-04-01", 1)];
    assert_eq!(report, shown(6, 3, &hits));
    assert_eq!(command["collection"], "statsDaily");
    let (report, _) = read(&gateway, days("2024-10-26", "2024-10-28"), "DAY", lisbon).await;
    assert_eq!(report, shown(6, 3, &[("2024-10-26", 1), ("2024-10-27", 4), ("2024-10-28", 1)]));
    // A day of 23 hours, and one of 25.
    let (report, _) = read(&gateway, days("2024-03-31", "2024-03-31"), "HOUR", lisbon).await;
    let hits = [
        ("2024-03-31T00:00+00:00", 2),
        ("2024-03-31T02:00+01:00", 1),
        ("2024-03-31T23:00+01:00", 1),
    ];
    assert_eq!(report, shown(4, 23, &hits));
    let (report, _) = read(&gateway, days("2024-10-27", "2024-10-27"), "HOUR", lisbon).await;
    let hits = [
        ("2024-10-27T00:00+01:00", 1),
        ("2024-10-27T01:00+01:00", 1),
        ("2024-10-27T01:00+00:00", 1),
        ("2024-10-27T23:00+00:00", 1),
    ];
    assert_eq!(report, shown(4, 25, &hits));
    // While the zone has no offset, the month's document is enough.
    let (_, command) = read(&gateway, days("2024-01-01", "2024-01-31"), "DAY", lisbon).await;
    assert_eq!(command["collection"], "statsMonthly");
    let (report, _) = read(&gateway, days("2024-01-01", "2024-12-31"), "MONTH", lisbon).await;
    assert_eq!(report, shown(12, 12, &[("2024-03", 5), ("2024-04", 1), ("2024-10", 6)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_may_be_of_half_an_hour_and_days_may_begin_late() {
    let gateway = Gateway::start().await;
    counted(
        &gateway,
        &[
            "2024-02-29T18:29:59Z",
            "2024-02-29T18:30:00Z",
            "2024-03-01T18:29:59Z",
            "2024-03-01T18:30:00Z",
        ],
    )
    .await;
    let kolkata = Some("asia/kolkata");
    let (report, command) = read(&gateway, days("2024-02-29", "2024-03-02"), "DAY", kolkata).await;
    assert_eq!(report, shown(4, 3, &[("2024-02-29", 1), ("2024-03-01", 2), ("2024-03-02", 1)]));
    assert_eq!(command["docsExamined"], 2, "{command:#}");
    let (report, _) = read(&gateway, days("2024-03-01", "2024-03-01"), "HOUR", kolkata).await;
    let hits = [("2024-03-01T00:00+05:30", 1), ("2024-03-01T23:00+05:30", 1)];
    assert_eq!(report, shown(2, 24, &hits));
    let (report, _) =
        read(&gateway, days("2024-03-01", "2024-03-01"), "MONTH", Some("Asia/Kathmandu")).await;
    assert_eq!(report, shown(2, 1, &[("2024-03", 2)]), "15 minutes further, from 18:15");

    // The clocks change by half an hour, at midnight, and by a whole day.
    for (zone, day, by, buckets) in [
        ("Australia/Lord_Howe", "2024-04-07", "DAY", 1),
        ("Australia/Lord_Howe", "2024-04-07", "HOUR", 25),
        ("Australia/Lord_Howe", "2024-10-06", "HOUR", 24),
        ("America/Sao_Paulo", "2018-11-04", "HOUR", 23),
        ("Pacific/Apia", "2011-12-31", "HOUR", 24),
    ] {
        let ((_, found, _), _) = read(&gateway, days(day, day), by, Some(zone)).await;
        assert_eq!(found, buckets, "{zone} {day} {by}");
    }
    let analyst = gateway.user("an-analyst", &["analyst"]);
    let variables = json!({
        "page": "/a", "range": days("2011-12-30", "2011-12-30"), "by": "DAY", "zone": "Pacific/Apia",
    });
    let report = analyst.data(REPORT, variables).await;
    assert_eq!(report["report"], json!({ "total": 0, "buckets": [] }), "there was no such day");
}

#[tokio::test(flavor = "multi_thread")]
async fn weeks_months_and_years_end_where_the_calendar_says() {
    let gateway = Gateway::start().await;
    counted(
        &gateway,
        &[
            "2020-12-27T23:59:59Z",
            "2020-12-28T00:00:00Z",
            "2020-12-31T23:59:59Z",
            "2021-01-01T00:00:00Z",
            "2021-01-03T23:59:59Z",
            "2021-01-04T00:00:00Z",
            "2024-02-28T23:59:59Z",
            "2024-02-29T12:00:00Z",
            "2024-03-01T00:00:00Z",
            "2023-02-28T23:59:59Z",
            "2023-03-01T00:00:00Z",
            // The last second of a Sunday and the first of a Monday in New York, where the clocks were put forward on that
            // Sunday.
            "2021-03-15T03:59:59Z",
            "2021-03-15T04:00:00Z",
        ],
    )
    .await;
    let new_york = Some("America/New_York");
    for (first, last, zone, total, buckets, expected) in [
        // The days there are five hours behind, and five and a half ahead of those of UTC.
        ("2020-12-21", "2021-01-10", new_york, 6, 3, [("2020-W52", 2), ("2020-W53", 4)]),
        (
            "2020-12-21",
            "2021-01-10",
            Some("Asia/Kolkata"),
            6,
            3,
            [("2020-W53", 4), ("2021-W01", 2)],
        ),
        ("2021-03-08", "2021-03-21", new_york, 2, 2, [("2021-W10", 1), ("2021-W11", 1)]),
    ] {
        let (report, _) = read(&gateway, days(first, last), "WEEK", zone).await;
        assert_eq!(report, shown(total, buckets, &expected), "{zone:?}");
    }
    let week = [("2020-W52", 1), ("2020-W53", 4), ("2021-W01", 1)];
    for zone in [None, Some("Etc/UTC"), Some("Atlantic/Reykjavik")] {
        let (report, command) =
            read(&gateway, days("2020-12-21", "2021-01-10"), "WEEK", zone).await;
        assert_eq!(report, shown(6, 3, &week), "{zone:?}");
        assert_eq!(
            (&command["collection"], &command["docsExamined"]),
            (&json!("statsMonthly"), &json!(2))
        );
    }
    let (report, _) = read(&gateway, days("2020-12-21", "2021-01-10"), "MONTH", None).await;
    assert_eq!(report, shown(6, 2, &[("2020-12", 3), ("2021-01", 3)]));
    let (report, _) = read(&gateway, days("2024-02-28", "2024-03-01"), "DAY", None).await;
    assert_eq!(report, shown(3, 3, &[("2024-02-28", 1), ("2024-02-29", 1), ("2024-03-01", 1)]));
    let (report, _) = read(&gateway, days("2023-02-28", "2023-03-01"), "DAY", None).await;
    assert_eq!(report, shown(2, 2, &[("2023-02-28", 1), ("2023-03-01", 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_reads_few_documents() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    for month in 1..=12 {
        let times = (1..=28).map(|day| format!("2023-{month:02}-{day:02}T10:00:00Z"));
        let hits: Vec<Value> = times.map(|at| hit("/a", &at)).collect();
        record(&service, &hits).await;
        // Neighbours in the index.
        record(&service, &[hit("/", "2023-06-01T10:00:00Z"), hit("/ab", "2023-06-01T10:00:00Z")])
            .await;
    }
    for (range, by, zone, collection, most) in [
        (days("2023-02-01", "2023-02-28"), "DAY", None, "statsMonthly", 1),
        (days("2023-01-01", "2023-12-31"), "DAY", None, "statsMonthly", 12),
        (days("2023-01-15", "2024-01-14"), "DAY", None, "statsMonthly", 13),
        (days("2023-01-01", "2023-12-31"), "WEEK", None, "statsMonthly", 12),
        (days("2023-02-03", "2023-02-03"), "HOUR", None, "statsDaily", 1),
        (days("2023-02-03", "2023-02-03"), "DAY", Some("Europe/Berlin"), "statsDaily", 2),
        (days("2023-01-01", "2023-12-31"), "MONTH", Some("America/New_York"), "statsDaily", 366),
    ] {
        let ((total, ..), command) = read(&gateway, range, by, zone).await;
        assert!(total > 0, "{by} {zone:?}");
        let examined = command["docsExamined"].as_i64().expect("a number");
        assert!(examined <= most, "{by} {zone:?}: {command:#}");
        assert_eq!(
            (&command["collection"], &command["returned"]),
            (&json!(collection), &json!(examined))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_buckets_end_now() {
    let gateway = Gateway::start().await;
    record(&gateway.service(), &[json!({ "site": "a.example", "page": "/a" })]).await;
    let now = gateway.app.clock().timestamp_millis();
    let at = |before: i64| rfc3339(DateTime::from_millis(now - before));
    counted(&gateway, &[&at(2 * 3_600_000), &at(25 * 3_600_000)]).await;
    for (count, by, zone, least) in [
        (10, "MINUTE", None, 1),
        (1, "MINUTE", Some("Asia/Kolkata"), 0),
        (4, "HOUR", Some("Asia/Kolkata"), 2),
        (3, "DAY", Some("Europe/Lisbon"), 3),
        (3, "DAY", None, 3),
        (2, "WEEK", Some("America/New_York"), 3),
        (2, "MONTH", None, 3),
        (1_500, "HOUR", None, 3),
    ] {
        let ((total, buckets, _), _) = read(&gateway, json!({ "last": count }), by, zone).await;
        assert_eq!(buckets, count, "{by} {zone:?}");
        assert!((least..=3).contains(&total), "{by} {zone:?}: {total}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_cant_be_is_refused_by_its_argument() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let analyst = gateway.user("an-analyst", &["analyst"]);
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.record();
    let year = days("2023-01-01", "2023-12-31");
    let noon = "2024-01-01T12:00:00Z";
    let long = "x".repeat(100);
    for (range, by, zone, field) in [
        (year.clone(), "DAY", "Mars/Olympus", "timeZone"),
        (year.clone(), "DAY", "", "timeZone"),
        (year.clone(), "DAY", "+01:00", "timeZone"),
        (year.clone(), "DAY", "EST5EDT4,M3", "timeZone"),
        (year.clone(), "DAY", long.as_str(), "timeZone"),
        (days("2022-01-01", "2023-12-31"), "MONTH", "Europe/Berlin", "range"),
        (between("2020-01-01T12:00:00Z", noon), "MONTH", "UTC", "range"),
        (between(noon, noon), "MINUTE", "UTC", "range.moments.to"),
        (between(noon, "2024-01-01T11:59:59Z"), "MINUTE", "UTC", "range.moments.to"),
        (between("1969-12-31T23:59:59Z", noon), "MINUTE", "UTC", "range.moments.from"),
        (between(noon, "3000-01-01T00:00:01Z"), "MINUTE", "UTC", "range.moments.to"),
        (between(noon, "2024-01-02T13:01:00Z"), "MINUTE", "UTC", "range"),
        (json!({ "last": 0 }), "MINUTE", "UTC", "range.last"),
        (json!({ "last": -1 }), "MINUTE", "UTC", "range.last"),
        (json!({ "last": 1_501 }), "MINUTE", "UTC", "range.last"),
        (json!({ "last": 402 }), "DAY", "Asia/Tokyo", "range"),
    ] {
        let variables = json!({ "page": "/a", "range": range, "by": by, "zone": zone });
        let response = analyst.run(REPORT, variables).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{range} {zone}: {response:#}");
        assert_eq!(extensions["field"], field, "{response:#}");
    }
    for range in
        [json!({}), json!({ "last": 1, "days": { "from": "2024-01-01", "to": "2024-01-01" } })]
    {
        let variables = json!({ "page": "/a", "range": range, "by": "DAY" });
        assert!(analyst.run(REPORT, variables).await["errors"][0].is_object(), "{range}");
    }
    assert!(proxy.seen().is_empty(), "{:?}", proxy.seen());
}
