//! Inputs of advertising, with their checks.

use super::{
    super::operations::{
        BIDS, BUDGETS, CAP_COUNTS, CAP_SECONDS, KEYWORDS, SERVED, TOKEN, UNITS, VISITOR, ZONES,
    },
    Pricing,
};
use crate::graphql::{
    declared::{at_least_one, each, valid},
    input as checks,
    prelude::*,
    scalars::DateTime,
};

input! {
    /// Input of `createAdZone`.
    pub struct CreateAdZoneInput {
        /// Site of the zone, such as `shop.example`, 1 to 60 characters: lower-case letters, digits, `-`, `_` and `.`,
        /// beginning with a letter or a digit.
        pub site: String where zone_name,
        /// Name of the zone within its site, such as `sidebar`, with the same characters.
        pub name: String where zone_name,
        /// Currency of the campaigns that can run in the zone.
        pub currency: CurrencyCode,
    }

    /// A zone of a site, by the two names with which it was created.
    pub struct AdZoneInput {
        /// Site of the zone.
        pub site: String where zone_name,
        /// Name of the zone within its site.
        pub name: String where zone_name,
    }

    /// What visitors see of an ad.
    pub struct AdCreativeInput {
        /// Headline, 1 to 100 characters on one line.
        pub headline: String where line(1..=100),
        /// Text below the headline, at most 300 characters.
        pub text: Option<String> where optional(text(0..=300)),
        /// Address of a picture: a URL of up to 2,000 characters that begins with `https://` or `http://`.
        pub image_url: Option<String> where optional(address),
    }

    /// One ad of a campaign: what visitors see, and where it is preferred.
    pub struct AdUnitInput {
        /// Keywords for which the ad is preferred, at most 20, each of 1 to 64 characters. Upper and lower case are the
        /// same.
        pub keywords: Option<Vec<String>> where optional(keywords),
        /// What visitors see.
        pub creative: AdCreativeInput where nested(),
    }

    /// How often a visitor may see an ad.
    pub struct FrequencyCapInput {
        /// Maximum number of impressions within the window, 1 to 100.
        pub count: i32 where within(CAP_COUNTS),
        /// Length of the window in seconds, 1 to 2,592,000 (30 days).
        pub seconds: i32 where within(CAP_SECONDS),
    }

    /// Input of `launchCampaign`.
    pub struct LaunchCampaignInput {
        /// Name of the campaign, 1 to 100 characters on one line.
        pub name: String where line(1..=100),
        /// Zones in which the campaign runs, 1 to 20, all of the campaign's currency.
        pub zones: Vec<AdZoneInput> where zones,
        /// What is paid for.
        pub pricing: Pricing,
        /// Bid in minor units: for a thousand impressions (`CPM`) or for a click (`CPC`), 1 to 1,000,000,000.
        pub bid: Long where within(BIDS),
        /// Currency of bid and budget.
        pub currency: CurrencyCode,
        /// What the campaign may spend in all, in minor units, 1 to 1,000,000,000,000. It pays for at least one impression or
        /// click.
        pub budget: Long where within(BUDGETS),
        /// What the campaign may spend on one day in UTC, in minor units, 1 to 1,000,000,000,000. It pays for at least one
        /// impression or click. Default: only the whole is bounded.
        pub daily_budget: Option<Long> where optional(within(BUDGETS)),
        /// Time from which on the ads are served, at most 366 days ahead. Default: now.
        pub starts_at: Option<DateTime>,
        /// Time at which the campaign ends, after now and at most 366 days after the start. Default: 30 days after the
        /// start, or after now if the start is in the past.
        pub ends_at: Option<DateTime>,
        /// Address to which a click leads: a URL of up to 2,000 characters that begins with `https://` or `http://`, without
        /// a user name or password.
        pub target_url: String where address,
        /// Ad units, 1 to 5. They have the numbers from 1 on.
        pub ad_units: Vec<AdUnitInput> where units,
        /// How often a visitor may see ads of the campaign. Default: it isn't bounded.
        pub frequency_cap: Option<FrequencyCapInput> where optional(valid),
        /// How often a visitor may see each ad unit. Default: it isn't bounded.
        pub ad_unit_frequency_cap: Option<FrequencyCapInput> where optional(valid),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the campaign of the first call. A launch
        /// that was refused can be tried again with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `pauseCampaign`.
    pub struct PauseCampaignInput {
        /// Global id of the campaign.
        pub campaign_id: ID where id(NodeKind::CAMPAIGN),
    }

    /// Input of `resumeCampaign`.
    pub struct ResumeCampaignInput {
        /// Global id of the campaign.
        pub campaign_id: ID where id(NodeKind::CAMPAIGN),
    }

    /// Input of `serveAds`.
    pub struct ServeAdsInput {
        /// Site of the zone.
        pub site: String where zone_name,
        /// Name of the zone within its site.
        pub zone: String where zone_name,
        /// Id of the visitor, such as the value of a cookie of the site, 1 to 128 characters. Frequency caps need it; without
        /// it none applies. It isn't stored, see docs/ADS.md.
        pub visitor: Option<String> where optional(visitor),
        /// Keywords of the page, at most 20, each of 1 to 64 characters. Upper and lower case are the same.
        pub keywords: Option<Vec<String>> where optional(keywords),
        /// Maximum number of ads, 1 to 10. Default: 1.
        pub count: Option<i32> where optional(within(SERVED)),
    }

    /// Input of `recordClick`.
    pub struct RecordClickInput {
        /// Token of the served ad.
        pub token: String where verbatim(TOKEN),
    }

    /// Input of `recordConversion`.
    pub struct RecordConversionInput {
        /// Token of the served ad.
        pub token: String where verbatim(TOKEN),
    }
}

/// Checks a part of the name of a zone.
fn zone_name(field: &str, name: &mut str) -> Result<(), InvalidInput> {
    /// Maximum length, so that a zone's key has a global id.
    const LONGEST: usize = 60;
    if name.len() > LONGEST || checks::plain_name(field, name).is_err() {
        let reason = "takes 1 to 60 lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or a digit";
        return Err(InvalidInput::new(field, reason));
    }
    Ok(())
}

/// Checks the id of a visitor.
fn visitor<T: AsRef<str>>(field: &str, visitor: &mut T) -> Result<(), InvalidInput> {
    checks::verbatim(field, visitor.as_ref(), VISITOR).map(|_| ())
}

/// Checks keywords, and normalises them: lower case, sorted, none twice.
fn keywords(field: &str, keywords: &mut Vec<String>) -> Result<(), InvalidInput> {
    checks::at_most(field, keywords, KEYWORDS)?;
    for (at, keyword) in keywords.iter_mut().enumerate() {
        *keyword = checks::folded(&checks::tag(&format!("{field}.{at}"), keyword)?);
    }
    keywords.sort();
    keywords.dedup();
    Ok(())
}

/// Checks an address, and normalises it as browsers do.
fn address(field: &str, value: &mut String) -> Result<(), InvalidInput> {
    let reason =
        "takes a URL that begins with `https://` or `http://`, without a user name or password";
    let given = checks::line(field, value, 1..=2_000)?;
    let url = reqwest::Url::parse(&given).ok().filter(|url| {
        let is_plain = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "https" | "http") && url.has_host() && is_plain
    });
    let url = url.filter(|url| url.as_str().len() <= 4_000);
    *value = url.ok_or_else(|| InvalidInput::new(field, reason))?.into();
    Ok(())
}

/// Checks the zones of a campaign: at least one, and none twice.
fn zones(field: &str, zones: &mut Vec<AdZoneInput>) -> Result<(), InvalidInput> {
    at_least_one(ZONES)(field, zones)?;
    each(ZONES, valid)(field, zones)?;
    for (at, zone) in zones.iter().enumerate() {
        let is_same = |other: &AdZoneInput| other.site == zone.site && other.name == zone.name;
        if zones.iter().take(at).any(is_same) {
            return Err(InvalidInput::new(&format!("{field}.{at}"), "is the same as another one"));
        }
    }
    Ok(())
}

/// Checks the ad units of a campaign.
fn units(field: &str, units: &mut Vec<AdUnitInput>) -> Result<(), InvalidInput> {
    at_least_one(UNITS)(field, units)?;
    each(UNITS, valid)(field, units)
}
