//! Removes sold reservations from the stock document in lots: one write removes those of many carts. A SKU that is
//! seldom sold has no full lots. Its reservations are left to the sweep of carts.

use std::{collections::HashMap, sync::Mutex};

use super::super::store;
use crate::{app::App, error::Error, flow::Attempt, join::join_all, locks::lock, mongo::unhurried};

/// Number of reservations of one SKU that are forgotten by one write.
const LOT: usize = 16;

/// Number of SKUs from which on old lots are dropped.
const MANY: usize = 1_024;

/// Forgets the holder's reservations of these SKUs, each with the lot to which it belongs. The caller has sold all of
/// them, and knows that nothing can be sold out of them any more. The attempt is the one that sold them: after its
/// deadline a sweep could be selling, so nothing is forgotten any more (`forget-deadline` in `tests/models`).
///
/// # Errors
/// The outcome is unknown. What isn't forgotten is left to the sweep.
pub async fn forget_sold(
    app: &App,
    holder: &str,
    skus: impl Iterator<Item = &str>,
    attempt: &Attempt,
) -> Result<(), Error> {
    let lots = app.shared::<Mutex<Lots>>();
    let full: Vec<_> = {
        let mut lots = lock(&lots);
        skus.filter_map(|sku| Some((sku, lots.add(sku, holder, attempt)?))).collect()
    };
    let forget = |(sku, Lot { holders, oldest })| async move {
        store::forget_empty(app, sku, holders).within(&oldest).held().await
    };
    let forgotten = unhurried(join_all(full.into_iter().map(forget))).await;
    forgotten.into_iter().try_for_each(|in_time| in_time.map(drop))
}

/// The reservations that can be forgotten, by SKU.
#[derive(Default)]
struct Lots {
    by_sku: HashMap<String, Lot>,
    /// Number of SKUs at which old lots are dropped next.
    drop_at: usize,
}

/// Reservations of one SKU.
struct Lot {
    holders: Vec<String>,
    /// The attempt with the earliest deadline.
    oldest: Attempt,
}

impl Lots {
    /// Adds a reservation. Returns the lot if it is full. Of an attempt that is half over nothing is forgotten: its
    /// deadline could refuse the write, and with it others that are combined with it.
    fn add(&mut self, sku: &str, holder: &str, attempt: &Attempt) -> Option<Lot> {
        if attempt.is_half_over() {
            return None;
        }
        if self.by_sku.len() >= self.drop_at {
            self.by_sku.retain(|_, lot| !lot.oldest.is_half_over());
            self.drop_at = MANY.max(2 * self.by_sku.len());
        }
        let mut lot = match self.by_sku.remove(sku) {
            Some(lot) if !lot.oldest.is_half_over() => lot,
            _ => Lot { holders: Vec::new(), oldest: *attempt },
        };
        lot.holders.push(holder.to_owned());
        if attempt.deadline() < lot.oldest.deadline() {
            lot.oldest = *attempt;
        }
        if lot.holders.len() >= LOT {
            return Some(lot);
        }
        self.by_sku.insert(sku.to_owned(), lot);
        None
    }
}
