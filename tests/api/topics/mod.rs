//! Topics: every subscriber gets every message in order, whatever happens to cursors, connections and gateways.

mod cuts;
mod drops;
mod elections;
mod rings;
mod sharing;

use std::time::Duration;

use futures_util::{TryStreamExt, future::join_all};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::{
    shop::fresh_key,
    support::{Client, Gateway, live::Live, until},
};

const CREATE: &str = "mutation($input: CreateTopicInput!) { createTopic(input: $input) {
    __typename ... on Topic { name bytes maxMessages isPublic }
    ... on TopicLimitReached { topicsLeft bytesLeft } ... on UserError { code message } ... on InvalidInput { field } } }";
const PUBLISH: &str = "mutation($input: PublishInput!) { publish(input: $input) {
    __typename ... on PublishedMessages { messageIds } ... on UserError { code message } ... on InvalidInput { field } } }";
const DELETE: &str = "mutation($input: DeleteTopicInput!) { deleteTopic(input: $input) {
    __typename ... on DeletedTopic { name } ... on UserError { code message } } }";
const TOPICS: &str = "{ topics { name bytes maxMessages isPublic usage { messages bytes } } }";
const FOLLOW: &str =
    "subscription($name: String!, $since: String) { topic(name: $name, since: $since) {
    messages { id payload publishedAt } position missed } }";

fn operator(gateway: &Gateway) -> Client {
    gateway.user("an-operator", &["operator"])
}

/// Creates a topic of this size.
async fn created(gateway: &Gateway, name: &str, bytes: i64) {
    let input = json!({ "name": name, "bytes": bytes, "idempotencyKey": fresh_key() });
    let topic = operator(gateway).field(CREATE, json!({ "input": input })).await;
    assert_eq!(topic["__typename"], "Topic", "{topic:#}");
}

async fn publish(gateway: &Gateway, input: Value) -> Value {
    gateway.service().field(PUBLISH, json!({ "input": input })).await
}

/// Publishes messages, and returns their ids.
async fn published(gateway: &Gateway, topic: &str, messages: &[&str]) -> Vec<String> {
    let done = publish(gateway, json!({ "topic": topic, "messages": messages })).await;
    let ids = done["messageIds"].as_array().unwrap_or_else(|| panic!("ids: {done:#}"));
    ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

/// Publishes `from` to `to` as one message each, ten at a time.
async fn publish_numbers(gateway: &Gateway, topic: &str, numbers: std::ops::Range<usize>) {
    let all: Vec<String> = numbers.map(|number| number.to_string()).collect();
    for some in all.chunks(10) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        published(gateway, topic, &some).await;
    }
}

fn texts(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| number.to_string()).collect()
}

/// A subscriber, and where it is.
struct Follower {
    live: Live,
    position: String,
    /// What the responses told as missed.
    missed: Vec<Value>,
}

impl Follower {
    /// Subscribes, and waits for the first response, whose messages are returned.
    async fn new(client: &Client, name: &str, since: Option<&str>) -> (Self, Vec<String>) {
        let live = client.follow(FOLLOW, json!({ "name": name, "since": since })).await;
        let mut follower = Self { live, position: String::new(), missed: Vec::new() };
        let first = follower.next().await;
        (follower, first)
    }

    /// The payloads of the next response.
    async fn next(&mut self) -> Vec<String> {
        let response = self.live.next().await;
        self.payloads(&response)
    }

    /// The payloads of the next response, which may take this long.
    async fn next_within(&mut self, patience: Duration) -> Vec<String> {
        let response = self.live.next_within(patience).await;
        self.payloads(&response)
    }

    fn payloads(&mut self, response: &Value) -> Vec<String> {
        let found = &response["data"]["topic"];
        let position = found["position"].as_str();
        position
            .unwrap_or_else(|| panic!("a position: {response:#}"))
            .clone_into(&mut self.position);
        if found["missed"] != json!(0) {
            self.missed.push(found["missed"].clone());
        }
        let messages = found["messages"].as_array().expect("messages");
        messages.iter().map(|one| one["payload"].as_str().expect("a text").to_owned()).collect()
    }

