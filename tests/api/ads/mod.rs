//! Advertising: budgets that can't be overspent, frequency caps, zones that show what runs, and clicks that count once.

mod campaigns;
mod caps;
mod check;
mod clicks;
mod cuts;
mod preview;
mod privacy;
mod routes;
mod serving;

use docgate::app::rfc3339;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use crate::support::{Client, Gateway, http_builder};

pub const ZONE: &str = "mutation($input: CreateAdZoneInput!) { createAdZone(input: $input) {
    __typename ... on AdZone { id site name currency ads { campaignId adUnit ecpm { minorUnits } } }
    ... on UserError { code message } ... on InvalidInput { field } } }";
pub const LAUNCH: &str = "mutation($input: LaunchCampaignInput!) { launchCampaign(input: $input) {
    __typename ... on Campaign { id state ending name targetUrl endsAt ecpm { minorUnits } }
    ... on AdZoneFull { site name } ... on UserError { code message } ... on InvalidInput { field reason } } }";
pub const PAUSE: &str = "mutation($input: PauseCampaignInput!) { pauseCampaign(input: $input) {
    __typename ... on Campaign { id state } ... on CampaignEnded { campaignEnding } ... on UserError { code message } } }";
pub const RESUME: &str = "mutation($input: ResumeCampaignInput!) { resumeCampaign(input: $input) {
    __typename ... on Campaign { id state } ... on CampaignEnded { campaignEnding }
    ... on AdZoneFull { site name } ... on UserError { code message } } }";
pub const SERVE: &str = "mutation($input: ServeAdsInput!) { serveAds(input: $input) {
    __typename ... on ServedAds { ads { campaignId adUnit token clickPath pixelPath expiresAt
        creative { headline text imageUrl } } }
    ... on UserError { code message } ... on InvalidInput { field } } }";
pub const CLICK: &str = "mutation($input: RecordClickInput!) { recordClick(input: $input) {
    __typename ... on RecordedClick { campaignId adUnit isRepeat targetUrl }
    ... on UserError { code message } ... on InvalidInput { field reason } } }";
pub const CONVERSION: &str =
    "mutation($input: RecordConversionInput!) { recordConversion(input: $input) {
    __typename ... on RecordedConversion { campaignId adUnit isRepeat }
    ... on UserError { code message } ... on InvalidInput { field reason } } }";
pub const CAMPAIGN: &str = "query($id: ID!) { campaign(id: $id) { id state ending endedAt ecpm { minorUnits }
    counts { impressions views clicks chargedClicks conversions spent { minorUnits } spentThousandths } } }";
pub const EXPLAIN: &str = "query($zone: String!, $visitor: String, $keywords: [String!], $count: Int) {
    explainAds(site: \"site.example\", zone: $zone, visitor: $visitor, keywords: $keywords, count: $count) {
        campaignId adUnit score matchingKeywords outcome } }";
pub const SITE: &str = "site.example";

pub fn publisher(gateway: &Gateway) -> Client {
    gateway.user("pub", &["publisher"])
}

pub fn advertiser(gateway: &Gateway, subject: &str) -> Client {
    gateway.user(subject, &["advertiser"])
}

/// Creates a zone in EUR.
pub async fn zone(gateway: &Gateway, name: &str) -> Value {
    let input = json!({ "site": SITE, "name": name, "currency": "EUR" });
    let zone = publisher(gateway).field(ZONE, json!({ "input": input })).await;
    assert_eq!(zone["__typename"], "AdZone", "{zone:#}");
    zone
}

/// A time this many milliseconds from now.
pub fn at(gateway: &Gateway, millis: i64) -> String {
    rfc3339(DateTime::from_millis(gateway.app.clock().timestamp_millis() + millis))
}

