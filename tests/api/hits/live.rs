//! Subscribers of a page hear of its hits, at most once a second.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{RECORD_ONCE, record};
use crate::support::{Gateway, live::Live};

const FOLLOW: &str = "subscription($site: String!, $page: String!) {
    hitsChanged(site: $site, page: $page) {
        site page today lastHour { total buckets { startsAt label hits } } } }";

async fn follow(gateway: &Gateway, page: &str) -> Live {
    let analyst = gateway.user("an-analyst", &["analyst"]);
    analyst.follow(FOLLOW, json!({ "site": "a.example", "page": page })).await
}

fn now(page: &str) -> Value {
    json!({ "site": "a.example", "page": page })
}

/// Waits until so many hits were told, and returns the number of responses.
async fn told(subscriber: &mut Live, hits: i64) -> usize {
    for responses in 1.. {
        let response = subscriber.next().await;
        let changed = &response["data"]["hitsChanged"];
        let found = changed["lastHour"]["total"].as_i64().expect("a number");
        assert!(found <= hits, "{response:#}");
        assert_eq!(changed["lastHour"]["buckets"].as_array().map(Vec::len), Some(60));
        if found == hits {
            // Unless midnight was within the hour.
            assert!(changed["today"].as_i64().is_some_and(|today| today <= hits), "{response:#}");
            return responses;
        }
    }
    0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_told_at_once_and_then_of_changes() {
    let gateway = Gateway::start().await;
    let (service, sibling) = (gateway.service(), gateway.sibling().await);
    let mut odd = follow(&gateway, "/$a.b/ä").await;
    let mut subscribers =
        [follow(&gateway, "/a").await, follow(&gateway, "/a").await, follow(&sibling, "/a").await];
    for subscriber in &mut subscribers {
        assert_eq!(told(subscriber, 0).await, 1, "there are none yet");
    }
    told(&mut odd, 0).await;
    // By another gateway than that of the subscriber.
    record(&sibling.service(), &[now("/a"), now("/a"), now("/b")]).await;
    for subscriber in &mut subscribers {
        told(subscriber, 2).await;
    }
    let at = docgate::app::rfc3339(gateway.app.clock());
    let hit = json!({ "site": "a.example", "page": "/$a.b/ä", "at": at });
    for _ in 0..2 {
        let hits = json!({ "hits": [hit], "idempotencyKey": "one" });
        service.field(RECORD_ONCE, hits).await;
    }
    told(&mut odd, 1).await;
    // Who comes later sees what the others saw.
    let mut late = follow(&gateway, "/a").await;
    assert_eq!(told(&mut late, 2).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_hits_are_told_in_few_responses() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let mut subscriber = follow(&gateway, "/a").await;
    told(&mut subscriber, 0).await;
    let since = Instant::now();
    let (responses, ()) = tokio::join!(told(&mut subscriber, 60), async {
        for _ in 0..60 {
            record(&service, &[now("/a")]).await;
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    });
    let seconds = usize::try_from(since.elapsed().as_secs()).expect("a number");
    assert!(responses <= seconds + 2, "{responses} in {seconds} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_analyst_may_follow_a_page() {
    let gateway = Gateway::start().await;
    for (client, code) in [
        (gateway.shopper("someone"), "FORBIDDEN"),
        (gateway.service(), "FORBIDDEN"),
        (gateway.anonymous(), "UNAUTHENTICATED"),
    ] {
        let mut subscriber =
            client.follow(FOLLOW, json!({ "site": "a.example", "page": "/a" })).await;
        let response = subscriber.next().await;
        assert_eq!(response["errors"][0]["extensions"]["code"], code, "{response:#}");
    }
    let analyst = gateway.user("an-analyst", &["analyst"]);
    for (site, page, field) in [("", "/a", "site"), ("a", "a\nb", "page")] {
        let mut subscriber = analyst.follow(FOLLOW, json!({ "site": site, "page": page })).await;
        let response = subscriber.next().await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(
            (&extensions["code"], &extensions["field"]),
            (&json!("BAD_USER_INPUT"), &json!(field))
        );
    }
}
