//! Messages between users.

mod check;
mod cuts;
mod reading;
mod senders;

use std::time::Duration;

use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::{
    commands::sends_only,
    social::{BLOCK, UNBLOCK, does, people, texts},
    support::{Client, Gateway, long_bounds, very_long_bounds},
};

const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) {
    __typename ... on Message { id text senderId sender { name } } ... on UserError { code message }
    ... on UnknownRecipients { userIds } ... on NotFound { what } ... on InvalidInput { field } } }";
const MARK: &str = "mutation($input: MarkReadInput!) { markRead(input: $input) {
    __typename ... on ReadMark { unreadMessageCount } ... on UserError { code } ... on NotFound { what id } } }";
const INBOX: &str = "query($first: Int, $after: String, $last: Int, $before: String) {
    inbox(first: $first, after: $after, last: $last, before: $before) {
    nodes { id text sender { name } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
const CONVERSATION: &str =
    "query($with: ID!) { conversation(userId: $with) { nodes { id text senderId } } }";
const UNREAD: &str = "{ user { unreadMessageCount } }";
const ARRIVED: &str = "subscription { messageArrived { id text sender { name } } }";

/// Sends a message, and returns its id.
pub async fn send(gateway: &Gateway, by: &str, to: &[&str], text: &str) -> String {
    let sent = does(gateway, by, SEND, json!({ "toUserIds": to, "text": text })).await;
    assert_eq!(sent["__typename"], "Message", "{sent:#}");
    sent["id"].as_str().expect("an id").to_owned()
}

/// The texts in an inbox, the last one first.
async fn inbox(gateway: &Gateway, of: &str) -> Vec<String> {
    texts(&gateway.shopper(of).field(INBOX, json!({ "first": 100 })).await)
}

async fn conversation(gateway: &Gateway, of: &str, with: &str) -> Vec<String> {
    texts(&gateway.shopper(of).field(CONVERSATION, json!({ "with": with })).await)
}

async fn unread(gateway: &Gateway, of: &str) -> Value {
    gateway.shopper(of).field(UNREAD, json!({})).await["unreadMessageCount"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_arrives_at_each_recipient_once() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cid", "dan"]).await;
    let id = send(&gateway, "ann", &["bob", "cid", "bob"], "hello").await;
    for who in ["bob", "cid"] {
        let found = gateway.shopper(who).field(INBOX, json!({})).await;
        let expected = json!([{ "id": id, "text": "hello", "sender": { "name": "ann" } }]);
        assert_eq!(found["nodes"], expected, "{who}");
        assert_eq!(unread(&gateway, who).await, 1);
        assert_eq!(conversation(&gateway, who, "ann").await, ["hello"]);
        assert_eq!(conversation(&gateway, "ann", who).await, ["hello"]);
    }
    for who in ["ann", "dan"] {
        assert!(inbox(&gateway, who).await.is_empty());
        assert_eq!(unread(&gateway, who).await, 0);
    }
    assert!(conversation(&gateway, "bob", "cid").await.is_empty());
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_with_an_unusable_recipient_is_not_sent() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    let before = gateway.snapshot().await;
    let refused = |input: Value| does(&gateway, "ann", SEND, input);
    let answer = refused(json!({ "toUserIds": ["bob", "$x", "a.b"], "text": "hello" })).await;
    assert_eq!(answer["code"], "UNKNOWN_RECIPIENTS", "{answer:#}");
    assert_eq!(answer["userIds"], json!(["$x", "a.b"]));
    let many: Vec<String> = (0..=10_000).map(|number| number.to_string()).collect();
    let answer = refused(json!({ "toUserIds": many[1..], "text": "hello" })).await;
    assert_eq!(answer["userIds"].as_array().map(Vec::len), Some(10_000));
    for (to, field) in [
        (json!([]), "input.toUserIds"),
        (json!(["bob", "ann"]), "input.toUserIds"),
        (json!(["bob", ""]), "input.toUserIds.1"),
        (json!(many), "input.toUserIds"),
    ] {
        let answer = refused(json!({ "toUserIds": to, "text": "hello" })).await;
        assert_eq!(answer["__typename"], "InvalidInput", "{answer:#}");
        assert_eq!(answer["field"], field);
    }
    let answer = refused(json!({ "toUserIds": ["bob"], "text": " " })).await;
    assert_eq!(answer["field"], "input.text");
    // Without a profile nobody would see who has sent it.
    let answer =
        does(&gateway, "nobody", SEND, json!({ "toUserIds": ["bob"], "text": "hello" })).await;
    assert_eq!((&answer["code"], &answer["what"]), (&json!("NOT_FOUND"), &json!("user")));
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("no profile") && message.contains("createUser"), "{message}");
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_arrives_at_a_user_who_blocks_the_sender() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cid"]).await;
    send(&gateway, "ann", &["bob"], "before").await;
    does(&gateway, "bob", BLOCK, json!({ "userId": "ann" })).await;
    let bob = gateway.shopper("bob");
    let mut socket = gateway.session(bob.token.as_deref()).await;
    socket.subscribe("1", ARRIVED, json!({})).await;
    let input = json!({ "toUserIds": ["bob", "cid"], "text": "hidden", "idempotencyKey": "op" });
    let sent = does(&gateway, "ann", SEND, input.clone()).await;
    assert_eq!(sent["__typename"], "Message", "{sent:#}");
    assert_eq!(inbox(&gateway, "cid").await, ["hidden"]);
    let hidden = async || {
        assert_eq!(inbox(&gateway, "bob").await, ["before"]);
        assert_eq!(conversation(&gateway, "bob", "ann").await, ["before"]);
        assert_eq!(unread(&gateway, "bob").await, 1);
        let query = "query($id: ID!) { node(id: $id) { id } }";
        assert_eq!(bob.run(query, json!({ "id": sent["id"] })).await["data"]["node"], Value::Null);
        let marked = does(&gateway, "bob", MARK, json!({ "messageId": sent["id"] })).await;
        assert_eq!(marked["code"], "NOT_FOUND");
    };
    hidden().await;
    socket.is_silent(Duration::from_millis(500)).await;
    assert_eq!(conversation(&gateway, "ann", "bob").await, ["hidden", "before"]);
    // A repeat doesn't deliver what was withheld.
    does(&gateway, "bob", UNBLOCK, json!({ "userId": "ann" })).await;
    assert_eq!(does(&gateway, "ann", SEND, input).await, sent);
    hidden().await;
    send(&gateway, "ann", &["bob"], "after").await;
    assert_eq!(inbox(&gateway, "bob").await, ["after", "before"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_delivers_once() {
    let gateway = Gateway::with(long_bounds).await;
    people(&gateway, &["ann", "bob", "cid"]).await;
    let call = |by: &'static str, text: &str| {
        let input = json!({ "toUserIds": ["bob"], "text": text, "idempotencyKey": "op" });
        let gateway = &gateway;
        async move { does(gateway, by, SEND, input).await }
    };
    let sent = join_all((0..16).map(|_| call("ann", "once"))).await;
    assert!(sent.iter().all(|one| *one == sent[0] && one["__typename"] == "Message"), "{sent:#?}");
    assert_eq!(inbox(&gateway, "bob").await, ["once"]);
    assert_eq!(call("ann", "other").await["code"], "CONFLICT");
    assert_eq!(call("cid", "another's").await["__typename"], "Message");
    assert_eq!(inbox(&gateway, "bob").await, ["another's", "once"]);
    // Recipients have no order.
    let to = |to: Value| json!({ "toUserIds": to, "text": "both", "idempotencyKey": "both" });
    let one = does(&gateway, "ann", SEND, to(json!(["bob", "cid"]))).await;
    assert_eq!(does(&gateway, "ann", SEND, to(json!(["cid", "bob", "cid"]))).await, one);
    gateway.assert_sound().await;
}

/// The numbers of messages in the buckets of an owner, and whether they are open.
async fn buckets(gateway: &Gateway, owner: &str) -> Vec<(usize, bool)> {
    let mut found = gateway.stored("inboxBuckets").await;
    found.retain(|bucket| bucket.get_str("owner").expect("an owner") == owner);
    found.sort_by_key(|bucket| bucket.get_i64("n").expect("a number"));
    let size = |bucket: &Document| bucket.get_array("messages").expect("messages").len();
    found.iter().map(|bucket| (size(bucket), bucket.contains_key("open"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_senders_at_once_lose_and_double_nothing() {
    let gateway = Gateway::with(very_long_bounds).await;
    people(&gateway, &["ann", "bob", "cid"]).await;
    let other = gateway.sibling().await;
    // The first ones compete for the first bucket, later ones for its end.
    let calls = (0..64).map(|number| {
        let (gateway, by) = if number % 2 == 0 { (&gateway, "ann") } else { (&other, "cid") };
        async move { send(gateway, by, &["bob"], &number.to_string()).await }
    });
    join_all(calls).await;
    let mut found: Vec<usize> =
        inbox(&gateway, "bob").await.iter().map(|text| text.parse().expect("a number")).collect();
    found.sort_unstable();
    assert_eq!(found, (0..64).collect::<Vec<_>>());
    assert_eq!(buckets(&gateway, "bob").await, [(50, false), (14, true)]);
    assert_eq!(unread(&gateway, "bob").await, 64);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_sends_only() {
    let base = Gateway::start().await;
    people(&base, &["ann", "bob", "cid"]).await;
    send(&base, "ann", &["bob", "cid"], "first").await;
    let flow = async |gateway: &Gateway| {
        send(gateway, "ann", &["bob", "cid"], "second").await;
    };
    let expected = [
        // The sender, the recipients, and the sender of the message in the answer.
        "find users",
        "find users",
        "find users",
        "update messageSenders",
        "insert messages",
        "insert conversationEntries",
        "update inboxBuckets",
        "update messages",
    ];
    sends_only(&base, flow, &expected).await;
    // A repeat looks at nobody but the sender of the message in the answer.
    let keyed = async |gateway: &Gateway| {
        let input = json!({ "toUserIds": ["bob", "cid"], "text": "third", "idempotencyKey": "op" });
        assert_eq!(does(gateway, "ann", SEND, input).await["__typename"], "Message");
    };
    keyed(&base).await;
    sends_only(&base, keyed, &["find messages", "find users"]).await;
}

/// Creates users without profiles of their own, at once.
async fn crowd(gateway: &Gateway, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|number| format!("r-{number:05}")).collect();
    let now = mongodb::bson::DateTime::from_millis(1_000_000_000_000);
    let user = |name: &String| {
        let profile = doc! { "name": name, "about": "" };
        doc! { "_id": name, "profile": profile, "version": 0_i64, "at": now, "blocked": [], "v": 1 }
    };
    let users: Vec<Document> = names.iter().map(user).collect();
    gateway.raw("users").insert_many(users).await.expect("inserted");
    names
}

/// The recipients of the text in all inboxes, each as often as it is there.
async fn arrived_at(gateway: &Gateway, text: &str) -> Vec<String> {
    let found = gateway.stored("inboxBuckets").await;
    let is_it = |message: &mongodb::bson::Bson| {
        message.as_document().expect("a message").get_str("text").expect("a text") == text
    };
    let mut owners = Vec::new();
    for bucket in found {
        let times = bucket.get_array("messages").expect("messages").iter().filter(|one| is_it(one));
        owners.extend(times.map(|_| bucket.get_str("owner").expect("an owner").to_owned()));
    }
    owners.sort();
    owners
}

/// Somebody's client.
fn client(gateway: &Gateway, who: &str) -> Client {
    gateway.shopper(who)
}
