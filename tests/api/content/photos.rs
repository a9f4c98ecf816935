//! Pictures among content: in galleries, by tag, in feeds.

use atom_syndication::Feed;
use serde_json::{Value, json};

use super::{ask, at, create, draft, editor, listed, listed_by, publish, put};
use crate::support::{Gateway, all_nodes, commands, http, texts_of};

/// A picture of one grey pixel, in PNG.
pub(super) const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9cch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xaeB`\x82";

/// Puts a file at a path; answers its global id.
pub(super) async fn upload(gateway: &Gateway, path: &str, bytes: &'static [u8]) -> String {
    let url = format!("http://{}/assets{path}", gateway.address);
    let request = http().put(url).body(bytes);
    let token = editor(gateway).token.expect("a token");
    let answer = request.bearer_auth(token).send().await.expect("an answer");
    assert_eq!(answer.status(), 201);
    let made: Value = answer.json().await.expect("JSON");
    made["id"].as_str().expect("an id").to_owned()
}

async fn tag(gateway: &Gateway, asset: &str, tags: &[&str]) {
    let tag =
        "mutation($input: TagAssetInput!) { tagAsset(input: $input) { ... on Asset { id } } }";
    let input = json!({ "input": { "assetId": asset, "tags": tags } });
    let tagged = editor(gateway).field(tag, input).await;
    assert_eq!(tagged["id"], *asset);
}

#[tokio::test(flavor = "multi_thread")]
async fn galleries_and_tags_show_pictures_with_everything_else_in_one_order() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let folder = put(&gateway, "FOLDER", "en", None).await;
    let gallery = put(&gateway, "GALLERY", "gallery", Some(&folder)).await;
    let mut expected = Vec::new();
    for n in 0..5 {
        let path = if n % 2 == 0 {
            let path = format!("/en/photo-{n}");
            let photo = upload(&gateway, &path, PIXEL).await;
            tag(&gateway, &photo, &["x"]).await;
            path
        } else {
            let page = put(&gateway, "PAGE", &format!("page-{n}"), Some(&folder)).await;
            ask(&gateway, "tagContent", json!({ "contentId": page, "tags": ["x"] })).await;
            format!("/en/page-{n}")
        };
        expected.insert(0, path);
    }
    for path in ["/en/notes", "/en/letter", "/en/bill"] {
        let file = upload(&gateway, path, b"no picture").await;
        tag(&gateway, &file, &["x", "papers"]).await;
    }
    assert_eq!(listed(&anyone, json!({ "tag": "papers" })).await, [""; 0], "not even looked at");
    // Each page is two commands side by side, and no page passes anything over.
    for first in [1, 2, 3, 100] {
        assert_eq!(paths(&gateway, json!({ "tag": "x" }), first).await, expected, "by {first}");
        let mut below = expected.clone();
        below.push("/en/gallery".into());
        assert_eq!(paths(&gateway, json!({ "parentId": folder }), first).await, below);
        below.push("/en".into());
        for path in ["/en", "/"] {
            assert_eq!(paths(&gateway, json!({ "below": path }), first).await, below);
        }
    }
    let shown = upload(&gateway, "/en/gallery/one", PIXEL).await;
    let recent = listed_by(&anyone, &json!({ "below": "/en/gallery" }), 10).await;
    assert_eq!(recent, ["/en/gallery/one", "/en/gallery"]);
    let query = "query($by: ContentsBy!) { contents(by: $by) { nodes { __typename id path parentId
        title html author { id } ... on Photo { url mediaType width height } } } }";
    let response = anyone.explained(query, json!({ "by": { "parentId": gallery } })).await;
    let mut sent = commands(&response);
    sent.sort();
    assert_eq!(sent, ["find assetEntries", "find nodes"]);
    assert_eq!(
        response["data"]["contents"]["nodes"],
        json!([{
            "__typename": "Photo", "id": shown, "path": "/en/gallery/one", "parentId": gallery,
            "title": "one", "html": "", "author": { "id": "the-editor" },
            "url": "/assets/en/gallery/one", "mediaType": "image/png", "width": 1, "height": 1,
        }])
    );
    let node = "query($id: ID!) { node(id: $id) { __typename } }";
    assert_eq!(anyone.field(node, json!({ "id": shown })).await["__typename"], "Asset");
    // A picture contains nothing, and isn't among the children of its gallery.
    let query = "query($by: ContentsBy!, $id: ID!) {
        contents(by: $by) { nodes { __typename children { nodes { id } } } }
        content(by: { id: $id }) { children { nodes { id } } } }";
    let variables = json!({ "by": { "parentId": gallery }, "id": gallery });
    let seen = editor(&gateway).data(query, variables).await;
    assert_eq!(seen["contents"]["nodes"], json!([{ "__typename": "Photo", "children": null }]));
    assert_eq!(seen["content"]["children"]["nodes"], json!([]));
    gateway.assert_sound().await;
}

/// Paths of a list, page by page.
async fn paths(gateway: &Gateway, by: Value, first: i32) -> Vec<String> {
    let found = all_nodes(json!({ "by": by, "first": first }), async |page| {
        let response = gateway.anonymous().explained(super::LIST, page).await;
        assert_eq!(commands(&response).len(), 2, "{response:#}");
        response["data"]["contents"].clone()
    });
    texts_of(&found.await, "path")
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_go_along_with_what_they_lie_in() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let top = put(&gateway, "FOLDER", "top", None).await;
    let gallery = put(&gateway, "GALLERY", "gallery", Some(&top)).await;
    upload(&gateway, "/top/gallery/one", PIXEL).await;
    ask(&gateway, "moveContent", json!({ "contentId": top, "slug": "moved" })).await;
    assert_eq!(
        listed_by(&anyone, &json!({ "parentId": gallery }), 10).await,
        ["/moved/gallery/one"]
    );
    let recent = listed_by(&anyone, &json!({ "below": "/moved" }), 10).await;
    assert_eq!(recent, ["/moved/gallery/one", "/moved/gallery", "/moved"]);
    assert_eq!(listed_by(&anyone, &json!({ "below": "/top" }), 10).await, [""; 0]);
    let kept = ask(&gateway, "deleteContent", json!({ "contentId": gallery })).await;
    assert_eq!(kept["__typename"], "InUse", "{kept:#}");
    assert_eq!(at(&anyone, "/moved/gallery").await["__typename"], "Gallery");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_that_one_may_not_read_dont_exist() {
    let gateway = Gateway::start().await;
    let mut input = draft("GALLERY", "gallery", None);
    input["access"] = json!(["ANALYST"]);
    let gallery = create(&gateway, input).await;
    publish(&gateway, &gallery, None).await;
    let gallery = gallery["id"].clone();
    let photo = upload(&gateway, "/gallery/one", PIXEL).await;
    tag(&gateway, &photo, &["x"]).await;
    for by in [json!({ "parentId": gallery }), json!({ "tag": "x" })] {
        assert_eq!(listed(&gateway.anonymous(), by.clone()).await, [""; 0]);
        assert_eq!(listed(&gateway.merchant(), by.clone()).await, [""; 0]);
        let reader = gateway.user("reader", &["analyst"]);
        assert_eq!(listed(&reader, by.clone()).await, ["/gallery/one"]);
        assert_eq!(listed(&editor(&gateway), by).await, ["/gallery/one"]);
    }
    let by = json!({ "below": "/" });
    assert_eq!(listed(&gateway.merchant(), by.clone()).await, [""; 0]);
    let reader = gateway.user("reader", &["analyst"]);
    assert_eq!(listed_by(&reader, &by, 10).await, ["/gallery/one", "/gallery"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gallerys_feed_encloses_its_pictures() {
    let gateway = Gateway::start().await;
    put(&gateway, "GALLERY", "gallery", None).await;
    upload(&gateway, "/gallery/one", PIXEL).await;
    let url = format!("http://{}/feeds/gallery.atom", gateway.address);
    let text = reqwest::get(url).await.expect("an answer").text().await.expect("a text");
    let feed = Feed::read_from(text.as_bytes()).expect("a feed");
    let entry = &feed.entries()[0];
    let links: Vec<_> = entry.links().iter().map(|link| (link.rel(), link.href())).collect();
    let expected = [("alternate", "/gallery/one"), ("enclosure", "/assets/gallery/one")];
    assert_eq!(links, expected);
    let bytes = PIXEL.len().to_string();
    assert_eq!(entry.links()[1].mime_type(), Some("image/png"));
    assert_eq!(entry.links()[1].length(), Some(&*bytes));
}
