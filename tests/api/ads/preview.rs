//! What a publisher sees of the choice of ads, without a charge.

use serde_json::{Value, json};

use super::{
    PAUSE, advertiser, at, campaign, change, launch, of, plan, publisher, serve, with, zone,
};
use crate::support::{Client, Gateway, commands};

pub(super) const PREVIEW: &str = "query($zone: String!, $visitor: String, $keywords: [String!], $count: Int) {
    previewAds(site: \"site.example\", zone: $zone, visitor: $visitor, keywords: $keywords, count: $count) {
        campaignId adUnit ecpm { minorUnits } keywords creative { headline } } }";

/// The ads of a preview.
async fn preview(gateway: &Gateway, fields: Value) -> Vec<Value> {
    let variables = with(json!({ "zone": "top" }), fields);
    let ads = publisher(gateway).field(PREVIEW, variables).await;
    ads.as_array().unwrap_or_else(|| panic!("ads: {ads:#}")).clone()
}

/// The commands of a preview in alphabetical order, without those that ask for the time.
async fn sent(client: &Client, fields: Value) -> Vec<String> {
    let said = client.explained(PREVIEW, with(json!({ "zone": "top" }), fields)).await;
    let mut sent = commands(&said);
    sent.retain(|command| !command.starts_with("hello"));
    sent.sort();
    sent
}

