//! Campaigns and their zones: launching, pausing, resuming, ending.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    CLICK, LAUNCH, PAUSE, RESUME, SITE, ZONE, advertiser, at, campaign, change, launch, launch_as,
    number, plan, publisher, record, serve, stored_ads, token, with, zone,
};
use crate::{
    commands::sends_only,
    support::{Gateway, key, long_bounds, pages_both_ways, short_bounds, until},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_running_campaign_is_in_its_zones_and_a_paused_one_in_none() {
    let gateway = Gateway::start().await;
    for name in ["top", "side", "other"] {
        zone(&gateway, name).await;
    }
    let units = json!([{ "creative": { "headline": "A" } }, { "creative": { "headline": "B" } }]);
    let input = with(plan(&gateway, &["top", "side"]), json!({ "adUnits": units }));
    let id = launch(&gateway, input).await;
    let both = vec![(key(&id), 1), (key(&id), 2)];
    for (zone, expected) in [("top", &both), ("side", &both), ("other", &Vec::new())] {
        assert_eq!(stored_ads(&gateway, zone).await, *expected, "{zone}");
    }
    for _ in 0..2 {
        assert_eq!(change(&gateway, PAUSE, &id).await["state"], "PAUSED");
        assert!(serve(&gateway, "top", json!({})).await.is_empty());
        assert!(stored_ads(&gateway, "side").await.is_empty());
    }
    gateway.assert_sound().await;
    for _ in 0..2 {
        assert_eq!(change(&gateway, RESUME, &id).await["state"], "RUNNING");
        assert_eq!(serve(&gateway, "top", json!({ "count": 5 })).await.len(), 2);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_is_made_once_and_a_zone_too() {
    let gateway = Gateway::with(long_bounds).await;
    let first = zone(&gateway, "top").await;
    assert_eq!(zone(&gateway, "top").await, first);
    let create = |by: &str, currency: &str| {
        let client = gateway.user(by, &["publisher"]);
        let input = json!({ "site": SITE, "name": "top", "currency": currency });
        async move { client.field(ZONE, json!({ "input": input })).await }
    };
    assert_eq!(create("another", "EUR").await["__typename"], "AlreadyExists");
    assert_eq!(create("pub", "USD").await["__typename"], "AlreadyExists");

    let input = with(plan(&gateway, &["top"]), json!({ "idempotencyKey": "op" }));
    let all = join_all((0..8).map(|_| launch_as(&gateway, "adv", input.clone()))).await;
    assert!(all.iter().all(|one| one == &all[0] && one["state"] == "RUNNING"), "{all:#?}");
    assert_eq!(stored_ads(&gateway, "top").await.len(), 1);
    let other = with(input.clone(), json!({ "bid": 2_000 }));
    assert_eq!(launch_as(&gateway, "adv", other).await["__typename"], "Conflict");
    let theirs = launch_as(&gateway, "else", input).await;
    assert_ne!(theirs["id"], all[0]["id"], "another caller's key is another op");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_launched_is_refused_and_changes_nothing() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let input = json!({ "site": SITE, "name": "usd", "currency": "USD" });
    publisher(&gateway).field(ZONE, json!({ "input": input })).await;
    let good = plan(&gateway, &["top"]);
    let before = gateway.snapshot().await;
    let of_zones = |names: &[&str]| {
        let name = |name: &&str| json!({ "site": SITE, "name": name });
        json!({ "zones": names.iter().map(name).collect::<Vec<_>>() })
    };
    let unit = |creative: Value| json!({ "adUnits": [{ "creative": creative }] });
    let cap = |count: i32, seconds: i32| json!({ "count": count, "seconds": seconds });
    for (fields, field) in [
        (json!({ "name": "" }), "name"),
        (json!({ "name": "a\nb" }), "name"),
        (json!({ "zones": [] }), "zones"),
        (of_zones(&["top", "top"]), "zones.1"),
        (of_zones(&["Top"]), "zones.0.name"),
        (of_zones(&["$ne"]), "zones.0.name"),
        (json!({ "bid": 0 }), "bid"),
        (json!({ "bid": 1_000_000_001 }), "bid"),
        (json!({ "budget": 0 }), "budget"),
        (json!({ "pricing": "CPC", "bid": 101 }), "budget"),
        (json!({ "pricing": "CPC", "bid": 50, "dailyBudget": 49 }), "dailyBudget"),
        (json!({ "endsAt": at(&gateway, -1_000) }), "endsAt"),
        (json!({ "endsAt": at(&gateway, 367 * 86_400_000) }), "endsAt"),
        (json!({ "startsAt": at(&gateway, 3_600_001) }), "endsAt"),
        (json!({ "startsAt": at(&gateway, 367 * 86_400_000) }), "startsAt"),
        (json!({ "adUnits": [] }), "adUnits"),
        (unit(json!({ "headline": "" })), "adUnits.0.creative.headline"),
        (
            unit(json!({ "headline": "a", "imageUrl": "javascript:1" })),
            "adUnits.0.creative.imageUrl",
        ),
        (json!({ "frequencyCap": cap(0, 60) }), "frequencyCap.count"),
        (json!({ "adUnitFrequencyCap": cap(1, 0) }), "adUnitFrequencyCap.seconds"),
        (json!({ "idempotencyKey": " " }), "idempotencyKey"),
    ] {
        let said = launch_as(&gateway, "adv", with(good.clone(), fields)).await;
        assert_eq!(said["field"], format!("input.{field}"), "{said:#}");
    }
    for target in [
        "",
        "javascript:alert(1)",
        "//evil.example",
        "/path",
        "data:text/html,x",
        "ftp://a.example",
        "https://",
        "https://user@evil.example/",
        "https://shop.example:pass@evil.example/",
        "https://a.example/\r\nSet-Cookie: a=b",
    ] {
        let said =
            launch_as(&gateway, "adv", with(good.clone(), json!({ "targetUrl": target }))).await;
        assert_eq!(said["field"], "input.targetUrl", "{target}: {said:#}");
    }
    let keywords =
        json!({ "adUnits": [{ "keywords": ["x".repeat(65)], "creative": { "headline": "a" } }] });
    let said = launch_as(&gateway, "adv", with(good.clone(), keywords)).await;
    assert_eq!(said["field"], "input.adUnits.0.keywords.0", "{said:#}");
    let said = launch_as(&gateway, "adv", with(good.clone(), of_zones(&["nowhere"]))).await;
    assert_eq!(said["__typename"], "NotFound", "{said:#}");
    let said = launch_as(&gateway, "adv", with(good.clone(), of_zones(&["top", "usd"]))).await;
    assert_eq!(said["__typename"], "CurrencyMismatch", "{said:#}");
    assert!(gateway.snapshot().await == before);
    let launched = launch_as(&gateway, "adv", good.clone()).await;
    assert_eq!(launched["state"], "RUNNING", "{launched:#}");
    // Without an end, a campaign that begins in the past ends thirty days from now.
    let mut endless = with(good, json!({ "startsAt": at(&gateway, -90 * 86_400_000) }));
    endless.as_object_mut().expect("an input").remove("endsAt");
    let launched = launch_as(&gateway, "adv", endless).await;
    assert_eq!(launched["state"], "RUNNING", "{launched:#}");
    let ends = launched["endsAt"].as_str().expect("a time").to_owned();
    // It is counted from the server's clock.
    let [soonest, latest] = [-60_000, 60_000].map(|apart| at(&gateway, 30 * 86_400_000 + apart));
    assert!(soonest <= ends && ends <= latest, "{ends}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_has_so_many_places_and_one_advertiser_so_many_of_them() {
    let gateway = Gateway::with(|config| {
        (config.ads_per_zone, config.ads_per_zone_and_advertiser) = (6, 4);
    })
    .await;
    zone(&gateway, "top").await;
    zone(&gateway, "side").await;
    let units = |count: usize| {
        let unit = json!({ "creative": { "headline": "A" } });
        json!({ "adUnits": vec![unit; count] })
    };
    let of = |count: usize| with(plan(&gateway, &["side", "top"]), units(count));
    let first = launch(&gateway, of(3)).await;
    // The advertiser's share.
    let said = launch_as(&gateway, "adv", of(2)).await;
    assert_eq!((&said["__typename"], &said["name"]), (&json!("AdZoneFull"), &json!("side")));
    let two = launch_as(&gateway, "two", with(plan(&gateway, &["top"]), units(3))).await;
    assert_eq!(two["state"], "RUNNING");
    // All places of one of the zones are taken: the campaign is in none.
    let input = with(of(1), json!({ "idempotencyKey": "op" }));
    let said = launch_as(&gateway, "three", input.clone()).await;
    assert_eq!((&said["__typename"], &said["name"]), (&json!("AdZoneFull"), &json!("top")));
    assert_eq!(stored_ads(&gateway, "side").await.len(), 3);
    gateway.assert_sound().await;
    // A paused campaign gives up its places.
    change(&gateway, PAUSE, &first).await;
    let launched = launch_as(&gateway, "three", input.clone()).await;
    assert_eq!(launched["state"], "RUNNING", "the same key again: {launched:#}");
    let four = launch_as(&gateway, "four", of(2)).await;
    assert_eq!(four["state"], "RUNNING", "{four:#}");
    let said = change(&gateway, RESUME, &first).await;
    assert_eq!((&said["__typename"], &said["name"]), (&json!("AdZoneFull"), &json!("top")));
    assert_eq!(campaign(&gateway, &first).await["state"], "PAUSED");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_places_go_to_as_many_as_there_are() {
    let gateway = Gateway::with(|config| {
        long_bounds(config);
        (config.ads_per_zone, config.ads_per_zone_and_advertiser) = (5, 5);
    })
    .await;
    zone(&gateway, "top").await;
    zone(&gateway, "side").await;
    let launches = (0..16).map(|number| {
        let zones = if number % 2 == 0 { ["top", "side"] } else { ["side", "top"] };
        let input = plan(&gateway, &zones);
        let client = advertiser(&gateway, &format!("adv-{number}"));
        async move { client.field(LAUNCH, json!({ "input": input })).await }
    });
    let answers = join_all(launches).await;
    let running = answers.iter().filter(|one| one["state"] == "RUNNING").count();
    let full = answers.iter().filter(|one| one["__typename"] == "AdZoneFull").count();
    assert_eq!(running + full, 16, "{answers:#?}");
    assert!((1..=5).contains(&running), "{running}");
    assert_eq!(stored_ads(&gateway, "top").await.len(), running);
    assert_eq!(stored_ads(&gateway, "side").await.len(), running);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_pauses_and_who_resumes_at_once_agree_in_the_end() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    zone(&gateway, "side").await;
    let id = launch(&gateway, plan(&gateway, &["top", "side"])).await;
    for _ in 0..10 {
        let changes = (0..8)
            .map(|number| change(&gateway, if number % 2 == 0 { PAUSE } else { RESUME }, &id));
        for said in join_all(changes).await {
            assert_eq!(said["__typename"], "Campaign", "{said:#}");
        }
        gateway.assert_sound().await;
        let is_running = campaign(&gateway, &id).await["state"] == "RUNNING";
        for zone in ["top", "side"] {
            assert_eq!(stored_ads(&gateway, zone).await.len(), usize::from(is_running), "{zone}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_ends_by_itself() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    zone(&gateway, "top").await;
    // Time enough to launch both of them.
    let ends = at(&gateway, 8_000);
    let short = json!({ "endsAt": ends });
    let timed = launch(&gateway, with(plan(&gateway, &["top"]), short.clone())).await;
    let paused = launch(&gateway, with(plan(&gateway, &["top"]), short)).await;
    change(&gateway, PAUSE, &paused).await;
    // One impression, of two cents.
    let spent =
        launch(&gateway, with(plan(&gateway, &["top"]), json!({ "budget": 2, "bid": 2_000 })))
            .await;
    assert_eq!(serve(&gateway, "top", json!({ "count": 1 })).await[0]["campaignId"], spent);
    until("they are over", async || at(&gateway, -100) > ends).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    for (id, ending) in
        [(&timed, "END_REACHED"), (&paused, "END_REACHED"), (&spent, "BUDGET_SPENT")]
    {
        let found = campaign(&gateway, id).await;
        assert_eq!((&found["state"], &found["ending"]), (&json!("ENDED"), &json!(ending)));
        for mutation in [PAUSE, RESUME] {
            let said = change(&gateway, mutation, id).await;
            let is_told = said["campaignEnding"] == ending;
            assert!(said["__typename"] == "CampaignEnded" && is_told, "{said:#}");
        }
    }
    assert_eq!(number(&gateway, &spent, "spentThousandths").await, 2_000);
    assert!(stored_ads(&gateway, "top").await.is_empty());
    // A campaign that is over can't be resumed before the sweep either.
    let ends = at(&gateway, 5_000);
    let short = with(plan(&gateway, &["top"]), json!({ "endsAt": ends }));
    let id = launch(&gateway, short).await;
    change(&gateway, PAUSE, &id).await;
    until("it is over", async || at(&gateway, -100) > ends).await;
    assert_eq!(change(&gateway, RESUME, &id).await["campaignEnding"], "END_REACHED");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_expected_of_a_campaign_follows_its_clicks() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.ads_refresh_seconds = 0;
    })
    .await;
    zone(&gateway, "top").await;
    let clicks = json!({ "pricing": "CPC", "bid": 20, "budget": 1_000_000 });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), clicks)).await;
    assert_eq!(campaign(&gateway, &id).await["ecpm"]["minorUnits"], 200, "one click in a hundred");
    let dear = launch(&gateway, with(plan(&gateway, &["top"]), json!({ "bid": 300 }))).await;
    assert_eq!(serve(&gateway, "top", json!({})).await[0]["campaignId"], dear);
    // As if it had been clicked.
    let counts = doc! { "impressions": 1_800_i64, "clicks": 98_i64 };
    for (field, value) in counts {
        let set = doc! { "$set": {
            format!("total.{field}"): value.clone(), format!("today.counts.{field}"): value,
        } };
        gateway.raw("campaigns").update_one(doc! { "_id": key(&id) }, set).await.expect("set");
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
    assert_eq!(campaign(&gateway, &id).await["ecpm"]["minorUnits"], 1_000);
    assert_eq!(serve(&gateway, "top", json!({})).await[0]["campaignId"], id);
    assert_eq!(stored_ads(&gateway, "top").await, [(key(&id), 1), (key(&dear), 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_comes_late_is_refused() {
    let gateway = Gateway::with(long_bounds).await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    change(&gateway, PAUSE, &id).await;
    // A resumption whose entry into the zone is held back until the campaign was paused again.
    let slow = gateway.sibling_behind_proxy().await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "adZones" && seen.command == "update");
    proxy.cut(0, crate::support::proxy::Cut::Hold);
    let (said, ()) = tokio::join!(change(&slow, RESUME, &id), async {
        proxy.reached().await;
        // It starts it by itself, and pauses it.
        assert_eq!(change(&gateway, PAUSE, &id).await["state"], "PAUSED");
        proxy.release().await;
    });
    assert_eq!(said["state"], "RUNNING", "it is resumed once more: {said:#}");
    gateway.assert_sound().await;
    change(&gateway, PAUSE, &id).await;
    assert!(stored_ads(&gateway, "top").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_read_in_pages() {
    let gateway = Gateway::start().await;
    for number in 0..5 {
        zone(&gateway, &format!("zone-{number}")).await;
        launch(&gateway, with(plan(&gateway, &["zone-0"]), json!({ "name": number.to_string() })))
            .await;
    }
    let names = |all: Vec<Value>| {
        let name = |one: Value| one["name"].as_str().expect("a name").to_owned();
        all.into_iter().map(name).collect::<Vec<_>>()
    };
    let expected: Vec<_> = (0..5).map(|number| number.to_string()).collect();
    let found = pages_both_ways(&advertiser(&gateway, "adv"), "myCampaigns(", "name").await;
    assert_eq!(names(found), expected);
    let expected: Vec<_> = (0..5).map(|number| format!("zone-{number}")).collect();
    let found = pages_both_ways(&publisher(&gateway), "myAdZones(", "name").await;
    assert_eq!(names(found), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_a_resumption_and_a_click_send_only_their_commands() {
    let base = Gateway::start().await;
    zone(&base, "top").await;
    zone(&base, "side").await;
    let id = launch(&base, plan(&base, &["top", "side"])).await;
    let token = token(&base, "top").await;
    let click = async |gateway: &Gateway| {
        assert_eq!(record(gateway, CLICK, &token).await["isRepeat"], false);
    };
    let expected =
        ["find campaigns", "insert adClicks", "findAndModify campaigns", "update adClicks"];
    sends_only(&base, click, &expected).await;
    let pause = async |gateway: &Gateway| {
        assert_eq!(change(gateway, PAUSE, &id).await["state"], "PAUSED");
    };
    // Both zones by one command.
    let expected =
        ["find campaigns", "findAndModify campaigns", "update adZones", "update campaigns"];
    sends_only(&base, pause, &expected).await;
    let resume = async |gateway: &Gateway| {
        assert_eq!(change(gateway, RESUME, &id).await["state"], "RUNNING");
    };
    let expected = [
        "find campaigns",
        "update campaigns",
        "find campaigns",
        "update adZones",
        "findAndModify campaigns",
    ];
    sends_only(&base, resume, &expected).await;
}
