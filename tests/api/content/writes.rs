//! What editors do, and what they are refused.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    ask, at, by_id, create, draft, editor, id, listed, mutation, publish, put, refused, site,
    version,
};
use crate::support::{Gateway, commands, long_bounds, short_bounds};

fn edit(content: &Value, title: &str) -> Value {
    let text = json!({ "title": title, "body": format!("{title}.") });
    json!({ "contentId": id(content), "version": version(content), "text": text })
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_created_once_per_op_id() {
    let gateway = Gateway::start().await;
    let mut input = draft("PAGE", "welcome", None);
    input["idempotencyKey"] = json!("op-1");
    input["tags"] = json!(["b", "a", "b"]);
    input["authorName"] = json!("$name");
    let made = create(&gateway, input.clone()).await;
    assert_eq!((&made["path"], &made["tags"]), (&json!("/welcome"), &json!(["a", "b"])));
    assert_eq!(made["author"], json!({ "id": "the-editor", "name": "$name" }));
    assert_eq!(
        (&made["publishedAt"], &made["draft"]["isPublished"]),
        (&Value::Null, &json!(false))
    );
    let again = ask(&gateway, "createContent", input.clone()).await;
    assert_eq!(again, made);
    input["slug"] = json!("other");
    refused(&gateway, "createContent", input, "Conflict").await;
    assert_eq!(by_id(&gateway.anonymous(), id(&made)).await, Value::Null, "a draft");
    assert_eq!(by_id(&editor(&gateway), id(&made)).await["title"], "welcome");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_creations_with_one_parent_and_slug_one_wins() {
    let gateway = Gateway::with(long_bounds).await;
    let folder = put(&gateway, "FOLDER", "en", None).await;
    for parent in [None, Some(folder.as_str())] {
        let all = (0..8).map(|_| ask(&gateway, "createContent", draft("PAGE", "same", parent)));
        let all = join_all(all).await;
        let made = all.iter().filter(|one| one["__typename"] == "Page").count();
        let taken = all.iter().filter(|one| one["__typename"] == "AlreadyExists").count();
        assert_eq!((made, taken), (1, 7), "{all:#?}");
        refused(&gateway, "createContent", draft("PAGE", "same", parent), "AlreadyExists").await;
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_editors_with_one_nonce_one_wins_and_the_other_gets_the_current_text() {
    let gateway = Gateway::start().await;
    let page = create(&gateway, draft("PAGE", "page", None)).await;
    let all = (0..6).map(|n| {
        let input = edit(&page, &format!("title {n}"));
        let editor = gateway.user(&format!("editor-{n}"), &["editor"]);
        async move { editor.field(&mutation("editContent"), json!({ "input": input })).await }
    });
    let all = join_all(all).await;
    let (won, lost): (Vec<_>, Vec<_>) = all.iter().partition(|one| one["__typename"] == "Page");
    assert_eq!(won.len(), 1, "{all:#?}");
    for conflict in lost {
        assert_eq!(
            (&conflict["__typename"], &conflict["code"]),
            (&json!("ContentConflict"), &json!("CONFLICT"))
        );
        let draft = &conflict["current"]["draft"];
        assert_eq!(draft["version"], won[0]["draft"]["version"]);
        assert_eq!(draft["title"], won[0]["draft"]["title"]);
    }
    refused(&gateway, "editContent", edit(&page, "late"), "ContentConflict").await;
    // What was said again is answered again, as long as nobody came between.
    let first = edit(won[0], "second");
    let second = ask(&gateway, "editContent", first.clone()).await;
    let before = gateway.contents().await;
    let again = ask(&gateway, "editContent", first).await;
    assert_eq!(again["draft"]["version"], second["draft"]["version"]);
    let after = gateway.contents().await;
    assert_eq!(before["nodeRevisions"], after["nodeRevisions"]);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

const REVISIONS: &str = "query($id: ID!, $first: Int, $after: String) {
    content(by: { id: $id }) { revisions(first: $first, after: $after) {
        edges { node { number title body replacedBy } } pageInfo { hasNextPage endCursor } } } }";

#[tokio::test(flavor = "multi_thread")]
async fn former_versions_are_kept_up_to_a_bound_and_can_come_back() {
    let gateway = Gateway::start().await;
    let mut page = create(&gateway, draft("PAGE", "page", None)).await;
    for n in 1..=53 {
        page = ask(&gateway, "editContent", edit(&page, &format!("title {n}"))).await;
        assert_eq!(page["draft"]["revision"], n, "{page:#}");
    }
    let list =
        editor(&gateway).explained(REVISIONS, json!({ "id": id(&page), "first": 100 })).await;
    assert_eq!(commands(&list), ["find nodes", "find nodeRevisions"]);
    let list = list["data"]["content"]["revisions"]["edges"].as_array().expect("edges").clone();
    assert_eq!(list.len(), 50);
    assert_eq!(list[0]["node"]["title"], "title 52");
    assert_eq!(
        (&list[49]["node"]["number"], &list[49]["node"]["title"]),
        (&json!(3), &json!("title 3"))
    );
    assert_eq!(list[0]["node"]["replacedBy"], "the-editor");
    let restore = json!({ "contentId": id(&page), "version": version(&page), "number": 10 });
    let restored = ask(&gateway, "restoreContent", restore.clone()).await;
    assert_eq!(
        (&restored["title"], &restored["draft"]["revision"]),
        (&json!("title 10"), &json!(54))
    );
    assert_eq!(ask(&gateway, "restoreContent", restore).await["draft"]["revision"], 54);
    let gone = json!({ "contentId": id(&page), "version": version(&restored), "number": 1 });
    refused(&gateway, "restoreContent", gone, "NotFound").await;
    let stale = json!({ "contentId": id(&page), "version": version(&page), "number": 12 });
    refused(&gateway, "restoreContent", stale, "ContentConflict").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_what_is_published_and_not_the_draft() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let page = create(&gateway, draft("PAGE", "page", None)).await;
    assert_eq!(at(&anyone, "/page").await, Value::Null);
    let published = publish(&gateway, &page, None).await;
    assert_eq!(published["draft"]["isPublished"], true);
    let seen = at(&anyone, "/page").await;
    assert_eq!((&seen["title"], &seen["publishedAt"]), (&json!("page"), &seen["updatedAt"]));
    let again = publish(&gateway, &page, None).await;
    assert_eq!(again["draft"]["liveAt"], published["draft"]["liveAt"], "a repeat");
    let edited = ask(&gateway, "editContent", edit(&page, "Another title")).await;
    assert_eq!(edited["draft"]["isPublished"], false);
    assert_eq!(at(&anyone, "/page").await, seen, "still the same");
    let stale = json!({ "contentId": id(&page), "version": version(&page) });
    assert_eq!(ask(&gateway, "publishContent", stale).await["__typename"], "Page", "it is live");
    publish(&gateway, &edited, None).await;
    let now = at(&anyone, "/page").await;
    assert_eq!(
        (&now["title"], &now["publishedAt"]),
        (&json!("Another title"), &seen["publishedAt"])
    );
    assert_ne!(now["updatedAt"], seen["updatedAt"]);
    let stale = json!({ "contentId": id(&page), "version": version(&page) });
    refused(&gateway, "publishContent", stale, "ContentConflict").await;
    let input = json!({ "contentId": id(&page) });
    let back = ask(&gateway, "unpublishContent", input.clone()).await;
    assert_eq!(back["draft"]["liveAt"], Value::Null);
    assert_eq!(at(&anyone, "/page").await, Value::Null);
    assert_eq!(ask(&gateway, "unpublishContent", input).await, back);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_sets_and_any_text() {
    let gateway = Gateway::with(long_bounds).await;
    let page = put(&gateway, "PAGE", "page", None).await;
    let odd = ["a.b", "$set", "$a.b", "ä ö", "{\"$ne\": 1}", "everyone tag x"];
    let input = json!({ "contentId": page, "tags": odd });
    let tagged = ask(&gateway, "tagContent", input.clone()).await;
    let mut sorted = odd;
    sorted.sort_unstable();
    assert_eq!(tagged["tags"], json!(sorted));
    assert_eq!(ask(&gateway, "tagContent", input).await["tags"], json!(sorted), "a set");
    let anyone = gateway.anonymous();
    for tag in odd {
        assert_eq!(listed(&anyone, json!({ "tag": tag })).await, ["/page"], "{tag}");
    }
    for tag in ["a", "x", "set", "b"] {
        assert!(listed(&anyone, json!({ "tag": tag })).await.is_empty(), "{tag}");
    }
    gateway.assert_sound().await;
    let many: Vec<_> = (0..25).map(|n| format!("tag-{n}")).collect();
    let said =
        refused(&gateway, "tagContent", json!({ "contentId": page, "tags": many }), "InvalidInput")
            .await;
    assert_eq!(said["field"], "input.tags");
    for bad in ["", " a", "a\nb", &"x".repeat(65)] {
        let input = json!({ "contentId": page, "tags": ["fine", bad] });
        let said = refused(&gateway, "tagContent", input, "InvalidInput").await;
        assert_eq!(said["field"], "input.tags.1");
    }
    let input = json!({ "contentId": page, "tags": ["$set", "a.b", "nothing"] });
    let left = ask(&gateway, "untagContent", input).await;
    assert_eq!(left["tags"], json!(["$a.b", "everyone tag x", "{\"$ne\": 1}", "ä ö"]));
    assert!(listed(&anyone, json!({ "tag": "a.b" })).await.is_empty());
    // Many at once lose nothing.
    let all = (0..20).map(|n| {
        let input = json!({ "contentId": page, "tags": [format!("n-{n}")] });
        let gateway = &gateway;
        async move { ask(gateway, "tagContent", input).await }
    });
    join_all(all).await;
    let tags = by_id(&anyone, &page).await["tags"].as_array().expect("tags").len();
    assert_eq!(tags, 24);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_moved_is_found_by_the_paths_that_it_had() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let [en, blog, one, _, page] = site(&gateway).await;
    let de = put(&gateway, "FOLDER", "de", None).await;
    let anyone = gateway.anonymous();
    let input = json!({ "contentId": blog, "parentId": de, "slug": "tagebuch" });
    let moved = ask(&gateway, "moveContent", input.clone()).await;
    assert_eq!(moved["path"], "/de/tagebuch");
    let before = gateway.contents().await;
    assert_eq!(ask(&gateway, "moveContent", input).await["path"], "/de/tagebuch");
    assert!(gateway.contents().await == before, "a repeat changes nothing");
    let entry = at(&anyone, "/de/tagebuch/one").await;
    assert_eq!((entry["id"].as_str(), &entry["redirectedFrom"]), (Some(&*one), &Value::Null));
    let query = "query($path: String!) { content(by: { path: $path }) { id path redirectedFrom } }";
    let response = anyone.explained(query, json!({ "path": "/en/blog/one" })).await;
    // A picture may have the path now.
    assert_eq!(commands(&response), ["find nodes", "find assetEntries"]);
    let led = &response["data"]["content"];
    assert_eq!(
        *led,
        json!({ "id": one, "path": "/de/tagebuch/one", "redirectedFrom": "/en/blog/one" })
    );
    // Content wins over a redirect, and the last one who had a path over those before.
    put(&gateway, "FOLDER", "blog", Some(&en)).await;
    assert_eq!(at(&anyone, "/en/blog").await["__typename"], "Folder");
    let input = json!({ "contentId": page, "parentId": en, "slug": "first" });
    ask(&gateway, "moveContent", input).await;
    let second = put(&gateway, "PAGE", "page", Some(&en)).await;
    assert_eq!(at(&anyone, "/en/page").await["id"], *second);
    ask(&gateway, "moveContent", json!({ "contentId": second, "parentId": en, "slug": "second" }))
        .await;
    assert_eq!(at(&anyone, "/en/page").await["path"], "/en/second");
    // Back again: its own path is no former one.
    ask(&gateway, "moveContent", json!({ "contentId": page, "parentId": en, "slug": "page" }))
        .await;
    assert_eq!(at(&anyone, "/en/page").await["redirectedFrom"], Value::Null);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_renamed_where_it_is_and_leaves_its_parent_only_for_null() {
    let gateway = Gateway::start().await;
    let [en, blog, one, ..] = site(&gateway).await;
    let renamed = json!({ "contentId": blog, "slug": "diary" });
    assert_eq!(ask(&gateway, "moveContent", renamed).await["path"], "/en/diary");
    let renamed = json!({ "contentId": one, "slug": "first" });
    assert_eq!(ask(&gateway, "moveContent", renamed).await["path"], "/en/diary/first");
    let nothing = json!({ "contentId": en });
    assert_eq!(ask(&gateway, "moveContent", nothing).await["path"], "/en");
    let freed = json!({ "contentId": blog, "parentId": null });
    assert_eq!(ask(&gateway, "moveContent", freed).await["path"], "/diary");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sibling_whose_slug_begins_alike_stays() {
    let gateway = Gateway::start().await;
    let jazz = put(&gateway, "FOLDER", "jazz", None).await;
    let jazzy = put(&gateway, "FOLDER", "jazzy", None).await;
    let jazz_2 = put(&gateway, "FOLDER", "jazz-2", None).await;
    for folder in [&jazz, &jazzy, &jazz_2] {
        put(&gateway, "PAGE", "page", Some(folder)).await;
    }
    let anyone = gateway.anonymous();
    assert_eq!(listed(&anyone, json!({ "below": "/jazz" })).await, ["/jazz/page", "/jazz"]);
    ask(&gateway, "moveContent", json!({ "contentId": jazz, "slug": "swing" })).await;
    for path in ["/jazzy/page", "/jazz-2/page", "/swing/page", "/jazzy", "/jazz-2"] {
        assert_eq!(at(&anyone, path).await["path"], path);
    }
    assert_eq!(at(&anyone, "/jazz/page").await["path"], "/swing/page");
    let page = at(&anyone, "/swing/page").await;
    ask(&gateway, "deleteContent", json!({ "contentId": page["id"] })).await;
    let deleted = ask(&gateway, "deleteContent", json!({ "contentId": jazz })).await;
    assert_eq!(deleted["__typename"], "DeletedContent", "{deleted:#}");
    for path in ["/jazzy/page", "/jazz-2/page"] {
        assert_eq!(at(&anyone, path).await["path"], path);
    }
    assert_eq!(at(&anyone, "/jazz/page").await, Value::Null);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_keeps_the_shape_of_the_tree() {
    let gateway = Gateway::start().await;
    let [en, blog, one, two, page] = site(&gateway).await;
    let to =
        |content: &str, parent: Option<&str>| json!({ "contentId": content, "parentId": parent });
    let inner = put(&gateway, "FOLDER", "inner", Some(&en)).await;
    refused(&gateway, "moveContent", to(&en, Some(&inner)), "WouldContainItself").await;
    refused(&gateway, "moveContent", to(&en, Some(&en)), "WouldContainItself").await;
    refused(&gateway, "moveContent", to(&one, Some(&en)), "InvalidInput").await;
    refused(&gateway, "moveContent", to(&one, None), "InvalidInput").await;
    refused(&gateway, "moveContent", to(&page, Some(&blog)), "InvalidInput").await;
    refused(&gateway, "moveContent", to(&page, Some(&page)), "WouldContainItself").await;
    let same = json!({ "contentId": two, "parentId": blog, "slug": "one" });
    refused(&gateway, "moveContent", same, "AlreadyExists").await;
    let nothing = docgate::graphql::node_id::NodeKind::CONTENT.id("nothing").0;
    refused(&gateway, "moveContent", to(&nothing, None), "NotFound").await;
    refused(&gateway, "moveContent", to(&page, Some(&nothing)), "NotFound").await;
    refused(&gateway, "moveContent", to("nonsense", None), "NotFound").await;
    let mut parent = en.clone();
    for depth in 2..=16 {
        parent = put(&gateway, "FOLDER", &format!("d-{depth}"), Some(&parent)).await;
    }
    refused(&gateway, "createContent", draft("PAGE", "deep", Some(&parent)), "InvalidInput").await;
    refused(&gateway, "moveContent", to(&inner, Some(&parent)), "InvalidInput").await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_holds_something_isnt_deleted() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let [en, blog, one, two, page] = site(&gateway).await;
    refused(&gateway, "deleteContent", json!({ "contentId": blog }), "InUse").await;
    let edited = by_id_draft(&gateway, &one).await;
    ask(&gateway, "editContent", edit(&edited, "edited")).await;
    for content in [&one, &two, &blog, &page, &en] {
        let deleted = ask(&gateway, "deleteContent", json!({ "contentId": content })).await;
        assert_eq!(deleted["id"], **content, "{deleted:#}");
        let again = ask(&gateway, "deleteContent", json!({ "contentId": content })).await;
        assert_eq!(again["id"], **content, "a repeat");
        for client in [editor(&gateway), gateway.anonymous()] {
            assert_eq!(by_id(&client, content).await, Value::Null);
        }
        refused(&gateway, "tagContent", json!({ "contentId": content, "tags": ["a"] }), "NotFound")
            .await;
        refused(&gateway, "createContent", draft("PAGE", "new", Some(content)), "NotFound").await;
    }
    // The slugs are free again.
    site(&gateway).await;
    gateway.assert_sound().await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    let left = contents_of(&gateway).await;
    assert_eq!(left, (10, 0), "five stones, no former versions");
}

async fn contents_of(gateway: &Gateway) -> (usize, usize) {
    let all = gateway.contents().await;
    let count = |name: &str| all.get(name).map_or(0, Vec::len);
    (count("nodes"), count("nodeRevisions"))
}

async fn by_id_draft(gateway: &Gateway, id: &str) -> Value {
    let query = "query($id: ID!) { content(by: { id: $id }) { id title draft { version } } }";
    editor(gateway).field(query, json!({ "id": id })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_comes_while_its_parent_moves_or_goes_ends_up_right() {
    let gateway = Gateway::with(long_bounds).await;
    for round in 0..6 {
        let top = put(&gateway, "FOLDER", &format!("top-{round}"), None).await;
        let middle = put(&gateway, "FOLDER", "middle", Some(&top)).await;
        let client = editor(&gateway);
        let creations = (0..6).map(|n| {
            let input = draft("PAGE", &format!("page-{n}"), Some(&middle));
            let sent = mutation("createContent");
            let client = client.clone();
            async move { client.run(&sent, json!({ "input": input })).await }
        });
        let slug = format!("moved-{round}");
        let input = json!({ "contentId": middle, "parentId": null, "slug": slug });
        let moving = ask(&gateway, "moveContent", input);
        let deleting = ask(&gateway, "deleteContent", json!({ "contentId": middle }));
        let (made, moved, deleted) = if round % 2 == 0 {
            let (made, moved) = tokio::join!(join_all(creations), moving);
            (made, Some(moved), None)
        } else {
            let (made, deleted) = tokio::join!(join_all(creations), deleting);
            (made, None, Some(deleted))
        };
        let (made, unsure): (Vec<_>, Vec<_>) =
            made.iter().partition(|one| one.get("errors").is_none());
        for one in unsure {
            // The parent is being deleted, which may yet be refused.
            assert_eq!(one["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{one:#}");
            assert!(deleted.is_some(), "{one:#}");
        }
        let there =
            made.iter().filter(|one| one["data"]["createContent"]["__typename"] == "Page").count();
        if let Some(moved) = moved {
            assert_eq!(moved["path"], format!("/{slug}"));
            assert_eq!(there, 6, "{made:#?}");
        }
        if let Some(deleted) = deleted {
            // A child may be taken back because of a deletion that is then refused because of the child.
            let refused = deleted["__typename"] == "InUse";
            let gone = there == 0 && deleted["__typename"] == "DeletedContent";
            assert!(refused || gone, "{made:#?}");
            let left = by_id(&editor(&gateway), &middle).await;
            assert_eq!(left != Value::Null, refused, "{deleted:#}");
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_names_its_field_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let folder = put(&gateway, "FOLDER", "en", None).await;
    let with =
        |text: Value| json!({ "type": "PAGE", "slug": "new", "parentId": folder, "text": text });
    for (input, field) in [
        (with(json!({ "title": "" })), "input.text.title"),
        (with(json!({ "title": "x".repeat(301) })), "input.text.title"),
        (with(json!({ "title": "t", "body": "x".repeat(100_001) })), "input.text.body"),
        (with(json!({ "title": "t", "body": "\u{0}" })), "input.text.body"),
        (with(json!({ "title": "t", "summary": "s" })), "input.text.summary"),
        (with(json!({ "title": "t", "subtitle": "s" })), "input.text.subtitle"),
        (draft("BLOG_ENTRY", "new", Some(&folder)), "input.parentId"),
        (draft("BLOG_ENTRY", "new", None), "input.parentId"),
    ] {
        let said = refused(&gateway, "createContent", input, "InvalidInput").await;
        assert_eq!(said["field"], field);
    }
    let nowhere = draft("PAGE", "new", Some("nonsense"));
    refused(&gateway, "createContent", nowhere, "NotFound").await;
    let page = create(&gateway, draft("PAGE", "page", Some(&folder))).await;
    let late =
        json!({ "contentId": id(&page), "version": version(&page), "at": "1969-12-31T23:59:59Z" });
    assert_eq!(
        refused(&gateway, "publishContent", late, "InvalidInput").await["field"],
        "input.at"
    );
    let odd = json!({ "contentId": id(&page), "version": "$ne", "text": { "title": "t" } });
    assert_eq!(
        refused(&gateway, "editContent", odd, "InvalidInput").await["field"],
        "input.version"
    );
    let before = gateway.contents().await;
    let input = json!({ "input": { "contentId": id(&page) } });
    let deletion = mutation("deleteContent");
    assert_eq!(gateway.anonymous().error_code(&deletion, input.clone()).await, "UNAUTHENTICATED");
    assert_eq!(gateway.merchant().error_code(&deletion, input).await, "FORBIDDEN");
    assert!(gateway.contents().await == before);
}
