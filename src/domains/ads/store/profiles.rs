//! MongoDB access of the profiles of visitors, which frequency caps need.

use super::super::documents::{
    Cap, ProfileDocument, ProfileView, SEEN, Seen, SeenView, StoredProfile, ZoneAd,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

pub(in super::super) fn profiles(app: &App) -> Collection<ProfileDocument> {
    app.collection()
}

/// The profile with this `_id`.
pub(in super::super) async fn find(app: &App, id: &str) -> Result<Option<StoredProfile>> {
    app.collection::<StoredProfile>().get(id).await
}

/// How long a new profile is kept, in milliseconds. The impressions in it prolong that.
const KEPT: i64 = 3_600_000;
/// How much longer the first impression of a profile counts, in milliseconds. Its times are computed from the remembered
/// time of the server, which is behind the server's clock by the time that a reply took.
const LAG: i64 = 1_000;

/// A new profile with its first impression. Any cap permits one.
pub(in super::super) fn with_first(
    profile: &str,
    impression: &str,
    ad: &ZoneAd,
    now: DateTime,
) -> ProfileDocument {
    let after = |length: i64| DateTime::from_millis(now.timestamp_millis().saturating_add(length));
    let until = |cap: Option<&Cap>| {
        after(cap.map_or(0, |cap| cap.seconds.saturating_mul(1_000).saturating_add(LAG)))
    };
    let seen = Seen {
        id: impression.to_owned(),
        campaign: ad.campaign.clone(),
        unit: ad.unit,
        campaign_until: until(ad.campaign_cap.as_ref()),
        unit_until: until(ad.unit_cap.as_ref()),
    };
    let kept_until = after(KEPT).max(seen.campaign_until).max(seen.unit_until);
    ProfileDocument { id: profile.to_owned(), impressions: vec![seen], kept_until, v: Version }
}

/// Why a visitor doesn't get an ad with a frequency cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Capped {
    /// The cap of the campaign has been reached.
    Campaign,
    /// That of the ad unit has been reached.
    Unit,
    /// The profile has no room for the impression: caps need all that it remembers.
    Full,
}

/// Adds an impression of an ad to a profile, once, if no frequency cap has been reached, and the profile has room.
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
    let set = doc! {
        "impressions": { "$concatArrays": [[seen], filter("$impressions", needed)] },
        "keptUntil": { "$max": ["$keptUntil", campaign, unit] },
    };
    let is_new = contains("impressions.id", impression).negated();
    let rules = caps(ad).into_iter().map(|(condition, _)| condition).chain([is_new]);
    let change = Change::ruled(profile, rules.map(|condition| (condition, ())), set);
    let noted = doc! { "_id": profile, "impressions.id": impression };
    profiles(app).change(change).applied_if(noted)
}

/// Why the visitor doesn't get an ad: the first of [`caps`] that doesn't hold. The choice asks for each candidate, so it
/// counts in place.
pub(in super::super) fn reached(
    profile: &ProfileView<'_>,
    ad: &ZoneAd,
    now: DateTime,
) -> Option<Capped> {
    let is_full = |cap: Option<&Cap>, counts: &dyn Fn(&&SeenView<'_>) -> bool| {
        let of = |seen: &&SeenView<'_>| seen.campaign == ad.campaign;
        let seen = || count(profile.impressions.iter().filter(of).filter(counts).count());
        cap.is_some_and(|cap| seen() >= cap.count)
    };
    if is_full(ad.campaign_cap.as_ref(), &|seen| seen.campaign_until > now) {
        Some(Capped::Campaign)
    } else if is_full(ad.unit_cap.as_ref(), &|seen| seen.unit == ad.unit && seen.unit_until > now) {
        Some(Capped::Unit)
    } else if ad.has_cap() && is_remembered(profile, now) {
        Some(Capped::Full)
    } else {
        None
    }
}

/// Whether a profile remembers as many impressions as it can, and caps need all of them.
fn is_remembered(profile: &ProfileView<'_>, now: DateTime) -> bool {
    let is_needed = |seen: &&SeenView<'_>| seen.campaign_until > now || seen.unit_until > now;
    let seen = &profile.impressions;
    // Few profiles have so many that they need be counted.
    count(seen.len()) >= SEEN && count(seen.iter().filter(is_needed).count()) >= SEEN
}

