//! MongoDB access of zones and of the copies of ads in them.

use super::super::documents::{CampaignDocument, ZoneDocument, ZoneHead};
use crate::{flow::Bounds, graphql::prelude::*, mongo::prelude::*};

pub(in super::super) fn zones(app: &App) -> Collection<ZoneDocument> {
    app.collection()
}

/// The number of changes of a zone.
pub(in super::super) async fn revision(app: &App, id: &str) -> Result<Option<i64>> {
    let heads: Collection<ZoneHead> = app.collection();
    Ok(heads.get(id).await?.map(|head| head.revision))
}

/// The places of a zone.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Places {
    /// Maximum number of ads.
    pub(in super::super) all: i64,
    /// Maximum number of ads of one advertiser.
    pub(in super::super) each: i64,
}

/// Why a campaign doesn't enter a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum NotEntered {
    /// The zone shows this version of the campaign, or a later one.
    Already,
    /// There is no room for its ads.
    Full,
}

/// Puts the ads of a campaign into a zone, in place of those of a lower version. The first entry needs places.
pub(in super::super) fn enter(
    campaign: &CampaignDocument,
    zone: &str,
    places: Option<Places>,
    bounds: Bounds,
) -> Change<NotEntered> {
    let CampaignDocument { id, advertiser, .. } = campaign;
    let ads = campaign.ads();
    let mut rules = vec![(is_behind(campaign), NotEntered::Already)];
    if let Some(Places { all, each }) = places {
        let others = is("campaign", id.as_str()).negated();
        let own = Condition::All(vec![is("advertiser", advertiser.as_str()), others.clone()]);
        let fits = |places: i64, taken: Condition| {
            at_least(places - count(ads.len()), Number::Count("ads".into(), Box::new(taken)))
        };
        rules.push((fits(all, others), NotEntered::Full));
        rules.push((fits(each, own), NotEntered::Full));
    }
    let ads: Vec<Bson> = ads.iter().map(|ad| literal(stored(ad))).collect();
    let ads = append(without("$ads", "campaign", id.as_str()), ads);
    let set = doc! {
        "ads": { "$sortArray": { "input": ads, "sortBy": { "ecpm": -1 } } },
        "marks": needed_marks(bounds),
        "revision": { "$add": ["$revision", 1_i64] },
    };
    Change::ruled(zone, rules, set)
}

/// Takes the ads of a campaign out of a zone. The mark refuses an entry of a lower version that comes late.
pub(in super::super) fn leave(
    campaign: &CampaignDocument,
    zone: &str,
    bounds: Bounds,
) -> Change<NotEntered> {
    let CampaignDocument { id, version, .. } = campaign;
    let mark = whole(doc! { "campaign": literal(id.as_str()), "version": *version, "at": "$$NOW" });
    let set = doc! {
        "ads": without("$ads", "campaign", id.as_str()),
        "marks": append(without(needed_marks(bounds), "campaign", id.as_str()), vec![mark]),
        "revision": { "$add": ["$revision", 1_i64] },
    };
    Change::ruled(zone, [(is_behind(campaign), NotEntered::Already)], set)
}

/// The zone shows neither this version of the campaign nor a later one.
fn is_behind(campaign: &CampaignDocument) -> Condition {
    let shown = |array: &str| {
        let of = is("campaign", campaign.id.as_str());
        has_element(array, [of, at_least("version", campaign.version)])
    };
    Condition::Any(vec![shown("ads"), shown("marks")]).negated()
}

/// The marks whose campaigns may still have a write of a lower version under way.
fn needed_marks(bounds: Bounds) -> Bson {
    let since = doc! { "$subtract": ["$$NOW", millis(bounds.two_grace_periods())] };
    filter("$marks", doc! { "$gt": ["$$this.at", since] })
}
