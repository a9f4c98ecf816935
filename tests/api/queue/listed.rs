//! The list of queues, for operators.

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{claimed, complete, enqueue, enqueued, fail, operator, producer, worker};
use crate::support::{Client, Gateway, key};

const QUEUES: &str = "query($first: Int, $after: String, $last: Int, $before: String) {
    queues(first: $first, after: $after, last: $last, before: $before) {
        nodes { queue ready delayed claimed dead }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";

/// The names of a page.
fn names(page: &Value) -> Vec<&str> {
    let nodes = page["nodes"].as_array().unwrap_or_else(|| panic!("{page:#}"));
    nodes.iter().map(|node| node["queue"].as_str().expect("a name")).collect()
}

async fn page(client: &Client, variables: Value) -> Value {
    client.field(QUEUES, variables).await
}

/// A queue for each state, one of docgate itself, and one with a completed job.
async fn busy() -> Gateway {
    let gateway = Gateway::start().await;
    enqueued(&gateway, "b-claimed", "a").await;
    claimed(&gateway, "b-claimed").await;
    enqueued(&gateway, "b-claimed", "b").await;
    enqueued(&gateway, "e-dead", "a").await;
    let dying = claimed(&gateway, "e-dead").await;
    fail(&gateway, &dying, json!({ "isRetryable": false })).await;
    enqueued(&gateway, "done", "a").await;
    let done = claimed(&gateway, "done").await;
    complete(&gateway, &done).await;
    let later = json!({ "queue": "c-later", "payload": "a", "runAt": "2100-01-01T00:00:00Z" });
    assert_eq!(enqueue(&gateway, later).await["state"], "DELAYED");
    enqueued(&gateway, "f-ready", "a").await;
    let own = enqueued(&gateway, "a-ready", "a").await;
    enqueued(&gateway, "a-ready", "b").await;
    enqueued(&gateway, "a-ready", "c").await;
    // Clients can't add a job of docgate itself.
    let names = doc! { "queue": "docgate.own", "ready.queue": "docgate.own" };
    let own = doc! { "_id": key(&own) };
    gateway.raw("jobs").update_one(own, doc! { "$set": names }).await.expect("set");
    gateway
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_list_the_queues_with_their_numbers() {
    let gateway = busy().await;
    let found = page(&operator(&gateway), json!({})).await;
    let numbers = |queue: &str, [ready, delayed, claimed, dead]: [i32; 4]| json!({ "queue": queue, "ready": ready, "delayed": delayed, "claimed": claimed, "dead": dead });
    let expected = json!([
        numbers("a-ready", [2, 0, 0, 0]),
        numbers("b-claimed", [1, 0, 1, 0]),
        numbers("c-later", [0, 1, 0, 0]),
        numbers("e-dead", [0, 0, 0, 1]),
        numbers("f-ready", [1, 0, 0, 0]),
    ]);
    assert_eq!(found["nodes"], expected);
    assert_eq!(found["pageInfo"]["hasNextPage"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_queues_has_pages_both_ways() {
    let gateway = busy().await;
    let operator = operator(&gateway);
    let first = page(&operator, json!({ "first": 2 })).await;
    assert_eq!(names(&first), ["a-ready", "b-claimed"]);
    let info = &first["pageInfo"];
    assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(true), &json!(false)));
    let second = page(&operator, json!({ "first": 2, "after": info["endCursor"] })).await;
    assert_eq!(names(&second), ["c-later", "e-dead"]);
    let after = &second["pageInfo"]["endCursor"];
    let third = page(&operator, json!({ "first": 2, "after": after })).await;
    assert_eq!(names(&third), ["f-ready"]);
    assert_eq!(third["pageInfo"]["hasNextPage"], false);

    let last = page(&operator, json!({ "last": 2 })).await;
    assert_eq!(names(&last), ["e-dead", "f-ready"]);
    assert_eq!(last["pageInfo"]["hasPreviousPage"], true);
    let before = &last["pageInfo"]["startCursor"];
    let rest = page(&operator, json!({ "last": 3, "before": before })).await;
    assert_eq!(names(&rest), ["a-ready", "b-claimed", "c-later"]);
    assert_eq!(rest["pageInfo"]["hasPreviousPage"], false);
    let code = operator.error_code(QUEUES, json!({ "first": 101 })).await;
    assert_eq!(code, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_lists_the_queues() {
    let gateway = Gateway::start().await;
    enqueued(&gateway, "mail", "a").await;
    for stranger in [producer(&gateway), worker(&gateway), gateway.shopper("ann")] {
        assert_eq!(stranger.error_code(QUEUES, json!({})).await, "FORBIDDEN");
    }
    assert_eq!(gateway.anonymous().error_code(QUEUES, json!({})).await, "UNAUTHENTICATED");
}
