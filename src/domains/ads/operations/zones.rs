//! Zones: their creation, their reads for publishers, and the copies in memory from which ads are served.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use super::{
    super::{
        documents::{ZoneAd, ZoneDocument, zone_key},
        store::zones::{self, zones},
        types::{AdZone, CreateAdZoneInput, CreateAdZoneResult},
    },
    is_own,
};
use crate::{
    graphql::{page::page_of, prelude::*},
    locks::lock,
    mongo::Version,
};

/// Number of ads that the copies in memory hold together.
const KEPT: usize = 20_000;

/// Creates a zone. A repeat returns it.
pub async fn create_ad_zone(cx: Cx<'_>, input: CreateAdZoneInput) -> Answer<CreateAdZoneResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?.into_inner());
    let CreateAdZoneInput { site, name, currency } = input;
    let zone = ZoneDocument {
        id: zone_key(&site, &name),
        site_id: site,
        zone_id: name,
        publisher: subject.to_owned(),
        currency,
        ads: Vec::new(),
        marks: Vec::new(),
        revision: 0,
        at: cx.begin().await?.now(),
        v: Version,
    };
    let zone = zones(&cx).insert_once(zone).await?;
    if zone.publisher != subject || zone.currency != currency {
        let name = format!("{}/{}", zone.site_id, zone.zone_id);
        return Err(AlreadyExists::new("zone", name).into());
    }
    Ok(zone)
}

/// A zone, for its publisher.
pub async fn ad_zone(cx: Cx<'_>, id: &str) -> Result<Option<ZoneDocument>> {
    let Ok(id) = input::id(NodeKind::AD_ZONE, id) else { return Ok(None) };
    let found = zones(&cx).get(&id).await?;
    Ok(found.filter(|zone| is_own(cx, &zone.publisher, Role::Publisher)))
}

/// The zones of the caller.
pub async fn my_ad_zones(cx: Cx<'_>, paging: Paging) -> Result<Connection<AdZone>> {
    let subject = cx.requester.subject()?;
    let order = Order { list: format!("myAdZones:{subject}"), keys: vec![("_id", 1)] };
    let values = |zone: &ZoneDocument| vec![(&zone.id).into()];
    page_of(&cx, order, paging, ("publisher", subject.into()), values, AdZone::from).await
}

/// A zone as it was read, and its ads by keyword.
pub(in super::super) struct Zone {
    pub(in super::super) document: ZoneDocument,
    /// Positions of the ads with a keyword.
    pub(super) by_keyword: HashMap<String, Vec<usize>>,
}

impl Zone {
    fn new(document: ZoneDocument) -> Self {
        let mut by_keyword: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, ad) in document.ads.iter().enumerate() {
            for keyword in &ad.keywords {
                by_keyword.entry(keyword.clone()).or_default().push(position);
            }
        }
        Self { document, by_keyword }
    }

    /// The ad at a position, which the zone has.
    pub(in super::super) fn ad(&self, position: usize) -> &ZoneAd {
        &self.document.ads[position]
    }
}

/// Zones as they were read last, by `_id`.
#[derive(Default)]
struct Kept(Mutex<HashMap<String, Arc<Zone>>>);

impl Kept {
    /// The copy of this revision.
    fn find(&self, id: &str, revision: i64) -> Option<Arc<Zone>> {
        let zones = lock(&self.0);
        zones.get(id).filter(|zone| zone.document.revision == revision).map(Arc::clone)
    }

    fn put(&self, zone: &Arc<Zone>) {
        let mut zones = lock(&self.0);
        zones.insert(zone.document.id.clone(), Arc::clone(zone));
        // Rare: a gateway with so many zones reads some of them again.
        if zones.values().map(|zone| zone.document.ads.len() + 1).sum::<usize>() > KEPT {
            zones.clear();
        }
    }
}

/// A zone as it is now. Its number of changes is read each time, and the whole document only after a change.
pub(super) async fn current(app: &App, id: &str) -> Result<Option<Arc<Zone>>> {
    let Some(revision) = zones::revision(app, id).await? else { return Ok(None) };
    let kept = app.shared::<Kept>();
    if let Some(zone) = kept.find(id, revision) {
        return Ok(Some(zone));
    }
    let Some(document) = zones(app).get(id).await? else { return Ok(None) };
    let zone = Arc::new(Zone::new(document));
    kept.put(&zone);
    Ok(Some(zone))
}
