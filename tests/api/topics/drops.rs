//! Rings that belong to no topic.

use docgate::{background, domains};
use mongodb::bson::doc;

use crate::support::{Gateway, until};

/// The collections with the names of rings, in the order in which the server lists them.
async fn rings(gateway: &Gateway) -> Vec<String> {
    let mut names = gateway.database.list_collection_names().await.expect("names");
    names.retain(|name| name.starts_with("topic_"));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_that_cant_be_dropped_keeps_no_others() {
    let gateway = Gateway::start().await;
    for n in 0..4 {
        let name = format!("topic_left-{n}");
        gateway.database.create_collection(name).await.expect("created");
    }
    let first = rings(&gateway).await.swap_remove(0);
    let refused = doc! {
        "failCommands": ["drop"], "namespace": format!("{}.{first}", gateway.database.name()),
        "errorCode": 2,
    };
    let point = gateway.fail_point(doc! { "times": 10_000 }, refused).await;
    let sweep = async || {
        // The pass fails for the ring that can't be dropped.
        let _passed = background::sweep_room(&gateway.app, &domains::topics::ROOM).await;
    };
    until("the others are dropped", async || {
        sweep().await;
        rings(&gateway).await == [first.as_str()]
    })
    .await;
    point.off().await;
    until("the first one is dropped", async || {
        sweep().await;
        rings(&gateway).await.is_empty()
    })
    .await;
}
