//! Choosing ads for a visitor, and charging for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{StoredProfile, ZoneAd, zone_key},
        store::{
            campaigns::{campaigns, charge},
            profiles,
        },
        types::{ServeAdsInput, ServeAdsResult, ServedAd, ServedAds},
    },
    rank::ranked,
    tokens::Token,
    zones::{Zone, current},
};
use crate::{
    graphql::prelude::*,
    join::join_all,
    locks::lock,
    mongo::{batched, unhurried},
};

/// How long a gateway doesn't try a campaign that couldn't be charged.
const REST: Duration = Duration::from_secs(1);
/// Number of campaigns that are remembered as resting.
const RESTING: usize = 10_000;
/// How far the clocks of gateways and of MongoDB may differ, in milliseconds. A campaign whose time hasn't come by more
/// than that isn't tried; the charge decides.
const SKEW: i64 = 5_000;

/// Campaigns that couldn't be charged of late, with their version. Trying them again would delay visitors. It is only a
/// hint: the charge decides.
#[derive(Default)]
struct Resting(Mutex<HashMap<String, (i64, Instant)>>);

impl Resting {
    fn contains(&self, ad: &ZoneAd) -> bool {
        let resting = lock(&self.0);
        let found = resting.get(&ad.campaign);
        found.is_some_and(|(version, since)| *version == ad.version && since.elapsed() < REST)
    }

    fn add(&self, ad: &ZoneAd) {
        let mut resting = lock(&self.0);
        if resting.len() >= RESTING {
            resting.clear();
        }
        resting.insert(ad.campaign.clone(), (ad.version, Instant::now()));
    }
}

/// The visitor of a call, with the profile as it was read.
pub(super) struct Visitor {
    id: String,
    found: Option<StoredProfile>,
}

impl Visitor {
    /// Reads the profile of a visitor.
    pub(super) async fn read(app: &App, visitor: Option<&str>) -> Result<Option<Self>> {
        let Some(visitor) = visitor else { return Ok(None) };
        // The visitor's id can't be computed from that of the profile.
        let id = app.ids().derived(&["adVisitor", visitor]);
        let found = profiles::find(app, &id).await?;
        Ok(Some(Self { id, found }))
    }

    /// Why the visitor doesn't get an ad with a frequency cap.
    pub(super) fn capped(&self, ad: &ZoneAd, now: DateTime) -> Option<profiles::Capped> {
        profiles::reached(self.found.as_ref()?.get(), ad, now)
    }

    /// Notes an impression, unless a cap has been reached or the profile has no room. Returns whether it did.
    async fn note(&self, app: &App, impression: &str, ad: &ZoneAd) -> Result<bool> {
        if self.found.is_none() {
            let now = app.begin().await?.now();
            let new = profiles::with_first(&self.id, impression, ad, now);
            // It is refused if another call was faster.
            if profiles::profiles(app).insert(&new).await.decided()?.is_some() {
                return Ok(true);
            }
        }
        profiles::note(app, &self.id, impression, ad).held().await
    }
}

/// Chooses ads for a visitor. Each of them is charged.
///
/// # Errors
/// `Uncounted` if no ad can be served, and some may have been charged.
pub async fn serve_ads(cx: Cx<'_>, input: ServeAdsInput) -> Answer<ServeAdsResult> {
    let input = input.checked()?.into_inner();
    let key = zone_key(&input.site, &input.zone);
    let read = async {
        tokio::try_join!(current(&cx, &key), Visitor::read(&cx, input.visitor.as_deref()))
    };
    let (zone, visitor) = batched(read).await?;
    let Some(zone) = zone else {
        let name = format!("{}/{}", input.site, input.zone);
        return Err(NotFound::new(NodeKind::AD_ZONE.name(), name).into());
    };
    let count = usize::try_from(input.count.unwrap_or(1)).unwrap_or(1);
    let keywords = input.keywords.unwrap_or_default();
    let (resting, now) = (cx.shared::<Resting>(), cx.clock());
    let is_open = |position: &usize| {
        let ad = zone.ad(*position);
        let is_capped = || visitor.as_ref().is_some_and(|of| of.capped(ad, now).is_some());
        is_about_due(ad, now) && !resting.contains(ad) && !is_capped()
    };
    let mut candidates =
        ranked(&zone, &keywords, seed(&cx)).map(|ranked| ranked.position).filter(is_open);
    let (mut ads, mut failed) = (Vec::new(), None);
    while ads.len() < count {
        let some: Vec<_> = candidates.by_ref().take(count - ads.len()).collect();
        if some.is_empty() {
            break;
        }
        let tries = some.into_iter().map(|at| deliver(&cx, &zone, at, visitor.as_ref(), &resting));
        for tried in batched(join_all(tries)).await {
            match tried {
                Ok(served) => ads.extend(served),
                Err(error) => failed = Some(error),
            }
        }
        // What is wrong with one charge is likely wrong with the next one.
        if failed.is_some() {
            break;
        }
    }
    match failed {
        Some(Error::Unavailable(source)) if ads.is_empty() => Err(Error::Uncounted(source).into()),
        Some(error) if ads.is_empty() => Err(error.into()),
        _ => Ok(ServedAds { ads }),
    }
}

/// The order in which ads that tie are tried, by chance.
pub(super) fn seed(app: &App) -> u64 {
    app.ids().random_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Whether the time of an ad may have come, and may not be over.
fn is_about_due(ad: &ZoneAd, now: DateTime) -> bool {
    let now = now.timestamp_millis();
    let (starts, ends) = (ad.starts_at.timestamp_millis(), ad.ends_at.timestamp_millis());
    (starts - SKEW..ends + SKEW).contains(&now)
}

/// Notes an impression in the profile if a cap needs it, and charges it. `None` if it can't be served.
async fn deliver(
    app: &App,
    zone: &Arc<Zone>,
    position: usize,
    visitor: Option<&Visitor>,
    resting: &Resting,
) -> Result<Option<ServedAd>> {
    let ad = zone.ad(position);
    let impression = app.ids().random();
    let visitor = visitor.filter(|_| ad.has_cap());
    if let Some(visitor) = visitor
        && !visitor.note(app, &impression, ad).await?
    {
        return Ok(None);
    }
    // Nothing in the campaign tells which impressions it has charged.
    let charge = campaigns(app).change(charge(&ad.campaign, ad.cost, ad.needed)).numbered();
    if !charge.held().await? {
        resting.add(ad);
        if let Some(Visitor { id, .. }) = visitor {
            forget(app, id.clone(), impression);
        }
        return Ok(None);
    }
    let expires_at = Token::expiry(app);
    let token = Token {
        impression,
        campaign: ad.campaign.clone(),
        unit: ad.unit,
        zone: zone.document.id.clone(),
        expires_at,
    };
    let (zone, token) = (Arc::clone(zone), token.issued(app));
    Ok(Some(ServedAd { zone, position, token, expires_at }))
}

/// Removes an impression that wasn't served from a profile, behind the answer.
fn forget(app: &App, profile: String, impression: String) {
    let own = app.clone();
    let forget = async move {
        profiles::forget(&own, &profile, &impression).held().await?;
        Ok(())
    };
    app.in_background("removing an impression that wasn't served", unhurried(forget));
}
