//! Comments and reviews in bulk.

use docgate::{
    domains::comments::import::{ImportComment, import},
    error::Error,
    graphql::node_id::NodeKind,
};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{COMMENTS, all, discussed, does, migrate, posted};
use crate::support::{Gateway, cuts, long_bounds, short_bounds};

/// Of each line whether it is in, or why not.
async fn bring(gateway: &Gateway, lines: &Value) -> Result<Vec<Result<(), String>>, Error> {
    let lines: Vec<ImportComment> = serde_json::from_value(lines.clone()).expect("lines");
    let said = import(&gateway.app, &lines).await?;
    Ok(said.into_iter().map(|said| said.map_err(|invalid| invalid.message)).collect())
}

async fn brought(gateway: &Gateway, lines: &Value) {
    let mut said = bring(gateway, lines).await;
    // An import that ran out of time is repeated.
    for _ in 0..50 {
        if matches!(said, Err(Error::Unavailable(_))) {
            said = bring(gateway, lines).await;
        }
    }
    let said = said.expect("imported");
    assert!(said.iter().all(Result::is_ok), "{said:?}");
}

fn comment(sku: &str, key: &str, reply_to: Option<&str>) -> Value {
    let reply_to = reply_to.map(|key| json!({ "key": key }));
    json!({ "sku": sku, "key": key, "author": format!("author of {key}"), "text": format!("Text {key}"),
        "at": "2024-05-01T12:00:00.5Z", "replyTo": reply_to })
}

fn review(sku: &str, author: &str, stars: i32) -> Value {
    json!({ "sku": sku, "author": author, "text": "A review", "stars": stars,
        "at": "2024-05-02T12:00:00Z" })
}

/// Number of comments, of reviews, and their average.
async fn counted(gateway: &Gateway, sku: &str) -> Value {
    let query = "query($sku: ID!) { product(sku: $sku) { discussion {
        commentCount rating { count average } } } }";
    gateway.anonymous().field(query, json!({ "sku": sku })).await["discussion"].clone()
}

