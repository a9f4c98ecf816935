//! Clicks and conversions: each counts once, and only with a token that was issued.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::json;

use super::{
    CLICK, CONVERSION, PAUSE, at, change, counts, launch, number, plan, record, serve, token, with,
    zone,
};
use crate::support::{Gateway, key, long_bounds, short_bounds, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_click_and_a_conversion_count_once() {
    let gateway = Gateway::with(long_bounds).await;
    let other = gateway.sibling().await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let token = token(&gateway, "top").await;
    for mutation in [CLICK, CONVERSION] {
        let calls = (0..32).map(|number| {
            record(if number % 2 == 0 { &gateway } else { &other }, mutation, &token)
        });
        let answers = join_all(calls).await;
        let repeats: Vec<_> = answers.iter().map(|said| said["isRepeat"] == json!(true)).collect();
        assert_eq!(repeats.iter().filter(|repeat| !**repeat).count(), 1, "{answers:#?}");
        assert!(answers.iter().all(|said| said["campaignId"] == id && said["adUnit"] == 1));
    }
    let expected = json!({
        "impressions": 1, "views": 0, "clicks": 1, "chargedClicks": 0, "conversions": 1,
        "spent": { "minorUnits": 1 }, "spentThousandths": 1_000,
    });
    assert_eq!(counts(&gateway, &id).await, expected);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clicks_are_charged_as_long_as_the_budget_pays_for_them() {
    let gateway = Gateway::with(long_bounds).await;
    zone(&gateway, "top").await;
    let fields = json!({ "pricing": "CPC", "bid": 10, "budget": 35 });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let mut tokens = Vec::new();
    for ad in join_all((0..64).map(|_| serve(&gateway, "top", json!({})))).await.concat() {
        tokens.push(ad["token"].as_str().expect("a token").to_owned());
    }
    assert_eq!(tokens.len(), 64, "impressions are free");
    let clicks = tokens.iter().map(|token| record(&gateway, CLICK, token));
    let answers = join_all(clicks).await;
    assert!(answers.iter().all(|said| said["isRepeat"] == json!(false)), "{answers:#?}");
    let expected = json!({
        "impressions": 64, "views": 0, "clicks": 64, "chargedClicks": 3, "conversions": 0,
        "spent": { "minorUnits": 30 }, "spentThousandths": 30_000,
    });
    assert_eq!(counts(&gateway, &id).await, expected);
    let costs = gateway.stored("adClicks").await;
    let charged = costs.iter().filter(|click| click.get_i64("cost").ok() == Some(10_000)).count();
    assert_eq!((charged, costs.len()), (3, 64));
    assert!(
        serve(&gateway, "top", json!({})).await.is_empty(),
        "it couldn't pay for another click"
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clicks_of_a_paused_campaign_are_charged_and_those_of_an_ended_one_arent() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    zone(&gateway, "top").await;
    // Time enough for a click before.
    let ends = at(&gateway, 10_000);
    let fields = json!({ "pricing": "CPC", "bid": 10, "endsAt": ends });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let tokens = [token(&gateway, "top").await, token(&gateway, "top").await];
    change(&gateway, PAUSE, &id).await;
    record(&gateway, CLICK, &tokens[0]).await;
    assert_eq!(number(&gateway, &id, "chargedClicks").await, 1);
    until("it is over", async || at(&gateway, -100) > ends).await;
    gateway.sweep().await;
    record(&gateway, CLICK, &tokens[1]).await;
    let found = counts(&gateway, &id).await;
    assert_eq!((&found["clicks"], &found["chargedClicks"]), (&json!(2), &json!(1)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_not_issued_is_refused() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let other = launch(&gateway, plan(&gateway, &["top"])).await;
    let good = token(&gateway, "top").await;
    let parts: Vec<&str> = good.split('.').collect();
    let [impression, campaign, unit, zone, expires, signature] = parts[..] else {
        panic!("six parts: {good}")
    };
    let another = if campaign == key(&id) { key(&other) } else { key(&id) };
    let first = if impression.starts_with('A') { 'B' } else { 'A' };
    let other_impression = format!("{first}{}", &impression[1..]);
    let later = (expires.parse::<i64>().expect("a number") + 1).to_string();
    let foreign =
        gateway.sibling_with(|config| config.secret = "another secret of thirty-two bytes".into());
    let foreign = token(&foreign.await, "top").await;
    let before = gateway.snapshot().await;
    let forged = [
        String::new(),
        "a".into(),
        "......".into(),
        format!("{impression}.{another}.{unit}.{zone}.{expires}.{signature}"),
        format!("{impression}.{campaign}.2.{zone}.{expires}.{signature}"),
        format!("{impression}.{campaign}.{unit}.site~example:side.{expires}.{signature}"),
        format!("{impression}.{campaign}.{unit}.{zone}.{later}.{signature}"),
        format!("{other_impression}.{campaign}.{unit}.{zone}.{expires}.{signature}"),
        format!("{impression}.{campaign}.{unit}.{zone}.{expires}.{}", &signature[1..]),
        format!("{impression}.{campaign}.{unit}.{zone}.{expires}."),
        format!("{impression}.{campaign}.0{unit}.{zone}.{expires}.{signature}"),
        format!("{good}."),
        "x".repeat(5_000),
        foreign,
    ];
    for token in &forged {
        for mutation in [CLICK, CONVERSION] {
            let said = record(&gateway, mutation, token).await;
            assert_eq!(said["field"], "input.token", "{token:.60}: {said:#}");
        }
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_expired_is_refused_also_when_it_was_forgotten() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        // Time enough for a click before.
        config.ad_token_seconds = 8;
    })
    .await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let [used, unused] = [token(&gateway, "top").await, token(&gateway, "top").await];
    record(&gateway, CLICK, &used).await;
    tokio::time::sleep(Duration::from_millis(8_100)).await;
    for token in [&used, &unused] {
        let said = record(&gateway, CLICK, token).await;
        assert_eq!(said["reason"], "has expired", "{said:#}");
    }
    // An hour later the click itself isn't needed any more.
    let past = doc! { "$set": { "expiresAt": mongodb::bson::DateTime::from_millis(0) } };
    gateway.raw("adClicks").update_many(doc! {}, past).await.expect("set");
    gateway.sweep().await;
    assert!(gateway.stored("adClicks").await.is_empty());
    assert_eq!(record(&gateway, CLICK, &used).await["reason"], "has expired");
    assert_eq!(number(&gateway, &id, "clicks").await, 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_clicks_are_removed_when_no_attempt_needs_them() {
    let gateway = Gateway::with(short_bounds).await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    for _ in 0..3 {
        let token = token(&gateway, "top").await;
        record(&gateway, CLICK, &token).await;
        record(&gateway, CONVERSION, &token).await;
    }
    let marks = async || {
        let campaign = &gateway.stored("campaigns").await[0];
        let marks = campaign.get_array("marks").expect("marks").iter();
        let ids = marks.map(|mark| {
            mark.as_document().expect("a mark").get_str("id").expect("an id").to_owned()
        });
        (ids.collect::<BTreeSet<_>>().len(), campaign.contains_key("marksAt"))
    };
    assert_eq!(marks().await, (6, true));
    gateway.sweep().await;
    gateway.sweep().await;
    assert_eq!(marks().await, (0, false));
    assert_eq!(number(&gateway, &id, "clicks").await, 3);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_with_too_many_marks_counts_its_clicks_later() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let token = token(&gateway, "top").await;
    let now = mongodb::bson::DateTime::from_millis(gateway.app.clock().timestamp_millis());
    let mark = |number: usize| doc! { "id": format!("old-{number}"), "cost": 0_i64, "at": now };
    let marks: Vec<_> = (0..500).map(mark).collect();
    let set = doc! { "$set": { "marks": marks, "marksAt": now } };
    gateway.raw("campaigns").update_one(doc! { "_id": key(&id) }, set).await.expect("set");
    assert_eq!(record(&gateway, CLICK, &token).await["isRepeat"], false);
    assert_eq!(number(&gateway, &id, "clicks").await, 0);
    gateway.sweep().await;
    gateway.sweep().await;
    assert_eq!(number(&gateway, &id, "clicks").await, 1);
    gateway.assert_sound().await;
}
