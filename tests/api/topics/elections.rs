//! Three members, whose primary is killed while services publish.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;

use super::{Follower, PUBLISH, created};
use crate::{
    elections::acknowledged_at,
    support::{Gateway, members::Members},
};

const SUBSCRIBERS: usize = 5;
const PUBLISHERS: usize = 4;
const CALLS: usize = 60;
/// How long a subscriber may hear nothing.
const SILENCE: Duration = Duration::from_secs(60);

/// Publishes one message until that is acknowledged. Returns whether that was the first try.
async fn published_at_once(gateway: &Gateway, text: &str) -> bool {
    let input = json!({ "topic": "prices", "messages": [text], "idempotencyKey": text });
    let call = (PUBLISH, json!({ "input": input }));
    let (answer, tries) = acknowledged_at(&gateway.service(), call).await;
    assert_eq!(answer["__typename"], "PublishedMessages", "{answer:#}");
    tries == 1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_loses_no_acknowledged_message() {
    let members = Members::start().await;
    let bounds = |config: &mut docgate::config::Config| {
        (config.flow_run_millis, config.flow_command_millis) = (3_000, 1_500);
    };
    let gateway = Gateway::over_members(&members, bounds).await;
    let sibling = gateway.sibling_over_members().await;
    created(&gateway, "prices", 1 << 20).await;
    let gateways = [&gateway, &sibling];
    let followers = (0..SUBSCRIBERS).map(async |at| {
        Follower::new(&gateways[at % 2].shopper("someone"), "prices", None).await.0
    });
    let mut followers = join_all(followers).await;

    let done = &AtomicUsize::new(0);
    let publishers = (0..PUBLISHERS).map(async |publisher| {
        let mut at_once = Vec::new();
        for call in 0..CALLS {
            let text = format!("{publisher}-{call:02}");
            if published_at_once(gateways[publisher % 2], &text).await {
                at_once.push(text);
            }
            done.fetch_add(1, Relaxed);
        }
        at_once
    });
    let kill = async {
        while done.load(Relaxed) < PUBLISHERS * CALLS / 3 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        members.kill_primary().await;
    };
    let run = async {
        let (at_once, ()) = tokio::join!(join_all(publishers), kill);
        published_at_once(&gateway, "end").await;
        at_once.into_iter().flatten().collect::<BTreeSet<String>>()
    };
    let hear = followers.iter_mut().map(async |follower| {
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "end") {
            heard.extend(follower.next_within(SILENCE).await);
        }
        heard.pop();
        heard
    });
    let (at_once, heard) = tokio::join!(run, join_all(hear));
    assert!(at_once.len() < PUBLISHERS * CALLS, "nobody noticed that the primary was killed");

    // What was acknowledged at the first try was never lost with the old primary.
    let lasting = |heard: &[String]| -> Vec<String> {
        heard.iter().filter(|text| at_once.contains(*text)).cloned().collect()
    };
    for (at, (follower, all)) in followers.iter().zip(&heard).enumerate() {
        assert!(follower.missed.is_empty(), "{at}: {:?}", follower.missed);
        let each: BTreeSet<&String> = all.iter().collect();
        assert_eq!((each.len(), all.len()), (PUBLISHERS * CALLS, PUBLISHERS * CALLS), "{at}");
        assert_eq!(*all, heard[at % 2], "{at} isn't told the order of its gateway");
        assert_eq!(lasting(all), lasting(&heard[0]), "{at}");
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}
