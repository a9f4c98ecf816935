//! `commentAdded`.

use std::time::Duration;

use serde_json::json;

use super::{LAYOUTS, discussed, does, posted};
use crate::support::{Gateway, live::Socket};

const ADDED: &str = "subscription($subjectId: ID!) { commentAdded(subjectId: $subjectId) { id text author { id } } }";

/// Posts until the socket tells of it: a busy machine may take a while to begin a subscription.
async fn follows(socket: &mut Socket, post: impl AsyncFn() -> String) {
    for _ in 0..60 {
        let slug = post().await;
        let heard = async {
            while socket.next("1").await["data"]["commentAdded"]["id"] != slug.as_str() {}
        };
        if tokio::time::timeout(Duration::from_secs(2), heard).await.is_ok() {
            return;
        }
    }
    panic!("it tells of nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_are_heard_as_they_are_posted() {
    let gateway = Gateway::start().await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let mut slugs = Vec::new();
        for number in 0..12 {
            slugs.push(posted(&anna, &on, &format!("before {number}"), None).await);
        }
        let mut socket = gateway.session(None).await;
        socket.subscribe("1", ADDED, json!({ "subjectId": on })).await;
        // What was there before isn't told, and what changes of it neither: not even what comes among
        // the newest because another goes.
        socket.is_silent(Duration::from_millis(500)).await;
        follows(&mut socket, async || posted(&anna, &on, "begun", None).await).await;
        for slug in &slugs[10..] {
            does(&anna, "removeComment", json!({ "commentId": slug })).await;
        }
        socket.is_silent(Duration::from_millis(500)).await;
        for number in 0..3 {
            let slug = posted(&anna, &on, &format!("after {number}"), None).await;
            let heard = socket.next("1").await;
            let comment = &heard["data"]["commentAdded"];
            assert_eq!(comment["id"], slug.as_str(), "{heard:#}");
            assert_eq!(comment["text"], format!("after {number}"));
        }
        // A price is no comment.
        gateway.reprice(layout, 50).await;
        socket.is_silent(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_to_be_heard_the_subscriber_is_told() {
    let gateway = Gateway::start().await;
    gateway.product("silent", 100, "EUR").await;
    let [silent, nothing] =
        ["silent", "nothing"].map(|key| docgate::graphql::node_id::NodeKind::PRODUCT.id(key).0);
    for on in [silent, nothing, "a".to_owned()] {
        let mut socket = gateway.session(None).await;
        socket.subscribe("1", ADDED, json!({ "subjectId": on })).await;
        socket.ends_not_found("1").await;
    }
}
