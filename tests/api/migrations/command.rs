//! `docgate migrate`, as operators run it.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use mongodb::bson::{Bson, Document, doc};

use super::{day, insert_old, one, record, version};
use crate::{
    cli::{Running, done, on},
    support::{Gateway, until},
};

/// Runs the command on the gateway's database.
async fn migrate(gateway: &Gateway, arguments: &[&str]) -> (i32, String, String) {
    let command = on(gateway.database.name(), &[&["migrate"], arguments].concat());
    tokio::task::spawn_blocking(|| done(command)).await.expect("it ends")
}

/// The rows of a table, without the spaces between its columns.
fn rows(table: &str) -> Vec<String> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Documents of days as an earlier release stored them, each with three hits.
async fn insert_days(gateway: &Gateway, count: usize) {
    let one = |n: usize| {
        let mut old = day(&format!("/{n:05}"), "2024-01-01");
        old.extend(doc! {
            "hourly": { "10": 3_i64 }, "minute": { "10": { "0": 3_i64 } }, "v": 1,
        });
        old
    };
    let days: Vec<Document> = (0..count).map(one).collect();
    gateway.raw("statsDaily").insert_many(days).await.expect("inserted");
}

/// Number of documents of days with this version.
async fn with_version(gateway: &Gateway, wanted: i32) -> usize {
    let stored = gateway.stored("statsDaily").await;
    stored.iter().filter(|stored| version(stored) == wanted).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_counts_upgrades_and_names_what_is_newer() {
    let gateway = Gateway::start().await;
    insert_old(&gateway).await;
    let before = gateway.snapshot().await;
    let (code, table, said) = migrate(&gateway, &["--dry-run"]).await;
    assert_eq!((code, said.as_str()), (0, ""), "{table}");
    let expected = [
        "COLLECTION VERSION DOCUMENTS STATE",
        "inventory 1 2 to be upgraded to version 2",
        "statsDaily 1 2 to be upgraded to version 2",
        "statsMonthly 1 1 to be upgraded to version 2",
    ];
    assert_eq!(rows(&table), expected, "{table}");
    assert_eq!(gateway.snapshot().await, before, "--dry-run changes nothing");

    let (code, told, said) = migrate(&gateway, &["statsMonthly", "inventory"]).await;
    assert_eq!((code, said.as_str()), (0, ""), "{told}");
    let expected = ["statsMonthly: 1 upgraded to version 2", "inventory: 2 upgraded to version 2"];
    assert_eq!(rows(&told), expected, "{told}");
    assert_eq!(with_version(&gateway, 1).await, 2, "only what is named");

    let mut newer = doc! { "total": "many", "v": 9 };
    newer.extend(day("/newer", "2024-01-01"));
    gateway.raw("statsDaily").insert_one(newer).await.expect("inserted");
    let newer = one(&gateway, "statsDaily", day("/newer", "2024-01-01")).await;
    let (code, told, _) = migrate(&gateway, &[]).await;
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("inventory: 0 upgraded to version 2"), "{told}");
    assert!(told.contains("statsDaily: 2 upgraded to version 2"), "{told}");
    assert!(told.contains("statsDaily: 1 left alone"), "{told}");
    assert_eq!(one(&gateway, "statsDaily", day("/newer", "2024-01-01")).await, newer);
    let (code, table, _) = migrate(&gateway, &["--dry-run", "statsDaily", "products"]).await;
    assert_eq!(code, 1, "{table}");
    let expected = [
        "COLLECTION VERSION DOCUMENTS STATE",
        "statsDaily 2 2 newest",
        "statsDaily 9 1 NOT KNOWN to this docgate",
    ];
    assert_eq!(rows(&table), expected, "{table}");

    let (code, _, said) = migrate(&gateway, &["nothing"]).await;
    assert_eq!(code, 2, "{said}");
    assert_eq!(migrate(&gateway, &["--per-second", "0"]).await.0, 2);
    assert_eq!(migrate(&gateway, &["--unlimited", "--per-second", "100"]).await.0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_upgrade_each_document_once_beside_traffic() {
    const DAYS: usize = 1_500;
    let gateway = Gateway::start().await;
    insert_days(&gateway, DAYS).await;
    let traffic = async {
        for n in 0..60 {
            let page = format!("/{:05}", n * 25);
            record(&gateway, &page, "2024-01-01T11:00:00Z", None).await;
        }
    };
    let arguments = ["statsDaily", "--per-second", "2000"];
    let (first, second, ()) =
        tokio::join!(migrate(&gateway, &arguments), migrate(&gateway, &arguments), traffic);
    let upgraded = |(code, told, said): (i32, String, String)| {
        assert_eq!(code, 0, "{told}{said}");
        let number = told.strip_prefix("statsDaily: ").and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse::<usize>().ok()).expect("a number")
    };
    assert_eq!(upgraded(first) + upgraded(second), DAYS);
    for stored in gateway.stored("statsDaily").await {
        let hits = stored.get_document("hourly").expect("hours").values();
        let hits: i64 = hits.filter_map(Bson::as_i64).sum();
        assert_eq!((version(&stored), stored.get_i64("total").ok()), (2, Some(hits)), "{stored}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_cut_is_continued_by_a_repeat() {
    const DAYS: usize = 1_000;
    let gateway = Gateway::start().await;
    insert_days(&gateway, DAYS).await;
    let slow = ["migrate", "statsDaily", "--per-second", "100"];
    let running = Running::start(on(gateway.database.name(), &slow));
    until("it upgrades", async || with_version(&gateway, 2).await > 0).await;
    running.signal("TERM");
    let code = tokio::task::spawn_blocking(|| running.ends()).await.expect("it ends");
    assert_eq!(code, 3);
    let done = with_version(&gateway, 2).await;
    assert!((1..DAYS).contains(&done), "{done}");
    let (code, told, _) = migrate(&gateway, &["statsDaily", "--unlimited"]).await;
    assert_eq!(code, 0, "{told}");
    assert_eq!(told.trim(), format!("statsDaily: {} upgraded to version 2", DAYS - done));
    assert_eq!(with_version(&gateway, 2).await, DAYS);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_upgrades_no_more_in_a_second_than_it_may() {
    let gateway = Gateway::start().await;
    insert_days(&gateway, 400).await;
    let since = Instant::now();
    let (code, told, said) = migrate(&gateway, &["statsDaily", "--per-second", "100"]).await;
    assert_eq!(code, 0, "{told}{said}");
    // The first of them need not wait.
    assert!(since.elapsed() > Duration::from_secs(3), "{:?}", since.elapsed());
    assert_eq!(with_version(&gateway, 2).await, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_update_upgrades_a_hundred_documents_at_most() {
    let gateway = Gateway::start().await;
    insert_days(&gateway, 250).await;
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("every command is recorded");
    let (code, told, said) = migrate(&gateway, &["statsDaily", "--unlimited"]).await;
    assert_eq!(code, 0, "{told}{said}");
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("not any more");
    let recorded = gateway.raw("system.profile").find(doc! {}).await.expect("a cursor");
    let recorded: Vec<Document> = recorded.try_collect().await.expect("documents");
    let namespace = format!("{}.statsDaily", gateway.database.name());
    let is_one = |recorded: &&Document| {
        let is = |key: &str, value: &str| recorded.get_str(key).is_ok_and(|own| own == value);
        is("op", "update") && is("ns", &namespace)
    };
    let updates = recorded.iter().filter(is_one);
    let number = |update: &Document| match update.get("nModified") {
        Some(Bson::Int32(number)) => Some(i64::from(*number)),
        number => number.and_then(Bson::as_i64),
    };
    let mut upgraded: Vec<_> = updates.filter_map(number).filter(|number| *number > 0).collect();
    upgraded.sort_unstable();
    assert_eq!(upgraded, [50, 100, 100]);
}
