//! Reviews: one from each author, and the product's rating follows them.

use docgate::{config::DiscussionLayout, graphql::node_id::NodeKind};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    LAYOUTS, discussed, does, few_rooms, id_of,
    late::{hide, hold},
    migrate, mutation, open, posted, shown, very_long_bounds,
};
use crate::support::{Client, Gateway};

async fn review(client: &Client, sku: &str, stars: i32, text: &str) -> Value {
    does(client, "reviewProduct", json!({ "sku": sku, "stars": stars, "text": text })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rating_counts_each_author_once() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        assert_eq!(shown(&gateway, layout).await["rating"], Value::Null);
        let (anna, berta) = (gateway.shopper("anna"), gateway.shopper("berta"));
        let first = review(&anna, layout, 5, "great").await;
        assert_eq!((&first["stars"], &first["text"]), (&json!(5), &json!("great")), "{first:#}");
        posted(&anna, &on, "no review", None).await;
        review(&berta, layout, 2, "well").await;
        let rating = json!({ "count": 2, "average": 3.5 });
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
        let before = gateway.snapshot().await;
        assert_eq!(review(&anna, layout, 5, "great").await, first);
        let again = review(&anna, layout, 1, "changed my mind").await;
        assert_eq!(again["code"], "ALREADY_EXISTS", "{again:#}");
        for (stars, text, field) in
            [(0, "a", "input.stars"), (6, "a", "input.stars"), (3, "", "input.text")]
        {
            let refused = review(&gateway.shopper("carl"), layout, stars, text).await;
            assert_eq!(refused["field"], field);
        }
        assert!(gateway.snapshot().await == before);
        // It follows edits,
        let input = json!({
            "commentId": first["id"], "version": first["version"], "text": "hm", "stars": 4,
        });
        let edited = does(&anna, "editComment", input).await;
        assert_eq!(edited["stars"], 4, "{edited:#}");
        let rating = json!({ "count": 2, "average": 3.0 });
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
        let input = json!({
            "commentId": first["id"], "version": edited["version"], "text": "same stars",
        });
        assert_eq!(does(&anna, "editComment", input).await["stars"], 4);
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
        // and removals, after which there is no second one.
        let gone = json!({ "commentId": id_of(&first) });
        assert_eq!(does(&anna, "removeComment", gone).await["stars"], Value::Null);
        let rating = json!({ "count": 1, "average": 2.0 });
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
        assert_eq!(review(&anna, layout, 5, "again").await["code"], "ALREADY_EXISTS");
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_reviews_at_once_one_counts() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in LAYOUTS {
        discussed(&gateway, layout, layout).await;
        let all = (0..40).map(|number| {
            let client = gateway.shopper(&format!("s{}", number % 10));
            async move { review(&client, layout, number / 10 + 1, "at once").await }
        });
        let said = join_all(all).await;
        let made = said.iter().filter(|one| one["__typename"] == "Comment").count();
        assert_eq!(made, 10, "{said:#?}");
        assert_eq!(shown(&gateway, layout).await["rating"]["count"], 10);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_review_opens_the_discussion() {
    for (configured, layout, other) in [
        (DiscussionLayout::PerDocument, "PER_DOCUMENT", "PAGED"),
        (DiscussionLayout::Paged, "PAGED", "EMBEDDED"),
        (DiscussionLayout::Embedded, "EMBEDDED", "PER_DOCUMENT"),
    ] {
        let gateway = Gateway::with(|config| {
            few_rooms(config);
            config.discussion_layout = configured;
        })
        .await;
        gateway.product("silent", 100, "EUR").await;
        let before = gateway.snapshot().await;
        let anna = gateway.shopper("anna");
        let refused = review(&anna, "nothing", 5, "great").await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
        assert_eq!(review(&anna, "silent", 6, "great").await["field"], "input.stars");
        let input = json!({ "input": { "sku": "silent", "stars": 5, "text": "great" } });
        let anonymous = gateway.anonymous();
        assert_eq!(
            anonymous.error_code(&mutation("reviewProduct"), input).await,
            "UNAUTHENTICATED"
        );
        assert!(gateway.snapshot().await == before, "a refusal opens nothing");

        // Many at once, each sent twice.
        let all = (0..16).map(|number| {
            let client = gateway.shopper(&format!("s{}", number % 8));
            async move { review(&client, "silent", 4, "at once").await }
        });
        let said = join_all(all).await;
        assert!(said.iter().all(|one| one["__typename"] == "Comment"), "{said:#?}");
        let now = shown(&gateway, "silent").await;
        assert_eq!((&now["layout"], &now["commentCount"]), (&json!(layout), &json!(8)));
        assert_eq!(now["rating"], json!({ "count": 8, "average": 4.0 }));
        let before = gateway.snapshot().await;
        assert_eq!(review(&gateway.shopper("s0"), "silent", 4, "at once").await, said[0]);
        // A merchant who opens it finds it open, and may move it.
        let on = NodeKind::PRODUCT.id("silent").0;
        assert_eq!(open(&gateway.merchant(), &on, layout).await["commentCount"], 8);
        assert_eq!(open(&gateway.merchant(), &on, other).await["code"], "ALREADY_EXISTS");
        assert!(gateway.snapshot().await == before);
        assert_eq!(migrate(&gateway, &on, other).await["layout"], other);
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_review_that_is_overtaken_goes_where_the_discussion_is() {
    let base = Gateway::with(very_long_bounds).await;
    for is_hidden in [false, true] {
        let sku = if is_hidden { "hidden" } else { "opened" };
        base.product(sku, 100, "EUR").await;
        let gateway = base.sibling_behind_proxy().await;
        hold(&gateway, "products", "findAndModify");
        let anna = gateway.shopper("anna");
        let sent = tokio::spawn(async move { review(&anna, sku, 5, "great").await });
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.reached().await;
        if is_hidden {
            hide(&base, sku, true).await;
        } else {
            let on = NodeKind::PRODUCT.id(sku).0;
            assert_eq!(open(&base.merchant(), &on, "PAGED").await["layout"], "PAGED");
        }
        let before = base.snapshot().await;
        proxy.release().await;
        let said = sent.await.expect("an answer");
        if is_hidden {
            assert_eq!(said["__typename"], "NotFound", "{said:#}");
            assert!(base.snapshot().await == before);
            hide(&base, sku, false).await;
        } else {
            assert_eq!(said["stars"], 5, "{said:#}");
            let now = shown(&base, sku).await;
            assert_eq!((&now["layout"], &now["commentCount"]), (&json!("PAGED"), &json!(1)));
        }
    }
    base.assert_sound().await;
}