/// The input of a campaign of a hundred impressions at a cent each in these zones.
pub fn plan(gateway: &Gateway, zones: &[&str]) -> Value {
    let zones: Vec<_> = zones.iter().map(|name| json!({ "site": SITE, "name": name })).collect();
    json!({
        "name": "Plan", "zones": zones, "pricing": "CPM", "bid": 1_000, "currency": "EUR", "budget": 100,
        "endsAt": at(gateway, 3_600_000), "targetUrl": "https://shop.example/offer",
        "adUnits": [{ "creative": { "headline": "Buy" } }],
    })
}

/// The same with other fields.
pub fn with(mut input: Value, fields: Value) -> Value {
    for (key, value) in fields.as_object().expect("fields") {
        input[key] = value.clone();
    }
    input
}

/// What `launchCampaign` answers to an advertiser.
pub async fn launch_as(gateway: &Gateway, by: &str, input: Value) -> Value {
    advertiser(gateway, by).field(LAUNCH, json!({ "input": input })).await
}

/// Launches a campaign, and returns its id.
pub async fn launch(gateway: &Gateway, input: Value) -> String {
    let campaign = launch_as(gateway, "adv", input).await;
    assert_eq!(campaign["state"], "RUNNING", "{campaign:#}");
    campaign["id"].as_str().expect("an id").to_owned()
}

/// Pauses or resumes.
pub async fn change(gateway: &Gateway, mutation: &str, id: &str) -> Value {
    let input = json!({ "input": { "campaignId": id } });
    advertiser(gateway, "adv").field(mutation, input).await
}

/// The ads that are served.
pub async fn serve(gateway: &Gateway, zone: &str, fields: Value) -> Vec<Value> {
    let input = with(json!({ "site": SITE, "zone": zone }), fields);
    let served = gateway.service().field(SERVE, json!({ "input": input })).await;
    served["ads"].as_array().unwrap_or_else(|| panic!("ads: {served:#}")).clone()
}

/// The campaigns of ads.
pub fn of(ads: &[Value]) -> Vec<&str> {
    ads.iter().map(|ad| ad["campaignId"].as_str().expect("an id")).collect()
}

/// A token of an ad that is served now.
pub async fn token(gateway: &Gateway, zone: &str) -> String {
    let ads = serve(gateway, zone, json!({})).await;
    ads[0]["token"].as_str().expect("a token").to_owned()
}

pub async fn record(gateway: &Gateway, mutation: &str, token: &str) -> Value {
    gateway.service().field(mutation, json!({ "input": { "token": token } })).await
}

pub async fn campaign(gateway: &Gateway, id: &str) -> Value {
    advertiser(gateway, "adv").field(CAMPAIGN, json!({ "id": id })).await
}

pub async fn counts(gateway: &Gateway, id: &str) -> Value {
    campaign(gateway, id).await["counts"].clone()
}

/// A count of a campaign.
pub async fn number(gateway: &Gateway, id: &str, name: &str) -> i64 {
    counts(gateway, id).await[name].as_i64().expect("a number")
}

/// The campaigns and ad units in a zone, as they are stored.
pub async fn stored_ads(gateway: &Gateway, name: &str) -> Vec<(String, i32)> {
    let id = format!("site~example:{name}");
    let zone = gateway.raw("adZones").find_one(doc! { "_id": id }).await.expect("read");
    let zone = zone.expect("a zone");
    let ads = zone.get_array("ads").expect("ads").iter().map(|ad| {
        let ad = ad.as_document().expect("an ad");
        let campaign = ad.get_str("campaign").expect("a campaign").to_owned();
        (campaign, ad.get_i32("unit").expect("a number"))
    });
    ads.collect()
}

/// Requests a path, without following redirects.
pub async fn get(gateway: &Gateway, path: &str) -> reqwest::Response {
    request(gateway, reqwest::Method::GET, path).await
}

pub async fn request(gateway: &Gateway, method: reqwest::Method, path: &str) -> reqwest::Response {
    let client = http_builder().redirect(reqwest::redirect::Policy::none()).build();
    let url = format!("http://{}{path}", gateway.address);
    client.expect("a client").request(method, url).send().await.expect("an answer")
}
