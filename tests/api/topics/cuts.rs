//! Every operation of topics, cut at each of its commands in each way.

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{CREATE, DELETE, FOLLOW, Follower, PUBLISH, TOPICS, created, operator, publish};
use crate::support::{Client, Gateway, cuts, proxy::Seen, short_bounds};

/// Sends a mutation, and returns its answer if there is one.
async fn sent(client: Client, query: &str, input: Value) -> Option<Value> {
    let (_, body) = client.send(query, json!({ "input": input })).await.ok()?;
    body["data"].as_object()?.values().next().cloned()
}

async fn names(gateway: &Gateway) -> Vec<String> {
    let topics = operator(gateway).field(TOPICS, json!({})).await;
    let names = topics.as_array().expect("topics").iter();
    names.map(|topic| topic["name"].as_str().expect("a name").to_owned()).collect()
}

async fn aftermath(gateway: &Gateway) {
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_cut_anywhere_creates_one_topic() {
    cuts::everywhere_apart(
        short_bounds,
        async |gateway, n| {
            // The first topic of a database begins the list.
            let first = json!({ "name": "first", "bytes": 4_096, "idempotencyKey": "first" });
            sent(operator(gateway), CREATE, first).await.expect("an answer");
            format!("topic-{n}")
        },
        async |gateway, name: &String| {
            let input = json!({ "name": name, "bytes": 4_096, "idempotencyKey": name });
            let _cut = sent(operator(gateway), CREATE, input).await;
        },
        async |gateway, case| {
            let name = &case.subject;
            let found = names(gateway).await.iter().filter(|found| *found == name).count();
            assert_eq!(found, 1, "{:?} {}", case.way, case.at);
            let done = publish(gateway, json!({ "topic": name, "messages": ["a"] })).await;
            assert_eq!(done["__typename"], "PublishedMessages", "{:?} {}", case.way, case.at);
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_cut_anywhere_begins_the_list() {
    cuts::everywhere_apart(
        short_bounds,
        async |gateway, n| {
            // As in a database that never had a topic.
            gateway.raw("topics").delete_many(doc! {}).await.expect("emptied");
            format!("topic-{n}")
        },
        async |gateway, name: &String| {
            let input = json!({ "name": name, "bytes": 4_096, "idempotencyKey": name });
            let _cut = sent(operator(gateway), CREATE, input).await;
        },
        async |gateway, case| {
            let name = &case.subject;
            let found = names(gateway).await.iter().filter(|found| *found == name).count();
            assert_eq!(found, 1, "{:?} {}", case.way, case.at);
            let lists = gateway.raw("topics").count_documents(doc! {}).await.expect("counted");
            assert_eq!(lists, 1, "{:?} {}", case.way, case.at);
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publication_that_is_cut_anywhere_is_heard_once() {
    cuts::everywhere_apart(
        short_bounds,
        async |gateway, n| {
            let name = format!("topic-{n}");
            created(gateway, &name, 8_192).await;
            let client = gateway.shopper("someone");
            let first = client.follow(FOLLOW, json!({ "name": name })).await.next().await;
            let position = first["data"]["topic"]["position"].as_str().expect("a position");
            (name, position.to_owned())
        },
        async |gateway, (name, _): &(String, String)| {
            let input =
                json!({ "topic": name, "messages": ["a", "b", "c"], "idempotencyKey": name });
            let _cut = sent(gateway.service(), PUBLISH, input).await;
        },
        async |gateway, case| {
            let (name, position) = &case.subject;
            let client = gateway.shopper("someone");
            let (mut follower, mut heard) = Follower::new(&client, name, Some(position)).await;
            publish(gateway, json!({ "topic": name, "messages": ["end"] })).await;
            while heard.last().is_none_or(|last| last != "end") {
                heard.extend(follower.next().await);
            }
            assert_eq!(heard, ["a", "b", "c", "end"], "{:?} {}", case.way, case.at);
            assert!(follower.missed.is_empty());
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_anywhere_leaves_nothing() {
    cuts::everywhere_apart(
        short_bounds,
        async |gateway, n| {
            let name = format!("topic-{n}");
            created(gateway, &name, 4_096).await;
            name
        },
        async |gateway, name: &String| {
            let _cut = sent(operator(gateway), DELETE, json!({ "name": name })).await;
        },
        async |gateway, case| {
            let found = names(gateway).await.contains(&case.subject);
            assert!(!found, "{:?} {}", case.way, case.at);
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_after_a_deletion_is_swept() {
    let gateway = Gateway::with(short_bounds).await;
    created(&gateway, "prices", 4_096).await;
    operator(&gateway).field(DELETE, json!({ "input": { "name": "prices" } })).await;
    // A message whose command arrives late makes a collection.
    let late = gateway.raw("topic_late");
    late.insert_one(doc! { "_id": "late" }).await.expect("inserted");
    gateway.sweep().await;
    gateway.assert_sound().await;
    let names = gateway.database.list_collection_names().await.expect("names");
    assert!(names.iter().all(|name| !name.starts_with("topic_")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_creation_lists_no_deleted_topic() {
    let base = Gateway::start().await;
    created(&base, "first", 4_096).await;
    let is_added = |seen: &Seen| seen.collection == "topics" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| created(gateway, "prices", 4_096).await;
    let later = async || {
        let input = json!({ "input": { "name": "prices" } });
        let deleted = operator(&base).field(DELETE, input).await;
        assert_eq!(deleted["__typename"], "DeletedTopic", "{deleted:#}");
    };
    cuts::with_late_copy(&base, is_added, first, later).await;
    assert_eq!(names(&base).await, ["first"]);
    base.assert_sound().await;
}
