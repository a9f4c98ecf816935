//! What a discussion says of its comments is put right where it doesn't follow from them, also beside those who
//! write.

use docgate::{
    domains::{
        self,
        comments::import::{ImportComment, import},
    },
    invariants::Progress,
};
use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    LAYOUTS, discussed, does, few_rooms,
    late::{hold, stored},
    migrate,
    newest::assert_carried,
    posted, shown, very_long_bounds,
};
use crate::{
    cli::{done, on as docgate_on},
    support::{Gateway, proxy::Cut},
};

/// A product with two reviews and twelve comments, one of them removed.
async fn talked(gateway: &Gateway, sku: &str, layout: &str) -> (String, Vec<String>) {
    let on = discussed(gateway, sku, layout).await;
    for (author, stars) in [("berta", 2), ("carl", 5)] {
        let input = json!({ "sku": sku, "stars": stars, "text": "a review" });
        does(&gateway.shopper(author), "reviewProduct", input).await;
    }
    let (anna, mut slugs) = (gateway.shopper("anna"), Vec::new());
    for number in 0..12 {
        slugs.push(posted(&anna, &on, &format!("{number}"), None).await);
    }
    let gone = json!({ "commentId": slugs.pop() });
    assert_eq!(does(&anna, "removeComment", gone).await["removedBy"], "AUTHOR");
    (on, slugs)
}

/// Changes a discussion from outside.
async fn damage(gateway: &Gateway, sku: &str, set: Document) {
    let update = vec![doc! { "$set": set }];
    let damaged = gateway.raw("products").update_one(doc! { "_id": sku }, update).await;
    assert_eq!(damaged.expect("damaged").modified_count, 1, "{sku}");
}

