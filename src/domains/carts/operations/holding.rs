//! A cart as a basket: its outbox, and the return of its reserved stock when the cart is closed or checked out.

use super::super::{
    MAX_CHANGES,
    documents::{CartDocument, CartState, Checkout, total},
    store,
    types::CartNotActive,
};
use crate::{
    config::Config,
    domains::{
        baskets::{self, basket},
        inventory::operations::{self as inventory, Destination, Holder},
    },
    graphql::prelude::*,
    mongo::prelude::Document,
};

/// Maximum number of times that a closed cart's reservations are read again because they changed.
const ROUNDS: usize = 10;

basket! {
    "cart" CART = CartDocument(CartState, Checkout), CartNotActive, MAX_CHANGES;

    // Gateways of versions before it would finish a checkout of a cart that is stored as PAID otherwise, under another tag;
    // they don't look for this state.
    const DECIDED: &'static str = "DECIDED";
    const CHECKOUTS: &'static str = "attempts";

    fn total(&self) -> i64 {
        total(&self.lines) - self.discount() + self.charges()
    }

    fn as_read(&self) -> Document {
        store::as_read(self)
    }

    fn idle_seconds(config: &Config) -> u64 {
        config.cart_idle_seconds
    }

    /// An apply may be repeated only within the length of one attempt after the entry was read.
    async fn carry_out_outbox(&self, app: &App, attempt: &Attempt) -> Result<()> {
        for due in &self.outbox {
            let holder = Holder { app, name: &self.id, tag: &due.tag, attempt };
            holder.apply(&due.sku, due.quantity, Destination::Available).await?;
            // A refusal means that another attempt settled it.
            baskets::settle::<Self>(app, &self.id, &due.tag).held().await?;
        }
        Ok(())
    }

    /// The outbox is applied first; what an entry holds afterwards is then exactly what has to be returned.
    async fn give_back(&self, app: &App, attempt: &Attempt) -> Result<()> {
        self.carry_out_outbox(app, attempt).await?;
        return_everything(app, self).await
    }
}

/// Removes the stock entries of a cart that is checked out. All of its lines were sold, so usually the
/// entries are empty and are dropped. If an entry holds more, the rest is returned.
pub async fn release_after_checkout(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<()> {
    let skus: Vec<&str> = cart.lines.iter().map(|line| line.sku.as_str()).collect();
    if inventory::forget_each(app, &skus, &cart.id, attempt).await? {
        return Ok(());
    }
    return_everything(app, cart).await
}

/// Returns everything that a cart still holds. Its state must forbid further commits, and its outbox must be
/// empty. Each entry is returned as it was read, so that a late command of this attempt can't change what
/// came after it. A reserve of a SKU that is in neither lines nor outbox was never committed; the sweep returns it.
async fn return_everything(app: &App, cart: &CartDocument) -> Result<()> {
    let skus = cart.skus();
    for _ in 0..ROUNDS {
        let mut entries = inventory::reservations_of(app, &cart.id, &skus).await?;
        entries.retain(|(_, entry)| entry.is_in_use());
        if entries.is_empty() {
            return Ok(());
        }
        for (sku, entry) in &entries {
            inventory::return_surplus(app, sku, entry, entry.quantity).await?;
        }
    }
    Err(Error::unavailable("the reservations of the closed cart keep changing"))
}
