//! What comes late, again, or while something else isn't over.

use docgate::graphql::node_id::NodeKind;
use futures_util::future::join_all;
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::{Value, json};

use super::{
    ask, at, by_id, create, draft, editor, id, listed_by, mutation, publish, put, refused, version,
};
use crate::support::{
    Gateway, cuts, key, long_bounds,
    proxy::{Cut, Seen},
    short_bounds,
};

fn nodes(gateway: &Gateway) -> mongodb::Collection<Document> {
    gateway.database.collection("nodes")
}

fn revisions(gateway: &Gateway) -> mongodb::Collection<Document> {
    gateway.database.collection("nodeRevisions")
}

fn edit(content: &Value, body: &str) -> Value {
    let text = json!({ "title": "edited", "body": body });
    json!({ "contentId": id(content), "version": version(content), "text": text })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_doesnt_come_again_under_its_op_id() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let mut input = draft("PAGE", "page", None);
    input["idempotencyKey"] = json!("op-1");
    let made = create(&gateway, input.clone()).await;
    let edited = ask(&gateway, "editContent", edit(&made, "Secret.")).await;
    gateway.sweep().await;
    let revision = revisions(&gateway).find_one(doc! {}).await.expect("read").expect("a version");
    publish(&gateway, &edited, None).await;
    ask(&gateway, "deleteContent", json!({ "contentId": id(&made) })).await;
    refused(&gateway, "createContent", input.clone(), "Conflict").await;
    gateway.sweep().await;
    refused(&gateway, "createContent", input.clone(), "Conflict").await;
    let mut other = input.clone();
    other["slug"] = json!("other");
    refused(&gateway, "createContent", other, "Conflict").await;
    assert_eq!(by_id(&editor(&gateway), id(&made)).await, Value::Null);
    let again = ask(&gateway, "deleteContent", json!({ "contentId": id(&made) })).await;
    assert_eq!(again["__typename"], "DeletedContent");
    let stone = nodes(&gateway).find_one(doc! {}).await.expect("read").expect("a stone");
    assert!(!stone.to_string().contains("Secret"), "{stone}");
    gateway.assert_sound().await;
    assert_eq!(revisions(&gateway).count_documents(doc! {}).await.expect("counted"), 0);
    // When idempotency keys are forgotten, so is the stone, with a former version that arrived late.
    revisions(&gateway).insert_one(revision).await.expect("written");
    let long_ago = gateway.app.bounds().ops.as_millis();
    let long_ago = i64::try_from(long_ago).expect("not that long") + 60_000;
    let earlier = doc! { "$subtract": ["$deletedAt", long_ago] };
    let earlier = vec![doc! { "$set": { "deletedAt": earlier } }];
    nodes(&gateway).update_one(doc! {}, earlier).await.expect("written");
    gateway.sweep().await;
    assert_eq!(nodes(&gateway).count_documents(doc! {}).await.expect("counted"), 0);
    assert_eq!(revisions(&gateway).count_documents(doc! {}).await.expect("counted"), 0);
    assert_eq!(ask(&gateway, "createContent", input).await["__typename"], "Page");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_op_id_that_was_used_is_a_conflict_whatever_the_parent() {
    let gateway = Gateway::start().await;
    let folder = put(&gateway, "FOLDER", "folder", None).await;
    let page = put(&gateway, "PAGE", "page", None).await;
    let mut input = draft("PAGE", "new", Some(&folder));
    input["idempotencyKey"] = json!("op-1");
    create(&gateway, input.clone()).await;
    for parent in [NodeKind::CONTENT.id("nothing").0, page] {
        input["parentId"] = json!(parent);
        refused(&gateway, "createContent", input.clone(), "Conflict").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_comes_late_goes_with_the_next_edit() {
    let gateway = Gateway::start().await;
    let mut page = create(&gateway, draft("PAGE", "page", None)).await;
    for n in 1..=52 {
        page = ask(&gateway, "editContent", edit(&page, &format!("text {n}"))).await;
    }
    let revisions = gateway.database.collection::<Document>("nodeRevisions");
    let own = key(id(&page));
    let mut late = revisions.find_one(doc! {}).await.expect("read").expect("a version");
    late.insert("_id", format!("{own}:0"));
    late.get_document_mut("version").expect("a version").insert("number", 0_i64);
    revisions.insert_one(late).await.expect("it comes late");
    ask(&gateway, "editContent", edit(&page, "the next")).await;
    let left = revisions.distinct("version.number", doc! { "nodeId": &own }).await.expect("read");
    assert_eq!(left, (3..=52_i64).map(Bson::from).collect::<Vec<_>>());
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_past_moves_nothing_back() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let past = "2020-01-01T00:00:00.000Z";
    let page = create(&gateway, draft("PAGE", "page", None)).await;
    publish(&gateway, &page, None).await;
    let first = at(&anyone, "/page").await;
    let edited = ask(&gateway, "editContent", edit(&page, "Another text.")).await;
    let published = publish(&gateway, &edited, Some(past)).await;
    let second = at(&anyone, "/page").await;
    assert_eq!(second["title"], "edited");
    assert_eq!(second["publishedAt"], first["publishedAt"]);
    assert!(second["updatedAt"].as_str() > first["updatedAt"].as_str(), "{second}");
    assert_eq!(published["updatedAt"], second["updatedAt"], "answered as it is seen");
    let before = gateway.contents().await;
    publish(&gateway, &edited, Some(past)).await;
    publish(&gateway, &edited, None).await;
    assert!(gateway.contents().await == before, "a repeat changes nothing");
    // Where nothing was shown it is the place in feeds, and that once only.
    let old = create(&gateway, draft("PAGE", "old", None)).await;
    publish(&gateway, &old, Some(past)).await;
    let seen = at(&anyone, "/old").await;
    assert_eq!((&seen["publishedAt"], &seen["updatedAt"]), (&json!(past), &json!(past)));
    let before = gateway.contents().await;
    publish(&gateway, &old, Some(past)).await;
    assert!(gateway.contents().await == before, "a repeat changes nothing");
    let pages = listed_by(&anyone, &json!({ "type": "PAGE" }), 10).await;
    assert_eq!(pages, ["/page", "/old"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_deletion_is_tried_nobody_hears_that_it_is_gone() {
    let gateway = Gateway::with(short_bounds).await;
    let folder = put(&gateway, "FOLDER", "folder", None).await;
    let folder = create_draft_of(&gateway, &folder).await;
    let page = put(&gateway, "PAGE", "page", None).await;
    let own = json!({ "contentId": id(&folder) });
    let with = |name: &str, value: Value| {
        let mut input = own.clone();
        input[name] = value;
        input
    };
    let inputs = [
        ("editContent", edit(&folder, "text")),
        (
            "restoreContent",
            json!({ "contentId": id(&folder), "version": version(&folder), "number": 0 }),
        ),
        ("publishContent", with("version", json!(version(&folder)))),
        ("unpublishContent", own.clone()),
        ("tagContent", with("tags", json!(["a"]))),
        ("untagContent", with("tags", json!(["a"]))),
        ("setContentAccess", with("roles", json!(["ANALYST"]))),
        ("createContent", draft("PAGE", "new", Some(id(&folder)))),
    ];
    // As a deletion leaves it that was cut.
    let mark = vec![doc! { "$set": { "deleting": { "by": "x", "at": "$$NOW" } } }];
    let own = doc! { "_id": key(id(&folder)) };
    nodes(&gateway).update_one(own.clone(), mark.clone()).await.expect("marked");
    let before = gateway.contents().await;
    for (field, input) in &inputs {
        let said = editor(&gateway).run(&mutation(field), json!({ "input": input })).await;
        let error = &said["errors"][0]["extensions"];
        assert_eq!((&error["code"], &error["retryable"]), (&json!("UNAVAILABLE"), &json!(true)));
        assert_eq!(at(&gateway.anonymous(), "/folder").await["title"], "folder");
    }
    assert!(gateway.contents().await == before);
    // Who has the lock knows that the deletion is over.
    let into = json!({ "contentId": page, "parentId": id(&folder) });
    assert_eq!(ask(&gateway, "moveContent", into).await["path"], "/folder/page");
    nodes(&gateway).update_one(own, mark).await.expect("marked");
    gateway.sweep().await;
    for (field, input) in &inputs {
        let done = ask(&gateway, field, input.clone()).await;
        // Those further down come too late for the others.
        let late =
            ["NotFound", "ContentConflict"].contains(&done["__typename"].as_str().expect("a type"));
        assert!(done["id"].is_string() || (late && *field != "editContent"), "{field}: {done:#}");
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}

async fn create_draft_of(gateway: &Gateway, content: &str) -> Value {
    let query = "query($id: ID!) { content(by: { id: $id }) { id draft { version } } }";
    editor(gateway).field(query, json!({ "id": content })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_moves_into_one_another_one_is_refused() {
    let gateway = Gateway::with(long_bounds).await;
    for round in 0..6 {
        let one = put(&gateway, "FOLDER", &format!("one-{round}"), None).await;
        let two = put(&gateway, "FOLDER", &format!("two-{round}"), None).await;
        let both = [(&one, &two), (&two, &one)].map(|(content, parent)| {
            ask(&gateway, "moveContent", json!({ "contentId": content, "parentId": parent }))
        });
        let both = join_all(both).await;
        let mut said: Vec<_> = both.iter().map(|one| one["__typename"].as_str()).collect();
        said.sort_unstable();
        assert_eq!(said, [Some("Folder"), Some("WouldContainItself")], "{both:#?}");
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_nobody_gave_back_runs_out() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    let other = gateway.patient_sibling().await;
    let folder = put(&other, "FOLDER", "folder", None).await;
    let page = put(&other, "PAGE", "page", Some(&folder)).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "nodes" && seen.command == "findAndModify");
    let input = json!({ "contentId": page, "parentId": null, "slug": "moved" });
    let sent = mutation("moveContent");
    proxy.record();
    // On a busy machine its time may be over before it gets there.
    while proxy.seen().is_empty() {
        proxy.cut_all_from(0, Cut::BeforeForwarding);
        let code = editor(&gateway).error_code(&sent, json!({ "input": input.clone() })).await;
        assert_eq!(code, "UNAVAILABLE");
    }
    let leases = gateway.database.collection::<Document>("leases");
    let lease = leases.find_one(doc! { "_id": "nodes.tree" }).await.expect("read");
    let until = *lease.expect("the lock").get_datetime("until").expect("a time");
    assert!(until > DateTime::from_millis(0), "it isn't given back");
    let moved = async {
        loop {
            let said = editor(&other).run(&sent, json!({ "input": input.clone() })).await;
            if said.get("errors").is_none() {
                return said["data"]["moveContent"].clone();
            }
            assert_eq!(said["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{said:#}");
        }
    };
    let moved = tokio::time::timeout(std::time::Duration::from_secs(120), moved).await;
    assert_eq!(moved.expect("it runs out")["path"], "/moved");
    let now = other.begin().await.now();
    assert!(now >= until, "not before its time");
    proxy.heal();
    other.sweep().await;
    other.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_many_had_leads_to_the_last_with_one_look() {
    let gateway = Gateway::start().await;
    let query = "query($path: String!) { content(by: { path: $path }) { path redirectedFrom } }";
    for n in 0..5 {
        let folder = put(&gateway, "FOLDER", "folder", None).await;
        put(&gateway, "PAGE", "page", Some(&folder)).await;
        let slug = format!("folder-{n}");
        ask(&gateway, "moveContent", json!({ "contentId": folder, "slug": slug })).await;
        for (path, now_at) in
            [("/folder", format!("/{slug}")), ("/folder/page", format!("/{slug}/page"))]
        {
            let response = gateway.anonymous().explained(query, json!({ "path": path })).await;
            let found = json!({ "path": now_at, "redirectedFrom": path });
            assert_eq!(response["data"]["content"], found);
            let read = &response["extensions"]["docgate"]["commands"][0];
            assert_eq!(read["docsExamined"], 1, "{read:#}");
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_would_take_long_is_refused_and_never_rendered() {
    let gateway = Gateway::start().await;
    let page = create(&gateway, draft("PAGE", "page", None)).await;
    publish(&gateway, &page, None).await;
    let deep = ">".repeat(100_000);
    let mut input = draft("PAGE", "deep", None);
    input["text"]["body"] = json!(deep);
    let said = refused(&gateway, "createContent", input, "InvalidInput").await;
    assert_eq!(said["field"], "input.text.body");
    for body in [deep.as_str(), &"<b id=1>a\n\n".repeat(5_000)] {
        let said = refused(&gateway, "editContent", edit(&page, body), "InvalidInput").await;
        assert_eq!(said["field"], "input.text.body");
    }
    // One from before there were bounds.
    let set = doc! { "$set": { "live.detail.body": &deep } };
    nodes(&gateway).update_one(doc! {}, set).await.expect("written");
    let query = "{ content(by: { path: \"/page\" }) { html } }";
    let shown = gateway.anonymous().field(query, json!({})).await;
    assert!(shown["html"].as_str().expect("html").starts_with("<pre>&gt;&gt;"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_long_texts_is_one_answer_of_the_server() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let mut input = draft("PAGE", "page-0", None);
    input["text"]["body"] = json!("text ".repeat(20_000));
    let page = create(&gateway, input).await;
    publish(&gateway, &page, None).await;
    let page = nodes(&gateway).find_one(doc! {}).await.expect("read").expect("the page");
    // What editors are at work on, and a long discussion.
    let pages = (1..90).map(|n| {
        let mut page = page.clone();
        let metadata = page.get_document_mut("metadata").expect("metadata");
        metadata.insert("slug", format!("page-{n}"));
        metadata.insert("path", format!("/page-{n}"));
        page.insert("_id", format!("page-{n}"));
        page.insert("kept", ["long ".repeat(20_000)]);
        page
    });
    nodes(&gateway).insert_many(pages).await.expect("inserted");
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "nodes");
    let list = "{ contents(by: { type: PAGE }, first: 90) { nodes { title body } } }";
    proxy.record();
    let found = gateway.anonymous().field(list, json!({})).await;
    let found = found["nodes"].as_array().expect("nodes");
    assert_eq!(found.len(), 90);
    assert!(found.iter().all(|page| page["body"].as_str().map(str::len) == Some(100_000)));
    let seen = proxy.seen();
    assert!(seen.iter().all(|seen| seen.command == "find"), "{seen:?}");
    let draft = "{ contents(by: { type: PAGE }, first: 1) { nodes { draft { body } } } }";
    let found = editor(&gateway).field(draft, json!({})).await;
    assert_eq!(found["nodes"][0]["draft"]["body"].as_str().map(str::len), Some(100_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_publication_publishes_nothing_again() {
    let base = Gateway::start().await;
    let made = create(&base, draft("PAGE", "page", None)).await;
    let is_change = |seen: &Seen| seen.collection == "nodes" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| {
        publish(gateway, &made, None).await;
        assert_eq!(at(&base.anonymous(), "/page").await["title"], "page");
    };
    let later = async || {
        let withdrawn = ask(&base, "unpublishContent", json!({ "contentId": id(&made) })).await;
        assert_eq!(withdrawn["id"], made["id"], "{withdrawn:#}");
    };
    cuts::with_late_copy(&base, is_change, first, later).await;
    assert_eq!(at(&base.anonymous(), "/page").await, Value::Null);
    base.assert_sound().await;
}
