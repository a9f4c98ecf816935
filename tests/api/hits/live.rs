//! Subscribers of a page hear of its hits, at most once a second.

use std::time::{Duration, Instant};

use mongodb::bson::DateTime;
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

/// Waits until these numbers of hits are told: of the day, and of the last hour.
async fn told_as(subscriber: &mut Live, expected: (i64, i64)) {
    for _ in 0..20 {
        let changed = subscriber.next().await["data"]["hitsChanged"].take();
        let today = changed["today"].as_i64().expect("a number");
        if (today, changed["lastHour"]["total"].as_i64().expect("a number")) == expected {
            return;
        }
    }
    panic!("{expected:?} isn't told");
}

/// The gateways' day ends while a page is followed.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_followed_over_midnight() {
    const MINUTE: i64 = 60_000;
    const DAY: i64 = 1_440 * MINUTE;
    let gateway = Gateway::start().await;
    let sibling = gateway.sibling().await;
    let real = gateway.app.clock().timestamp_millis();
    let midnight = real - real.rem_euclid(DAY) + 2 * DAY;
    let is_now = |moment: i64| {
        for gateway in [&gateway, &sibling] {
            gateway.app.put_clock_ahead(moment - real);
        }
    };
    is_now(midnight - 20 * MINUTE);
    let mut subscriber = follow(&gateway, "/a").await;
    told_as(&mut subscriber, (0, 0)).await;
    record(&sibling.service(), &[now("/a"), now("/a")]).await;
    told_as(&mut subscriber, (2, 2)).await;

    // Without another hit, the new day is told.
    is_now(midnight + 10 * MINUTE);
    told_as(&mut subscriber, (0, 2)).await;
    record(&sibling.service(), &[now("/a")]).await;
    told_as(&mut subscriber, (1, 3)).await;
    // One of the day before, which comes late.
    let late = docgate::app::rfc3339(DateTime::from_millis(midnight - 5 * MINUTE));
    let late = json!({ "site": "a.example", "page": "/a", "at": late });
    record(&sibling.service(), &[late]).await;
    told_as(&mut subscriber, (1, 4)).await;
    let mut other = follow(&gateway, "/a").await;
    told_as(&mut other, (1, 4)).await;
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