/// A campaign with this bid and other fields.
async fn bidding(gateway: &Gateway, bid: i64, fields: Value) -> String {
    let input = with(plan(gateway, &["top"]), json!({ "bid": bid, "budget": 1_000_000 }));
    launch(gateway, with(input, fields)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_what_is_served_and_charges_nothing() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let unit = |keywords: Value| json!({ "adUnits": [{ "keywords": keywords, "creative": { "headline": "A" } }] });
    let low = bidding(&gateway, 100, unit(json!(["Jazz", "vinyl"]))).await;
    let high = bidding(&gateway, 500, unit(json!([]))).await;
    let middle = bidding(&gateway, 300, unit(json!(["jazz"]))).await;
    let before = gateway.snapshot().await;
    for (fields, expected) in [
        (json!({}), vec![&high]),
        (json!({ "count": 2 }), vec![&high, &middle]),
        (json!({ "count": 10, "keywords": ["JAZZ"] }), vec![&middle, &low, &high]),
        (json!({ "count": 10, "keywords": ["vinyl"] }), vec![&low, &high, &middle]),
    ] {
        assert_eq!(of(&preview(&gateway, fields.clone()).await), expected, "{fields}");
    }
    let shown = preview(&gateway, json!({ "keywords": ["jazz"], "visitor": "v" })).await;
    let expected = json!([{
        "campaignId": middle, "adUnit": 1, "ecpm": { "minorUnits": 300 }, "keywords": ["jazz"],
        "creative": { "headline": "A" },
    }]);
    assert_eq!(json!(shown), expected);
    assert!(gateway.snapshot().await == before, "nothing is counted or charged");
    for keywords in [json!(["JAZZ"]), json!(["vinyl"])] {
        let fields = json!({ "count": 10, "keywords": keywords });
        let served = serve(&gateway, "top", fields.clone()).await;
        assert_eq!(of(&preview(&gateway, fields).await), of(&served));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_leaves_out_what_cant_be_served() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let wins = bidding(&gateway, 200, json!({})).await;
    let next = bidding(&gateway, 100, json!({})).await;
    let publisher = publisher(&gateway);
    // The gateway reads the zone itself after a change only.
    assert_eq!(of(&preview(&gateway, json!({})).await), [&wins]);
    assert_eq!(sent(&publisher, json!({})).await, ["find adZones", "find campaigns"]);
    let of_a_visitor = ["find adProfiles", "find adZones", "find campaigns"];
    assert_eq!(sent(&publisher, json!({ "visitor": "v" })).await, of_a_visitor);

    // None of these can be charged, now or any more.
    let future = json!({ "startsAt": at(&gateway, 600_000) });
    bidding(&gateway, 3_000, future).await;
    let poor = bidding(&gateway, 2_000, json!({ "budget": 2 })).await;
    let daily = json!({ "dailyBudget": 3 });
    let daily = bidding(&gateway, 2_500, daily).await;
    let served = serve(&gateway, "top", json!({ "count": 2 })).await;
    assert_eq!(of(&served), [&daily, &poor]);
    assert_eq!(of(&preview(&gateway, json!({})).await), [&wins]);
    assert_eq!(of(&preview(&gateway, json!({ "count": 10 })).await), [&wins, &next]);
    // The best one can't be charged, so all others are looked at by one more command.
    let twice = ["find adZones", "find campaigns", "find campaigns"];
    assert_eq!(sent(&publisher, json!({})).await, twice);

    change(&gateway, PAUSE, &wins).await;
    assert_eq!(of(&preview(&gateway, json!({})).await), [&next]);
    change(&gateway, PAUSE, &next).await;
    assert!(preview(&gateway, json!({ "count": 10 })).await.is_empty());
    let found = campaign(&gateway, &wins).await;
    assert_eq!(found["counts"]["impressions"], 0, "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_respects_the_caps_of_the_visitor() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let cap = |count: i32| json!({ "count": count, "seconds": 3_600 });
    let unit = json!({ "creative": { "headline": "A" } });
    let units = json!({ "adUnits": vec![unit; 2] });
    let caps = json!({ "frequencyCap": cap(3), "adUnitFrequencyCap": cap(1) });
    let id = bidding(&gateway, 500, with(units, caps)).await;
    let other = bidding(&gateway, 100, json!({})).await;
    let seen = json!({ "visitor": "v", "count": 1 });
    let first = serve(&gateway, "top", seen.clone()).await;
    assert_eq!(of(&first), [&id]);
    let left = preview(&gateway, json!({ "visitor": "v", "count": 10 })).await;
    assert_eq!(of(&left), [&id, &other]);
    assert_ne!(left[0]["adUnit"], first[0]["adUnit"], "the other ad unit");
    assert_eq!(of(&serve(&gateway, "top", seen.clone()).await), [&id]);
    assert_eq!(of(&preview(&gateway, seen).await), [&other]);
    let everything = preview(&gateway, json!({ "visitor": "w", "count": 10 })).await;
    assert_eq!(of(&everything), [&id, &id, &other], "another visitor");
    let unknown = preview(&gateway, json!({ "count": 10 })).await;
    assert_eq!(unknown.len(), 3, "without a visitor");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_is_for_the_zone_s_publisher() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    assert!(preview(&gateway, json!({ "visitor": "v", "keywords": ["a"] })).await.is_empty());
    let variables = json!({ "zone": "top" });
    for client in [publisher(&gateway), gateway.admin()] {
        assert_eq!(client.field(PREVIEW, variables.clone()).await, json!([]));
    }
    let another = gateway.user("another", &["publisher"]);
    assert_eq!(another.field(PREVIEW, variables.clone()).await, Value::Null);
    let nowhere = publisher(&gateway).field(PREVIEW, json!({ "zone": "nowhere" })).await;
    assert_eq!(nowhere, Value::Null);
    for client in [advertiser(&gateway, "adv"), gateway.service(), gateway.shopper("pub")] {
        let said = client.run(PREVIEW, variables.clone()).await;
        assert_eq!(said["errors"][0]["extensions"]["code"], "FORBIDDEN", "{said:#}");
    }
    let said = gateway.anonymous().run(PREVIEW, variables.clone()).await;
    assert_eq!(said["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{said:#}");
    let site = PREVIEW.replace("site.example", "$where");
    let said = publisher(&gateway).run(&site, variables).await;
    assert_eq!(said["errors"][0]["extensions"]["field"], "site", "{said:#}");
}