    /// The payloads of the next responses, up to this number of messages.
    async fn hear(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        while all.len() < count {
            all.extend(self.next().await);
        }
        all
    }
}

/// The tailable cursors on rings of the gateway's database.
async fn cursors(gateway: &Gateway) -> Vec<(String, i64)> {
    let all = doc! { "$currentOp": { "idleCursors": true, "allUsers": true } };
    let here = doc! { "cursor.tailable": true, "ns": { "$regex": format!("^{}\\.topic_", gateway.database.name()) } };
    let admin = gateway.database.client().database("admin");
    let found = admin.aggregate([all, doc! { "$match": here }]).await.expect("operations");
    let found: Vec<Document> = found.try_collect().await.expect("operations");
    let cursor = |operation: &Document| {
        let (_, ring) = operation.get_str("ns").expect("a name").split_once('.').expect("a name");
        let cursor = operation.get_document("cursor").expect("a cursor");
        (ring.to_owned(), cursor.get_i64("cursorId").expect("an id"))
    };
    found.iter().map(cursor).collect()
}

/// Waits until there are this many cursors.
async fn has_cursors(gateway: &Gateway, count: usize) {
    let what = format!("{count} cursors are open");
    until(&what, async || cursors(gateway).await.len() == count).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_subscriber_gets_every_message_in_order_by_one_cursor() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let shopper = gateway.shopper("someone");
    let followers = join_all((0..50).map(|_| Follower::new(&shopper, "prices", None))).await;
    has_cursors(&gateway, 1).await;
    publish_numbers(&gateway, "prices", 0..200).await;
    let heard = async |(mut follower, first): (Follower, Vec<String>)| {
        assert!(first.is_empty());
        assert_eq!(follower.hear(200).await, texts(0..200));
        assert!(follower.missed.is_empty());
    };
    join_all(followers.into_iter().map(&heard)).await;
    // Without subscribers there is soon no cursor.
    has_cursors(&gateway, 0).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_that_comes_back_continues_after_its_position() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let client = gateway.shopper("someone");
    // A position without any message.
    let (first, _) = Follower::new(&client, "prices", None).await;
    publish_numbers(&gateway, "prices", 0..30).await;
    let (mut again, heard) = Follower::new(&client, "prices", Some(&first.position)).await;
    let mut all = heard;
    if all.len() < 30 {
        all.extend(again.hear(30 - all.len()).await);
    }
    assert_eq!(all, texts(0..30));
    // An id of a message, in this gateway and in one that begins to follow.
    let ids = published(&gateway, "prices", &["a", "b", "c"]).await;
    let sibling = gateway.sibling().await;
    for gateway in [&gateway, &sibling] {
        let client = gateway.shopper("someone");
        let (mut last, mut heard) = Follower::new(&client, "prices", Some(&ids[0])).await;
        heard.extend(last.hear(2 - heard.len().min(2)).await);
        assert_eq!(heard, ["b", "c"]);
        assert!(last.missed.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_gateways_tell_the_same_order() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let sibling = gateway.sibling().await;
    let (mut one, _) = Follower::new(&gateway.shopper("a"), "prices", None).await;
    let (mut other, _) = Follower::new(&sibling.shopper("b"), "prices", None).await;
    tokio::join!(
        publish_numbers(&gateway, "prices", 0..100),
        publish_numbers(&sibling, "prices", 100..200)
    );
    let (one, other) = tokio::join!(one.hear(200), other.hear(200));
    assert_eq!(one, other);
    let of_one: Vec<String> = one.into_iter().filter(|text| text.len() < 3).collect();
    assert_eq!(of_one, texts(0..100));
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_decide_who_creates_publishes_and_follows() {
    let gateway = Gateway::start().await;
    let (anonymous, shopper) = (gateway.anonymous(), gateway.shopper("someone"));
    let create = json!({ "input": { "name": "secret", "bytes": 4_096 } });
    assert_eq!(anonymous.error_code(CREATE, create.clone()).await, "UNAUTHENTICATED");
    assert_eq!(shopper.error_code(CREATE, create.clone()).await, "FORBIDDEN");
    assert_eq!(gateway.service().field(CREATE, create).await["__typename"], "Topic");
    let public = json!({ "input": { "name": "public", "bytes": 4_096, "isPublic": true } });
    assert_eq!(operator(&gateway).field(CREATE, public).await["isPublic"], true);

    let message = json!({ "input": { "topic": "public", "messages": ["a"] } });
    assert_eq!(shopper.error_code(PUBLISH, message.clone()).await, "FORBIDDEN");
    assert_eq!(operator(&gateway).error_code(PUBLISH, message).await, "FORBIDDEN");
    let delete = json!({ "input": { "name": "public" } });
    assert_eq!(shopper.error_code(DELETE, delete).await, "FORBIDDEN");

    let names = async |client: &Client| {
        let topics = client.field(TOPICS, json!({})).await;
        let names = topics.as_array().expect("topics").iter().map(|topic| topic["name"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&anonymous).await, [json!("public")]);
    assert_eq!(names(&shopper).await, [json!("secret"), json!("public")]);
    Follower::new(&anonymous, "public", None).await;
    Follower::new(&shopper, "secret", None).await;
    // What isn't visible looks like what doesn't exist.
    for name in ["secret", "nothing"] {
        let mut socket = gateway.session(None).await;
        socket.subscribe("1", FOLLOW, json!({ "name": name })).await;
        let heard = socket.next("1").await;
        let error = &heard["errors"][0];
        assert_eq!(error["extensions"]["code"], "NOT_FOUND", "{heard:#}");
        assert_eq!(error["message"], format!("there is no topic \"{name}\""), "{heard:#}");
        assert!(heard["data"].is_null(), "{heard:#}");
        assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "1" }), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_never_a_collection_of_its_own() {
    let gateway = Gateway::start().await;
    created(&gateway, "a.b-c_1", 4_096).await;
    let before = gateway.database.list_collection_names().await.expect("names");
    let long = "x".repeat(8_192);
    for name in ["", ".", "a$b", "$ne", "A", "a b", "_a", "system.users\0", long.as_str()] {
        let input = json!({ "input": { "name": name, "bytes": 4_096 } });
        let refused = operator(&gateway).field(CREATE, input).await;
        assert_eq!(
            (&refused["__typename"], &refused["field"]),
            (&json!("InvalidInput"), &json!("input.name")),
            "{name:.20}"
        );
        let refused = publish(&gateway, json!({ "topic": name, "messages": ["a"] })).await;
        assert_eq!(refused["field"], "input.topic", "{name:.20}");
        let mut socket = gateway.session(None).await;
        socket.subscribe("1", FOLLOW, json!({ "name": name })).await;
        let heard = socket.hear().await.to_string();
        assert!(heard.contains("BAD_USER_INPUT"), "{name:.20}: {heard}");
    }
    let mut after = gateway.database.list_collection_names().await.expect("names");
    after.retain(|name| !before.contains(name));
    assert!(after.is_empty(), "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_creators_one_creates_and_the_bounds_hold() {
    let gateway = Gateway::with(|config| {
        config.topics_most = 3;
        config.topics_bytes = 20_000;
    })
    .await;
    let sibling = gateway.sibling().await;
    let create = async |gateway: &Gateway, name: &str, bytes: i64| {
        let input = json!({ "input": { "name": name, "bytes": bytes } });
        operator(gateway).field(CREATE, input).await
    };
    let both = (0..8).map(|at| create(if at % 2 == 0 { &gateway } else { &sibling }, "one", 4_096));
    let answers = join_all(both).await;
    let created = answers.iter().filter(|answer| answer["__typename"] == "Topic").count();
    let refused = answers.iter().filter(|answer| answer["__typename"] == "AlreadyExists").count();
    assert_eq!((created, refused), (1, 7), "{answers:#?}");
    // Too large by itself, and too many at once.
    let large = create(&gateway, "large", 16_384).await;
    assert_eq!(
        (&large["topicsLeft"], &large["bytesLeft"]),
        (&json!(2), &json!(15_904)),
        "{large:#}"
    );
    let names: Vec<String> = (0..6).map(|at| format!("topic-{at}")).collect();
    let answers = join_all(names.iter().map(|name| create(&gateway, name, 4_096))).await;
    let created = answers.iter().filter(|answer| answer["__typename"] == "Topic").count();
    assert_eq!(created, 2, "{answers:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_publishes_nothing_twice() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let input = json!({ "topic": "prices", "messages": ["a", "b"], "idempotencyKey": "k" });
    let first = publish(&gateway, input.clone()).await;
    let again = join_all((0..8).map(|_| publish(&gateway, input.clone()))).await;
    assert!(again.iter().all(|answer| *answer == first), "{again:#?}");
    for messages in [json!(["a"]), json!(["a", "b", "c"]), json!(["a", "x"])] {
        let other = json!({ "topic": "prices", "messages": messages, "idempotencyKey": "k" });
        assert_eq!(publish(&gateway, other).await["__typename"], "Conflict");
    }
    let topics = gateway.service().field(TOPICS, json!({})).await;
    assert_eq!(topics[0]["usage"]["messages"], 2, "{topics:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_topic_has_no_room_for_is_refused() {
    let gateway = Gateway::start().await;
    let input = json!({ "name": "small", "bytes": 4_096, "maxMessages": 3 });
    operator(&gateway).field(CREATE, json!({ "input": input })).await;
    let large = "x".repeat(5_000);
    let huge = "x".repeat(65_537);
    for (messages, field) in [
        (json!([]), "input.messages"),
        (json!(["1", "2", "3", "4"]), "input.messages"),
        (json!([large]), "input.messages"),
        (json!(["1", huge]), "input.messages.1"),
    ] {
        let refused = publish(&gateway, json!({ "topic": "small", "messages": messages })).await;
        assert_eq!(refused["field"], field, "{refused:#}");
    }
    let missing = publish(&gateway, json!({ "topic": "nothing", "messages": ["a"] })).await;
    assert_eq!(missing["__typename"], "NotFound");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_topic_ends_its_subscriptions() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 4_096).await;
    let token = gateway.shopper("someone").token;
    let mut socket = gateway.session(token.as_deref()).await;
    socket.subscribe("1", FOLLOW, json!({ "name": "prices" })).await;
    socket.next("1").await;
    let delete = json!({ "input": { "name": "prices" } });
    assert_eq!(operator(&gateway).field(DELETE, delete.clone()).await["name"], "prices");
    assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "1" }));
    assert_eq!(operator(&gateway).field(DELETE, delete).await["__typename"], "NotFound");
    gateway.assert_sound().await;
    // A new one with the name has nothing of the old one.
    created(&gateway, "prices", 8_192).await;
    let (mut follower, _) = Follower::new(&gateway.shopper("someone"), "prices", None).await;
    published(&gateway, "prices", &["a"]).await;
    assert_eq!(follower.hear(1).await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_created_again_under_its_key_has_another_ring() {
    let gateway = Gateway::start().await;
    let input = json!({ "input": { "name": "prices", "bytes": 4_096, "idempotencyKey": "k" } });
    let create = async || {
        let topic = operator(&gateway).field(CREATE, input.clone()).await;
        assert_eq!(topic["__typename"], "Topic", "{topic:#}");
        rings::names(&gateway).await
    };
    let old = create().await;
    assert_eq!(create().await, old);
    let token = gateway.shopper("someone").token;
    let mut socket = gateway.session(token.as_deref()).await;
    socket.subscribe("1", FOLLOW, json!({ "name": "prices" })).await;
    socket.next("1").await;
    let ids = published(&gateway, "prices", &["old"]).await;
    socket.next("1").await;
    operator(&gateway).field(DELETE, json!({ "input": { "name": "prices" } })).await;
    let new = create().await;
    assert_ne!(new, old);
    // The subscription of the old one is over, and a drop of the old one that arrives late doesn't matter.
    assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "1" }));
    gateway.raw(&old[0]).drop().await.expect("dropped");
    let (mut follower, heard) =
        Follower::new(&gateway.shopper("someone"), "prices", Some(&ids[0])).await;
    assert!(heard.is_empty());
    assert_eq!(follower.missed, [Value::Null]);
    published(&gateway, "prices", &["new"]).await;
    assert_eq!(follower.hear(1).await, ["new"]);
    gateway.assert_sound().await;
}
