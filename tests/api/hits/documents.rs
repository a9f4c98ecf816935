//! The documents: their totals and the top pages, their creation ahead of time, the check and the repair.

use std::time::Duration;

use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{RECORD_ONCE, hit, record, report};
use crate::{
    cli::{done, on},
    support::{Gateway, proxy::Cut, short_bounds, until},
};

const TOP: &str = "query($site: String!, $period: TopPagesPeriod!, $first: Int) {
    topPages(site: $site, period: $period, first: $first) { page hits } }";

async fn top(gateway: &Gateway, site: &str, period: Value, first: i64) -> Vec<(String, i64)> {
    let variables = json!({ "site": site, "period": period, "first": first });
    let response = gateway.user("an-analyst", &["analyst"]).explained(TOP, variables).await;
    let command = &response["extensions"]["docgate"]["commands"][0];
    let pages = response["data"]["topPages"].as_array().expect("pages");
    assert_eq!(command["docsExamined"], pages.len(), "{response:#}");
    let page = |page: &Value| {
        (page["page"].as_str().expect("a page").to_owned(), page["hits"].as_i64().expect("hits"))
    };
    pages.iter().map(page).collect()
}

fn pages(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(page, hits)| ((*page).to_owned(), *hits)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_viewed_pages_come_from_an_index() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = "2024-01-05T10:00:00Z";
    let times = |page: &str, count: usize| vec![hit(page, at); count];
    record(&service, &[times("/a", 3), times("/b", 5), times("/c", 1), times("$d", 2)].concat())
        .await;
    record(&service, &[hit("/a", "2024-01-06T00:00:00Z"), hit("/e", "2024-02-01T00:00:00Z")]).await;
    // A site that begins like the other one, and one with the signs of paths.
    for site in ["a.example2", "$a/b.c"] {
        let hits = vec![json!({ "site": site, "page": "/z", "at": at }); 9];
        record(&service, &hits).await;
        assert_eq!(
            top(&gateway, site, json!({ "day": "2024-01-05" }), 5).await,
            pages(&[("/z", 9)])
        );
    }
    let day = json!({ "day": "2024-01-05" });
    let all = pages(&[("/b", 5), ("/a", 3), ("$d", 2), ("/c", 1)]);
    assert_eq!(top(&gateway, "a.example", day.clone(), 100).await, all);
    assert_eq!(top(&gateway, "a.example", day.clone(), 2).await, all[..2]);
    let month = json!({ "month": "2024-01" });
    assert_eq!(top(&gateway, "a.example", month, 2).await, pages(&[("/b", 5), ("/a", 4)]));
    assert_eq!(top(&gateway, "a.example", json!({ "month": "2024-03" }), 2).await, []);
    // Hits with a key are in it as well.
    let keyed = json!({ "hits": times("/c", 6), "idempotencyKey": "one" });
    for _ in 0..2 {
        service.field(RECORD_ONCE, keyed.clone()).await;
    }
    assert_eq!(top(&gateway, "a.example", day, 1).await, pages(&[("/c", 7)]));

    let analyst = gateway.user("an-analyst", &["analyst"]);
    for (site, period, first, field) in [
        ("", json!({ "month": "2024-01" }), 1, "site"),
        ("a", json!({ "month": "2024-1" }), 1, "period.month"),
        ("a", json!({ "month": "2024-13" }), 1, "period.month"),
        ("a", json!({ "month": "2024-01-01" }), 1, "period.month"),
        ("a", json!({ "day": "2024-01-01" }), 0, "first"),
        ("a", json!({ "day": "2024-01-01" }), 101, "first"),
    ] {
        let variables = json!({ "site": site, "period": period, "first": first });
        let response = analyst.run(TOP, variables).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{response:#}");
        assert_eq!(extensions["field"], field, "{response:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_day_is_there_before_its_first_hit() {
    let gateway = Gateway::with(|config| config.hits_ahead = 1).await;
    let service = gateway.service();
    let tomorrow = gateway.app.clock().timestamp_millis() + 86_400_000;
    let day = docgate::app::rfc3339(DateTime::from_millis(tomorrow))[..10].to_owned();
    // One of now, one of long ago, for which there is nothing to create.
    let hits = [json!({ "site": "a.example", "page": "/a" }), hit("/b", "2024-01-01T10:00:00Z")];
    record(&service, &hits).await;
    let mut found = None;
    until("the next day is there", async || {
        let stored = gateway.stored("statsDaily").await;
        found = stored.into_iter().find(|one| {
            one.get_document("_id").is_ok_and(|id| id.get_str("date").is_ok_and(|date| date == day))
        });
        found.is_some()
    })
    .await;
    let mut created = found.expect("the next day's document");
    assert_eq!(created.get_document("minute").expect("minutes").len(), 24);
    let minutes = created.get_document("minute").and_then(|all| all.get_document("23"));
    assert_eq!(minutes.expect("minutes").len(), 60);
    assert_eq!(created.get_i64("total").expect("a total"), 0);
    assert_eq!(created.get_document("hourly").expect("hours").len(), 24);
    assert_eq!(gateway.stored("statsDaily").await.len(), 3, "today's, tomorrow's, and the old one");
    gateway.assert_sound().await;
    // Pages without hits aren't viewed most.
    assert_eq!(top(&gateway, "a.example", json!({ "day": day }), 5).await, []);

    // Its hits are counted as those of any other document.
    let id = doc! { "site": "a.example", "page": "/a", "date": "2024-01-01" };
    created.insert("_id", id);
    let days = gateway.database.collection::<Document>("statsDaily");
    days.insert_one(created).await.expect("inserted");
    for _ in 0..2 {
        record(&service, &[hit("/a", "2024-01-01T23:59:00Z")]).await;
    }
    for by in ["MINUTE", "HOUR", "DAY"] {
        let (total, ..) = report(&gateway, "/a", "2024-01-01", "2024-01-01", by).await;
        assert_eq!(total, 2, "{by}");
    }
    gateway.assert_sound().await;
}

/// One hit in two creates the next day of its page. The bounds are seven standard deviations away from the half of the pages.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_day_is_there_for_some_of_the_pages() {
    let gateway = Gateway::with(|config| config.hits_ahead = 2).await;
    let hits: Vec<Value> =
        (0..200).map(|page| json!({ "site": "a.example", "page": format!("/{page}") })).collect();
    for hits in hits.chunks(100) {
        record(&gateway.service(), hits).await;
    }
    let (mut before, mut ahead) = (0, 0);
    for _ in 0..20 {
        crate::shop::settled(&gateway).await;
        ahead = gateway.stored("statsDaily").await.len() - hits.len();
        if ahead == before && ahead > 0 {
            break;
        }
        before = ahead;
    }
    assert!((51..150).contains(&ahead), "{ahead} of {}", hits.len());
    gateway.assert_sound().await;
}

/// Violations of the rules of hits.
async fn broken(gateway: &Gateway) -> Vec<(String, usize)> {
    let report = gateway.check().await;
    let of_hits = report.rules.into_iter().filter(|(rule, _)| rule.starts_with("hits: "));
    let broken = of_hits.filter(|(_, found)| !found.is_empty());
    broken.map(|(rule, found)| (rule, found.len())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_a_count_that_isnt_right() {
    let gateway = Gateway::start().await;
    // Totals are right from the second version of the documents on.
    gateway.migrate().await;
    record(&gateway.service(), &[hit("/a", "2024-01-01T10:00:00Z")]).await;
    gateway.assert_sound().await;
    let found = async |collection: &str, update: Document| {
        let all = gateway.database.collection::<Document>(collection);
        let before = all.find_one(doc! {}).await.expect("a read").expect("a document");
        all.update_one(doc! { "_id": before.get("_id") }, update).await.expect("an update");
        let found = broken(&gateway).await;
        all.replace_one(doc! { "_id": before.get("_id") }, &before).await.expect("an update");
        found.len()
    };
    for (collection, update, rules) in [
        ("statsDaily", doc! { "$inc": { "hourly.10": 1_i64 } }, 1),
        ("statsDaily", doc! { "$inc": { "minute.11.0": 1_i64 } }, 1),
        ("statsDaily", doc! { "$set": { "minute.10.0": -1_i64, "hourly.10": -1_i64 } }, 1),
        ("statsDaily", doc! { "$set": { "minute.24.0": 1_i64, "hourly.24": 1_i64 } }, 1),
        ("statsDaily", doc! { "$inc": { "total": 1_i64 } }, 1),
        // The day's document counts one more than the month's.
        (
            "statsDaily",
            doc! { "$inc": { "minute.3.4": 1_i64, "hourly.3": 1_i64, "total": 1_i64 } },
            1,
        ),
        ("statsMonthly", doc! { "$inc": { "total": 1_i64 } }, 1),
        ("statsMonthly", doc! { "$inc": { "daily.1": 1_i64, "total": 1_i64 } }, 1),
        ("statsMonthly", doc! { "$set": { "daily.32": 1_i64, "total": 2_i64 } }, 1),
        ("statsMonthly", doc! { "$set": { "daily.1": -1_i64 } }, 3),
    ] {
        assert_eq!(found(collection, update.clone()).await, rules, "{collection} {update}");
    }
    gateway.assert_sound().await;
}

fn of_page(page: &str) -> Document {
    doc! { "_id.site": "a.example", "_id.page": page }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_takes_the_hits_of_a_day_from_its_document() {
    let gateway = Gateway::with(short_bounds).await;
    // A hit without a key whose answer is late counts twice if it is sent again.
    let patient = gateway.patient_sibling().await;
    let service = patient.service();
    record(&service, &vec![hit("/a", "2024-01-01T10:00:00Z"); 4]).await;
    record(&service, &[hit("/a", "2024-01-02T10:00:00Z"), hit("/b", "2024-01-01T10:00:00Z")]).await;
    record(&service, &[hit("/c", "2024-01-01T10:00:00Z"), hit("/d", "2024-01-01T10:00:00Z")]).await;
    let change = async |collection: &str, page: &str, update: Document| {
        let all = gateway.database.collection::<Document>(collection);
        all.update_many(of_page(page), update).await.expect("an update");
    };
    // Too many, too few, a month that was never written, and one whose day an operator has deleted.
    change("statsMonthly", "/a", doc! { "$inc": { "daily.1": 2_i64, "total": 2_i64 } }).await;
    change("statsMonthly", "/b", doc! { "$set": { "daily.1": 0_i64, "total": 0_i64 } }).await;
    let months = gateway.database.collection::<Document>("statsMonthly");
    months.delete_one(of_page("/c")).await.expect("deleted");
    let days = gateway.database.collection::<Document>("statsDaily");
    days.delete_one(of_page("/d")).await.expect("deleted");
    let rule = "hits: a month counts as many hits of a day as the day's document";
    assert_eq!(broken(&gateway).await, [(rule.to_owned(), 3)]);
    // The command tells why it takes so long.
    let mut command = on(gateway.database.name(), &["check"]);
    // The database has no indexes of other rooms.
    command.env("DOCGATE_ROOMS", "hits");
    command.env("DOCGATE_FLOW_RUN_MILLIS", "1000").env("DOCGATE_FLOW_COMMAND_MILLIS", "1000");
    command.env("DOCGATE_FLOW_SKEW_MILLIS", "100");
    let (code, _, progress) = done(command);
    assert_eq!(code, 1, "{progress}");
    let told = format!("{rule}: this seems to be broken (3 violations); looking again in 4.2 s\n");
    assert!(progress.contains(&told), "{progress}");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["the hits of 3 days in the documents of months"]);
    gateway.assert_sound().await;
    for (page, day, hits) in [
        ("/a", "2024-01-01", 4),
        ("/a", "2024-01-02", 1),
        ("/b", "2024-01-01", 1),
        ("/c", "2024-01-01", 1),
        ("/d", "2024-01-01", 1),
    ] {
        assert_eq!(report(&gateway, page, day, day, "DAY").await.0, hits, "{page} {day}");
    }
    assert!(gateway.repair().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_leaves_alone_what_is_being_counted() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    let service = gateway.service();
    record(&service, &[hit("/a", "2024-01-01T10:00:00Z")]).await;
    // The month's update is under way when the repair begins, and arrives after its first read.
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsMonthly" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    // It waits for so long that the update arrives meanwhile, however busy the machine is.
    let sibling = gateway.sibling_with(|config| config.flow_run_millis = 3_000).await;
    let late = hit("/a", "2024-01-01T11:00:00Z");
    let (repaired, (), ()) = tokio::join!(
        async {
            proxy.reached().await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            sibling.repair().await
        },
        record(&service, std::slice::from_ref(&late)),
        async {
            proxy.reached().await;
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            proxy.heal();
            proxy.release().await;
        }
    );
    assert!(repaired.is_empty(), "{repaired:?}");
    assert_eq!(report(&gateway, "/a", "2024-01-01", "2024-01-01", "DAY").await.0, 2);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_earlier_versions_are_counted_in() {
    let gateway = Gateway::start().await;
    let id = |date: &str| doc! { "site": "a.example", "page": "/old", "date": date };
    let days = gateway.database.collection::<Document>("statsDaily");
    let months = gateway.database.collection::<Document>("statsMonthly");
    for day in ["2024-01-01", "2024-01-02"] {
        let minute = doc! { "10": { "0": 7_i64 } };
        let old = doc! { "_id": id(day), "hourly": { "10": 7_i64 }, "minute": minute, "v": 1 };
        days.insert_one(old).await.expect("inserted");
    }
    let old = doc! { "_id": id("2024-01"), "daily": { "1": 7_i64, "2": 7_i64 }, "v": 1 };
    months.insert_one(old).await.expect("inserted");
    gateway.assert_sound().await;
    let service = gateway.service();
    let hits = json!({ "hits": [hit("/old", "2024-01-01T10:00:00Z")], "idempotencyKey": "one" });
    for _ in 0..2 {
        service.field(RECORD_ONCE, hits.clone()).await;
    }
    for (by, hits) in [("MINUTE", 8), ("HOUR", 8), ("DAY", 8)] {
        assert_eq!(report(&gateway, "/old", "2024-01-01", "2024-01-01", by).await.0, hits, "{by}");
    }
    // Until they are upgraded, the totals have only what was counted since.
    let day = json!({ "day": "2024-01-01" });
    assert_eq!(top(&gateway, "a.example", day.clone(), 5).await, pages(&[("/old", 1)]));
    gateway.assert_sound().await;
    assert!(gateway.repair().await.is_empty());
    assert_eq!(gateway.migrate().await, 3);
    assert_eq!(top(&gateway, "a.example", day, 5).await, pages(&[("/old", 8)]));
    assert_eq!(
        top(&gateway, "a.example", json!({ "month": "2024-01" }), 5).await,
        pages(&[("/old", 15)])
    );
    gateway.assert_sound().await;
}
