//! Inboxes, conversations and what is read: pages, numbers, and who may see them.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    ARRIVED, CONVERSATION, INBOX, MARK, SEND, UNREAD, buckets, client, conversation, inbox, send,
    unread,
};
use crate::{
    commands::sends_only,
    metrics::Samples,
    social::{BLOCK, does, people, texts},
    support::{Gateway, all_nodes, live::Socket, nodes, pages_both_ways, texts_of, until},
};

/// Sends messages one after the other, whose texts are these numbers. Returns their ids.
async fn series(gateway: &Gateway, numbers: std::ops::Range<usize>) -> Vec<String> {
    let mut ids = Vec::new();
    for number in numbers {
        ids.push(send(gateway, "ann", &["bob"], &number.to_string()).await);
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_goes_on_in_the_next_bucket() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    series(&gateway, 0..50).await;
    assert_eq!(buckets(&gateway, "bob").await, [(50, false)]);
    let descending = |from: usize| (0..from).rev().map(|number| number.to_string());
    assert_eq!(inbox(&gateway, "bob").await, descending(50).collect::<Vec<_>>());
    let ids = series(&gateway, 50..101).await;
    assert_eq!(buckets(&gateway, "bob").await, [(50, false), (50, false), (1, true)]);
    let bob = client(&gateway, "bob");
    for size in [1, 7, 20, 49, 50, 51, 100] {
        let mut read = 0;
        let found = all_nodes(json!({ "first": size }), async |page| {
            let page = bob.field(INBOX, page).await;
            let (is_last, count) = (page["pageInfo"]["hasNextPage"] == false, nodes(&page).len());
            read += count;
            assert_eq!(is_last, read == 101, "{size}");
            assert!(is_last || count == size, "{size}");
            page
        });
        assert_eq!(texts_of(&found.await, "text"), descending(101).collect::<Vec<_>>(), "{size}");
        let found = all_nodes(json!({ "last": size }), async |page| {
            let page = bob.field(INBOX, page).await;
            let (is_first, count) =
                (page["pageInfo"]["hasPreviousPage"] == false, nodes(&page).len());
            assert!(is_first || count == size, "{size} from the end");
            page
        });
        let found = texts_of(&found.await, "text");
        assert_eq!(found, descending(101).collect::<Vec<_>>(), "{size} from the end");
    }
    // A page is one command in both directions, also where a bucket ends.
    let found = pages_both_ways(&bob, "inbox(", "text").await;
    assert_eq!(texts_of(&found, "text"), descending(101).collect::<Vec<_>>());
    assert_eq!(unread(&gateway, "bob").await, 101);
    for (number, left) in [(49, 1), (50, 0)] {
        let marked = does(&gateway, "bob", MARK, json!({ "messageId": ids[number] })).await;
        assert_eq!(marked["unreadMessageCount"], left);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_an_inbox_is_one_read_of_two_buckets() {
    let base = Gateway::start().await;
    people(&base, &["ann", "bob"]).await;
    series(&base, 0..51).await;
    let read = async |gateway: &Gateway| {
        let query = "{ inbox(first: 50) { nodes { text sentAt } } }";
        let found = client(gateway, "bob").field(query, json!({})).await;
        assert_eq!(texts(&found).len(), 50);
    };
    sends_only(&base, read, &["find inboxBuckets"]).await;
    // The sender of all of them is read once.
    let read = async |gateway: &Gateway| assert_eq!(inbox(gateway, "bob").await.len(), 51);
    sends_only(&base, read, &["find inboxBuckets", "find users"]).await;
    let read = async |gateway: &Gateway| {
        assert_eq!(conversation(gateway, "bob", "ann").await.len(), 20);
    };
    sends_only(&base, read, &["find conversationEntries"]).await;
    let read = async |gateway: &Gateway| assert_eq!(unread(gateway, "bob").await, 51);
    sends_only(&base, read, &["find users", "find inboxReads", "find inboxBuckets"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_has_both_directions() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cid", "a", "n bob"]).await;
    for (by, to, text) in [
        ("ann", vec!["bob"], "1"),
        ("bob", vec!["ann", "cid"], "2"),
        ("cid", vec!["ann", "bob"], "not theirs"),
        ("ann", vec!["bob", "cid"], "3"),
        ("a", vec!["n bob"], "not theirs"),
    ] {
        send(&gateway, by, &to, text).await;
        // The order is that of the times at which they were sent.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for (of, with) in [("ann", "bob"), ("bob", "ann")] {
        assert_eq!(conversation(&gateway, of, with).await, ["3", "2", "1"]);
    }
    assert_eq!(conversation(&gateway, "cid", "bob").await, ["not theirs", "2"]);
    assert!(conversation(&gateway, "ann", "nobody").await.is_empty());
    let list = "conversation(userId: \"bob\"";
    let found = pages_both_ways(&client(&gateway, "ann"), list, "text").await;
    let found: Vec<_> = found.iter().map(|node| node["text"].as_str().expect("a text")).collect();
    assert_eq!(found, ["3", "2", "1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn marking_as_read_never_goes_back() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    let ids = series(&gateway, 0..3).await;
    let mark =
        async |who: &str, id: &str| does(&gateway, who, MARK, json!({ "messageId": id })).await;
    for (number, left) in [(0, 2), (1, 1), (1, 1), (0, 1), (2, 0), (0, 0)] {
        assert_eq!(mark("bob", &ids[number]).await["unreadMessageCount"], left);
        assert_eq!(unread(&gateway, "bob").await, left);
    }
    // It isn't in the sender's inbox.
    let refused = mark("ann", &ids[0]).await;
    assert_eq!(
        refused,
        json!({ "__typename": "NotFound", "code": "NOT_FOUND", "what": "message", "id": ids[0] })
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_while_others_are_marked_stays_unread() {
    let gateway = Gateway::start().await;
    for round in 0..10 {
        let (ann, bob) = (format!("ann-{round}"), format!("bob-{round}"));
        people(&gateway, &[&ann, &bob]).await;
        let mut ids = Vec::new();
        for number in 0..4 {
            ids.push(send(&gateway, &ann, &[&bob], &number.to_string()).await);
        }
        // The first marks compete for a document that doesn't exist yet.
        let marks = join_all(ids.iter().map(|id| {
            let input = json!({ "messageId": id });
            does(&gateway, &bob, MARK, input)
        }));
        let to = [bob.as_str()];
        let arrivals = join_all((0..3).map(|_| send(&gateway, &ann, &to, "new")));
        let (marks, _) = tokio::join!(marks, arrivals);
        assert!(marks.iter().all(|mark| mark["__typename"] == "ReadMark"), "{marks:#?}");
        assert_eq!(unread(&gateway, &bob).await, 3);
    }
    gateway.assert_sound().await;
}

/// Waits until so many inboxes are followed.
async fn are_followed(gateway: &Gateway, wanted: u32) {
    let followers = "docgate_change_stream_subscribers{collection=\"inboxBuckets\"}";
    until("the inboxes are followed", async || {
        Samples::of(gateway).await.get(followers) >= f64::from(wanted)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_visible_to_sender_and_recipients_alone() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    people(&gateway, &["ann", "bob", "cleo", "eve"]).await;
    does(&gateway, "cleo", BLOCK, json!({ "userId": "ann" })).await;
    let mut sockets: Vec<Socket> = Vec::new();
    let arrived = "subscription { messageArrived {
        text sender { name circles isBlocked unreadMessageCount } } }";
    for who in ["bob", "ann", "cleo", "eve"] {
        let mut socket = gateway.session(client(&gateway, who).token.as_deref()).await;
        socket.subscribe("1", arrived, json!({})).await;
        sockets.push(socket);
    }
    are_followed(&gateway, 4).await;
    for socket in &mut sockets {
        socket.is_silent(Duration::from_millis(200)).await;
    }
    let id = send(&gateway, "ann", &["bob", "cleo"], "secret").await;
    let sender =
        json!({ "name": "ann", "circles": [], "isBlocked": false, "unreadMessageCount": null });
    let heard = sockets[0].next("1").await["data"]["messageArrived"].clone();
    assert_eq!(heard, json!({ "text": "secret", "sender": sender }));
    for socket in &mut sockets[1..] {
        socket.is_silent(Duration::from_millis(200)).await;
    }
    let mut nobody = gateway.session(None).await;
    nobody.subscribe("1", arrived, json!({})).await;
    let refused = nobody.next("1").await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{refused:#}");
    let node = "query($id: ID!) { node(id: $id) { id ... on Message { text } } }";
    let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let entities =
        "query($of: [_Any!]!) { _entities(representations: $of) { ... on Message { text } } }";
    let of = json!({ "of": [{ "__typename": "Message", "id": id }] });
    // The message is withheld from cleo.
    for (who, sees) in [("ann", true), ("bob", true), ("cleo", false), ("eve", false)] {
        let reader = client(&gateway, who);
        let found = reader.run(node, json!({ "id": id })).await;
        let expected = if sees { json!({ "id": id, "text": "secret" }) } else { Value::Null };
        assert_eq!(found["data"]["node"], expected, "{who}");
        let found = reader.run(nodes, json!({ "ids": [id] })).await;
        assert_eq!(found["data"]["nodes"][0].is_object(), sees, "{who}");
        let found = reader.run(entities, of.clone()).await;
        assert_eq!(found["data"]["_entities"][0]["text"] == "secret", sees, "{who}: {found:#}");
    }
    for who in ["cleo", "eve"] {
        for with in ["ann", "bob"] {
            assert!(conversation(&gateway, who, with).await.is_empty(), "{who} {with}");
        }
        assert!(inbox(&gateway, who).await.is_empty(), "{who}");
    }
    // The number is the user's own, whatever way leads to the user.
    let user = docgate::graphql::node_id::NodeKind::USER.id("bob").0;
    for who in ["ann", "eve", "bob"] {
        let expected = if who == "bob" { json!(1) } else { Value::Null };
        let reader = client(&gateway, who);
        let field = "{ id ... on User { unreadMessageCount } }";
        let query = format!("query($id: ID!) {{ node(id: $id) {field} user(id: $id) {field} }}");
        let found = reader.run(&query, json!({ "id": user })).await;
        for way in ["node", "user"] {
            assert_eq!(found["data"][way]["unreadMessageCount"], expected, "{who} {way}");
        }
        let query = format!("query($of: [_Any!]!) {{ _entities(representations: $of) {field} }}");
        let query = query.replace("{ id ...", "{ ...");
        let of = json!({ "of": [{ "__typename": "User", "id": user }] });
        let found = reader.run(&query, of).await;
        let entity = &found["data"]["_entities"][0];
        assert_eq!(entity["unreadMessageCount"], expected, "{who}: {found:#}");
    }
    let anonymous = gateway.anonymous();
    assert_eq!(anonymous.run(node, json!({ "id": id })).await["data"]["node"], Value::Null);
    for (query, variables) in [
        (INBOX, json!({})),
        (CONVERSATION, json!({ "with": "bob" })),
        (SEND, json!({ "input": { "toUserIds": ["bob"], "text": "hello" } })),
        (MARK, json!({ "input": { "messageId": id } })),
    ] {
        assert_eq!(anonymous.error_code(query, variables).await, "UNAUTHENTICATED");
    }
    assert_eq!(anonymous.run(UNREAD, json!({})).await["data"]["user"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_gets_each_message_once() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cid"]).await;
    send(&gateway, "ann", &["bob"], "before").await;
    let mut sockets = Vec::new();
    for who in ["bob", "cid"] {
        let mut socket = gateway.session(client(&gateway, who).token.as_deref()).await;
        socket.subscribe("1", ARRIVED, json!({})).await;
        sockets.push(socket);
    }
    are_followed(&gateway, 2).await;
    for socket in &mut sockets {
        socket.is_silent(Duration::from_millis(300)).await;
    }
    let [bob, cid] = &mut sockets[..] else { panic!("two of them") };
    // Over the end of a bucket.
    let sent = async {
        for number in 0..60 {
            send(&gateway, "ann", &["bob"], &number.to_string()).await;
            // What others get isn't told. A client that doesn't read answers no pings, and is cut off.
            cid.is_silent(Duration::from_millis(1)).await;
        }
    };
    let heard = async {
        for number in 0..60 {
            let heard = bob.next("1").await["data"]["messageArrived"].clone();
            assert_eq!(heard["text"], number.to_string(), "{heard:#}");
            assert_eq!(heard["sender"]["name"], "ann");
        }
    };
    tokio::join!(sent, heard);
    // The first message of an inbox is.
    cid.is_silent(Duration::from_millis(300)).await;
    send(&gateway, "bob", &["cid"], "hello").await;
    assert_eq!(cid.next("1").await["data"]["messageArrived"]["text"], "hello");
    bob.is_silent(Duration::from_millis(300)).await;
}
