//! Every flow of advertising, cut at each of its commands in each way.

use serde_json::{Value, json};

use super::{
    CLICK, CONVERSION, LAUNCH, PAUSE, RESUME, SERVE, SITE, advertiser, change, counts, get, launch,
    plan, publisher, stored_ads, token, with,
};
use crate::support::{
    Client, Gateway,
    cuts::{self, Case},
    short_bounds, until,
};

/// Sends a mutation whose answer may get lost.
async fn sent(client: Client, mutation: &str, input: Value) -> Option<Value> {
    let (_, body) = client.send(mutation, json!({ "input": input })).await.ok()?;
    body["data"].as_object()?.values().next().cloned()
}

/// Two zones of a case.
async fn zones(gateway: &Gateway, n: usize) -> [String; 2] {
    let names = [format!("top-{n}"), format!("side-{n}")];
    for name in &names {
        let input = json!({ "site": SITE, "name": name, "currency": "EUR" });
        publisher(gateway).field(super::ZONE, json!({ "input": input })).await;
    }
    names
}

/// A campaign of a case in its zones.
fn in_zones(gateway: &Gateway, zones: &[String; 2]) -> Value {
    plan(gateway, &zones.each_ref().map(String::as_str))
}

async fn is_in(gateway: &Gateway, zones: &[String; 2], id: &str) -> [bool; 2] {
    let id = crate::support::key(id);
    let mut found = [false; 2];
    for (zone, found) in zones.iter().zip(&mut found) {
        *found = stored_ads(gateway, zone).await.iter().any(|(campaign, _)| *campaign == id);
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_that_is_cut_anywhere_is_made_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let zones = zones(gateway, n).await;
            let input = in_zones(gateway, &zones);
            (with(input, json!({ "idempotencyKey": format!("op-{n}") })), zones)
        },
        async |gateway, (input, _)| {
            let _cut = sent(advertiser(gateway, "adv"), LAUNCH, input.clone()).await;
        },
        async |gateway, Case { at, way, subject: (input, zones) }| {
            let done = sent(advertiser(gateway, "adv"), LAUNCH, input.clone()).await;
            let done = done.expect("an answer");
            assert_eq!(done["state"], "RUNNING", "command {at} {way:?}: {done:#}");
            for zone in zones {
                assert_eq!(stored_ads(gateway, zone).await.len(), 1, "command {at} {way:?}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_without_room_that_is_cut_anywhere_leaves_nothing_in_its_zones() {
    cuts::everywhere(
        |config| {
            short_bounds(config);
            (config.ads_per_zone, config.ads_per_zone_and_advertiser) = (5, 5);
        },
        async |gateway, n| {
            let zones = zones(gateway, n).await;
            let unit = json!({ "creative": { "headline": "A" } });
            let five = json!({ "adUnits": vec![unit; 5] });
            launch(gateway, with(plan(gateway, &[&zones[1]]), five)).await;
            let input = in_zones(gateway, &zones);
            (with(input, json!({ "idempotencyKey": format!("op-{n}") })), zones)
        },
        async |gateway, (input, _)| {
            let _cut = sent(advertiser(gateway, "two"), LAUNCH, input.clone()).await;
        },
        async |gateway, Case { at, way, subject: (input, zones) }| {
            let done = sent(advertiser(gateway, "two"), LAUNCH, input.clone()).await;
            let done = done.expect("an answer");
            assert_eq!(done["__typename"], "AdZoneFull", "command {at} {way:?}: {done:#}");
            assert!(stored_ads(gateway, &zones[0]).await.is_empty(), "command {at} {way:?}");
            assert_eq!(stored_ads(gateway, &zones[1]).await.len(), 5, "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_and_a_resumption_that_are_cut_anywhere_are_made() {
    for (mutation, state) in [(PAUSE, "PAUSED"), (RESUME, "RUNNING")] {
        cuts::everywhere(
            short_bounds,
            async |gateway, n| {
                let zones = zones(gateway, n).await;
                let id = launch(gateway, in_zones(gateway, &zones)).await;
                if mutation == RESUME {
                    assert_eq!(change(gateway, PAUSE, &id).await["state"], "PAUSED");
                }
                (id, zones)
            },
            async |gateway, (id, _)| {
                let input = json!({ "campaignId": id });
                let _cut = sent(advertiser(gateway, "adv"), mutation, input).await;
            },
            async |gateway, Case { at, way, subject: (id, zones) }| {
                let found = super::campaign(gateway, id).await;
                assert_eq!(found["state"], state, "command {at} {way:?}");
                let is_running = state == "RUNNING";
                assert_eq!(is_in(gateway, zones, id).await, [is_running; 2], "{at} {way:?}");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_that_is_cut_anywhere_counts_once() {
    for mutation in [CLICK, CONVERSION] {
        cuts::everywhere(
            short_bounds,
            async |gateway, n| {
                let zones = zones(gateway, n).await;
                let fields = json!({ "pricing": "CPC", "bid": 10, "budget": 30 });
                let id = launch(gateway, with(in_zones(gateway, &zones), fields)).await;
                (id, token(gateway, &zones[0]).await)
            },
            async |gateway, (_, token)| {
                let _cut = sent(gateway.service(), mutation, json!({ "token": token })).await;
            },
            async |gateway, Case { at, way, subject: (id, _) }| {
                let found = counts(gateway, id).await;
                let clicks = i64::from(mutation == CLICK);
                let expected = json!({
                    "impressions": 1, "views": 0, "clicks": clicks, "chargedClicks": clicks,
                    "conversions": 1 - clicks, "spent": { "minorUnits": 10 * clicks },
                    "spentThousandths": 10_000 * clicks,
                });
                assert_eq!(found, expected, "command {at} {way:?}");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_that_is_cut_anywhere_counts_its_click_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let zones = zones(gateway, n).await;
            let fields = json!({ "pricing": "CPC", "bid": 10, "budget": 30 });
            let id = launch(gateway, with(in_zones(gateway, &zones), fields)).await;
            (id, token(gateway, &zones[0]).await)
        },
        async |gateway, (_, token)| {
            get(gateway, &format!("/ads/click/{token}")).await;
        },
        async |gateway, Case { at, way, subject: (id, token) }| {
            let response = get(gateway, &format!("/ads/click/{token}")).await;
            assert_eq!(response.status(), 302, "command {at} {way:?}");
            // What goes on behind the answer of the repeat.
            let is_counted = async || counts(gateway, id).await["clicks"] == json!(1);
            until("the click is counted", is_counted).await;
            let found = counts(gateway, id).await;
            let spent = &found["spentThousandths"];
            assert_eq!((&found["clicks"], spent), (&json!(1), &json!(10_000)), "{at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_served_while_it_is_cut_anywhere_is_charged() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let zones = zones(gateway, n).await;
            let cap = json!({ "frequencyCap": { "count": 2, "seconds": 3_600 }, "budget": 2 });
            (launch(gateway, with(in_zones(gateway, &zones), cap)).await, zones, format!("v-{n}"))
        },
        async |gateway, (_, zones, visitor)| {
            let input = json!({ "site": SITE, "zone": zones[0], "visitor": visitor });
            let _cut = sent(gateway.service(), SERVE, input).await;
        },
        async |gateway, Case { at, way, subject: (id, ..) }| {
            let found = counts(gateway, id).await;
            let impressions = found["impressions"].as_i64().expect("a number");
            assert!((1..=2).contains(&impressions), "command {at} {way:?}: {found:#}");
            assert_eq!(found["spentThousandths"], 1_000 * impressions, "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_and_a_refreshed_income_that_are_cut_anywhere_reach_the_zones() {
    cuts::everywhere_apart(
        |config| {
            short_bounds(config);
            config.ads_refresh_seconds = 0;
        },
        async |gateway, n| {
            let zones = zones(gateway, n).await;
            let spent = json!({ "bid": 2_000, "budget": 2 });
            let spent = launch(gateway, with(in_zones(gateway, &zones), spent)).await;
            let clicks = json!({ "pricing": "CPC", "bid": 10, "budget": 30 });
            let clicked = launch(gateway, with(in_zones(gateway, &zones), clicks)).await;
            let first = super::serve(gateway, &zones[0], json!({ "count": 2 })).await;
            assert_eq!(first.len(), 2, "{first:#?}");
            let click = first.iter().find(|ad| ad["campaignId"] == json!(clicked)).expect("an ad");
            super::record(gateway, CLICK, click["token"].as_str().expect("a token")).await;
            (spent, clicked, zones)
        },
        async |gateway, _| {
            let room = &docgate::domains::ads::ROOM;
            let _cut = docgate::background::sweep_room(&gateway.app, room).await;
        },
        async |gateway, Case { at, way, subject: (spent, clicked, zones) }| {
            assert_eq!(super::campaign(gateway, spent).await["ending"], "BUDGET_SPENT");
            assert_eq!(is_in(gateway, zones, spent).await, [false; 2], "command {at} {way:?}");
            assert_eq!(is_in(gateway, zones, clicked).await, [true; 2], "command {at} {way:?}");
            // Three clicks of 201 impressions, at ten each.
            let ecpm = super::campaign(gateway, clicked).await["ecpm"]["minorUnits"].clone();
            assert_eq!(ecpm, json!(149), "command {at} {way:?}");
        },
        async |gateway| {
            gateway.sweep().await;
            gateway.assert_sound().await;
        },
    )
    .await;
}
