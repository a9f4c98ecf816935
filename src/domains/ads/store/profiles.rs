//! What is remembered of visitors.

use super::super::documents::{Cap, ProfileDocument, SEEN, ZoneAd};
use crate::{app::App, error::Result, flow::Change, mongo::prelude::*};

pub(in super::super) fn profiles(app: &App) -> Collection<ProfileDocument> {
    app.collection()
}

/// Which frequency cap has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Capped {
    /// That of the campaign.
    Campaign,
    /// That of the ad unit.
    Unit,
}

/// Adds an impression of an ad to a profile, once, if no frequency cap has been reached.
pub(in super::super) fn note(
    app: &App,
    profile: &str,
    impression: &str,
    ad: &ZoneAd,
) -> Guarded<ProfileDocument> {
    let until = |cap: Option<&Cap>| {
        let length = cap.map_or(0, |cap| cap.seconds.saturating_mul(1_000));
        doc! { "$add": ["$$NOW", length] }
    };
    let (campaign, unit) = (until(ad.campaign_cap.as_ref()), until(ad.unit_cap.as_ref()));
    let seen = whole(doc! {
        "id": literal(impression), "campaign": literal(ad.campaign.as_str()), "unit": ad.unit,
        "campaignUntil": campaign.clone(), "unitUntil": unit.clone(),
    });
    let is_needed = |field: &str| doc! { "$gt": [format!("$$this.{field}"), "$$NOW"] };
    let needed = doc! { "$or": [is_needed("campaignUntil"), is_needed("unitUntil")] };
    let all = doc! { "$concatArrays": [[seen], filter("$impressions", needed)] };
    let set = doc! {
        "impressions": { "$slice": [all, SEEN] },
        "keptUntil": { "$max": ["$keptUntil", campaign, unit] },
    };
    let is_new = contains("impressions.id", impression).negated();
    let rules = caps(ad).into_iter().map(|(condition, _)| condition).chain([is_new]);
    let change = Change::ruled(profile, rules.map(|condition| (condition, ())), set);
    let noted = doc! { "_id": profile, "impressions.id": impression };
    profiles(app).change(change).applied_if(noted)
}

/// The frequency cap of an ad that has been reached, by the fields of a profile.
pub(in super::super) fn reached(profile: &Document, ad: &ZoneAd, now: DateTime) -> Option<Capped> {
    let broken = caps(ad).into_iter().find(|(condition, _)| !condition.holds(profile, now));
    broken.map(|(_, capped)| capped)
}

/// The frequency caps of an ad as rules.
fn caps(ad: &ZoneAd) -> Vec<(Condition, Capped)> {
    let fits = |cap: &Cap, of: Vec<Condition>| {
        let seen = Number::Count("impressions".into(), Box::new(Condition::All(of)));
        at_least(cap.count - 1, seen)
    };
    let is_of = is("campaign", ad.campaign.as_str());
    let campaign = ad.campaign_cap.as_ref().map(|cap| {
        let counted = vec![is_of.clone(), is_past("campaignUntil").negated()];
        (fits(cap, counted), Capped::Campaign)
    });
    let unit = ad.unit_cap.as_ref().map(|cap| {
        let counted = vec![is_of.clone(), is("unit", ad.unit), is_past("unitUntil").negated()];
        (fits(cap, counted), Capped::Unit)
    });
    campaign.into_iter().chain(unit).collect()
}

/// Removes an impression that wasn't served.
pub(in super::super) fn forget(
    app: &App,
    profile: &str,
    impression: &str,
) -> Guarded<ProfileDocument> {
    let set = doc! { "impressions": without("$impressions", "id", impression) };
    profiles(app).change(Change::ruled(
        profile,
        [(contains("impressions.id", impression), ())],
        set,
    ))
}

/// Removes the profiles that no cap needs any more.
pub(in super::super) async fn remove_old(app: &App, before: DateTime) -> Result<u64> {
    profiles(app).remove_many(doc! { "keptUntil": { "$lt": before } }).await
}
