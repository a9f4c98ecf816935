//! The demo's advertising: zones of ten sites, and campaigns of twenty advertisers. As long as the demo runs, visitors
//! see ads and click on some of them.

use docgate_demo::random::Random;
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use super::{
    Steps,
    client::{DemoClient, someone},
    keep_acting,
};
use crate::{
    app::{App, rfc3339},
    cli::failure::Failure,
    domains::times::DAY,
    graphql::requester::{Requester, Role},
};

const SITES: &[&str] = &[
    "shop.example",
    "jazz.example",
    "film.example",
    "books.example",
    "guitars.example",
    "news.example",
    "travel.example",
    "garden.example",
    "cooking.example",
    "weather.example",
];
/// Zones of each site.
const NAMES: &[&str] = &["top", "sidebar", "article", "search", "footer"];
const KEYWORDS: &[&str] =
    &["music", "jazz", "vinyl", "film", "books", "crime", "guitar", "piano", "travel", "gifts"];
const HEADLINES: &[&str] = &[
    "Records by the weight",
    "The last good turntable",
    "Crime, one chapter a day",
    "Strings that stay in tune",
    "Films for rainy Sundays",
    "A piano for small rooms",
    "Presents for people who have everything",
    "Night trains, window seats",
];
const ADVERTISERS: usize = 20;
const CAMPAIGNS: usize = 200;
/// Number of calls of `serveAds` when the demo starts.
const CALLS: usize = 400;
/// Number of visitors.
const VISITORS: usize = 60;
/// Percentage of the ads that are clicked on.
const CLICKS: usize = 6;
/// Pause between two visitors, in milliseconds.
const PAUSE: (i64, i64) = (700, 2_500);

const ZONE: &str = "mutation($input: CreateAdZoneInput!) { createAdZone(input: $input) {
    __typename ... on UserError { code message } } }";
const LAUNCH: &str = "mutation($input: LaunchCampaignInput!) { launchCampaign(input: $input) {
    __typename ... on Campaign { id } ... on UserError { code message } } }";
const PAUSE_IT: &str = "mutation($input: PauseCampaignInput!) { pauseCampaign(input: $input) {
    __typename ... on UserError { code message } } }";
const SERVE: &str = "mutation($input: ServeAdsInput!) { serveAds(input: $input) {
    __typename ... on ServedAds { ads { token } } ... on UserError { code message } } }";
const CLICK: &str = "mutation($input: RecordClickInput!) { recordClick(input: $input) {
    __typename ... on UserError { code message } } }";
const CONVERSION: &str =
    "mutation($input: RecordConversionInput!) { recordConversion(input: $input) {
    __typename ... on UserError { code message } } }";

fn site() -> Requester {
    someone("site", &[Role::Service])
}

/// Creates zones and campaigns, and lets visitors see some ads.
pub(super) async fn create(app: &App, client: &DemoClient, steps: &Steps) -> Result<(), Failure> {
    let zones = zones();
    let created = zones.iter().map(|(site, name)| async move {
        let publisher = someone(&format!("publisher of {site}"), &[Role::Publisher]);
        let input = json!({ "site": site, "name": name, "currency": "EUR" });
        client.execute(&publisher, ZONE, json!({ "input": input })).await
    });
    steps.each("zones for ads", created).await?;

    let launched = plans(&zones, app.clock()).into_iter().enumerate();
    let launched = launched.map(|(number, (advertiser, input))| async move {
        let by = someone(&advertiser, &[Role::Advertiser]);
        let made = client.execute(&by, LAUNCH, json!({ "input": input })).await?;
        if number % 20 == 7 {
            let input = json!({ "campaignId": made["launchCampaign"]["id"] });
            client.execute(&by, PAUSE_IT, json!({ "input": input })).await?;
        }
        Ok::<_, Failure>(())
    });
    steps.each("campaigns", launched).await?;

    let visits = (0..CALLS)
        .map(|number| async move { visit(client, &mut Random::new(1_000 + number as u64)).await });
    steps.each("ads", visits).await.map(drop)
}

/// Site and name of each zone.
fn zones() -> Vec<(&'static str, &'static str)> {
    SITES.iter().flat_map(|site| NAMES.iter().map(move |name| (*site, *name))).collect()
}

