//! Each invariant finds a fault that is planted.

use mongodb::bson::{Bson, Document, doc};
use serde_json::json;

use super::{MARK, send};
use crate::{
    social::{BLOCK, does, people},
    support::{
        Gateway,
        faults::Fault::{Added, Changed, Removed},
        key,
    },
};

const COPIES: &str = "inbox: each copy is of a message that names the owner, and there is one";
const GAPS: &str = "inbox: buckets are numbered without a gap, and all but the last are full";
const ENTRIES: &str =
    "inbox: each entry of a conversation is of a message and one of its recipients";
const DELIVERED: &str =
    "inbox: a delivered message is in each inbox and conversation that it names";
const READ: &str = "inbox: nobody has read more messages than have arrived";

#[tokio::test(flavor = "multi_thread")]
async fn each_invariant_finds_its_fault() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cid"]).await;
    does(&gateway, "cid", BLOCK, json!({ "userId": "ann" })).await;
    for number in 0..51 {
        send(&gateway, "ann", &["bob"], &number.to_string()).await;
    }
    let last = key(&send(&gateway, "ann", &["bob", "cid"], "last").await);
    let read = send(&gateway, "ann", &["bob"], "read").await;
    does(&gateway, "bob", MARK, json!({ "messageId": read })).await;
    gateway.assert_sound().await;
    let set = |field: &str, value: Bson| Changed(doc! { "$set": { field: value } });

    let messages = gateway.stored("messages").await;
    let is_last = |message: &&Document| message.get_str("_id").is_ok_and(|id| id == last);
    let hidden = messages.iter().find(is_last).and_then(|of| of.get("shown")).expect("a message");
    let own = gateway.stored("inboxBuckets").await;
    let [full, open] = &own[..] else { panic!("two buckets of bob: {own:#?}") };
    let (full, copy) = (full.clone(), open.get_array("messages").expect("copies")[0].clone());
    let withheld = doc! {
        "_id": "cid 0", "owner": "cid", "n": 0, "open": "cid", "messages": [hidden], "v": 1,
    };
    let broken = async |id: &str, fault| gateway.broken_by("inboxBuckets", id, fault).await;
    for (field, value) in [("id", "nowhere"), ("text", "other")] {
        let fault = set(&format!("messages.0.{field}"), value.into());
        assert_eq!(broken("bob 1", fault).await, [COPIES, DELIVERED], "{field}");
    }
    let twice = doc! { "$push": { "messages": copy } };
    assert_eq!(broken("bob 1", Changed(twice)).await, [COPIES]);
    assert_eq!(broken("cid 0", Added(withheld)).await, [COPIES]);
    assert_eq!(broken("bob 1", set("owner", "cid".into())).await, [COPIES, GAPS, DELIVERED, READ]);
    assert_eq!(broken("bob 1", set("n", 5_i64.into())).await, [GAPS]);
    assert_eq!(broken("bob 1", Changed(doc! { "$unset": { "open": "" } })).await, [GAPS]);
    assert_eq!(broken("bob 0", Removed).await, [GAPS, DELIVERED]);
    let short = full.get_array("messages").expect("copies")[..49].to_vec();
    assert_eq!(broken("bob 0", set("messages", short.into())).await, [GAPS, DELIVERED]);

    let broken = async |to: &str, fault| {
        gateway.broken_by("conversationEntries", &format!("{last} {to}"), fault).await
    };
    for (field, value) in [("message.text", Bson::from("other")), ("views", Bson::Array(vec![]))] {
        assert_eq!(broken("bob", set(field, value)).await, [ENTRIES, DELIVERED], "{field}");
    }
    // The recipient who blocks the sender sees it.
    let seen = doc! { "$push": { "views": "3 cid ann" } };
    assert_eq!(broken("cid", Changed(seen)).await, [ENTRIES, DELIVERED]);
    assert_eq!(broken("bob", Removed).await, [DELIVERED]);
    assert_eq!(gateway.broken_by("messages", &last, Removed).await, [COPIES, ENTRIES]);
    let too_far = set("readTo", 54_i64.into());
    assert_eq!(gateway.broken_by("inboxReads", "bob", too_far).await, [READ]);
}
