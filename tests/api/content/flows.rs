//! Flows that are cut: at every command, in every way.

use serde_json::{Value, json};

use super::{at, by_id, create, draft, editor, id, mutation, publish, put, version};
use crate::support::{Gateway, cuts, settled, short_bounds};

/// Sends a mutation that may be cut; an answer must be content or an error that invites to try again.
async fn send(gateway: &Gateway, field: &str, input: Value) {
    let sent = editor(gateway).send(&mutation(field), json!({ "input": input })).await;
    let Ok((_, response)) = sent else { return };
    if let Some(error) = response["errors"].get(0) {
        assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{response:#}");
    }
}

/// A case before this one may have died with the lock; nobody is left who could write under it.
async fn forget_the_lock(gateway: &Gateway) {
    let leases = gateway.database.collection::<mongodb::bson::Document>("leases");
    leases.delete_one(mongodb::bson::doc! { "_id": "nodes.tree" }).await.expect("forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_cut_anywhere_is_there_once_or_not_at_all() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            (number, put(gateway, "FOLDER", &format!("top-{number}"), None).await)
        },
        async |gateway, (number, folder): &(usize, String)| {
            let mut input = draft("PAGE", "page", Some(folder));
            input["idempotencyKey"] = json!(format!("op-{number}"));
            send(gateway, "createContent", input).await;
        },
        async |gateway, case| {
            let path = format!("/top-{}/page", case.subject.0);
            assert_eq!(at(&editor(gateway), &path).await["path"], path, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_cut_anywhere_is_finished() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            forget_the_lock(gateway).await;
            let top = put(gateway, "FOLDER", &format!("top-{number}"), None).await;
            let aside = put(gateway, "FOLDER", &format!("aside-{number}"), None).await;
            let blog = put(gateway, "BLOG", "blog", Some(&top)).await;
            let entry = put(gateway, "BLOG_ENTRY", "entry", Some(&blog)).await;
            (number, aside, blog, entry)
        },
        async |gateway, (_, aside, blog, _)| {
            let input = json!({ "contentId": blog, "parentId": aside, "slug": "diary" });
            send(gateway, "moveContent", input).await;
        },
        async |gateway, case| {
            let (number, _, _, entry) = &case.subject;
            let found = by_id(&gateway.anonymous(), entry).await;
            assert_eq!(found["path"], format!("/aside-{number}/diary/entry"), "{case:?}");
            let led = at(&gateway.anonymous(), &format!("/top-{number}/blog/entry")).await;
            assert_eq!(led["path"], found["path"], "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_cut_anywhere_keeps_what_was_there_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            create(gateway, draft("PAGE", &format!("page-{number}"), None)).await
        },
        async |gateway, page: &Value| {
            let text = json!({ "title": "edited" });
            let input = json!({ "contentId": id(page), "version": version(page), "text": text });
            send(gateway, "editContent", input).await;
        },
        async |gateway, case| {
            let query = "query($id: ID!) {
                content(by: { id: $id }) {
                    title draft { revision } revisions { nodes { number title } } } }";
            let found = editor(gateway).data(query, json!({ "id": id(&case.subject) })).await;
            let kept = json!({ "nodes": [{ "number": 0, "title": case.subject["title"] }] });
            let content =
                json!({ "title": "edited", "draft": { "revision": 1 }, "revisions": kept });
            assert_eq!(found["content"], content, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publication_that_is_cut_anywhere_is_seen_once_it_was_repeated() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            create(gateway, draft("PAGE", &format!("page-{number}"), None)).await
        },
        async |gateway, page: &Value| {
            let input = json!({ "contentId": id(page), "version": version(page) });
            send(gateway, "publishContent", input).await;
        },
        async |gateway, case| {
            let path = case.subject["path"].as_str().expect("a path");
            assert_eq!(at(&gateway.anonymous(), path).await["path"], path, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_anywhere_is_done_or_forgotten() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            forget_the_lock(gateway).await;
            let used = put(gateway, "FOLDER", &format!("used-{number}"), None).await;
            put(gateway, "PAGE", "page", Some(&used)).await;
            let free = put(gateway, "FOLDER", &format!("free-{number}"), None).await;
            (used, free)
        },
        async |gateway, (used, free): &(String, String)| {
            send(gateway, "deleteContent", json!({ "contentId": used })).await;
            send(gateway, "deleteContent", json!({ "contentId": free })).await;
        },
        async |gateway, case| {
            let (used, free) = &case.subject;
            let anyone = gateway.anonymous();
            assert_eq!(by_id(&anyone, free).await, Value::Null, "{case:?}");
            assert_ne!(by_id(&anyone, used).await, Value::Null, "{case:?}");
            let input = json!({ "contentId": used, "tags": ["again"] });
            let tagged = super::ask(gateway, "tagContent", input).await;
            assert_eq!(tagged["tags"], json!(["again"]), "it takes changes");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_cuts_nothing() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let top = put(&gateway, "FOLDER", "top", None).await;
    let blog = put(&gateway, "BLOG", "blog", Some(&top)).await;
    for n in 0..20 {
        put(&gateway, "BLOG_ENTRY", &format!("entry-{n}"), Some(&blog)).await;
    }
    let client = editor(&gateway);
    let moving = tokio::spawn(async move {
        let input = json!({ "input": { "contentId": blog, "parentId": null, "slug": "diary" } });
        client.send(&mutation("moveContent"), input).await.is_ok()
    });
    tokio::time::sleep(std::time::Duration::from_millis(15)).await;
    moving.abort();
    settled(&gateway).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    let moved = at(&gateway.anonymous(), "/diary/entry-0").await["path"] == "/diary/entry-0";
    let found = at(&gateway.anonymous(), "/top/blog/entry-0").await;
    let path = if moved { "/diary/entry-0" } else { "/top/blog/entry-0" };
    assert_eq!(found["path"], path, "it is at one of them");
    let page = create(&gateway, draft("PAGE", "page", None)).await;
    publish(&gateway, &page, None).await;
}
