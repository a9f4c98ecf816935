//! Feeds as Atom.

use atom_syndication::Feed;
use serde_json::json;

use super::{ask, create, id, publish, put, site};
use crate::support::Gateway;

pub(super) async fn get(gateway: &Gateway, path: &str, known: Option<&str>) -> reqwest::Response {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let request =
        client.build().expect("a client").get(format!("http://{}{path}", gateway.address));
    let request = match known {
        Some(tag) => request.header("if-none-match", tag),
        None => request,
    };
    request.send().await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blog_is_served_as_atom() {
    let gateway =
        Gateway::with(|config| config.site_url = Some("https://example.org".into())).await;
    let [_, blog, one, ..] = site(&gateway).await;
    let text = json!({
        "title": "A < B & \"C\"", "body": "Some **text**.<script>alert(1)</script>",
        "summary": "What & why", "language": "de",
    });
    let input = json!({
        "type": "BLOG_ENTRY", "slug": "new", "parentId": blog, "text": text, "tags": ["x & y"],
        "authorName": "Anna <Berg>",
    });
    let made = create(&gateway, input).await;
    publish(&gateway, &made, None).await;
    create(&gateway, super::draft("BLOG_ENTRY", "draft", Some(&blog))).await;
    ask(&gateway, "setContentAccess", json!({ "contentId": one, "roles": ["ANALYST"] })).await;

    let answer = get(&gateway, "/feeds/en/blog.atom", None).await;
    assert_eq!(answer.status(), 200);
    let header = |name: &str| answer.headers()[name].to_str().expect("a text").to_owned();
    assert_eq!(header("content-type"), "application/atom+xml; charset=utf-8");
    assert_eq!(header("cache-control"), "public, max-age=60");
    let tag = header("etag");
    let text = answer.text().await.expect("a text");
    let feed = Feed::read_from(text.as_bytes()).expect("a feed");
    assert_eq!(feed.title().as_str(), "blog");
    let links: Vec<_> = feed.links().iter().map(|link| (link.rel(), link.href())).collect();
    assert_eq!(
        links,
        [
            ("self", "https://example.org/feeds/en/blog.atom"),
            ("alternate", "https://example.org/en/blog"),
        ]
    );
    let titles: Vec<_> = feed.entries().iter().map(|entry| entry.title().as_str()).collect();
    assert_eq!(titles, ["A < B & \"C\"", "two"]);
    let entry = &feed.entries()[0];
    assert_eq!(entry.links()[0].href(), "https://example.org/en/blog/new");
    assert_eq!((entry.categories()[0].term(), entry.authors()[0].name()), ("x & y", "Anna <Berg>"));
    assert_eq!(entry.summary().map(atom_syndication::Text::as_str), Some("What & why"));
    let content = entry.content().expect("content");
    assert_eq!(
        (content.value(), content.content_type()),
        (Some("<p>Some <strong>text</strong>.</p>\n"), Some("html"))
    );
    assert_eq!(feed.updated(), entry.updated());
    assert!(entry.id().starts_with("urn:docgate:") && entry.id().ends_with(id(&made)));

    // Everything below is in the feed of what it lies in.
    let above = get(&gateway, "/feeds/en.atom", None).await.text().await.expect("a text");
    let above = Feed::read_from(above.as_bytes()).expect("a feed");
    let titles: Vec<_> = above.entries().iter().map(|entry| entry.title().as_str()).collect();
    assert_eq!(titles, ["A < B & \"C\"", "page", "two", "blog"]);

    let same = get(&gateway, "/feeds/en/blog.atom", Some(&tag)).await;
    assert_eq!(
        (same.status().as_u16(), same.headers()["etag"].to_str().expect("a text")),
        (304, &*tag)
    );
    ask(&gateway, "tagContent", json!({ "contentId": id(&made), "tags": ["z"] })).await;
    assert_eq!(get(&gateway, "/feeds/en/blog.atom", Some(&tag)).await.status(), 200);
    // A feed reader that comes by the old address is led on.
    ask(&gateway, "moveContent", json!({ "contentId": blog, "parentId": null, "slug": "diary" }))
        .await;
    let led = get(&gateway, "/feeds/en/blog.atom", None).await;
    assert_eq!(led.status(), 301);
    assert_eq!(led.headers()["location"], "/feeds/diary.atom");
    let moved = get(&gateway, "/feeds/diary.atom", None).await.text().await.expect("a text");
    let moved = Feed::read_from(moved.as_bytes()).expect("a feed");
    assert_eq!((moved.id(), moved.entries()[0].id()), (feed.id(), entry.id()), "nothing is new");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_isnt_there_or_not_for_everyone_has_no_feed() {
    let gateway = Gateway::start().await;
    let secret = put(&gateway, "BLOG", "secret", None).await;
    ask(&gateway, "setContentAccess", json!({ "contentId": secret, "roles": ["ANALYST"] })).await;
    let plain = put(&gateway, "FOLDER", "plain", None).await;
    put(&gateway, "PAGE", "page", Some(&plain)).await;
    for path in [
        "/feeds/secret.atom",
        "/feeds/nothing.atom",
        "/feeds/plain",
        "/feeds/plain.rss",
        "/feeds/.atom",
        "/feeds/../plain.atom",
        "/feeds/%24where.atom",
        "/feeds/a%00b.atom",
        "/feeds/plain/.atom",
        "/feeds/PLAIN.atom",
    ] {
        let answer = get(&gateway, path, None).await;
        assert_eq!(answer.status(), 404, "{path}");
    }
    let answer = get(&gateway, "/feeds/plain.atom", None).await.text().await.expect("a text");
    let feed = Feed::read_from(answer.as_bytes()).expect("a feed");
    assert_eq!(feed.entries()[0].links()[0].href(), "/plain/page", "on whatever host it is");
}
