//! Frequency caps: how often a visitor sees an ad.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{EXPLAIN, launch, number, of, plan, publisher, serve, with, zone};
use crate::support::{Gateway, key, long_bounds, settled};

/// A campaign with caps.
async fn capped(gateway: &Gateway, caps: Value, units: usize) -> String {
    let unit = json!({ "creative": { "headline": "A" } });
    let fields = with(json!({ "budget": 1_000_000, "adUnits": vec![unit; units] }), caps);
    launch(gateway, with(plan(gateway, &["top"]), fields)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_sees_no_more_than_the_cap_permits() {
    let gateway = Gateway::with(long_bounds).await;
    let other = gateway.sibling().await;
    zone(&gateway, "top").await;
    let cap = |count: i32| json!({ "count": count, "seconds": 3_600 });
    let id = capped(&gateway, json!({ "frequencyCap": cap(3) }), 1).await;
    let calls = (0..64).map(|number| {
        let gateway = if number % 2 == 0 { &gateway } else { &other };
        serve(gateway, "top", json!({ "visitor": "v1" }))
    });
    assert_eq!(join_all(calls).await.concat().len(), 3);
    assert_eq!(number(&gateway, &id, "impressions").await, 3, "no other was charged");
    assert_eq!(
        serve(&gateway, "top", json!({ "visitor": "v2" })).await.len(),
        1,
        "another visitor"
    );
    for _ in 0..4 {
        assert_eq!(serve(&gateway, "top", json!({})).await.len(), 1, "an unknown visitor");
    }
    // The window of one of the impressions has passed.
    let past = doc! { "$set": { "impressions.0.campaignUntil": DateTime::from_millis(0) } };
    let profile = gateway.app.ids().derived(&["adVisitor", "v1"]);
    let changed = gateway.raw("adProfiles").update_one(doc! { "_id": profile }, past).await;
    assert_eq!(changed.expect("set").modified_count, 1);
    for expected in [1, 0] {
        let ads = serve(&gateway, "top", json!({ "visitor": "v1" })).await;
        assert_eq!(ads.len(), expected);
    }
    // What is stored doesn't contain the visitor's id.
    let stored = format!("{:?}", gateway.stored("adProfiles").await);
    assert!(!stored.contains("\"v1\"") && stored.contains(&key(&id)), "{stored}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_ad_unit_has_a_cap_of_its_own() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let caps = json!({
        "frequencyCap": { "count": 3, "seconds": 3_600 },
        "adUnitFrequencyCap": { "count": 1, "seconds": 3_600 },
    });
    capped(&gateway, caps, 2).await;
    let all = async || {
        let ads = serve(&gateway, "top", json!({ "visitor": "v", "count": 10 })).await;
        ads.iter().map(|ad| ad["adUnit"].as_i64().expect("a number")).collect::<BTreeSet<_>>()
    };
    assert_eq!(all().await, BTreeSet::from([1, 2]));
    assert_eq!(all().await, BTreeSet::new());
    let explained = async |visitor: &str| {
        let variables = json!({ "zone": "top", "visitor": visitor, "count": 1 });
        let all = publisher(&gateway).field(EXPLAIN, variables).await;
        let outcome = |one: &Value| one["outcome"].as_str().expect("an outcome").to_owned();
        all.as_array().expect("a list").iter().map(outcome).collect::<Vec<_>>()
    };
    assert_eq!(explained("v").await, ["AD_UNIT_CAP_REACHED"; 2]);
    assert_eq!(explained("w").await, ["SERVED", "OUTRANKED"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_who_has_seen_too_much_to_be_remembered_gets_no_ad_with_a_cap() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let id = capped(&gateway, json!({ "frequencyCap": { "count": 2, "seconds": 3_600 } }), 1).await;
    let ads = async || serve(&gateway, "top", json!({ "visitor": "v" })).await;
    assert_eq!(of(&ads().await), [&id]);
    // Other campaigns' caps need as many impressions as the profile can remember besides.
    let until = DateTime::from_millis(gateway.app.clock().timestamp_millis() + 86_400_000);
    let others: Vec<_> = (1..500)
        .map(|other| {
            doc! { "id": format!("i{other}"), "campaign": "another", "unit": 1, "campaignUntil": until, "unitUntil": until }
        })
        .collect();
    let profile = doc! { "_id": gateway.app.ids().derived(&["adVisitor", "v"]) };
    let set = async |change: Document| {
        let changed = gateway.raw("adProfiles").update_one(profile.clone(), change).await;
        assert_eq!(changed.expect("set").modified_count, 1);
    };
    set(doc! { "$push": { "impressions": { "$each": others } } }).await;
    let outcome = async || {
        let variables = json!({ "zone": "top", "visitor": "v" });
        publisher(&gateway).field(EXPLAIN, variables).await[0]["outcome"].clone()
    };
    assert!(ads().await.is_empty(), "its cap would permit one more");
    assert_eq!(outcome().await, "PROFILE_FULL");
    assert_eq!(number(&gateway, &id, "impressions").await, 1);
    // An ad without a cap isn't noted.
    let free = launch(&gateway, with(plan(&gateway, &["top"]), json!({ "bid": 10 }))).await;
    assert_eq!(of(&ads().await), [&free]);
    // One of the impressions isn't needed any more.
    let past = DateTime::from_millis(0);
    let times = doc! { "impressions.7.campaignUntil": past, "impressions.7.unitUntil": past };
    set(doc! { "$set": times }).await;
    assert_eq!(of(&ads().await), [&id]);
    let stored = &gateway.stored("adProfiles").await[0];
    assert_eq!(stored.get_array("impressions").expect("impressions").len(), 500);
    // By now the cap itself is reached.
    assert_eq!(outcome().await, "CAMPAIGN_CAP_REACHED");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impression_that_cant_be_charged_isnt_counted_by_the_cap() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let fields = json!({ "budget": 1, "frequencyCap": { "count": 2, "seconds": 3_600 } });
    launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    for expected in [1, 0] {
        assert_eq!(serve(&gateway, "top", json!({ "visitor": "v" })).await.len(), expected);
    }
    settled(&gateway).await;
    let profile = &gateway.stored("adProfiles").await[0];
    assert_eq!(profile.get_array("impressions").expect("impressions").len(), 1);
}
