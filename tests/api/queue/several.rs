//! Claims over several queues.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{CLAIM, claim, complete, enqueued, jobs, stats, text};
use crate::support::Gateway;

async fn filled(gateway: &Gateway, queue: &str, count: usize) {
    let numbers: Vec<_> = (0..count).map(|number| format!("{queue}-{number}")).collect();
    for some in numbers.chunks(50) {
        join_all(some.iter().map(|payload| enqueued(gateway, queue, payload))).await;
    }
}

/// The number of claimed jobs of each queue.
fn by_queue(found: &[Value]) -> BTreeMap<String, usize> {
    let mut numbers = BTreeMap::new();
    for one in found {
        let payload = text(&one["job"]["payload"]);
        let (queue, _) = payload.split_once('-').expect("a queue and a number");
        *numbers.entry(queue.to_owned()).or_insert(0) += 1;
    }
    numbers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_queue_does_not_wait_for_a_long_one() {
    let gateway = Gateway::start().await;
    filled(&gateway, "a", 1_000).await;
    filled(&gateway, "b", 10).await;
    let mut found = Vec::new();
    for _ in 0..24 {
        found.extend(jobs(&claim(&gateway, json!({ "queues": ["a", "b"] })).await).clone());
    }
    // They take turns until the short one is empty.
    let first = by_queue(&found[..20]);
    assert_eq!((first["a"], first["b"]), (10, 10), "{first:?}");
    assert_eq!(by_queue(&found)["a"], 14);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_with_other_combinations_starve_no_queue() {
    let gateway = Gateway::start().await;
    filled(&gateway, "a", 60).await;
    filled(&gateway, "b", 60).await;
    filled(&gateway, "c", 60).await;
    let mut found = Vec::new();
    for _ in 0..10 {
        for queues in [["a", "b"], ["b", "a"], ["c", "a"]] {
            found.extend(jobs(&claim(&gateway, json!({ "queues": queues })).await).clone());
        }
    }
    let numbers = by_queue(&found);
    assert!(numbers.values().all(|number| *number >= 5) && numbers.len() == 3, "{numbers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_of_many_jobs_divides_them_and_takes_the_rest_where_it_is() {
    let gateway = Gateway::start().await;
    filled(&gateway, "a", 40).await;
    filled(&gateway, "b", 3).await;
    let input = json!({ "queues": ["a", "empty", "b"], "max": 30 });
    let found = claim(&gateway, input).await;
    let numbers = by_queue(jobs(&found));
    assert_eq!((numbers["a"], numbers["b"]), (27, 3), "{numbers:?}");
    let ids: BTreeSet<_> = jobs(&found).iter().map(|one| text(&one["job"]["id"])).collect();
    assert_eq!(ids.len(), 30);
    for one in jobs(&found) {
        let claim = (text(&one["job"]["id"]), text(&one["token"]));
        assert_eq!(complete(&gateway, &claim).await["__typename"], "CompletedJob");
    }
    let rest = claim(&gateway, json!({ "queues": ["b", "a"], "max": 100 })).await;
    assert_eq!(by_queue(jobs(&rest))["a"], 13);
    assert!(jobs(&claim(&gateway, json!({ "queues": ["b", "a"] })).await).is_empty());
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_claim_returns_the_jobs_of_the_first_one() {
    let gateway = Gateway::start().await;
    let other = gateway.sibling().await;
    filled(&gateway, "a", 2).await;
    filled(&gateway, "b", 40).await;
    let input = json!({ "queues": ["a", "b"], "max": 10, "idempotencyKey": "op" });
    // At two gateways at the same time; what one misses, the other has.
    let calls = (0..6).map(|at| claim(if at % 2 == 0 { &gateway } else { &other }, input.clone()));
    let answers = join_all(calls).await;
    let ids: BTreeSet<_> =
        answers.iter().flat_map(jobs).map(|one| text(&one["job"]["id"])).collect();
    assert!(!ids.is_empty() && ids.len() <= 10, "{ids:?}");
    let again = claim(&gateway, input.clone()).await;
    let found: BTreeSet<_> = jobs(&again).iter().map(|one| text(&one["job"]["id"])).collect();
    assert_eq!(found, ids);
    let claimed = stats(&gateway, "a").await[2] + stats(&gateway, "b").await[2];
    assert_eq!(usize::try_from(claimed).expect("a number"), ids.len());
    let less = json!({ "queues": ["a"], "max": 10, "idempotencyKey": "op" });
    assert_eq!(claim(&gateway, less).await["__typename"], "Conflict");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_names_its_queues_in_one_way() {
    let gateway = Gateway::start().await;
    let before = gateway.snapshot().await;
    let many: Vec<_> = (0..17).map(|number| format!("q{number}")).collect();
    for (input, field) in [
        (json!({}), "input.queue"),
        (json!({ "queue": "a", "queues": ["b"] }), "input.queues"),
        (json!({ "queues": [] }), "input.queues"),
        (json!({ "queues": many }), "input.queues"),
        (json!({ "queues": ["a", "A b"] }), "input.queues.1"),
        (json!({ "queues": ["docgate.posts"] }), "input.queues.0"),
    ] {
        let said = gateway.user("w", &["worker"]).field(CLAIM, json!({ "input": input })).await;
        assert_eq!(said["field"], field, "{said:#}");
    }
    assert!(gateway.snapshot().await == before);
    filled(&gateway, "a", 3).await;
    let twice = claim(&gateway, json!({ "queues": ["a", "a"], "max": 2 })).await;
    assert_eq!(jobs(&twice).len(), 2, "{twice:#}");
}
