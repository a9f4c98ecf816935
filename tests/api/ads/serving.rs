//! Which ads are served, and what is charged for them.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{
    EXPLAIN, PAUSE, SERVE, SITE, at, change, counts, launch, number, of, plan, preview::PREVIEW,
    publisher, serve, stored_ads, with, zone,
};
use crate::support::{
    Gateway, commands, cuts, key, long_bounds,
    proxy::{Cut, Seen},
};

/// A write of a campaign by itself. That of a charge is numbered.
fn is_charge(seen: &Seen) -> bool {
    seen.collection == "campaigns" && seen.command == "findAndModify"
}

/// A campaign with this bid and these keywords.
async fn bidding(gateway: &Gateway, bid: i64, keywords: &[&str]) -> String {
    let unit = json!({ "keywords": keywords, "creative": { "headline": "A" } });
    let fields = json!({ "bid": bid, "budget": 1_000_000, "adUnits": [unit] });
    launch(gateway, with(plan(gateway, &["top"]), fields)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_highest_score_comes_first() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let low = bidding(&gateway, 100, &["Jazz", "vinyl"]).await;
    let high = bidding(&gateway, 500, &[]).await;
    let middle = bidding(&gateway, 300, &["jazz"]).await;
    for (keywords, expected) in [
        (json!([]), [&high, &middle, &low]),
        (json!(["rock"]), [&high, &middle, &low]),
        // 300 · ln 2.1 = 223, 100 · ln 2.1 = 74, 500 · ln 1.1 = 48.
        (json!(["JAZZ"]), [&middle, &low, &high]),
        // 300 · ln 2.1 = 223, 100 · ln 3.1 = 113.
        (json!(["vinyl", "jazz", "jazz"]), [&middle, &low, &high]),
        (json!(["vinyl"]), [&low, &high, &middle]),
    ] {
        let ads = serve(&gateway, "top", json!({ "keywords": keywords, "count": 10 })).await;
        assert_eq!(of(&ads), expected, "{keywords}");
    }
    let ads = serve(&gateway, "top", json!({ "count": 2 })).await;
    assert_eq!(of(&ads), [&high, &middle]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ads_that_tie_take_turns() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let mut all = BTreeSet::new();
    for _ in 0..4 {
        all.insert(bidding(&gateway, 100, &[]).await);
    }
    let mut first = BTreeSet::new();
    for _ in 0..100 {
        let ads = serve(&gateway, "top", json!({})).await;
        first.insert(of(&ads)[0].to_owned());
    }
    assert_eq!(first, all);
    let ads = serve(&gateway, "top", json!({ "count": 10 })).await;
    let each: BTreeSet<_> = of(&ads).into_iter().map(str::to_owned).collect();
    assert_eq!((ads.len(), each), (4, all), "each of them once");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_cent_of_a_budget_is_spent_once() {
    let gateway = Gateway::with(long_bounds).await;
    let other = gateway.sibling().await;
    zone(&gateway, "top").await;
    // Ten impressions of a cent each; and half a cent that pays for nothing.
    let fields = json!({ "bid": 1_999, "budget": 20 });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let calls = (0..64).map(|number| {
        let gateway = if number % 2 == 0 { &gateway } else { &other };
        serve(gateway, "top", json!({}))
    });
    let served = join_all(calls).await.concat();
    assert_eq!(served.len(), 10);
    let tokens: BTreeSet<_> = served.iter().map(|ad| ad["token"].to_string()).collect();
    assert_eq!(tokens.len(), 10, "each has an impression of its own");
    let expected = json!({
        "impressions": 10, "views": 0, "clicks": 0, "chargedClicks": 0, "conversions": 0,
        "spent": { "minorUnits": 19 }, "spentThousandths": 19_990,
    });
    assert_eq!(counts(&gateway, &id).await, expected);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_cant_be_charged_the_next_is_served() {
    let gateway = Gateway::with(long_bounds).await;
    zone(&gateway, "top").await;
    let rich = bidding(&gateway, 100, &[]).await;
    let fields = json!({ "bid": 1_000, "budget": 3 });
    let poor = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let served = join_all((0..20).map(|_| serve(&gateway, "top", json!({})))).await.concat();
    let of_poor = of(&served).into_iter().filter(|id| *id == poor).count();
    let of_rich = of(&served).into_iter().filter(|id| *id == rich).count();
    assert_eq!((of_poor, of_rich), (3, 17));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_has_a_budget_of_its_own() {
    let gateway = Gateway::with(long_bounds).await;
    zone(&gateway, "top").await;
    let fields = json!({ "budget": 5, "dailyBudget": 3 });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let today = join_all((0..8).map(|_| serve(&gateway, "top", json!({})))).await.concat();
    assert_eq!(today.len(), 3);
    // The day is over.
    let midnight =
        |day: &str| DateTime::parse_rfc3339_str(format!("{day}T00:00:00Z")).expect("a time");
    let set = doc! { "$set": { "today.until": midnight("2026-01-02") } };
    gateway.raw("campaigns").update_one(doc! { "_id": key(&id) }, set).await.expect("set");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let tomorrow = join_all((0..8).map(|_| serve(&gateway, "top", json!({})))).await.concat();
    assert_eq!(tomorrow.len(), 2, "the rest of the whole budget");
    gateway.assert_sound().await;
    let query = "query($id: ID!, $from: Date!, $to: Date!) { campaignReport(campaignId: $id, from: $from, to: $to) {
        total { impressions spentThousandths } days { date counts { impressions spent { minorUnits } } } } }";
    let today = &at(&gateway, 0)[..10];
    let report = |from: &str, to: &str| {
        let variables = json!({ "id": id, "from": from, "to": to });
        let client = super::advertiser(&gateway, "adv");
        async move { client.explained(query, variables).await }
    };
    let found = report("2025-01-01", today).await;
    assert_eq!(commands(&found), ["find campaigns"]);
    let day = |date: &str, number: i64| json!({ "date": date, "counts": { "impressions": number, "spent": { "minorUnits": number } } });
    let expected = json!({
        "total": { "impressions": 5, "spentThousandths": 5_000 },
        "days": [day("2026-01-01", 3), day(today, 2)],
    });
    assert_eq!(found["data"]["campaignReport"], expected, "{found:#}");
    // The report is a field of the campaign, and is read with it.
    let part = "query($id: ID!, $from: Date!, $to: Date!) { campaign(id: $id) { report(from: $from, to: $to) {
        total { impressions spentThousandths } days { date counts { impressions spent { minorUnits } } } } } }";
    let variables = json!({ "id": id, "from": "2025-01-01", "to": today });
    let found = super::advertiser(&gateway, "adv").explained(part, variables).await;
    assert_eq!(found["data"]["campaign"]["report"], expected, "{found:#}");
    assert_eq!(commands(&found), ["find campaigns"]);
    let found = report("2026-01-01", "2026-01-01").await;
    assert_eq!(found["data"]["campaignReport"]["total"]["impressions"], 3);
    let found = report("2026-01-02", "2026-01-01").await;
    assert_eq!(found["errors"][0]["extensions"]["field"], "to", "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_without_ads_is_empty_and_one_that_isnt_there_not_found() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    assert!(serve(&gateway, "top", json!({ "visitor": "v", "keywords": ["a"] })).await.is_empty());
    let input =
        |fields: Value| json!({ "input": with(json!({ "site": SITE, "zone": "top" }), fields) });
    let said = gateway.service().field(SERVE, input(json!({ "zone": "nowhere" }))).await;
    assert_eq!(said["__typename"], "NotFound", "{said:#}");
    let before = gateway.snapshot().await;
    for (fields, field) in [
        (json!({ "site": "$where" }), "site"),
        (json!({ "zone": "" }), "zone"),
        (json!({ "visitor": "" }), "visitor"),
        (json!({ "visitor": "x".repeat(129) }), "visitor"),
        (json!({ "keywords": vec!["a"; 21] }), "keywords"),
        (json!({ "keywords": ["a", ""] }), "keywords.1"),
        (json!({ "count": 0 }), "count"),
        (json!({ "count": 11 }), "count"),
    ] {
        let said = gateway.service().field(SERVE, input(fields.clone())).await;
        assert_eq!(said["field"], format!("input.{field}"), "{said:#}");
        if field != "site" {
            let variables = with(json!({ "zone": "top" }), fields);
            for query in [EXPLAIN, PREVIEW] {
                let said = publisher(&gateway).run(query, variables.clone()).await;
                assert_eq!(said["errors"][0]["extensions"]["field"], field, "{said:#}");
            }
        }
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_served_before_its_start_and_after_its_end() {
    let gateway = Gateway::with(long_bounds).await;
    zone(&gateway, "top").await;
    let (starts, ends) = (at(&gateway, 2_000), at(&gateway, 8_000));
    let fields = json!({ "startsAt": starts, "endsAt": ends, "budget": 1_000_000_000 });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let mut served = Vec::new();
    while at(&gateway, -1_000) < ends {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let before = at(&gateway, 0);
        let ads = join_all((0..8).map(|_| serve(&gateway, "top", json!({})))).await.concat();
        if !ads.is_empty() {
            let after = at(&gateway, 0);
            assert!(after >= starts && before <= ends, "{starts} {before} {after} {ends}");
            served.extend(ads);
        }
    }
    assert!(!served.is_empty());
    // It is still in the zone: only the charge has kept it from being served.
    assert_eq!(stored_ads(&gateway, "top").await.len(), 1);
    let count = i64::try_from(served.len()).expect("a number");
    assert_eq!(number(&gateway, &id, "impressions").await, count);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_that_is_paused_meanwhile_isnt_served() {
    let gateway = Gateway::with(long_bounds).await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, with(plan(&gateway, &["top"]), json!({ "budget": 1_000_000 }))).await;
    // A gateway that has read the zone before, and charges after.
    let slow = gateway.sibling_behind_proxy().await;
    assert_eq!(serve(&slow, "top", json!({})).await.len(), 1);
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.count_only(is_charge);
    proxy.cut(0, Cut::Hold);
    let (ads, ()) = tokio::join!(serve(&slow, "top", json!({})), async {
        proxy.reached().await;
        assert_eq!(change(&gateway, PAUSE, &id).await["state"], "PAUSED");
        proxy.release().await;
    });
    assert!(ads.is_empty(), "{ads:#?}");
    assert_eq!(number(&gateway, &id, "impressions").await, 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_without_an_answer_is_counted_and_nothing_is_served() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let input = json!({ "input": { "site": SITE, "zone": "top" } });
    for _ in 0..2 {
        proxy.count_only(is_charge);
        proxy.cut_with_retries(0, Cut::ReplyLost);
        let said = gateway.service().run(SERVE, input.clone()).await;
        let extensions = &said["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "UNAVAILABLE", "{said:#}");
        assert_eq!(extensions.get("retryable"), None, "{said:#}");
        proxy.heal();
    }
    // The command is sent twice each time, and MongoDB knows the second one.
    let found = counts(&gateway.sibling().await, &id).await;
    assert_eq!((&found["impressions"], &found["spentThousandths"]), (&json!(2), &json!(2_000)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_whose_command_is_sent_twice_counts_once() {
    let base = Gateway::start().await;
    zone(&base, "top").await;
    let id = launch(&base, plan(&base, &["top"])).await;
    let first = async |gateway: &Gateway| {
        assert_eq!(serve(gateway, "top", json!({})).await.len(), 1);
    };
    let later = async || assert_eq!(serve(&base, "top", json!({})).await.len(), 1);
    cuts::with_late_copy(&base, is_charge, first, later).await;
    let found = counts(&base, &id).await;
    assert_eq!((&found["impressions"], &found["spentThousandths"]), (&json!(2), &json!(2_000)));
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_served_costs_two_reads_and_a_write_for_each_cap_and_charge() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let input =
        |fields: Value| json!({ "input": with(json!({ "site": SITE, "zone": "top" }), fields) });
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    serve(&gateway, "top", json!({})).await;
    let said = gateway.service().explained(SERVE, input(json!({}))).await;
    assert_eq!(commands(&said), ["find adZones", "update campaigns"], "{said:#}");
    change(&gateway, PAUSE, &id).await;
    let cap = json!({ "budget": 1_000_000, "frequencyCap": { "count": 9, "seconds": 60 } });
    launch(&gateway, with(plan(&gateway, &["top"]), cap)).await;
    serve(&gateway, "top", json!({})).await;
    // The first impression of a visitor is written with the profile.
    let said = gateway.service().explained(SERVE, input(json!({ "visitor": "v" }))).await;
    let mut sent = commands(&said);
    sent.retain(|command| !command.starts_with("hello"));
    sent.sort();
    let expected = ["find adProfiles", "find adZones", "insert adProfiles", "update campaigns"];
    assert_eq!(sent, expected, "{said:#}");
    let said = gateway.service().explained(SERVE, input(json!({ "visitor": "v" }))).await;
    let mut sent = commands(&said);
    sent.sort();
    let expected = ["find adProfiles", "find adZones", "update adProfiles", "update campaigns"];
    assert_eq!(sent, expected, "{said:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_publisher_is_told_why() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let wins = bidding(&gateway, 500, &["jazz"]).await;
    let second = bidding(&gateway, 400, &[]).await;
    let future = json!({ "startsAt": at(&gateway, 60_000), "bid": 3_000 });
    let future = launch(&gateway, with(plan(&gateway, &["top"]), future)).await;
    let poor =
        launch(&gateway, with(plan(&gateway, &["top"]), json!({ "bid": 2_000, "budget": 2 })))
            .await;
    let daily = json!({ "bid": 2_500, "dailyBudget": 3, "budget": 100 });
    let daily = launch(&gateway, with(plan(&gateway, &["top"]), daily)).await;
    serve(&gateway, "top", json!({ "count": 2 })).await;
    let before = gateway.snapshot().await;
    let variables = json!({ "zone": "top", "keywords": ["jazz"] });
    let found = publisher(&gateway).field(EXPLAIN, variables).await;
    let found: Vec<_> = found.as_array().expect("a list").iter().collect();
    let outcome = |id: &str| {
        let one = found.iter().find(|one| one["campaignId"] == id).expect("an explanation");
        one["outcome"].as_str().expect("an outcome")
    };
    let outcomes = [&wins, &second, &future, &poor, &daily].map(|id| outcome(id));
    assert_eq!(
        outcomes,
        ["SERVED", "OUTRANKED", "NOT_BEGUN", "BUDGET_SPENT", "DAILY_BUDGET_SPENT"]
    );
    let scores: Vec<_> = found.iter().map(|one| one["score"].as_f64().expect("a score")).collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    let jazz: Vec<_> = found.iter().filter(|one| one["matchingKeywords"] != json!([])).collect();
    assert_eq!((jazz.len(), &jazz[0]["campaignId"]), (1, &json!(wins)));
    assert!(gateway.snapshot().await == before, "nothing is charged");
}
