//! Ads as a team writes them by hand: the zone and the visitor's profile are read side by side, then the best ad that can
//! be charged is charged and noted, each by an update of its own. The documents are docgate's.

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use mongodb::{
    Collection, Database,
    bson::{DateTime, Document, doc},
    error::Result,
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Zone {
    ads: Vec<Ad>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ad {
    campaign: String,
    unit: i32,
    ecpm: i64,
    cost: i64,
    needed: i64,
    keywords: Vec<String>,
    creative: Creative,
    campaign_cap: Option<Cap>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Creative {
    headline: String,
    text: String,
}

#[derive(Clone, Deserialize)]
struct Cap {
    count: i64,
    seconds: i64,
}

#[derive(Default, Deserialize)]
struct Profile {
    impressions: Vec<Seen>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    campaign: String,
    campaign_until: DateTime,
}

#[derive(Deserialize)]
struct Asked {
    visitor: String,
    keywords: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Served {
    campaign: String,
    ad_unit: i32,
    creative: Creative,
}

#[derive(Clone)]
struct Ads {
    zones: Collection<Zone>,
    profiles: Collection<Profile>,
    campaigns: Collection<Document>,
}

impl Ads {
    async fn serve(&self, Asked { visitor, keywords }: Asked) -> Result<Option<Served>> {
        let profile = format!("bare {visitor}");
        let zone = self.zones.find_one(doc! { "_id": "bench~example:top" });
        let seen = self.profiles.find_one(doc! { "_id": &profile });
        let (zone, seen) = tokio::try_join!(async { zone.await }, async { seen.await })?;
        let (now, seen) = (DateTime::now(), seen.unwrap_or_default());
        for ad in ranked(zone.map(|zone| zone.ads).unwrap_or_default(), &keywords) {
            if is_capped(&ad, &seen, now) {
                continue;
            }
            if self.charge(&ad, now).await? {
                self.note(&profile, &ad, now).await?;
                let Ad { campaign, unit, creative, .. } = ad;
                return Ok(Some(Served { campaign, ad_unit: unit, creative }));
            }
        }
        Ok(None)
    }

    async fn charge(&self, ad: &Ad, now: DateTime) -> Result<bool> {
        let guard = doc! {
            "_id": &ad.campaign, "state": "RUNNING",
            "startsAt": { "$lte": now }, "endsAt": { "$gt": now },
            "$expr": { "$lte": [{ "$add": ["$total.spent", ad.needed] }, "$budget.total"] },
        };
        let added = doc! { "$inc": {
            "total.impressions": 1_i64, "total.spent": ad.cost,
            "today.counts.impressions": 1_i64, "today.counts.spent": ad.cost,
        } };
        Ok(self.campaigns.update_one(guard, added).await?.matched_count == 1)
    }

    async fn note(&self, profile: &str, ad: &Ad, now: DateTime) -> Result<()> {
        let seconds = ad.campaign_cap.as_ref().map_or(0, |cap| cap.seconds);
        let until = DateTime::from_millis(now.timestamp_millis() + 1_000 * seconds);
        let seen = doc! { "campaign": &ad.campaign, "unit": ad.unit, "campaignUntil": until };
        let pushed = doc! { "$each": [seen], "$position": 0, "$slice": 500 };
        let update = doc! {
            "$push": { "impressions": pushed }, "$max": { "keptUntil": until }, "$setOnInsert": { "v": 1 },
        };
        self.profiles.update_one(doc! { "_id": profile }, update).upsert(true).await?;
        Ok(())
    }
}

fn ranked(mut ads: Vec<Ad>, keywords: &[String]) -> Vec<Ad> {
    let score = |ad: &Ad| {
        let matching = ad.keywords.iter().filter(|keyword| keywords.contains(keyword)).count();
        ad.ecpm as f64 * (1.1 + matching as f64).ln()
    };
    ads.sort_by(|one, other| score(other).total_cmp(&score(one)));
    ads
}

fn is_capped(ad: &Ad, profile: &Profile, now: DateTime) -> bool {
    let Some(cap) = &ad.campaign_cap else { return false };
    let counts = |seen: &&Seen| seen.campaign == ad.campaign && seen.campaign_until > now;
    profile.impressions.iter().filter(counts).count() as i64 >= cap.count
}

async fn serve(
    State(ads): State<Ads>,
    Json(asked): Json<Asked>,
) -> std::result::Result<Json<Option<Served>>, StatusCode> {
    // In a task of its own, as the other handlers' calls.
    match tokio::spawn(async move { ads.serve(asked).await }).await {
        Ok(Ok(served)) => Ok(Json(served)),
        _ => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// `POST /ads`.
pub fn routes(database: &Database) -> Router {
    let ads = Ads {
        zones: database.collection("adZones"),
        profiles: database.collection("adProfiles"),
        campaigns: database.collection("campaigns"),
    };
    Router::new().route("/ads", post(serve)).with_state(ads)
}
