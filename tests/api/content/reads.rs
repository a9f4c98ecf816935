//! What readers see: by path and id, in feeds, by text; when, and who.

use mongodb::bson::{self, DateTime, Document, doc};
use serde_json::{Value, json};

use super::{
    SEEN, ask, at, by_id, create, draft, editor, id, listed, listed_by, publish, put, site,
};
use crate::support::{Client, Gateway, commands, cuts, proxy::Cut, until};

/// So many milliseconds from the gateway's next question for the server's clock on.
async fn moment(gateway: &Gateway, millis: i64) -> String {
    let now = gateway.begin().await.now().timestamp_millis();
    docgate::app::rfc3339(DateTime::from_millis(now + millis))
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_found_by_path_and_id_with_one_command() {
    let gateway = Gateway::start().await;
    let [_, blog, one, ..] = site(&gateway).await;
    let anyone = gateway.anonymous();
    for (by, id) in [
        (json!({ "path": "/en/blog/one" }), &one),
        (json!({ "id": one }), &one),
        (json!({ "path": "/en/blog" }), &blog),
    ] {
        let query = format!("query($by: ContentBy!) {{ content(by: $by) {{ {SEEN} html }} }}");
        let response = anyone.explained(&query, json!({ "by": by })).await;
        assert_eq!(commands(&response), ["find nodes"]);
        assert_eq!(response["data"]["content"]["id"], **id);
        assert!(response["data"]["content"]["html"].as_str().expect("html").starts_with("<p>The"));
        let read = &response["extensions"]["docgate"]["commands"][0];
        assert_eq!(read["docsExamined"], 1, "{read:#}");
    }
    for path in ["/en/blo", "/en/blog/one/two", "/EN"] {
        let query = "query($path: String!) { content(by: { path: $path }) { id } }";
        let response = anyone.run(query, json!({ "path": path })).await;
        let found = &response["data"]["content"];
        let fault = &response["errors"][0]["extensions"]["field"];
        assert!(*found == Value::Null && (*fault == Value::Null || *fault == "by.path"));
    }
    for path in ["en", "/", "", "/en/", "//", "/en/../de", "/$where", "/a.b", "/en\u{0}"] {
        let query = "query($path: String!) { content(by: { path: $path }) { id } }";
        assert_eq!(anyone.error_code(query, json!({ "path": path })).await, "BAD_USER_INPUT");
    }
    let node = "query($id: ID!) { node(id: $id) { __typename ... on Content { path } } }";
    let node = anyone.field(node, json!({ "id": one })).await;
    assert_eq!(node, json!({ "__typename": "BlogEntry", "path": "/en/blog/one" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn feeds_are_newest_first_and_look_at_nothing_else() {
    let gateway = Gateway::start().await;
    let [_, blog, one, two, page] = site(&gateway).await;
    create(&gateway, draft("BLOG_ENTRY", "draft", Some(&blog))).await;
    ask(&gateway, "tagContent", json!({ "contentId": one, "tags": ["x", "y"] })).await;
    ask(&gateway, "tagContent", json!({ "contentId": page, "tags": ["x"] })).await;
    let anyone = gateway.anonymous();
    let all = ["/en/page", "/en/blog/two", "/en/blog/one", "/en/blog", "/en"];
    assert_eq!(listed(&anyone, json!({ "below": "/" })).await, all);
    assert_eq!(listed(&anyone, json!({ "below": "/en" })).await, all);
    assert_eq!(listed(&anyone, json!({ "below": "/en/blog" })).await, all[1..4]);
    assert_eq!(listed(&anyone, json!({ "parentId": blog })).await, all[1..3]);
    assert_eq!(listed(&anyone, json!({ "type": "BLOG_ENTRY" })).await, all[1..3]);
    assert_eq!(listed(&anyone, json!({ "tag": "x" })).await, ["/en/page", "/en/blog/one"]);
    assert_eq!(listed(&anyone, json!({ "tag": "y" })).await, ["/en/blog/one"]);
    // Editors get the same feeds, for which every audience is looked up.
    assert_eq!(listed(&editor(&gateway), json!({ "below": "/" })).await, all);
    let published_again = ask(&gateway, "unpublishContent", json!({ "contentId": two })).await;
    publish(&gateway, &published_again, Some("2020-01-01T00:00:00Z")).await;
    let entries = listed(&anyone, json!({ "parentId": blog })).await;
    assert_eq!(entries, ["/en/blog/one", "/en/blog/two"], "at the time that it was given");
    for by in [
        json!({ "tag": "" }),
        json!({ "below": "en" }),
        json!({ "text": { "query": "" } }),
        json!({ "text": { "query": "a", "within": "a" } }),
    ] {
        assert_eq!(anyone.error_code(super::LIST, json!({ "by": by })).await, "BAD_USER_INPUT");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_across_a_publish_time() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let blog = put(&gateway, "BLOG", "blog", None).await;
    let mut input = draft("BLOG_ENTRY", "first", Some(&blog));
    input["tags"] = json!(["x"]);
    let first = create(&gateway, input.clone()).await;
    publish(&gateway, &first, None).await;
    let text = json!({ "title": "The second version", "body": "Whales." });
    let edit = json!({ "contentId": id(&first), "version": super::version(&first), "text": text });
    let edited = ask(&gateway, "editContent", edit).await;
    input["slug"] = json!("new");
    input["text"] = json!({ "title": "new", "body": "The text of new." });
    let new = create(&gateway, input).await;
    let late = moment(&gateway, 3_600_000).await;
    let scheduled = publish(&gateway, &edited, Some(&late)).await;
    assert_eq!(
        (&scheduled["title"], &scheduled["draft"]["nextAt"]),
        (&json!("first"), &json!(late))
    );
    let scheduled = publish(&gateway, &new, Some(&late)).await;
    assert_eq!(
        (&scheduled["publishedAt"], &scheduled["draft"]["liveAt"]),
        (&Value::Null, &json!(late))
    );
    let entries = ["/blog/new", "/blog/first"];
    let feeds = [
        (json!({ "parentId": blog }), 2),
        (json!({ "tag": "x" }), 2),
        (json!({ "type": "BLOG_ENTRY" }), 2),
        (json!({ "below": "/" }), 3),
    ];
    let shown = |published: usize, all: usize| {
        let paths = entries.iter().skip(2 - published).chain(&["/blog"]).copied();
        paths.take(all + published - 2).collect::<Vec<_>>()
    };
    for (by, all) in &feeds {
        assert_eq!(listed_by(&anyone, by, 10).await, shown(1, *all), "{by}");
    }
    assert_eq!(atom_titles(&gateway).await, ["first"]);
    let words = |query: &str| json!({ "text": { "query": query } });
    assert_eq!(at(&anyone, "/blog/first").await["title"], "first");
    assert_eq!(at(&anyone, "/blog/new").await, Value::Null);
    assert_eq!(by_id(&anyone, id(&new)).await, Value::Null);
    assert!(listed_by(&anyone, &words("whales"), 10).await.is_empty());
    assert!(listed_by(&anyone, &words("new"), 10).await.is_empty(), "not even by its words");
    // The hour passes, but for a moment. No sweep runs in between.
    let soon = moment(&gateway, 300).await;
    let time = DateTime::parse_rfc3339_str(&soon).expect("a time");
    let nodes = gateway.database.collection::<Document>("nodes");
    for (slug, times) in [
        ("first", doc! { "next.at": time }),
        ("new", doc! { "live.at": time, "publishedAt": time }),
    ] {
        let own = doc! { "metadata.path": format!("/blog/{slug}") };
        nodes.update_one(own, doc! { "$set": times }).await.expect("written");
    }
    until("it is published", async || at(&anyone, "/blog/new").await != Value::Null).await;
    assert!(moment(&gateway, 0).await >= soon, "not before its time");
    for (by, all) in &feeds {
        assert_eq!(listed_by(&anyone, by, 10).await, shown(2, *all), "{by}");
    }
    assert_eq!(atom_titles(&gateway).await, ["new", "The second version"]);
    let first_now = at(&anyone, "/blog/first").await;
    assert_eq!(
        (&first_now["title"], &first_now["updatedAt"]),
        (&json!("The second version"), &json!(soon))
    );
    assert_eq!(listed_by(&anyone, &words("new"), 10).await, ["/blog/new"]);
    gateway.sweep().await;
    assert_eq!(listed_by(&anyone, &words("whales"), 10).await, ["/blog/first"]);
    assert_eq!(
        at(&anyone, "/blog/first").await,
        first_now,
        "the sweep changes nothing that is seen"
    );
    gateway.assert_sound().await;
}

async fn atom_titles(gateway: &Gateway) -> Vec<String> {
    let feed = super::atom::get(gateway, "/feeds/blog.atom", None).await;
    let feed = feed.text().await.expect("a text");
    let feed = atom_syndication::Feed::read_from(feed.as_bytes()).expect("a feed");
    feed.entries().iter().map(|entry| entry.title().as_str().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_set_anew_replaces_the_one_before() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let page = create(&gateway, draft("PAGE", "page", None)).await;
    let (late, later) = (moment(&gateway, 3_600_000).await, moment(&gateway, 7_200_000).await);
    publish(&gateway, &page, Some(&late)).await;
    let again = publish(&gateway, &page, Some(&later)).await;
    assert_eq!(
        (&again["draft"]["liveAt"], &again["draft"]["nextAt"]),
        (&json!(later), &Value::Null)
    );
    assert_eq!(at(&anyone, "/page").await, Value::Null);
    let now = publish(&gateway, &page, None).await;
    assert_eq!(now["publishedAt"], now["draft"]["liveAt"]);
    let seen = at(&anyone, "/page").await;
    assert_eq!(seen["publishedAt"], now["publishedAt"]);
    let next = publish(&gateway, &page, Some(&late)).await;
    assert_eq!(
        (&next["draft"]["nextAt"], &next["draft"]["liveAt"]),
        (&json!(late), &now["publishedAt"])
    );
    let dropped = publish(&gateway, &page, None).await;
    assert_eq!(dropped["draft"]["nextAt"], Value::Null, "published now: nothing is to come");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_may_not_read_doesnt_exist() {
    let gateway = Gateway::start().await;
    let [en, blog, one, two, page] = site(&gateway).await;
    let members = put(&gateway, "FOLDER", "members", Some(&en)).await;
    ask(&gateway, "tagContent", json!({ "contentId": one, "tags": ["x"] })).await;
    ask(&gateway, "tagContent", json!({ "contentId": page, "tags": ["x"] })).await;
    let keep = |content: &str, roles: Value| json!({ "contentId": content, "roles": roles });
    let kept = ask(&gateway, "setContentAccess", keep(&one, json!(["MERCHANT", "ANALYST"]))).await;
    assert_eq!(kept["access"], json!(["ANALYST", "MERCHANT"]));
    ask(&gateway, "setContentAccess", keep(&members, json!(["PLAYER"]))).await;
    // Access comes from what it is created in.
    let secret = put(&gateway, "PAGE", "secret", Some(&members)).await;
    let mut input = draft("PAGE", "open", Some(&members));
    input["access"] = json!([]);
    let open = create(&gateway, input).await;
    publish(&gateway, &open, None).await;

    let (merchant, player) = (gateway.merchant(), gateway.user("p", &["player", "analyst"]));
    let nothing = docgate::graphql::node_id::NodeKind::CONTENT.id("nothing").0;
    for stranger in [gateway.anonymous(), gateway.shopper("s"), gateway.user("m", &["moderator"])] {
        for hidden in [&one, &secret, &members, &nothing] {
            assert_eq!(by_id(&stranger, hidden).await, Value::Null);
            let node = "query($id: ID!) { node(id: $id) { id } }";
            assert_eq!(stranger.field(node, json!({ "id": hidden })).await, Value::Null);
        }
        assert_eq!(at(&stranger, "/en/blog/one").await, Value::Null);
        assert_eq!(listed(&stranger, json!({ "parentId": blog })).await, ["/en/blog/two"]);
        assert_eq!(listed(&stranger, json!({ "tag": "x" })).await, ["/en/page"]);
        assert_eq!(listed(&stranger, json!({ "parentId": members })).await, ["/en/members/open"]);
        let words = json!({ "text": { "query": "secret one" } });
        assert!(listed_by(&stranger, &words, 10).await.is_empty());
    }
    assert_eq!(by_id(&merchant, &one).await["path"], "/en/blog/one");
    assert_eq!(by_id(&merchant, &secret).await, Value::Null);
    assert_eq!(listed(&merchant, json!({ "tag": "x" })).await, ["/en/page", "/en/blog/one"]);
    assert_eq!(
        listed(&merchant, json!({ "parentId": blog })).await,
        ["/en/blog/two", "/en/blog/one"]
    );
    assert_eq!(listed(&player, json!({ "below": "/en/members" })).await.len(), 3);
    assert_eq!(listed(&editor(&gateway), json!({ "below": "/" })).await.len(), 8);
    assert_eq!(listed(&gateway.admin(), json!({ "below": "/" })).await.len(), 8);
    // A redirect leads nobody to what isn't theirs.
    ask(&gateway, "moveContent", json!({ "contentId": one, "parentId": blog, "slug": "uno" }))
        .await;
    assert_eq!(at(&gateway.anonymous(), "/en/blog/one").await, Value::Null);
    assert_eq!(at(&merchant, "/en/blog/one").await["path"], "/en/blog/uno");
    // Nor does the draft go to anyone but editors.
    for draft in ["draft { title }", "... on BlogEntry { draft { title } }"] {
        let query = format!("query($id: ID!) {{ content(by: {{ id: $id }}) {{ title {draft} }} }}");
        for (stranger, code) in
            [(&merchant, "FORBIDDEN"), (&gateway.anonymous(), "UNAUTHENTICATED")]
        {
            let told = stranger.run(&query, json!({ "id": two })).await;
            assert_eq!(told["errors"][0]["extensions"]["code"], code, "{told:#}");
            assert_eq!(told["data"]["content"], json!({ "title": "two", "draft": null }));
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_found_by_stems_of_its_language_and_titles_count_more() {
    let gateway = Gateway::start().await;
    let text = |slug: &str, language: &str, title: &str, body: &str| {
        let text = json!({ "title": title, "body": body, "language": language });
        json!({ "type": "PAGE", "slug": slug, "text": text })
    };
    for input in [
        text("a", "en", "Notes", "We watched whales and ran."),
        text("b", "en", "Whales", "Nothing else."),
        text("c", "de", "Häuser", "Die alten Häuser der Stadt."),
        text("d", "en", "Drafts", "Whales in a draft."),
    ] {
        let draft = input["slug"] == "d";
        let made = create(&gateway, input).await;
        if !draft {
            publish(&gateway, &made, None).await;
        }
    }
    let anyone = gateway.anonymous();
    let words =
        |query: &str, language: &str| json!({ "text": { "query": query, "language": language } });
    assert_eq!(listed(&anyone, words("whale", "en")).await, ["/b", "/a"]);
    assert_eq!(listed(&anyone, words("running", "en")).await, [""; 0]);
    assert_eq!(listed(&anyone, words("watching", "en")).await, ["/a"]);
    assert_eq!(listed(&anyone, words("haus", "de")).await, ["/c"]);
    assert_eq!(listed(&anyone, words("\"alten häuser\"", "de")).await, ["/c"]);
    let within = json!({ "text": { "query": "whale", "within": "/b" } });
    assert_eq!(listed(&anyone, within).await, ["/b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn restricted_content_is_read_under_the_configured_names_of_its_roles() {
    let gateway = Gateway::with(|config| {
        let grants = [("editor", "editor"), ("number-cruncher", "analyst"), ("clerk", "merchant")];
        config.roles = grants.map(|(name, role)| (name.to_owned(), vec![role.to_owned()])).into();
    })
    .await;
    let page = put(&gateway, "PAGE", "figures", None).await;
    let keep = json!({ "contentId": page, "roles": ["ANALYST"] });
    assert_eq!(ask(&gateway, "setContentAccess", keep).await["access"], json!(["ANALYST"]));
    let cruncher = gateway.user("c", &["number-cruncher"]);
    assert_eq!(by_id(&cruncher, &page).await["path"], "/figures");
    assert_eq!(at(&cruncher, "/figures").await["id"], page);
    for role in ["analyst", "clerk", "merchant"] {
        assert_eq!(by_id(&gateway.user("c", &[role]), &page).await, Value::Null, "{role}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn editors_list_what_isnt_published() {
    let gateway = Gateway::start().await;
    let [en, blog, ..] = site(&gateway).await;
    create(&gateway, draft("BLOG_ENTRY", "draft", Some(&blog))).await;
    let query = "query($parentId: ID) { contentBelow(parentId: $parentId) {
        nodes { slug publishedAt draft { version } } } }";
    let response = editor(&gateway).explained(query, json!({ "parentId": blog })).await;
    assert_eq!(commands(&response), ["find nodes"]);
    let nodes = response["data"]["contentBelow"]["nodes"].as_array().expect("nodes");
    let slugs: Vec<_> = nodes.iter().map(|node| node["slug"].as_str().expect("a slug")).collect();
    assert_eq!(slugs, ["draft", "one", "two"]);
    let roots = editor(&gateway).field(query, json!({})).await;
    assert_eq!(roots["nodes"].as_array().map(Vec::len), Some(1));
    assert_eq!(gateway.merchant().error_code(query, json!({ "parentId": en })).await, "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn children_of_content_are_its_field() {
    let gateway = Gateway::start().await;
    let [en, blog, one, ..] = site(&gateway).await;
    create(&gateway, draft("BLOG_ENTRY", "draft", Some(&blog))).await;
    let query = "query($id: ID!, $first: Int, $after: String, $last: Int) {
        contentBelow(parentId: $id, first: $first, after: $after, last: $last) { ...Children }
        content(by: { id: $id }) {
            children(first: $first, after: $after, last: $last) { ...Children } } }
        fragment Children on ContentConnection {
            nodes { __typename id slug body parentId draft { version } }
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }";
    let slugs = async |variables: Value| {
        let response = editor(&gateway).explained(query, variables).await;
        assert_eq!(commands(&response).len(), 3, "{response:#}");
        let data = &response["data"];
        let children = &data["content"]["children"];
        // A cursor of one of the two lists is one of the other.
        assert_eq!(*children, data["contentBelow"], "{response:#}");
        let nodes = children["nodes"].as_array().expect("nodes");
        let slugs = nodes.iter().map(|node| node["slug"].as_str().expect("a slug").to_owned());
        (slugs.collect::<Vec<_>>(), children["pageInfo"]["endCursor"].clone())
    };
    let (first, cursor) = slugs(json!({ "id": blog, "first": 2 })).await;
    assert_eq!(first, ["draft", "one"]);
    let (rest, _) = slugs(json!({ "id": blog, "first": 2, "after": cursor })).await;
    assert_eq!(rest, ["two"]);
    assert_eq!(slugs(json!({ "id": blog, "last": 2 })).await.0, ["one", "two"]);
    assert_eq!(slugs(json!({ "id": en })).await.0, ["blog", "page"]);
    assert_eq!(slugs(json!({ "id": one })).await.0, [""; 0]);
    let refused = editor(&gateway).error_code(query, json!({ "id": blog, "first": 101 })).await;
    assert_eq!(refused, "BAD_USER_INPUT");
    // Readers don't get it, on the interface or on a type.
    for query in [
        "{ content(by: { path: \"/en/blog\" }) { title children { nodes { slug } } } }",
        "{ content(by: { path: \"/en/blog\" }) { ... on Blog { title children { nodes { slug } } } } }",
    ] {
        for (client, code) in
            [(gateway.merchant(), "FORBIDDEN"), (gateway.anonymous(), "UNAUTHENTICATED")]
        {
            let response = client.run(query, json!({})).await;
            let expected = json!({ "title": "blog", "children": null });
            assert_eq!(response["data"]["content"], expected, "{response:#}");
            let error = &response["errors"][0];
            assert_eq!(error["extensions"]["code"], code);
            assert_eq!(error["path"], json!(["content", "children"]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_paths_share_their_commands_and_each_gets_its_own() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let [_, blog, ..] = site(&gateway).await;
    ask(&gateway, "moveContent", json!({ "contentId": blog, "parentId": null, "slug": "blog" }))
        .await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "nodes" && seen.command == "find");
    let paths = ["/blog/one", "/en/blog/one", "/en/blog/two", "/en", "/en/page", "/nothing"];
    let expected = ["/blog/one", "/blog/one", "/blog/two", "/en", "/en/page", ""];
    let anyone = gateway.anonymous();
    let all = futures_util::future::join_all((0..60).map(|n| at(&anyone, paths[n % paths.len()])));
    // While the first commands are on their way, others gather.
    proxy.cut_all_from(0, Cut::Hold);
    let (all, ()) = tokio::join!(all, async {
        proxy.reached().await;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        proxy.heal();
        proxy.release().await;
    });
    for (n, found) in all.iter().enumerate() {
        assert_eq!(found["path"].as_str().unwrap_or_default(), expected[n % paths.len()]);
    }
    assert!(proxy.seen().len() < 60, "{:?}", proxy.seen().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_sees_what_is_wrong() {
    let gateway = Gateway::start().await;
    let [_, blog, ..] = site(&gateway).await;
    let nodes = gateway.database.collection::<Document>("nodes");
    let own = doc! { "_id": crate::support::key(&blog) };
    let long_ago = DateTime::from_millis(0);
    let version = doc! {
        "number": 0_i64, "nonce": "n", "title": "t", "language": null, "detail": { "body": "" },
        "at": long_ago, "by": "b",
    };
    for wrong in [
        doc! { "$set": { "metadata.path": "/elsewhere" } },
        doc! { "$push": { "within": "/elsewhere" } },
        doc! { "$set": { "listed": ["everyone in /"] } },
        doc! { "$unset": { "publishedAt": "" } },
        doc! { "$unset": { "live": "" } },
        doc! { "$set": { "metadata.parentId": "nothing" } },
        doc! { "$set": { "copying": long_ago } },
        doc! { "$set": { "deleting": { "by": "x", "at": long_ago } } },
        doc! { "$set": { "outbox": [{ "id": "x", "at": long_ago }] } },
        doc! { "$set": { "kept": [&version] } },
    ] {
        let before = nodes.find_one(own.clone()).await.expect("read").expect("the blog");
        nodes.update_one(own.clone(), wrong.clone()).await.expect("written");
        assert!(!is_sound(&gateway).await, "{wrong}");
        nodes.replace_one(own.clone(), before).await.expect("as before");
    }
    // Another version comes later than the one that it follows.
    let before = nodes.find_one(own.clone()).await.expect("read").expect("the blog");
    let hour = doc! { "$add": ["$live.at", 3_600_000] };
    for (at, sound) in [(bson::Bson::from("$live.at"), false), (hour.into(), true)] {
        let next = doc! { "$mergeObjects": ["$live", { "at": at }] };
        let set = vec![doc! { "$set": { "next": next } }];
        nodes.update_one(own.clone(), set).await.expect("written");
        assert_eq!(is_sound(&gateway).await, sound);
    }
    nodes.replace_one(own.clone(), before.clone()).await.expect("as before");
    let revisions = gateway.database.collection::<Document>("nodeRevisions");
    nodes.update_one(own.clone(), doc! { "$set": { "revision": 100_i64 } }).await.expect("written");
    let key = crate::support::key(&blog);
    for (id, of, number, sound) in [
        ("nothing:99".to_owned(), "nothing", 99_i64, false),
        (format!("{key}:40"), &key, 40, false),
        (format!("{key}:100"), &key, 100, false),
        (format!("{key}:98"), &key, 99, false),
        (format!("{key}:99"), &key, 99, true),
    ] {
        let mut version = version.clone();
        version.insert("number", number);
        let inserted = doc! { "_id": &id, "nodeId": of, "version": version, "v": 1 };
        revisions.insert_one(inserted).await.expect("inserted");
        assert_eq!(is_sound(&gateway).await, sound, "{id}");
        revisions.delete_one(doc! { "_id": id }).await.expect("removed");
    }
    nodes.replace_one(own, before).await.expect("as before");
    gateway.assert_sound().await;
}

async fn is_sound(gateway: &Gateway) -> bool {
    gateway.check().await.is_clean()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_show_texts_however_they_are_asked_for() {
    let gateway = Gateway::start().await;
    let [folder, ..] = site(&gateway).await;
    let text = json!("The text of page.");
    for (fields, way) in [
        ("body", "/body"),
        ("text: body", "/text"),
        ("...Whole", "/body"),
        ("... on Page { body }", "/body"),
        ("... on Content { ...Whole }", "/body"),
        ("body @include(if: $yes)", "/body"),
        ("draft { body }", "/draft/body"),
    ] {
        let query = format!(
            "query($yes: Boolean! = true, $folder: ID!) {{
                contents(by: {{ below: \"/en\" }}) {{ nodes {{ path {fields} }} edges {{ node {{ path }} }} }}
                contentBelow(parentId: $folder) {{ edges {{ node {{ path ...Asked }} }} }}
                content(by: {{ id: $folder }}) {{ children {{ edges {{ node {{ path ...Asked }} }} }} }}
                skipped: content(by: {{ id: $folder }}) @skip(if: $yes) {{ id }}
            }}
            fragment Asked on Content {{ {fields} }} {}",
            if fields.contains("Whole") { "fragment Whole on Content { body }" } else { "" },
        );
        let said = editor(&gateway).run(&query, json!({ "folder": folder })).await;
        assert!(said.get("errors").is_none(), "{fields}: {said:#}");
        let feed = said["data"]["contents"]["nodes"].as_array().expect("a list").iter();
        let lists = [&said["data"]["contentBelow"], &said["data"]["content"]["children"]];
        let edges = lists.into_iter().flat_map(|list| list["edges"].as_array().expect("a list"));
        let page = |node: &&Value| node["path"] == "/en/page";
        let found: Vec<_> = feed.chain(edges.map(|edge| &edge["node"])).filter(page).collect();
        assert_eq!(found.len(), 3);
        for node in found {
            assert_eq!(node.pointer(way), Some(&text), "{fields}: {said:#}");
        }
    }
    let query = "{ contents(by: { text: { query: \"text\" } }) { nodes { path html } } }";
    let found = gateway.anonymous().field(query, json!({})).await;
    assert!(found["nodes"][0]["html"].as_str().expect("html").starts_with("<p>The"), "{found:#}");
    // What isn't asked for isn't read, and nothing else is missing.
    let query = "{ contents(by: { below: \"/en\" }) { nodes { path title publishedAt tags } } }";
    let found = gateway.anonymous().field(query, json!({})).await;
    assert_eq!(found["nodes"][0]["title"], "page", "{found:#}");
}

/// Content is an interface, of which a fragment on one of its types can be asked as well.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_tells_its_path_beside_a_fragment_too() {
    let gateway = Gateway::start().await;
    site(&gateway).await;
    let anyone = gateway.anonymous();
    for below in ["", "... on Blog { slug }", "...B", "slug @include(if: true)"] {
        let fragment = if below == "...B" { "fragment B on Blog { slug }" } else { "" };
        let query = format!(
            "{{ contents(by: {{ below: \"/en/page\" }}) {{ nodes {{ draft {{ title }} {below} }} }} }}
             {fragment}"
        );
        let answer = anyone.run(&query, json!({})).await;
        let error = &answer["errors"][0];
        assert_eq!(error["path"], json!(["contents", "nodes", 0, "draft"]), "{answer:#}");
        assert_eq!(answer["data"]["contents"]["nodes"][0]["draft"], Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parents_of_a_feed_are_one_read() {
    let gateway = Gateway::start().await;
    let blog = put(&gateway, "BLOG", "blog", None).await;
    for number in 0..20 {
        put(&gateway, "BLOG_ENTRY", &format!("entry-{number}"), Some(&blog)).await;
    }
    let feed = async |client: &Client, fields: &str| {
        let query = format!(
            "query($by: ContentsBy!) {{ contents(by: $by) {{ nodes {{ title {fields} }} }} }}"
        );
        client.run(&query, json!({ "by": { "parentId": blog } })).await
    };
    let anyone = gateway.anonymous();
    let sent = async |fields: &str| {
        cuts::sent(&gateway, async |gateway| drop(feed(&gateway.anonymous(), fields).await)).await
    };
    assert_eq!(sent("parentId parent { title }").await.len(), sent("").await.len() + 1);
    let with_parents = feed(&anyone, "parentId parent { title }").await;
    let nodes = with_parents["data"]["contents"]["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), 20);
    assert!(nodes.iter().all(|node| node["parent"]["title"] == "blog"), "{nodes:#?}");
    // Who can't see the parent gets null for it, and its id.
    ask(&gateway, "setContentAccess", json!({ "contentId": blog, "roles": ["ANALYST"] })).await;
    let hidden = feed(&anyone, "parentId parent { title }").await;
    assert!(hidden.get("errors").is_none(), "{hidden:#}");
    assert_eq!(hidden["data"]["contents"]["nodes"][0]["parent"], Value::Null);
    assert_eq!(hidden["data"]["contents"]["nodes"][0]["parentId"], blog.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn feeds_and_searches_are_read_from_the_end_as_well() {
    let gateway = Gateway::start().await;
    site(&gateway).await;
    let query =
        "query($by: ContentsBy!, $first: Int, $after: String, $last: Int, $before: String) {
        contents(by: $by, first: $first, after: $after, last: $last, before: $before) {
            nodes { path } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
    let anyone = gateway.anonymous();
    for by in [json!({ "below": "/" }), json!({ "text": { "query": "text" } })] {
        let read = async |paging: Value| {
            let mut arguments = paging;
            arguments["by"] = by.clone();
            anyone.field(query, arguments).await
        };
        let all = read(json!({ "first": 100 })).await["nodes"].as_array().expect("nodes").clone();
        assert_eq!(all.len(), 5);
        let end = read(json!({ "last": 2 })).await;
        assert_eq!(end["nodes"], json!(all[3..]), "{by}");
        let facts = |page: &Value| {
            let info = &page["pageInfo"];
            [info["hasPreviousPage"].clone(), info["hasNextPage"].clone()]
        };
        assert_eq!(facts(&end), [json!(true), json!(false)], "{by}");
        let before = json!({ "last": 2, "before": end["pageInfo"]["startCursor"] });
        let middle = read(before).await;
        assert_eq!(middle["nodes"], json!(all[1..3]), "{by}");
        assert_eq!(facts(&middle), [json!(true), json!(true)], "{by}");
        let before = json!({ "last": 2, "before": middle["pageInfo"]["startCursor"] });
        let beginning = read(before).await;
        assert_eq!(beginning["nodes"], json!(all[..1]), "{by}");
        assert_eq!(facts(&beginning), [json!(false), json!(true)], "{by}");
        let both = json!({ "by": by, "first": 1, "last": 1 });
        assert_eq!(anyone.error_code(query, both).await, "BAD_USER_INPUT");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn former_versions_are_for_editors() {
    let gateway = Gateway::start().await;
    let page = put(&gateway, "PAGE", "page", None).await;
    let query = "query($id: ID!) { content(by: { id: $id }) { revisions { nodes { number } } } }";
    let refused = gateway.merchant().run(query, json!({ "id": page })).await;
    assert_eq!(refused["data"]["content"], json!({ "revisions": null }), "{refused:#}");
    assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN", "{refused:#}");
}