/// The frequency caps of an ad as rules, and the rule that the profile has room.
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
    let room = ad.has_cap().then(|| {
        let is_needed = |until: &str| is_past(until).negated();
        let needed = Condition::Any(vec![is_needed("campaignUntil"), is_needed("unitUntil")]);
        let seen = Number::Count("impressions".into(), Box::new(needed));
        (at_least(SEEN - 1, seen), Capped::Full)
    });
    campaign.into_iter().chain(unit).chain(room).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domains::ads::documents::Creative, mongo::lazy_document::Viewed};

    fn at(millis: i64) -> DateTime {
        DateTime::from_millis(millis)
    }

    fn cap(count: i64) -> Option<Cap> {
        (count > 0).then_some(Cap { count, seconds: 1 })
    }

    fn ad(unit: i32, campaign_cap: Option<Cap>, unit_cap: Option<Cap>) -> ZoneAd {
        ZoneAd {
            campaign: "c".into(),
            advertiser: "a".into(),
            unit,
            version: 1,
            ecpm: 1,
            cost: 1,
            needed: 1,
            keywords: Vec::new(),
            creative: Creative { headline: "A".into(), text: String::new(), image: None },
            campaign_cap,
            unit_cap,
            starts_at: at(0),
            ends_at: at(1),
        }
    }

    fn seen(campaign: &str, unit: i32, campaign_until: i64, unit_until: i64) -> Seen {
        let (id, campaign) = ("i".into(), campaign.into());
        let (campaign_until, unit_until) = (at(campaign_until), at(unit_until));
        Seen { id, campaign, unit, campaign_until, unit_until }
    }

    #[test]
    fn caps_are_counted_as_their_guard_counts_them() {
        let impressions = vec![
            seen("c", 1, 101, 99),
            seen("c", 1, 100, 101),
            seen("c", 2, 99, 101),
            seen("c", 2, 101, 100),
            seen("d", 1, 101, 101),
        ];
        let (id, kept_until) = ("p".into(), at(0));
        let profile = ProfileDocument { id, impressions, kept_until, v: Version };
        let fields = stored_fields(&profile);
        let viewed: StoredProfile = Viewed::of(&profile).expect("a view");
        let mut found = Vec::new();
        for (campaign, unit) in (0..4).flat_map(|campaign| (0..4).map(move |unit| (campaign, unit)))
        {
            for number in 1..=3 {
                let ad = ad(number, cap(campaign), cap(unit));
                let now = at(100);
                let broken = caps(&ad).into_iter().find(|(rule, _)| !rule.holds(&fields, now));
                let expected = broken.map(|(_, capped)| capped);
                assert_eq!(reached(viewed.get(), &ad, now), expected, "{ad:?}");
                found.push(expected);
            }
        }
        assert!(
            [None, Some(Capped::Campaign), Some(Capped::Unit)].iter().all(|of| found.contains(of))
        );
    }

    #[test]
    fn a_profile_has_room_while_caps_need_fewer_impressions_than_it_can_remember() {
        let needed = |number: i64| (0..number).map(|_| seen("d", 1, 101, 0));
        for (number, others, is_full) in
            [(SEEN - 1, 0, false), (SEEN - 1, 1, false), (SEEN, 0, true)]
        {
            let others = (0..others).map(|_| seen("d", 1, 100, 100));
            let impressions = needed(number).chain(others).collect();
            let (id, kept_until) = ("p".into(), at(0));
            let profile = ProfileDocument { id, impressions, kept_until, v: Version };
            let fields = stored_fields(&profile);
            let viewed: StoredProfile = Viewed::of(&profile).expect("a view");
            for (campaign, unit) in [(1, 0), (0, 1), (0, 0)] {
                let (ad, now) = (ad(1, cap(campaign), cap(unit)), at(100));
                let expected = (is_full && campaign + unit > 0).then_some(Capped::Full);
                assert_eq!(reached(viewed.get(), &ad, now), expected, "{number} {ad:?}");
                let broken = caps(&ad).into_iter().find(|(rule, _)| !rule.holds(&fields, now));
                assert_eq!(broken.map(|(_, capped)| capped), expected, "{number} {ad:?}");
            }
        }
    }

    #[test]
    fn the_first_impression_of_a_profile_counts_a_little_longer() {
        let ad = ad(1, cap(1), None);
        let profile = with_first("p", "i", &ad, at(5_000));
        let viewed: StoredProfile = Viewed::of(&profile).expect("a view");
        assert_eq!(reached(viewed.get(), &ad, at(6_999)), Some(Capped::Campaign));
        assert_eq!(reached(viewed.get(), &ad, at(7_000)), None);
        assert_eq!(profile.kept_until, at(5_000 + KEPT));
    }
}
