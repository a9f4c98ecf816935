//! What is offered at a screening: its plan, its prices and its beginning. None of it ever changes, and no screening is
//! removed. So each gateway keeps what it has read, and a hold doesn't read the screening, which grows with its holds.

use std::sync::Arc;

use quick_cache::sync::Cache;

use super::super::documents::Offer;
use crate::graphql::prelude::*;

/// Number of offers that a gateway keeps. One with the largest plan takes about 20 KiB.
const KEPT: usize = 500;

/// The offers that holds ask for, by `_id`.
struct Offers(Cache<String, Arc<Offer>>);

impl Default for Offers {
    fn default() -> Self {
        Self(Cache::new(KEPT))
    }
}

/// The part of a screening that doesn't change.
pub(in super::super) async fn offer(app: &App, id: &str) -> Result<Option<Arc<Offer>>> {
    let kept = app.shared::<Offers>();
    if let Some(offer) = kept.0.get(id) {
        return Ok(Some(offer));
    }
    let found: Option<Offer> = app.collection().get_settled(id).await?;
    let found = found.map(Arc::new);
    if let Some(offer) = &found {
        kept.0.insert(offer.id.clone(), Arc::clone(offer));
    }
    Ok(found)
}