fn damages() -> [(&'static str, Document); 8] {
    let later = doc! { "$mergeObjects": ["$$this", { "at": { "$add": ["$$this.at", 1_000] } }] };
    let later = doc! { "$map": { "input": "$discussion.latest", "in": later } };
    [
        ("none", doc! { "discussion.latest": [] }),
        ("turned", doc! { "discussion.latest": { "$reverseArray": "$discussion.latest" } }),
        ("later", doc! { "discussion.latest": later }),
        ("count", doc! { "discussion.count": 99_i64 }),
        ("total", doc! { "discussion.total": 3_i64 }),
        ("rating", doc! { "discussion.rating": { "count": 7_i64, "sum": 8_i64 } }),
        ("score", doc! { "discussion.rating.score": 1_i64 }),
        ("unrated", doc! { "discussion.rating": "$$REMOVE" }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_that_was_damaged_from_outside_is_repaired() {
    let gateway = Gateway::with(few_rooms).await;
    let each = LAYOUTS.into_iter().flat_map(|layout| {
        damages().into_iter().map(move |(name, set)| (layout, format!("{layout}-{name}"), set))
    });
    let damaged = join_all(each.map(async |(layout, sku, set)| {
        let (on, _) = talked(&gateway, &sku, layout).await;
        let before = shown(&gateway, &sku).await;
        damage(&gateway, &sku, set).await;
        (sku, on, before)
    }))
    .await;
    let (sound, _) = talked(&gateway, "sound", "PAGED").await;
    let before = stored(&gateway, "sound").await;
    let report = gateway.check().await;
    let broken: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    for (sku, ..) in &damaged {
        let prefix = format!("{sku}: ");
        assert!(broken.iter().any(|one| one.starts_with(&prefix)), "{sku} {broken:#?}");
    }

    let mut command = docgate_on(gateway.database.name(), &["check", "--repair"]);
    command.env("DOCGATE_FLOW_RUN_MILLIS", "4000").env("DOCGATE_FLOW_COMMAND_MILLIS", "2000");
    command.env("DOCGATE_FLOW_SKEW_MILLIS", "100");
    let (code, out, said) = done(command);
    assert_eq!(code, 0, "{out}{said}");
    for (sku, on, before) in &damaged {
        assert!(said.contains(&format!("repaired the discussion of {sku}\n")), "{said}");
        assert_eq!(shown(&gateway, sku).await, *before);
        assert_carried(&gateway, sku, on).await;
    }
    assert!(!said.contains("discussion of sound"), "{said}");
    let (after, version) = (stored(&gateway, "sound").await, before.get("version"));
    assert_eq!((after.get("version"), after.get("latest")), (version, before.get("latest")));
    assert_carried(&gateway, "sound", &sound).await;
    let before = gateway.snapshot().await;
    assert_eq!(gateway.repair().await, Vec::<String>::new());
    assert!(gateway.snapshot().await == before, "what is right isn't written");
}

/// Repairs through that gateway, and waits until it has read everything and is about to write.
async fn about_to_repair(repairer: &Gateway) -> JoinHandle<Vec<String>> {
    hold(repairer, "products", "findAndModify");
    let app = repairer.app.clone();
    let repair = async move { domains::repair(&app, Progress::default()).await.expect("it runs") };
    let repair = tokio::spawn(repair);
    repairer.proxy.as_ref().expect("a proxy").reached().await;
    repair
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_was_overtaken_reads_again() {
    let base = Gateway::with(very_long_bounds).await;
    let (anna, berta) = (base.shopper("anna"), base.shopper("berta"));
    for layout in LAYOUTS {
        let (on, slugs) = talked(&base, layout, layout).await;
        let last = json!({ "commentId": slugs[10] });
        let query =
            "query($subjectId: ID!) { comments(subjectId: $subjectId) { nodes { id version } } }";
        let comments = berta.field(query, json!({ "subjectId": on })).await;
        let review = &comments["nodes"][0];
        let edit = json!({
            "commentId": review["id"], "version": review["version"], "text": "worse", "stars": 1,
        });
        for (client, name, input) in [
            (&anna, "postComment", json!({ "subjectId": on, "text": "meanwhile" })),
            (&anna, "removeComment", last),
            (&berta, "editComment", edit),
        ] {
            damage(&base, layout, doc! { "discussion.latest": [], "discussion.count": 99_i64 })
                .await;
            let repairer = base.sibling_behind_proxy().await;
            let repair = about_to_repair(&repairer).await;
            let said = does(client, name, input).await;
            assert_eq!(said["__typename"], "Comment", "{said:#}");
            repairer.proxy.as_ref().expect("a proxy").release().await;
            let expected = [format!("the discussion of {layout}")];
            assert_eq!(repair.await.expect("an answer"), expected, "{name}");
            assert_carried(&base, layout, &on).await;
            base.assert_sound().await;
        }
        let rating = json!({ "count": 2, "average": 3.0 });
        assert_eq!(shown(&base, layout).await["rating"], rating);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_discussion_wasnt_told_of_is_waited_for() {
    let base = Gateway::with(very_long_bounds).await;
    let (_, slugs) = talked(&base, "a", "PAGED").await;
    let remover = base.sibling_behind_proxy().await;
    hold(&remover, "products", "update");
    let (anna, gone) = (remover.shopper("anna"), json!({ "commentId": slugs[10] }));
    let removal = tokio::spawn(async move { does(&anna, "removeComment", gone).await });
    remover.proxy.as_ref().expect("a proxy").reached().await;
    damage(&base, "a", doc! { "discussion.count": 99_i64 }).await;
    let before = base.snapshot().await;
    assert_eq!(base.repair().await, Vec::<String>::new());
    assert!(base.snapshot().await == before);
    remover.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(removal.await.expect("an answer")["removedBy"], "AUTHOR");
    assert_eq!(base.repair().await, ["the discussion of a"]);
    assert_eq!(shown(&base, "a").await["commentCount"], 12);
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_a_repair_overtakes_reads_the_newest_again() {
    let base = Gateway::with(very_long_bounds).await;
    let (on, slugs) = talked(&base, "a", "PER_DOCUMENT").await;
    let (remover, repairer) =
        tokio::join!(base.sibling_behind_proxy(), base.sibling_behind_proxy());
    damage(&base, "a", doc! { "discussion.latest": [] }).await;
    // The repair has read the comments; then a removal is decided, and about to be told.
    let repair = about_to_repair(&repairer).await;
    hold(&remover, "products", "update");
    let (anna, gone) = (remover.shopper("anna"), json!({ "commentId": slugs[10] }));
    let removal = tokio::spawn(async move { does(&anna, "removeComment", gone).await });
    remover.proxy.as_ref().expect("a proxy").reached().await;
    repairer.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(repair.await.expect("an answer"), ["the discussion of a"]);
    remover.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(removal.await.expect("an answer")["removedBy"], "AUTHOR");
    assert_carried(&base, "a", &on).await;
    assert_eq!(shown(&base, "a").await["commentCount"], 12);
    base.assert_sound().await;
}

/// Posts, reviews, edits, removals and a move, with repairs all the while.
async fn everything_at_once(gateway: &Gateway, sku: &str, on: &str, slugs: &[String], to: &str) {
    let anna = &gateway.shopper("anna");
    let posts =
        join_all((0..15).map(|number| async move {
            posted(anna, on, &format!("beside {number}"), None).await
        }));
    let reviews = join_all((0..5).map(|number| {
        let (client, stars) = (gateway.shopper(&format!("r{number}")), number % 5 + 1);
        let input = json!({ "sku": sku, "stars": stars, "text": "beside" });
        async move { does(&client, "reviewProduct", input).await }
    }));
    let removals = join_all(slugs[6..11].iter().map(|slug| {
        let gone = json!({ "commentId": slug });
        async move { does(anna, "removeComment", gone).await }
    }));
    let repairs = async {
        for number in 0..8 {
            if number % 3 == 0 {
                let set = doc! { "$set": { "discussion.latest": [] } };
                gateway
                    .raw("products")
                    .update_one(doc! { "_id": sku }, set)
                    .await
                    .expect("damaged");
            }
            gateway.repair().await;
        }
    };
    let (_posts, reviewed, removed, moved, ()) =
        tokio::join!(posts, reviews, removals, migrate(gateway, on, to), repairs);
    assert_eq!(moved["layout"], to, "{moved:#}");
    let is_comment = |said: &Value| said["__typename"] == "Comment";
    assert!(reviewed.iter().chain(&removed).all(is_comment), "{reviewed:#?} {removed:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn repairs_beside_writes_do_no_harm() {
    let directions =
        [("PER_DOCUMENT", "PAGED"), ("PAGED", "EMBEDDED"), ("EMBEDDED", "PER_DOCUMENT")];
    // Side by side, each in a database of its own: a repair waits while a discussion is busy.
    join_all(directions.map(async |(from, to)| {
        let gateway = Gateway::with(very_long_bounds).await;
        let (on, slugs) = talked(&gateway, from, from).await;
        everything_at_once(&gateway, from, &on, &slugs, to).await;
        gateway.repair().await;
        assert_carried(&gateway, from, &on).await;
        let shown = shown(&gateway, from).await;
        // 13 and 20 come, 5 go; of the seven reviews two were there before.
        assert_eq!(shown["commentCount"], 28, "{shown:#}");
        assert_eq!(shown["rating"], json!({ "count": 7, "average": 22.0 / 7.0 }));
        gateway.assert_sound().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_is_counted_by_its_import_alone() {
    let base = Gateway::with(very_long_bounds).await;
    let (on, _) = talked(&base, "a", "PER_DOCUMENT").await;
    let bulk: Vec<ImportComment> = (0..3)
        .map(|number| {
            let line = json!({ "sku": "a", "key": format!("k{number}"), "author": "ada",
                "text": format!("imported {number}"), "at": format!("2023-11-14T22:13:2{number}Z") });
            serde_json::from_value(line).expect("a line")
        })
        .collect();
    let importer = base.sibling_behind_proxy().await;
    let proxy = importer.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "products" && seen.command == "update");
    // It has inserted everything, and the discussion hasn't taken it.
    proxy.cut(0, Cut::Hold);
    let app = importer.app.clone();
    let importing = tokio::spawn(async move { import(&app, &bulk).await });
    proxy.reached().await;
    damage(&base, "a", doc! { "discussion.latest": [] }).await;
    assert_eq!(base.repair().await, ["the discussion of a"]);
    assert_eq!(shown(&base, "a").await["commentCount"], 13);
    proxy.release().await;
    let said = importing.await.expect("an answer").expect("imported");
    assert!(said.iter().all(Result::is_ok), "{said:?}");
    assert_carried(&base, "a", &on).await;
    assert_eq!(shown(&base, "a").await["commentCount"], 16);
    base.assert_sound().await;
}
