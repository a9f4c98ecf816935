//! Three members, whose primary is killed while services publish.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;

use super::{Follower, PUBLISH, created};
use crate::{
    elections::acknowledged,
    support::{Gateway, members::Members},
};

const SUBSCRIBERS: usize = 5;
const PUBLISHERS: usize = 4;
/// Number of messages that each publishes before the primary is killed, and after there is another.
const CALLS: usize = 20;
/// How long a subscriber may hear nothing.
const SILENCE: Duration = Duration::from_secs(60);

/// While the primary is killed.
const DURING: usize = 1;
/// There is another.
const AFTER: usize = 2;

/// Publishes one message until that is acknowledged.
async fn publish(gateway: &Gateway, text: &str) {
    let input = json!({ "topic": "prices", "messages": [text], "idempotencyKey": text });
    let call = (PUBLISH, json!({ "input": input }));
    let answer = acknowledged(&gateway.service(), call).await;
    assert_eq!(answer["__typename"], "PublishedMessages", "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_loses_no_acknowledged_message() {
    let members = Members::start().await;
    let bounds = |config: &mut docgate::config::Config| {
        (config.flow_run_millis, config.flow_command_millis) = (3_000, 1_500);
    };
    let gateway = Gateway::over_members(&members, bounds).await;
    let sibling = gateway.sibling_over_members().await;
    created(&gateway, "prices", 8 << 20).await;
    let gateways = [&gateway, &sibling];
    let followers = (0..SUBSCRIBERS).map(async |at| {
        Follower::new(&gateways[at % 2].shopper("someone"), "prices", None).await.0
    });
    let mut followers = join_all(followers).await;

    let (done, phase) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    // The messages of a publisher, and those of them that no primary can have taken along: they were acknowledged before
    // it was killed, or published after there was another.
    let publishers = (0..PUBLISHERS).map(async |publisher| {
        let (mut all, mut lasting, mut after) = (Vec::new(), Vec::new(), 0);
        while after < CALLS {
            let text = format!("{publisher}-{:05}", all.len());
            let begun = phase.load(SeqCst);
            publish(gateways[publisher % 2], &text).await;
            if phase.load(SeqCst) < DURING || begun == AFTER {
                lasting.push(text.clone());
            }
            all.push(text);
            after += usize::from(begun == AFTER);
            done.fetch_add(1, SeqCst);
        }
        (all, lasting)
    });
    let kill = async {
        while done.load(SeqCst) < PUBLISHERS * CALLS {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        phase.store(DURING, SeqCst);
        members.kill_primary().await;
        phase.store(AFTER, SeqCst);
    };
    let run = async {
        let (published, ()) = tokio::join!(join_all(publishers), kill);
        publish(&gateway, "end").await;
        published
    };
    let hear = followers.iter_mut().map(async |follower| {
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "end") {
            heard.extend(follower.next_within(SILENCE).await);
        }
        heard.pop();
        heard
    });
    let (published, heard) = tokio::join!(run, join_all(hear));

    let all: BTreeSet<&String> = published.iter().flat_map(|(all, _)| all).collect();
    let lasting: BTreeSet<&String> = published.iter().flat_map(|(_, lasting)| lasting).collect();
    let lasting = |heard: &[String]| -> Vec<String> {
        heard.iter().filter(|text| lasting.contains(text)).cloned().collect()
    };
    for (at, (follower, told)) in followers.iter().zip(&heard).enumerate() {
        assert!(follower.missed.is_empty(), "{at}: {:?}", follower.missed);
        let each: BTreeSet<&String> = told.iter().collect();
        assert_eq!(each, all, "{at}");
        assert_eq!(told.len(), all.len(), "{at} is told something twice");
        assert_eq!(*told, heard[at % 2], "{at} isn't told the order of its gateway");
        assert_eq!(lasting(told), lasting(&heard[0]), "{at}");
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}
