//! What a deletion leaves, and for how long.

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::{Document, doc};
use serde_json::json;

use super::{Door, ask, counts, editor, file, let_time_pass, noise, parent, send_file, uploaded};
use crate::{
    comments,
    support::{Gateway, key, short_bounds},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_of_an_upload_does_not_bring_back_what_was_deleted() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let client = editor(&gateway);
    let gallery = parent(&gateway, "/g", "gallery", &[]).await;
    let sent = file("a", "x/y", noise(300_000));
    let input = json!({
        "slug": "it", "parentId": gallery, "title": "secret", "description": "a secret too", "tags": ["t"],
        "idempotencyKey": "one",
        "attributes": [{ "key": "k", "value": { "flag": true } }],
    });
    let made = uploaded(&gateway, input.clone(), &sent).await;
    ask(&client, "deleteAsset", json!({ "assetId": made["id"] })).await;
    for _ in 0..2 {
        let again = send_file(&client, "uploadAsset", input.clone(), &sent).await;
        assert_eq!(again["__typename"], "Conflict", "{again:#}");
        assert_eq!(again["message"], "the object that this idempotency key created was deleted");
        gateway.assert_sound().await;
        gateway.sweep().await;
    }
    // Nothing of it is shown, and nothing stands in its way.
    assert_eq!(Door::open(&gateway).get("/g/it", &[]).await.status(), 404);
    let stone = super::stored(&gateway, made["id"].as_str().expect("an id")).await;
    assert!(!stone.to_string().contains("secret"), "{stone}");
    let query = "query($by: AssetsBy!) { assets(by: $by) { nodes { slug } } }";
    for by in [
        json!({ "tag": "t" }),
        json!({ "parentId": gallery }),
        json!({ "attributes": { "all": [{ "key": "k", "exists": true }] } }),
    ] {
        let found = client.field(query, json!({ "by": by })).await;
        assert_eq!(found["nodes"], json!([]), "{by}");
    }
    let gone =
        crate::content::ask(&gateway, "deleteContent", json!({ "contentId": gallery })).await;
    assert_eq!(gone["__typename"], "DeletedContent", "{gone:#}");
    // When ops are forgotten the stone goes.
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_free_for_another_when_its_asset_was_deleted() {
    let gateway = Gateway::start().await;
    let (client, input) = (editor(&gateway), json!({ "slug": "it" }));
    for number in 1..=3_u8 {
        let made = uploaded(&gateway, input.clone(), &file("a", "x/y", vec![0, number])).await;
        assert_eq!(Door::open(&gateway).bytes("/it", &[]).await, (200, vec![0, number]));
        ask(&client, "deleteAsset", json!({ "assetId": made["id"] })).await;
    }
    assert_eq!(counts(&gateway).await[0], 3);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_is_discussed_by_who_may_see_it() {
    let gateway = Gateway::start().await;
    let sent = file("a", "x/y", "x");
    let made = uploaded(&gateway, json!({ "slug": "it", "access": ["analyst"] }), &sent).await;
    let on = made["id"].as_str().expect("an id");
    let opened = comments::open(&editor(&gateway), on, "PER_DOCUMENT").await;
    assert_eq!(opened["__typename"], "Discussion", "{opened:#}");
    let analyst = gateway.user("ben", &["analyst"]);
    comments::posted(&analyst, on, "first", None).await;
    let refused = comments::post(&gateway.shopper("anna"), on, "second", None).await;
    assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
    let query = "query($id: ID!) { asset(by: { id: $id }) {
        discussion { commentCount latestComments { text } } } }";
    let shown = analyst.field(query, json!({ "id": on })).await;
    assert_eq!(
        shown["discussion"],
        json!({ "commentCount": 1, "latestComments": [{ "text": "first" }] })
    );
    let hidden = gateway.shopper("anna").field(query, json!({ "id": on })).await;
    assert!(hidden.is_null(), "{hidden:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_said_goes_when_nobody_can_be_posting_any_more() {
    for layout in comments::LAYOUTS {
        let gateway = Gateway::with(short_bounds).await;
        let patient = gateway.patient_sibling().await;
        let made = uploaded(&patient, json!({ "slug": "it" }), &file("a", "x/y", "x")).await;
        let on = made["id"].as_str().expect("an id").to_owned();
        comments::open(&editor(&patient), &on, layout).await;
        for number in 0..3 {
            comments::posted(&patient.shopper("anna"), &on, &format!("c{number}"), None).await;
        }
        // Some are on their way while it goes.
        let posts = (0..6).map(|number| {
            let (client, on) = (gateway.shopper(&format!("u{number}")), on.clone());
            tokio::spawn(async move { comments::post(&client, &on, "late", None).await })
        });
        let posts: Vec<_> = posts.collect();
        let gone = ask(&editor(&patient), "deleteAsset", json!({ "assetId": on })).await;
        assert_eq!(gone["__typename"], "DeletedAsset", "{gone:#}");
        for post in posts {
            let post = post.await.expect("an answer");
            assert!(["Comment", "NotFound"].contains(&post["__typename"].as_str().unwrap_or("")));
        }
        let refused = comments::post(&gateway.shopper("anna"), &on, "after", None).await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
        let entry = super::stored(&gateway, &on).await;
        assert!(entry.get("discussion").is_some(), "a run that is under way may still write");
        gateway.sweep().await;
        for name in ["comments", "commentPages", "authoredComments"] {
            let left = gateway.database.collection::<Document>(name).count_documents(doc! {}).await;
            assert_eq!(left.expect("a count"), 0, "{layout} {name}");
        }
        let entry = super::stored(&gateway, &on).await;
        assert_eq!((entry.get("discussion"), entry.get("deleting")), (None, None), "{entry}");
        assert!(NodeKind::ASSET.id(&key(&on)).0 == on);
        gateway.assert_sound().await;
    }
}
