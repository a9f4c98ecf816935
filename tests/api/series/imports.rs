//! Views of an import: however often it is resumed, each counts once.

use docgate::{
    config::SeriesEngine,
    domains::series::operations::{View, count},
};
use futures_util::future::join_all;
use mongodb::bson::DateTime;

use super::{ENGINES, on, record, series, view};
use crate::support::{Gateway, proxy::Cut};

const FROM: &str = "2024-01-01T10:00:00Z";
const TO: &str = "2024-01-01T11:00:00Z";

/// Views of `/a`, one in each of the first `minutes`, and two of `/b`.
fn batch(gateway: &Gateway, minutes: i64) -> Vec<View> {
    let start = DateTime::parse_rfc3339_str(FROM).expect("a time").timestamp_millis();
    let at = |minute: i64| DateTime::from_millis(start + minute * 60_000 + 5_000);
    let new =
        |page, minute, views| View::new(&gateway.app, page, at(minute), views).expect("a view");
    (0..minutes).map(|minute| new("/a", minute, 1)).chain([new("/b", 0, 2)]).collect()
}

async fn totals(gateway: &Gateway) -> (i64, i64) {
    let of = async |page| series(gateway, page, FROM, TO, "HOUR").await.0;
    (of("/a").await, of("/b").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_repeated_counts_once() {
    for engine in ENGINES {
        let gateway = Gateway::with(on(engine)).await;
        record(&gateway.service(), &[view("/a", FROM)]).await;
        for _ in 0..3 {
            count(&gateway.app, "one", 0, batch(&gateway, 10)).await.expect("counted");
        }
        assert_eq!(totals(&gateway).await, (11, 2), "{engine:?}");
        count(&gateway.app, "one", 1, batch(&gateway, 5)).await.expect("counted");
        count(&gateway.app, "one", 0, batch(&gateway, 10)).await.expect("counted");
        count(&gateway.app, "$other.", 0, batch(&gateway, 1)).await.expect("counted");
        assert_eq!(totals(&gateway).await, (17, 6), "{engine:?}");
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_cut_and_repeated_counts_once() {
    let gateway = Gateway::with(on(SeriesEngine::Buckets)).await;
    let mut expected = 0;
    for at in 0..2 {
        for cut in [Cut::Refused, Cut::Unsure, Cut::BeforeForwarding, Cut::ReplyLost] {
            let source = format!("{at} {cut:?}");
            let torn = gateway.sibling_behind_proxy().await;
            let proxy = torn.proxy.as_ref().expect("a proxy");
            proxy.cut_with_retries(at, cut);
            count(&torn.app, &source, 0, batch(&gateway, 10)).await.expect_err("it was cut");
            count(&gateway.app, &source, 0, batch(&gateway, 10)).await.expect("counted");
            expected += 10;
            assert_eq!(totals(&gateway).await, (expected, expected / 5), "{source}");
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_command_of_a_batch_counts_nothing_more() {
    let gateway = Gateway::with(on(SeriesEngine::Buckets)).await;
    let torn = gateway.sibling_behind_proxy().await;
    let proxy = torn.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let late = count(&torn.app, "one", 0, batch(&gateway, 10));
    tokio::join!(async { late.await.expect("it is counted, or was before") }, async {
        proxy.reached().await;
        count(&gateway.app, "one", 0, batch(&gateway, 10)).await.expect("counted");
        count(&gateway.app, "one", 1, batch(&gateway, 10)).await.expect("counted");
        proxy.release().await;
    });
    assert_eq!(totals(&gateway).await, (20, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_and_visitors_at_once_are_all_counted() {
    let gateway = Gateway::with(on(SeriesEngine::Buckets)).await;
    let sources: Vec<String> = (0..8).map(|number| format!("source {number}")).collect();
    let imports = sources.iter().chain(&sources).map(async |source| {
        count(&gateway.app, source, 0, batch(&gateway, 60)).await.expect("counted");
    });
    let service = gateway.service();
    let views = [view("/a", FROM)];
    let visitors = (0..32).map(|_| record(&service, &views));
    tokio::join!(join_all(imports), join_all(visitors));
    assert_eq!(totals(&gateway).await, (8 * 60 + 32, 16));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_counted_is_told_before() {
    let gateway = Gateway::start().await;
    let now = gateway.app.clock();
    let later = DateTime::from_millis(now.timestamp_millis() + 120_000);
    let of = |page: &str, at, views| View::new(&gateway.app, page, at, views).map(|_| ());
    assert!(of("/a", now, 1).is_ok());
    for fault in [
        of("", now, 1),
        of(&"x".repeat(8_193), now, 1),
        of("a\u{0}", now, 1),
        of("/a", later, 1),
        of("/a", now, 0),
    ] {
        fault.expect_err("it can't be counted");
    }
    // What is older than the retention would be removed at once.
    count(&gateway.app, "one", 0, batch(&gateway, 10)).await.expect("nothing to count");
    assert!(gateway.stored("pageViews").await.is_empty());
}