fn counts(comments: i64, reviews: i64, average: f64) -> Value {
    json!({ "commentCount": comments, "rating": { "count": reviews, "average": average } })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_imported_is_as_if_it_had_been_posted_then() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    gateway.product("p", 100, "EUR").await;
    let lines = json!([
        comment("p", "a", None),
        comment("p", "b", Some("a")),
        comment("p", "c", Some("b")),
        review("p", "eve", 4),
        review("p", "$ne", 5),
    ]);
    brought(&gateway, &lines).await;
    assert_eq!(counted(&gateway, "p").await, counts(5, 2, 4.5));
    gateway.assert_sound().await;
    let on = NodeKind::PRODUCT.id("p").0;
    let variables = json!({ "subjectId": on, "order": "THREADED" });
    let listed = all(&gateway.anonymous(), COMMENTS, variables, 2).await;
    let told: Vec<String> = listed
        .iter()
        .map(|one| format!("{} {}", one["depth"], one["text"].as_str().expect("a text")))
        .collect();
    assert_eq!(told.len(), 5);
    assert_eq!(told[..3], ["0 Text a", "1 Text b", "2 Text c"]);
    assert_eq!(listed[0]["postedAt"], "2024-05-01T12:00:00.500Z");

    // It takes part like any other: replies, removals, an author's list, and the sweep.
    let slug = listed[2]["id"].as_str().expect("a slug").to_owned();
    posted(&gateway.shopper("someone"), &on, "A reply", Some(&slug)).await;
    let removal = json!({ "commentId": slug });
    let removed = does(&gateway.user("m", &["moderator"]), "removeComment", removal).await;
    assert_eq!(removed["removedBy"], "MODERATOR", "{removed:#}");
    assert_eq!(counted(&gateway, "p").await, counts(5, 2, 4.5));
    gateway.sweep().await;
    brought(&gateway, &lines).await;
    assert_eq!(counted(&gateway, "p").await, counts(5, 2, 4.5));
    let reply = json!([comment("p", "d", Some("c"))]);
    let said = bring(&gateway, &reply).await.expect("imported");
    assert_eq!(said, [Err("input.replyTo.key: was removed".to_owned())]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_imports_and_posts_at_once_each_comment_counts_once() {
    let gateway = Gateway::start().await;
    let on = discussed(&gateway, "p", "PER_DOCUMENT").await;
    gateway.product("q", 100, "EUR").await;
    let lines: Vec<Value> = (0..300)
        .map(|n| match n % 3 {
            0 => comment("p", &format!("k-{n}"), None),
            1 => comment("q", &format!("k-{n}"), None),
            _ => review("p", &format!("reviewer {n}"), 3),
        })
        .collect();
    let lines = Value::from(lines);
    // As the command does: again while others are in the way.
    let patient = async || {
        loop {
            match bring(&gateway, &lines).await {
                Ok(said) => return said,
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        }
    };
    let imports = futures_util::future::join_all((0..3).map(|_| patient()));
    let posts = async {
        for n in 0..20 {
            let shopper = gateway.shopper(&format!("reviewer {}", n * 3 + 2));
            let input = json!({ "sku": "p", "stars": 3, "text": "A review" });
            let said = does(&shopper, "reviewProduct", input).await;
            let fine = ["Comment", "AlreadyExists"];
            assert!(fine.contains(&said["__typename"].as_str().expect("a type")), "{said}");
            posted(&shopper, &on, "Live", None).await;
        }
    };
    let (said, ()) = tokio::join!(imports, posts);
    // A review that was posted first isn't imported as well.
    for said in said {
        let refused = said.iter().filter_map(|said| said.as_ref().err());
        assert!(refused.clone().count() <= 20);
        assert!(refused.into_iter().all(|fault| fault.starts_with("input.author: ")));
    }
    let told = counted(&gateway, "p").await;
    assert_eq!(told["commentCount"], 100 + 100 + 20);
    assert_eq!(told["rating"]["count"], 100);
    assert_eq!(counted(&gateway, "q").await["commentCount"], 100);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_discussion_leaves_no_marks_behind() {
    // So many lines take a slow machine a while.
    let gateway = Gateway::with(long_bounds).await;
    gateway.product("p", 100, "EUR").await;
    // More than a discussion remembers at a time, without a sweep in between.
    let lines: Vec<Value> = (0..2_600)
        .map(|n| {
            let to = (n > 0).then(|| format!("k-{}", n / 2));
            comment("p", &format!("k-{n}"), to.as_deref().filter(|_| n % 5 > 0))
        })
        .collect();
    brought(&gateway, &lines.into()).await;
    assert_eq!(counted(&gateway, "p").await["commentCount"], 2_600);
    let product = gateway.snapshot().await["products"][0].clone();
    let discussion = product.get_document("discussion").expect("a discussion");
    assert!(discussion.get_array("taken").expect("marks").is_empty());
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_of_another_layout_is_left_alone() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    for layout in ["PAGED", "EMBEDDED"] {
        discussed(&gateway, layout, layout).await;
        let before = gateway.snapshot().await["products"].clone();
        let said = bring(&gateway, &json!([comment(layout, "a", None)])).await.expect("imported");
        let fault = said[0].as_ref().expect_err("refused");
        assert!(fault.starts_with("input.sku: ") && fault.contains("PER_DOCUMENT"), "{fault}");
        assert!(gateway.snapshot().await["products"] == before);
    }
    let on = NodeKind::PRODUCT.id("PAGED").0;
    assert_eq!(migrate(&gateway, &on, "PER_DOCUMENT").await["__typename"], "Discussion");
    let moving = bring(&gateway, &json!([comment("PAGED", "a", None)])).await.expect("imported");
    assert!(moving[0].as_ref().expect_err("it moves").contains("moving"));
    gateway.sweep().await;
    brought(&gateway, &json!([comment("PAGED", "a", None)])).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_import_counts_once() {
    let lines = |n: usize| {
        let sku = format!("p-{n}");
        json!([comment(&sku, "a", None), comment(&sku, "b", Some("a")), review(&sku, "eve", 4)])
    };
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            gateway.product(&format!("p-{n}"), 100, "EUR").await;
            // Who held it is dead: nobody is left who could write under it.
            let leases = gateway.database.collection::<Document>("leases");
            leases.delete_one(doc! { "_id": "comments.import" }).await.expect("forgotten");
            n
        },
        async |gateway, n| {
            let _cut = bring(gateway, &lines(*n)).await;
        },
        async |gateway, case| {
            let n = case.subject;
            brought(gateway, &lines(n)).await;
            let told = counted(gateway, &format!("p-{n}")).await;
            assert_eq!(told, counts(3, 1, 4.0), "{:?} at {}", case.way, case.at);
        },
    )
    .await;
}
