//! Lists: by time, by threads, replies, one thread, one author; each page one range.

use docgate::domains::comments::{
    import::{ImportComment, ImportKey, import},
    operations::LEVELS,
};
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{
    COMMENTS, LAYOUTS, REPLIES, SUBTHREAD, all, discussed, few_rooms, id_of, of_texts, post,
    posted, stored_id,
};
use crate::{
    content,
    support::{Gateway, all_nodes, commands, cuts, direct::in_time, now_seconds, token_with},
};

/// A small tree: each comment's text is the way to it.
async fn tree(gateway: &Gateway, on: &str) -> Vec<(String, String)> {
    let anna = gateway.shopper("anna");
    let mut slugs: Vec<(String, String)> = Vec::new();
    for way in ["a", "b", "a.a", "c", "a.b", "b.a", "a.a.a", "a.c", "b.a.a", "a.a.b"] {
        let parent = way.rsplit_once('.').map(|(parent, _)| parent);
        let parent = parent
            .map(|parent| slugs.iter().find(|(way, _)| way == parent).expect("a parent").1.clone());
        let slug = posted(&anna, on, way, parent.as_deref()).await;
        slugs.push((way.to_owned(), slug));
        // In different milliseconds, so that the order is told by time.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    slugs
}

const THREADED: [&str; 10] = ["a", "a.a", "a.a.a", "a.a.b", "a.b", "a.c", "b", "b.a", "b.a.a", "c"];

#[tokio::test(flavor = "multi_thread")]
async fn threads_are_listed_in_pages_of_any_size() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in ["PER_DOCUMENT", "EMBEDDED"] {
        let on = discussed(&gateway, layout, layout).await;
        let slugs = tree(&gateway, &on).await;
        let slug = |way: &str| slugs.iter().find(|(own, _)| own == way).expect("a way").1.clone();
        let anyone = gateway.anonymous();
        for first in [1, 3, 10] {
            let threaded = json!({ "subjectId": on, "order": "THREADED" });
            let found = all(&anyone, COMMENTS, threaded, first).await;
            assert_eq!(of_texts(&found), THREADED, "{layout} {first}");
            for comment in &found {
                let way = comment["text"].as_str().expect("a text");
                assert_eq!(comment["id"], slug(way).as_str());
                let parent = way.rsplit_once('.').map(|(parent, _)| slug(parent));
                assert_eq!(comment["parentId"], json!(parent));
                assert_eq!(comment["depth"], way.matches('.').count());
            }
            for (top, below) in [
                ("a", vec!["a", "a.a", "a.a.a", "a.a.b", "a.b", "a.c"]),
                ("b.a", vec!["b.a", "b.a.a"]),
                ("c", vec!["c"]),
            ] {
                let variables = json!({ "commentId": slug(top) });
                let found = all(&anyone, SUBTHREAD, variables, first).await;
                assert_eq!(of_texts(&found), below, "{layout} {first}");
            }
            for (to, level) in [
                (None, vec!["a", "b", "c"]),
                (Some("a"), vec!["a.a", "a.b", "a.c"]),
                (Some("a.a"), vec!["a.a.a", "a.a.b"]),
                (Some("c"), vec![]),
            ] {
                let (list, of) = to.map_or_else(
                    || (COMMENTS, json!({ "subjectId": on, "topLevel": true })),
                    |to| (REPLIES, json!({ "commentId": slug(to) })),
                );
                let found = all(&anyone, list, of, first).await;
                assert_eq!(of_texts(&found), level, "{layout} {first} {to:?}");
            }
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_pages_cant_serve_is_refused() {
    let gateway = Gateway::with(few_rooms).await;
    let on = discussed(&gateway, "a", "PAGED").await;
    let slug = posted(&gateway.shopper("anna"), &on, "flat", None).await;
    let before = gateway.snapshot().await;
    let reply = post(&gateway.shopper("anna"), &on, "a reply", Some(&slug)).await;
    assert_eq!(reply["code"], "NOT_SERVED_BY_LAYOUT", "{reply:#}");
    assert!(gateway.snapshot().await == before);
    for (field, argument) in [
        ("comments(subjectId: $subjectId, order: THREADED) { edges { cursor } }", "order"),
        ("comments(subjectId: $subjectId, topLevel: true) { edges { cursor } }", "topLevel"),
        ("comment(by: { id: $id }) { replies { edges { cursor } } }", "replies"),
        ("comment(by: { id: $id }) { subthread { edges { cursor } } }", "subthread"),
    ] {
        let query = format!("query($id: ID!) {{ {} }}", field.replace("$subjectId", "$id"));
        let id = if field.starts_with("comments") { &on } else { &slug };
        let response = gateway.anonymous().run(&query, json!({ "id": id })).await;
        let error = &response["errors"][0]["extensions"];
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("BAD_USER_INPUT"), &json!(argument)),
            "{response:#}"
        );
        let message = response["errors"][0]["message"].as_str().expect("a message");
        assert!(message.contains("PAGED"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_250_levels_has_its_end_there() {
    let gateway = Gateway::with(few_rooms).await;
    let on = discussed(&gateway, "a", "PER_DOCUMENT").await;
    let anna = gateway.shopper("anna");
    // All but the last two are imported, which is one command for many.
    let key = |level: usize| format!("level {level}");
    let name = |level: usize| format!("level-{level}");
    let lines = (0..LEVELS - 2).map(|level| ImportComment {
        sku: "a".to_owned(),
        key: Some(name(level)),
        author: "anna".to_owned(),
        at: format!("2025-01-01T00:{:02}:{:02}Z", level / 60, level % 60),
        text: key(level),
        stars: None,
        reply_to: level.checked_sub(1).map(|above| ImportKey::Comment(name(above))),
    });
    let lines: Vec<_> = lines.collect();
    let imported = in_time(async || import(&gateway.app, &lines).await).await;
    assert!(imported.iter().all(Result::is_ok), "{imported:?}");
    let threaded = json!({ "subjectId": on, "order": "THREADED" });
    let found = all(&anna, COMMENTS, threaded, 100).await;
    let (top, last) = (id_of(&found[0]), id_of(&found[LEVELS - 3]));
    let above = posted(&anna, &on, &key(LEVELS - 2), Some(&last)).await;
    let slug = Some(posted(&anna, &on, &key(LEVELS - 1), Some(&above)).await);
    let before = gateway.snapshot().await;
    let refused = post(&anna, &on, "too deep", slug.as_deref()).await;
    assert_eq!(refused["field"], "input.replyToId", "{refused:#}");
    assert!(gateway.snapshot().await == before);
    let expected: Vec<_> = (0..LEVELS).map(|level| format!("level {level}")).collect();
    let threaded = json!({ "subjectId": on, "order": "THREADED" });
    assert_eq!(of_texts(&all(&anna, COMMENTS, threaded, 60).await), expected);
    let below = json!({ "commentId": top });
    assert_eq!(of_texts(&all(&anna, SUBTHREAD, below, 100).await), expected);
    let deepest = json!({ "commentId": slug });
    let query = "query($commentId: ID!) { comment(by: { id: $commentId }) { depth } }";
    assert_eq!(anna.field(query, deepest).await["depth"], LEVELS - 1);
    gateway.assert_sound().await;
}

/// Gives a comment another name and another time, as two that met by chance would have.
async fn rename(gateway: &Gateway, comment_id: &str, name: &str, at: i64) {
    let own = stored_id(comment_id);
    let key = format!("{at:013}.{name}/");
    let set = doc! { "slug": name, "sortKey": key, "at": DateTime::from_millis(at) };
    let there = gateway.snapshot().await.remove("comments").expect("comments");
    let id = there
        .iter()
        .find(|one| one.get_str("id").is_ok_and(|id| id == own))
        .expect("it")
        .get("_id");
    let renamed =
        gateway.raw("comments").update_one(doc! { "_id": id }, doc! { "$set": set }).await;
    assert_eq!(renamed.expect("renamed").modified_count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_begin_alike_and_times_that_are_close() {
    let gateway = Gateway::with(few_rooms).await;
    let on = discussed(&gateway, "a", "PER_DOCUMENT").await;
    let anna = gateway.shopper("anna");
    // The last millisecond of a second and the first of the next; siblings of one millisecond, the name
    // of one the beginning of the other's.
    let comments = [
        ("first", "abcdef01", 1_700_000_000_999),
        ("second", "abcdef012345", 1_700_000_000_999),
        ("third", "00000000", 1_700_000_001_000),
        ("fourth", "abcdef01234567890", 1_700_000_001_000),
    ];
    let mut ids = Vec::new();
    for (text, name, at) in comments {
        ids.push(posted(&anna, &on, text, None).await);
        rename(&gateway, ids.last().expect("an id"), name, at).await;
    }
    for (text, to) in [("below first", &ids[0]), ("below second", &ids[1])] {
        posted(&anna, &on, text, Some(to)).await;
    }
    for first in [1, 2, 100] {
        let threaded = json!({ "subjectId": on, "order": "THREADED" });
        let found = all(&anna, COMMENTS, threaded, first).await;
        let expected = ["first", "below first", "second", "below second", "third", "fourth"];
        assert_eq!(of_texts(&found), expected, "{first}");
        let by_time = all(&anna, COMMENTS, json!({ "subjectId": on }), first).await;
        let times: Vec<_> = by_time.iter().map(|one| one["postedAt"].as_str()).collect();
        assert!(times.is_sorted(), "{times:?}");
        assert_eq!(by_time.len(), 6);
        let again = all(&anna, COMMENTS, json!({ "subjectId": on }), first).await;
        assert_eq!(by_time, again);
        for (slug, below) in
            [(&ids[0], vec!["first", "below first"]), (&ids[1], vec!["second", "below second"])]
        {
            let found = all(&anna, SUBTHREAD, json!({ "commentId": slug }), first).await;
            assert_eq!(of_texts(&found), below);
        }
    }
}

/// The commands of a response with what each looked at and returned.
fn looked(response: &Value) -> Vec<(String, i64, i64)> {
    let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
    let number = |one: &Value, name: &str| one[name].as_i64().unwrap_or(-1);
    sent.iter()
        .zip(commands(response))
        .map(|(one, name)| (name, number(one, "docsExamined"), number(one, "returned")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_looks_at_what_it_returns() {
    let gateway = Gateway::with(few_rooms).await;
    let anna = gateway.shopper("anna");
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        for number in 0..30 {
            posted(&anna, &on, &format!("{number}"), None).await;
        }
        let query = "query($subjectId: ID!, $after: String) {
            comments(subjectId: $subjectId, first: 10, after: $after) {
                edges { node { text } } pageInfo { endCursor } } }";
        let mut after = Value::Null;
        for _ in 0..2 {
            let response = anna.explained(query, json!({ "subjectId": on, "after": after })).await;
            let looked = looked(&response);
            let (name, examined, returned) = looked.last().expect("a command");
            match layout {
                "PER_DOCUMENT" => {
                    assert_eq!((looked.len(), name.as_str()), (2, "find comments"));
                    assert_eq!((*examined, *returned), (11, 11), "{looked:?}");
                }
                "PAGED" => {
                    assert_eq!((looked.len(), name.as_str()), (2, "find commentPages"));
                    assert_eq!((*examined, *returned), (1, 1));
                }
                _ => {
                    assert_eq!((looked.len(), name.as_str()), (1, "find products"));
                    assert_eq!((*examined, *returned), (1, 1));
                }
            }
            after = response["data"]["comments"]["pageInfo"]["endCursor"].clone();
        }
        let one = "query($commentId: ID!) { comment(by: { id: $commentId }) { text } }";
        let slug = posted(&anna, &on, "one", None).await;
        let response = anna.explained(one, json!({ "commentId": slug })).await;
        assert_eq!(response["data"]["comment"]["text"], "one");
        for (name, examined, returned) in looked(&response) {
            assert_eq!((examined, returned), (1, 1), "{layout} {name}");
        }
    }
    let on = docgate::graphql::node_id::NodeKind::PRODUCT.id("PER_DOCUMENT").0;
    let top = posted(&anna, &on, "top", None).await;
    for number in 0..15 {
        posted(&anna, &on, &format!("reply {number}"), Some(&top)).await;
    }
    for (field, reads) in [
        ("comments(subjectId: $id, order: THREADED, first: 10) { edges { cursor } }", 2),
        ("comments(subjectId: $id, order: NEWEST, last: 10) { edges { cursor } }", 2),
        ("comments(subjectId: $id, topLevel: true, first: 10) { edges { cursor } }", 2),
        ("comment(by: { id: $id }) { replies(first: 10) { edges { cursor } } }", 4),
        ("comment(by: { id: $id }) { subthread(last: 10) { edges { cursor } } }", 4),
    ] {
        let query = format!("query($id: ID!) {{ {field} }}");
        let id = if field.starts_with("comments") { &on } else { &top };
        let response = anna.explained(&query, json!({ "id": id })).await;
        assert!(response.get("errors").is_none(), "{response:#}");
        assert_eq!(looked(&response).len(), reads, "{response:#}");
        for (name, examined, returned) in looked(&response) {
            assert_eq!(examined, returned, "{field} {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_finds_own_comments_in_every_layout() {
    let gateway = Gateway::with(few_rooms).await;
    let (anna, berta) = (gateway.shopper("anna"), gateway.shopper("berta"));
    let mut expected = Vec::new();
    for layout in LAYOUTS {
        discussed(&gateway, layout, layout).await;
    }
    for number in 0..12 {
        let layout = LAYOUTS[number % 3];
        let on = docgate::graphql::node_id::NodeKind::PRODUCT.id(layout).0;
        posted(&anna, &on, &format!("{layout} {number}"), None).await;
        posted(&berta, &on, "another's", None).await;
        expected.insert(0, format!("{layout} {number}"));
    }
    let query = "query($author: ID, $first: Int, $after: String) {
        commentsBy(authorId: $author, first: $first, after: $after) {
            edges { node { text author { id } subjectId } } pageInfo { hasNextPage endCursor } } }";
    let moderator = gateway.user("mod", &["moderator"]);
    for (client, author) in
        [(&anna, Value::Null), (&anna, json!("anna")), (&moderator, json!("anna"))]
    {
        for first in [1, 5, 12] {
            let pages = json!({ "author": author, "first": first });
            let found = all_nodes(pages, async |page| {
                let response = client.explained(query, page).await;
                let mut sent = commands(&response);
                sent.sort();
                // Both lists, and what of the products may be seen.
                assert_eq!(sent, ["find authoredComments", "find comments", "find products"]);
                response["data"]["commentsBy"].clone()
            })
            .await;
            assert_eq!(of_texts(&found), expected, "{first}");
            assert!(found.iter().all(|one| one["author"]["id"] == "anna"));
        }
    }
    let last =
        "{ commentsBy(last: 3) { nodes { text } pageInfo { hasPreviousPage startCursor } } }";
    let page = anna.field(last, json!({})).await;
    assert_eq!(of_texts(page["nodes"].as_array().expect("nodes")), expected[9..]);
    assert_eq!(page["pageInfo"]["hasPreviousPage"], true);
    let before = "query($before: String) { commentsBy(last: 9, before: $before) {
        nodes { text } pageInfo { hasPreviousPage } } }";
    let page = anna.field(before, json!({ "before": page["pageInfo"]["startCursor"] })).await;
    assert_eq!(of_texts(page["nodes"].as_array().expect("nodes")), expected[..9]);
    assert_eq!(page["pageInfo"]["hasPreviousPage"], false);
    let others = json!({ "author": "anna" });
    assert_eq!(berta.error_code(query, others.clone()).await, "FORBIDDEN");
    assert_eq!(gateway.anonymous().error_code(query, others).await, "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_seen_and_discussed_by_who_may() {
    let gateway = Gateway::start().await;
    let (always, later) = (Some(None), Some(Some("2099-01-01T09:00:00Z")));
    let mut ids = std::collections::BTreeMap::new();
    for (key, published, access) in [
        ("public", always, json!([])),
        ("staff", always, json!(["ANALYST"])),
        ("later", later, json!([])),
        ("draft", None, json!([])),
    ] {
        let text = json!({ "title": key, "body": "To be discussed." });
        let input = json!({ "type": "PAGE", "slug": key, "access": access, "text": text });
        let made = content::create(&gateway, input).await;
        if let Some(at) = published {
            content::publish(&gateway, &made, at).await;
        }
        ids.insert(key, made["id"].as_str().expect("an id").to_owned());
    }
    let id = |key: &str| ids[key].clone();
    let editor = gateway.user("eva", &["editor"]);
    for key in ["public", "staff", "later", "draft"] {
        let input = json!({ "input": { "subjectId": id(key), "layout": "PER_DOCUMENT" } });
        assert_eq!(gateway.merchant().error_code(super::OPEN, input).await, "FORBIDDEN");
        assert_eq!(
            super::open(&editor, &id(key), "PER_DOCUMENT").await["__typename"],
            "Discussion"
        );
        posted(&editor, &id(key), "by the editor", None).await;
    }
    let query = "query($subjectId: ID!) { comments(subjectId: $subjectId) { edges { cursor } } }";
    let analyst = gateway.user("ada", &["analyst"]);
    for (client, sees) in [
        (&gateway.shopper("anna"), vec!["public"]),
        (&analyst, vec!["public", "staff"]),
        (&editor, vec!["public", "staff", "later", "draft"]),
    ] {
        for key in ["public", "staff", "later", "draft"] {
            let found = client.field(query, json!({ "subjectId": id(key) })).await;
            assert_eq!(found != Value::Null, sees.contains(&key), "{key}");
            let said = post(client, &id(key), "me too", None).await;
            let expected = if sees.contains(&key) { "Comment" } else { "NotFound" };
            assert_eq!(said["__typename"], expected, "{key}");
        }
    }
    let found = gateway.anonymous().field(query, json!({ "subjectId": id("staff") })).await;
    assert_eq!(found, Value::Null);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_come_first_and_pages_are_read_from_either_end() {
    let gateway = Gateway::with(few_rooms).await;
    let anna = gateway.shopper("anna");
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        // The layout `PAGED` has 100 comments on a page.
        let number_of = if layout == "PAGED" { 130 } else { 30 };
        for number in 0..number_of {
            posted(&anna, &on, &number.to_string(), None).await;
        }
        let mut expected: Vec<_> = (0..number_of).map(|number| number.to_string()).collect();
        for (order, is_turned) in [("CHRONOLOGICAL", false), ("NEWEST", true)] {
            if is_turned {
                expected.reverse();
            }
            let variables = json!({ "subjectId": on, "order": order });
            for size in [7, 100] {
                let found = all(&anna, COMMENTS, variables.clone(), size).await;
                assert_eq!(of_texts(&found), expected, "{layout} {order} {size}");
            }
        }
        let query =
            "query($id: ID!) { comments(subjectId: $id, last: 3, first: 3) { nodes { id } } }";
        let refused = anna.run(query, json!({ "id": on })).await;
        let error = &refused["errors"][0]["extensions"];
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("BAD_USER_INPUT"), &json!("last")),
            "{refused:#}"
        );
        // The discussion of what is discussed has the same list.
        let query = "query($sku: ID!) { product(sku: $sku) { discussion {
            comments(order: NEWEST, last: 2) { nodes { text } pageInfo { hasPreviousPage } } } } }";
        let product = anna.field(query, json!({ "sku": layout })).await;
        let last = json!({
            "nodes": [{ "text": "1" }, { "text": "0" }], "pageInfo": { "hasPreviousPage": true },
        });
        assert_eq!(product["discussion"]["comments"], last);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_knows_what_it_replies_to() {
    let gateway = Gateway::with(few_rooms).await;
    let anna = gateway.shopper("anna");
    let query = "query($id: ID!, $other: ID!) {
        nodes(ids: [$id, $other]) { __typename id ... on Comment { text parentId parent { id text parentId } } }
        comment(by: { id: $id }) { slug } }";
    for layout in ["PER_DOCUMENT", "EMBEDDED"] {
        let on = discussed(&gateway, layout, layout).await;
        let top = posted(&anna, &on, "top", None).await;
        let mut replies = Vec::new();
        for number in 0..20 {
            replies.push(posted(&anna, &on, &number.to_string(), Some(&top)).await);
        }
        let above = json!({ "id": top, "text": "top", "parentId": null });
        let other = top.replace(&top[20..24], "AAAA");
        let ids = json!({ "id": replies[0], "other": other });
        let data = anna.data(query, ids.clone()).await;
        let reply = json!({
            "__typename": "Comment", "id": replies[0], "text": "0", "parentId": top, "parent": above,
        });
        assert_eq!(data["nodes"], json!([reply, null]), "{layout}");
        // By its slug it is the same.
        let by = "query($subjectId: ID!, $slug: String!) {
            comment(by: { slug: { subjectId: $subjectId, slug: $slug } }) { id } }";
        let slug = json!({ "subjectId": on, "slug": data["comment"]["slug"] });
        assert_eq!(anna.field(by, slug).await["id"], replies[0].as_str());
        // A list costs one read more for what all of them reply to, and one more to see it.
        let list = |parent: &str| {
            format!(
                "query($id: ID!) {{ comment(by: {{ id: $id }}) {{
                    replies {{ nodes {{ parentId {parent} }} }} }} }}"
            )
        };
        let sent = async |parent: &str| {
            let read = async |gateway: &Gateway| {
                gateway.shopper("anna").field(&list(parent), json!({ "id": top })).await;
            };
            cuts::sent(&gateway, read).await.len()
        };
        let more = if layout == "EMBEDDED" { 1 } else { 2 };
        assert_eq!(sent("parent { text }").await, sent("").await + more, "{layout}");
        let response = anna.run(&list("parent { text }"), json!({ "id": top })).await;
        let nodes = &response["data"]["comment"]["replies"]["nodes"];
        assert_eq!(nodes.as_array().map(Vec::len), Some(20), "{response:#}");
        assert_eq!(nodes[19], json!({ "parentId": top, "parent": { "text": "top" } }));
        // Another discussion's comment takes no reply.
        let apart = discussed(&gateway, &format!("{layout}-2"), layout).await;
        let refused = post(&anna, &apart, "astray", Some(&top)).await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
    }
    // Older documents have only the slug.
    let older = doc! { "$unset": { "replyToId": 1 } };
    gateway.raw("comments").update_many(doc! {}, older).await.expect("updated");
    let by_id = mongodb::options::Hint::Keys(doc! { "_id": 1 });
    let stored = gateway.raw("comments");
    let reply = stored.find_one(doc! { "text": "0" }).hint(by_id).await.expect("read");
    let reply = reply.expect("a reply");
    let product = docgate::graphql::node_id::NodeKind::PRODUCT.id("PER_DOCUMENT").0;
    let variables = json!({ "subjectId": product, "slug": reply.get_str("slug").expect("a slug") });
    let by = "query($subjectId: ID!, $slug: String!) {
        comment(by: { slug: { subjectId: $subjectId, slug: $slug } }) { parentId parent { text id } } }";
    let found = anna.field(by, variables).await;
    assert_eq!(found["parent"]["text"], "top", "{found:#}");
    assert_eq!(found["parentId"], found["parent"]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_carry_the_name_of_their_author() {
    let gateway = Gateway::with(few_rooms).await;
    let claims = |name: Value| json!({ "sub": "anna", "name": name, "roles": [], "exp": now_seconds() + 3600 });
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        for (name, shown) in [
            (json!(" Anna A. "), json!("Anna A.")),
            (json!("x".repeat(201)), Value::Null),
            (json!("a\u{202e}b"), Value::Null),
            (json!(7), Value::Null),
            (Value::Null, Value::Null),
        ] {
            let mut client = gateway.anonymous();
            client.token = Some(token_with(&claims(name)));
            let comment = post(&client, &on, "hello", None).await;
            let author = json!({ "id": "anna", "name": shown });
            assert_eq!(comment["author"], author, "{comment:#}");
            let latest = super::shown(&gateway, layout).await["latestComments"][0].clone();
            assert_eq!((&latest["id"], &latest["author"]), (&comment["id"], &author));
            let query = "{ commentsBy(first: 1) { nodes { id author { id name } } } }";
            let own = client.field(query, json!({})).await["nodes"][0].clone();
            assert_eq!(own, json!({ "id": comment["id"], "author": author }));
        }
    }
    gateway.assert_sound().await;
}
