//! Reviews: one from each author, and the product's rating follows them.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{LAYOUTS, discussed, does, posted, shown, slug};
use crate::support::{Client, Gateway};

async fn review(client: &Client, sku: &str, stars: i32, text: &str) -> Value {
    does(client, "reviewProduct", json!({ "sku": sku, "stars": stars, "text": text })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rating_counts_each_author_once() {
    let gateway = Gateway::start().await;
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
            "on": on, "slug": first["slug"], "nonce": first["nonce"], "text": "hm", "stars": 4,
        });
        let edited = does(&anna, "editComment", input).await;
        assert_eq!(edited["stars"], 4, "{edited:#}");
        let rating = json!({ "count": 2, "average": 3.0 });
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
        let input = json!({
            "on": on, "slug": first["slug"], "nonce": edited["nonce"], "text": "same stars",
        });
        assert_eq!(does(&anna, "editComment", input).await["stars"], 4);
        assert_eq!(shown(&gateway, layout).await["rating"], rating);
        // and removals, after which there is no second one.
        let gone = json!({ "on": on, "slug": slug(&first) });
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
    let gateway = Gateway::start().await;
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
async fn a_product_without_a_discussion_takes_no_reviews() {
    let gateway = Gateway::start().await;
    gateway.product("silent", 100, "EUR").await;
    let before = gateway.snapshot().await;
    for sku in ["silent", "nothing"] {
        let refused = review(&gateway.shopper("anna"), sku, 5, "great").await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
    }
    assert!(gateway.snapshot().await == before);
}
