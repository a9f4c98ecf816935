//! Pictures, videos and files by path, where they were moved, and what they show.

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::{ask, at, editor, listed_by, photos::PIXEL, photos::upload, put};
use crate::support::{Gateway, commands, http, http_builder};

/// The beginning of a video, as MP4 has it.
const VIDEO: &[u8] = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08free";

const ASSET: &str = "query($by: AssetBy!) { asset(by: $by) { id path redirectedFrom } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_content_at_its_path_and_where_it_was() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let top = put(&gateway, "FOLDER", "top", None).await;
    let photo = upload(&gateway, "/top/tram", PIXEL).await;
    let notes = upload(&gateway, "/top/notes", b"no picture").await;
    let found = at(&anyone, "/top/tram").await;
    assert_eq!((&found["__typename"], &found["id"]), (&json!("Photo"), &json!(photo)));
    assert_eq!(found["redirectedFrom"], Value::Null);
    assert_eq!(at(&anyone, "/top/notes").await, Value::Null, "a file isn't content");
    // Content at the path itself is still one command.
    let query = "query($path: String!) { content(by: { path: $path }) { id } }";
    let response = anyone.explained(query, json!({ "path": "/top" })).await;
    assert_eq!(commands(&response), ["find nodes"]);

    ask(&gateway, "moveContent", json!({ "contentId": top, "slug": "moved" })).await;
    for (asked, from) in [("/moved/tram", Value::Null), ("/top/tram", json!("/top/tram"))] {
        let found = at(&anyone, asked).await;
        assert_eq!(found["id"], *photo, "{asked}");
        assert_eq!((&found["path"], &found["redirectedFrom"]), (&json!("/moved/tram"), &from));
    }
    let found = anyone.field(ASSET, json!({ "by": { "path": "/top/notes" } })).await;
    let expected = json!({ "id": notes, "path": "/moved/notes", "redirectedFrom": "/top/notes" });
    assert_eq!(found, expected);
    let found = anyone.field(ASSET, json!({ "by": { "id": notes } })).await;
    assert_eq!(found["redirectedFrom"], Value::Null);

    // Over HTTP it is a redirection, which keeps the query.
    let following_none = http_builder().redirect(Policy::none()).build().expect("a client");
    let url = format!("http://{}/assets/top/notes?x=1", gateway.address);
    let answer = following_none.get(url).send().await.expect("an answer");
    assert_eq!(answer.status(), 307);
    assert_eq!(answer.headers()["location"], "/assets/moved/notes?x=1");
    let url = format!("http://{}/assets/top/notes", gateway.address);
    let answer = http().get(url).send().await.expect("an answer");
    assert_eq!(answer.text().await.expect("a text"), "no picture");

    // A file that has the path wins over one that had it.
    put(&gateway, "FOLDER", "top", None).await;
    let second = upload(&gateway, "/top/tram", PIXEL).await;
    assert_eq!(at(&anyone, "/top/tram").await["id"], *second);
    assert_eq!(at(&anyone, "/top/notes").await, Value::Null);
    let found = anyone.field(ASSET, json!({ "by": { "path": "/top/notes" } })).await;
    assert_eq!(found["id"], *notes);
    // Moved back, the old path is its own again.
    let input = json!({ "contentId": top, "slug": "again" });
    ask(&gateway, "moveContent", input).await;
    ask(&gateway, "moveContent", json!({ "contentId": top, "slug": "moved" })).await;
    let found = at(&anyone, "/moved/tram").await;
    assert_eq!((&found["id"], &found["redirectedFrom"]), (&json!(photo), &Value::Null));
    assert_eq!(at(&anyone, "/again/tram").await["id"], *photo);
    let delete = "mutation($id: ID!) { deleteAsset(input: { assetId: $id }) { __typename } }";
    editor(&gateway).field(delete, json!({ "id": notes })).await;
    for path in ["/moved/notes", "/top/notes"] {
        let found = anyone.field(ASSET, json!({ "by": { "path": path } })).await;
        assert_eq!(found, Value::Null, "{path}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_path_leads_nobody_to_what_they_may_not_read() {
    let gateway = Gateway::start().await;
    let top = put(&gateway, "FOLDER", "top", None).await;
    let photo = upload(&gateway, "/top/tram", PIXEL).await;
    ask(&gateway, "moveContent", json!({ "contentId": top, "slug": "moved" })).await;
    let version = "query($by: AssetBy!) { asset(by: $by) { version } }";
    let read = editor(&gateway).field(version, json!({ "by": { "id": photo } })).await;
    let edit = "mutation($input: EditAssetInput!) { editAsset(input: $input) {
        __typename ... on Asset { access } } }";
    let input = json!({ "assetId": photo, "version": read["version"], "access": ["analyst"] });
    let edited = editor(&gateway).field(edit, json!({ "input": input })).await;
    assert_eq!(edited["access"], json!(["analyst"]), "{edited:#}");
    assert_eq!(at(&gateway.anonymous(), "/top/tram").await, Value::Null);
    let url = format!("http://{}/assets/top/tram", gateway.address);
    assert_eq!(reqwest::get(url).await.expect("an answer").status(), 404);
    assert_eq!(at(&gateway.user("x", &["analyst"]), "/top/tram").await["id"], *photo);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn videos_stand_in_feeds_and_galleries() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let gallery = put(&gateway, "GALLERY", "gallery", None).await;
    upload(&gateway, "/gallery/one", PIXEL).await;
    let video = upload(&gateway, "/gallery/two", VIDEO).await;
    upload(&gateway, "/gallery/three", b"no picture").await;
    let both = ["/gallery/two", "/gallery/one"];
    assert_eq!(listed_by(&anyone, &json!({ "parentId": gallery }), 1).await, both);
    let below = ["/gallery/two", "/gallery/one", "/gallery"];
    assert_eq!(listed_by(&anyone, &json!({ "below": "/gallery" }), 2).await, below);
    let found = at(&anyone, "/gallery/two").await;
    assert_eq!((&found["__typename"], &found["id"]), (&json!("Video"), &json!(video)));
    let query = "query($by: ContentsBy!) { contents(by: $by, first: 1) { nodes {
        ... on Video { mediaType url width } } } }";
    let shown = anyone.field(query, json!({ "by": { "parentId": gallery } })).await;
    let expected =
        json!([{ "mediaType": "video/mp4", "url": "/assets/gallery/two", "width": null }]);
    assert_eq!(shown["nodes"], expected);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_a_description() {
    let gateway = Gateway::start().await;
    let photo = upload(&gateway, "/tram", PIXEL).await;
    let edit = "mutation($input: EditAssetInput!) { editAsset(input: $input) {
        __typename ... on Asset { version description } ... on InvalidInput { field } } }";
    let query = "query($by: AssetBy!) { asset(by: $by) { version description } }";
    let read = editor(&gateway).field(query, json!({ "by": { "id": photo } })).await;
    assert_eq!(read["description"], Value::Null);
    let mut version = read["version"].clone();
    for (given, shown) in [
        (" A yellow tram ", json!("A yellow tram")),
        ("$title", json!("$title")),
        ("", Value::Null),
    ] {
        let input = json!({ "assetId": photo, "version": version, "description": given });
        let edited = editor(&gateway).field(edit, json!({ "input": input })).await;
        assert_eq!(edited["description"], shown, "{edited:#}");
        version = edited["version"].clone();
        let content = "{ content(by: { path: \"/tram\" }) { ... on Photo { description } } }";
        let found = gateway.anonymous().field(content, json!({})).await;
        assert_eq!(found["description"], shown);
    }
    let input = json!({ "assetId": photo, "version": version, "description": "x".repeat(2_001) });
    let refused = editor(&gateway).field(edit, json!({ "input": input })).await;
    assert_eq!(refused["field"], "input.description", "{refused:#}");
    gateway.assert_sound().await;
}
