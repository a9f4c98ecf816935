//! Products by rating: the reviews decide, and only products with reviews are listed.

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    category, change,
    combined::assert_range,
    lists::{read, skus, skus_from_the_end},
};
use crate::{
    comments::{LAYOUTS, discussed, does, few_rooms},
    support::Gateway,
};

/// A product with reviews of these stars, each of another author; returns the reviews.
async fn reviewed(gateway: &Gateway, sku: &str, layout: &str, stars: &[i32]) -> Vec<Value> {
    discussed(gateway, sku, layout).await;
    let mut reviews = Vec::new();
    for (number, stars) in stars.iter().enumerate() {
        let input = json!({ "sku": sku, "stars": stars, "text": "a review" });
        let author = gateway.shopper(&format!("author-{number}"));
        let review = does(&author, "reviewProduct", input).await;
        assert_eq!(review["stars"], *stars, "{review:#}");
        reviews.push(review);
    }
    reviews
}

async fn rating(gateway: &Gateway, sku: &str) -> Value {
    let query = "query($sku: ID!) { product(sku: $sku) { rating { average count } } }";
    gateway.anonymous().field(query, json!({ "sku": sku })).await["rating"].clone()
}

fn by_rating(conditions: &Value) -> Value {
    let mut conditions = conditions.clone();
    conditions["order"] = json!("RATING");
    json!({ "where": conditions })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_rated_come_first() {
    let gateway = Gateway::with(few_rooms).await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    let jazz = category(&merchant, "jazz", Some(&music)).await;
    for (sku, stars, place) in [
        ("one", &[5][..], None),
        ("two", &[5, 5], Some(&music)),
        ("three", &[4, 5], None),
        ("four", &[5, 4], Some(&jazz)),
        ("five", &[2, 3, 3], Some(&music)),
        ("none", &[], Some(&music)),
    ] {
        reviewed(&gateway, sku, "PER_DOCUMENT", stars).await;
        if let Some(place) = place {
            let input = json!({ "sku": sku, "categoryIds": [place] });
            change(&merchant, "categorizeProduct", input).await;
        }
    }
    gateway.product("plain", 100, "EUR").await;
    assert_eq!(rating(&gateway, "four").await, json!({ "average": 4.5, "count": 2 }));
    assert_eq!(rating(&gateway, "none").await, Value::Null);
    assert_eq!(rating(&gateway, "plain").await, Value::Null);

    let client = gateway.anonymous();
    let subtree = json!({ "category": { "subtree": "/music" } });
    let books = json!({ "category": { "subtree": "/music/jazz" }, "type": "book" });
    let lists: [(Value, &str, &[&str]); 3] = [
        (json!({}), "rating", &["two", "one", "four", "three", "five"]),
        (subtree, "category_rating", &["two", "four", "five"]),
        (books, "category_rating", &["four"]),
    ];
    for (conditions, index, expected) in lists {
        let by = by_rating(&conditions);
        for size in [1, 2, 100] {
            assert_eq!(skus(&client, &by, size).await, expected, "{by} by {size}");
            let backwards = skus_from_the_end(&client, &by, size).await;
            assert_eq!(backwards, expected, "{by} by {size} from the end");
        }
        let (first, command) = read(&gateway, &by, &Value::Null).await;
        assert_range(&gateway, &command, index).await;
        let (_, command) = read(&gateway, &by, &first["edges"][0]["cursor"]).await;
        assert_range(&gateway, &command, index).await;
    }
    for conditions in [
        json!({ "type": "book" }),
        json!({ "category": { "children": "/music" } }),
        json!({ "category": { "exact": "/music" } }),
    ] {
        let list = "query($by: ProductsBy!) { products(by: $by) { nodes { sku } } }";
        let refused = client.run(list, json!({ "by": by_rating(&conditions) })).await;
        let named = &refused["errors"][0]["extensions"]["field"];
        assert_eq!(*named, "by.where.order", "{refused:#}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_follows_the_reviews() {
    let gateway = Gateway::with(few_rooms).await;
    let client = gateway.anonymous();
    let by = by_rating(&json!({}));
    for layout in LAYOUTS {
        let (up, down) = (format!("{layout}-up"), format!("{layout}-down"));
        let first = reviewed(&gateway, &down, layout, &[5]).await;
        let second = reviewed(&gateway, &up, layout, &[4]).await;
        assert_eq!(skus(&client, &by, 10).await, [down.as_str(), &up]);
        // An edit,
        let input = json!({
            "commentId": first[0]["id"], "version": first[0]["version"], "text": "hm", "stars": 1,
        });
        let author = gateway.shopper("author-0");
        assert_eq!(does(&author, "editComment", input).await["stars"], 1);
        assert_eq!(skus(&client, &by, 10).await, [up.as_str(), &down]);
        assert_eq!(rating(&gateway, &down).await, json!({ "average": 1.0, "count": 1 }));
        // and removals.
        for (sku, review, left) in [(&up, &second, vec![down.as_str()]), (&down, &first, vec![])] {
            let gone = json!({ "commentId": review[0]["id"] });
            does(&author, "removeComment", gone).await;
            assert_eq!(skus(&client, &by, 10).await, left);
            assert_eq!(rating(&gateway, sku).await, Value::Null);
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn products_that_were_rated_by_an_earlier_release_are_listed_after_a_repair() {
    let gateway = Gateway::with(few_rooms).await;
    let client = gateway.anonymous();
    let by = by_rating(&json!({}));
    reviewed(&gateway, "a", "PER_DOCUMENT", &[4, 5]).await;
    reviewed(&gateway, "b", "PER_DOCUMENT", &[3]).await;
    let unset = doc! { "$unset": { "discussion.rating.score": "" } };
    let products = gateway.raw("products");
    products.update_one(doc! { "_id": "a" }, unset).await.expect("changed");
    gateway.assert_sound().await;
    assert_eq!(rating(&gateway, "a").await, json!({ "average": 4.5, "count": 2 }));
    assert_eq!(skus(&client, &by, 10).await, ["b"]);
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["the discussion of a"]);
    assert_eq!(skus(&client, &by, 10).await, ["a", "b"]);
    // So does the next review.
    let unset = doc! { "$unset": { "discussion.rating.score": "" } };
    products.update_one(doc! { "_id": "b" }, unset).await.expect("changed");
    let input = json!({ "sku": "b", "stars": 5, "text": "another" });
    does(&gateway.shopper("another"), "reviewProduct", input).await;
    assert_eq!(rating(&gateway, "b").await, json!({ "average": 4.0, "count": 2 }));
    assert_eq!(skus(&client, &by, 10).await, ["a", "b"]);
    gateway.assert_sound().await;
}