/// The campaigns: the subject of the advertiser, and the input of `launchCampaign`.
fn plans(zones: &[(&str, &str)], now: DateTime) -> Vec<(String, Value)> {
    let mut random = Random::new(53);
    let campaign = |number| {
        let advertiser = format!("advertiser-{}", 1 + number % ADVERTISERS);
        (advertiser, plan(&mut random, zones, number, now))
    };
    (0..CAMPAIGNS).map(campaign).collect()
}

/// The input of `launchCampaign` of a campaign.
fn plan(random: &mut Random, zones: &[(&str, &str)], number: usize, now: DateTime) -> Value {
    let first = random.below(zones.len());
    let step = 1 + random.below(zones.len() / 4);
    let count = 1 + random.below(4);
    let names: Vec<_> = (0..count)
        .map(|at| zones[(first + at * step) % zones.len()])
        .map(|(site, name)| json!({ "site": site, "name": name }))
        .collect();
    let headline = HEADLINES[number % HEADLINES.len()];
    let unit = |random: &mut Random| {
        let keywords = [random.pick(KEYWORDS), random.pick(KEYWORDS)];
        let text = format!("Offer {} of this week.", 1 + random.below(90));
        json!({ "keywords": keywords, "creative": { "headline": headline, "text": text } })
    };
    let units: Vec<_> = (0..=random.below(3)).map(|_| unit(random)).collect();
    let pays_for_clicks = number.is_multiple_of(3);
    let (bid, budget) = if pays_for_clicks {
        (random.between(5, 60), random.between(500, 20_000))
    } else {
        (random.between(80, 900), random.between(200, 20_000))
    };
    let is_capped = number.is_multiple_of(2);
    let ends = DateTime::from_millis(now.timestamp_millis() + DAY * random.between(5, 90));
    json!({
        "name": format!("{headline} {}", 1 + number / HEADLINES.len()),
        "zones": names,
        "pricing": if pays_for_clicks { "CPC" } else { "CPM" },
        "bid": bid,
        "currency": "EUR",
        "budget": budget,
        "dailyBudget": number.is_multiple_of(4).then_some(budget / 2),
        "endsAt": rfc3339(ends),
        "targetUrl": format!("https://shop.example/offers/{}", 1 + number),
        "adUnits": units,
        "frequencyCap": is_capped.then(|| json!({ "count": 5, "seconds": 86_400 })),
        "idempotencyKey": format!("campaign-{number}"),
    })
}

/// A visitor looks at a page, and may click on one of its ads.
async fn visit(client: &DemoClient, random: &mut Random) -> Result<(), Failure> {
    let input = json!({
        "site": random.pick(SITES),
        "zone": random.pick(NAMES),
        "visitor": format!("visitor-{}", random.below(VISITORS)),
        "keywords": [random.pick(KEYWORDS), random.pick(KEYWORDS)],
        "count": 2,
    });
    let served = client.execute(&site(), SERVE, json!({ "input": input })).await?;
    for ad in served["serveAds"]["ads"].as_array().into_iter().flatten() {
        if random.chance(CLICKS) {
            let input = json!({ "input": { "token": ad["token"] } });
            client.execute(&site(), CLICK, input.clone()).await?;
            if random.chance(20) {
                client.execute(&site(), CONVERSION, input).await?;
            }
        }
    }
    Ok(())
}

/// Lets visitors look at pages, one after the other. It never ends; dropping it ends it.
pub(in super::super) async fn traffic(app: &App) {
    keep_acting(app, PAUSE, visit).await;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_network_has_its_size() {
        let zones = zones();
        assert_eq!(zones.iter().collect::<HashSet<_>>().len(), 50);
        let plans = plans(&zones, DateTime::from_millis(1_700_000_000_000));
        assert_eq!(plans.len(), 200);
        let advertisers: HashSet<_> = plans.iter().map(|(advertiser, _)| advertiser).collect();
        assert_eq!(advertisers.len(), 20);
        let keys = plans.iter().map(|(_, input)| input["idempotencyKey"].to_string());
        assert_eq!(keys.collect::<HashSet<_>>().len(), 200);
        for (_, input) in &plans {
            let own = input["zones"].as_array().expect("zones").iter();
            let own = own.filter_map(|zone| zone["site"].as_str().zip(zone["name"].as_str()));
            let own: Vec<_> = own.collect();
            assert!(!own.is_empty() && own.iter().all(|zone| zones.contains(zone)), "{input}");
        }
    }
}
