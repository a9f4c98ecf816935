//! Advertisers see their own campaigns only, and publishers their own zones, however they ask.

use serde_json::{Value, json};

use super::{CAMPAIGN, PAUSE, RESUME, SITE, advertiser, launch, plan, publisher, serve, zone};
use crate::support::{Client, Gateway};

/// Ways to ask for a campaign, each with whether it answers the owner.
const OF_CAMPAIGN: [&str; 5] = [
    CAMPAIGN,
    "query($id: ID!) { node(id: $id) { id } }",
    "query($id: ID!) { nodes(ids: [$id]) { ... on Campaign { id targetUrl } } }",
    "query($id: ID!) { campaignReport(campaignId: $id, from: \"2026-01-01\", to: \"2099-01-01\") { total { impressions } } }",
    "query($id: ID!) { _entities(representations: [{ __typename: \"Campaign\", id: $id }]) { ... on Campaign { id name } } }",
];

const OF_ZONE: [&str; 4] = [
    "query($id: ID!) { adZone(id: $id) { id ads { campaignId } } }",
    "query($id: ID!) { node(id: $id) { id } }",
    "query($id: ID!) { nodes(ids: [$id]) { ... on AdZone { id site } } }",
    "query($id: ID!) { _entities(representations: [{ __typename: \"AdZone\", id: $id }]) { ... on AdZone { id } } }",
];

/// Whether an answer contains something of the object.
fn shows(answer: &Value) -> bool {
    let fields = answer["data"].as_object().map(|data| data.values().cloned().collect::<Vec<_>>());
    fields.unwrap_or_default().iter().any(|field| match field {
        Value::Array(all) => all.iter().any(|one| !one.is_null()),
        other => !other.is_null(),
    })
}

async fn asks(client: &Client, query: &str, id: &str) -> bool {
    // Entities are given by a literal, as variables of `_Any` are.
    let query = query.replace(", id: $id }]", &format!(", id: \"{id}\" }}]"));
    let (query, variables) = if query.contains(": $id") || query.contains("[$id]") {
        (query, json!({ "id": id }))
    } else {
        (query.replace("($id: ID!)", ""), json!({}))
    };
    let answer = client.run(&query, variables).await;
    let is_refused = answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        || answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED";
    assert!(is_refused || answer.get("errors").is_none(), "{query}: {answer:#}");
    shows(&answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_a_campaign_of_another_advertiser() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    for query in OF_CAMPAIGN {
        for client in [advertiser(&gateway, "adv"), gateway.admin()] {
            assert!(asks(&client, query, &id).await, "{query}");
        }
        for client in [
            advertiser(&gateway, "another"),
            publisher(&gateway),
            gateway.service(),
            gateway.merchant(),
            // The owner without the role.
            gateway.shopper("adv"),
            gateway.anonymous(),
        ] {
            assert!(!asks(&client, query, &id).await, "{query}");
        }
    }
    let before = gateway.snapshot().await;
    for mutation in [PAUSE, RESUME] {
        let input = json!({ "input": { "campaignId": id } });
        let said = advertiser(&gateway, "another").field(mutation, input).await;
        assert_eq!(said["__typename"], "NotFound", "{said:#}");
    }
    let list = "{ myCampaigns { nodes { id } } }";
    let found = advertiser(&gateway, "another").field(list, json!({})).await;
    assert_eq!(found["nodes"], json!([]));
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_a_zone_of_another_publisher() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    let zone = zone(&gateway, "top").await;
    let id = zone["id"].as_str().expect("an id");
    launch(&gateway, plan(&gateway, &["top"])).await;
    for query in OF_ZONE {
        for client in [publisher(&gateway), gateway.admin()] {
            assert!(asks(&client, query, id).await, "{query}");
        }
        for client in [
            gateway.user("another", &["publisher"]),
            advertiser(&gateway, "adv"),
            gateway.service(),
            gateway.shopper("pub"),
            gateway.anonymous(),
        ] {
            assert!(!asks(&client, query, id).await, "{query}");
        }
    }
    let another = gateway.user("another", &["publisher"]);
    let explain = "query($site: String!) { explainAds(site: $site, zone: \"top\") { score } }";
    assert_eq!(another.field(explain, json!({ "site": SITE })).await, Value::Null);
    assert_eq!(
        another.field("{ myAdZones { nodes { id } } }", json!({})).await["nodes"],
        json!([])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_ad_tells_nothing_of_bids_and_visitors() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    launch(&gateway, plan(&gateway, &["top"])).await;
    let ad = serve(&gateway, "top", json!({ "visitor": "the-visitor" })).await.remove(0);
    let profile = gateway.app.ids().derived(&["adVisitor", "the-visitor"]);
    let told = ad.to_string();
    assert!(!told.contains("the-visitor") && !told.contains(&profile), "{told}");
}
