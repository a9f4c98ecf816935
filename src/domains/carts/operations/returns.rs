//! Stock that goes back on the shelf.

use super::super::{documents::CartDocument, store};
use crate::{
    app::App,
    domains::inventory::{self, operations::Destination},
    error::Error,
    mongo::Run,
};

/// How often what a closed cart holds is read again, where it changed since.
const ROUNDS: usize = 10;

/// Gives and notes every outbox entry of the cart, which must have been read within `run`: a give
/// is repeatable only by whoever read the entry at most one run ago.
///
/// # Errors
/// The outcome of one is unknown, or the run is over: the rest is still due.
pub async fn carry_out_outbox(app: &App, cart: &CartDocument, run: &Run) -> Result<(), Error> {
    for due in &cart.outbox {
        let (sku, tag) = (&due.sku, &due.tag);
        let shelf = Destination::Available;
        inventory::operations::give(app, sku, &cart.id, tag, due.quantity, shelf, run).await?;
        // Refused: someone else noted it.
        store::note_return(app, &cart.id, tag).await.decided()?;
    }
    Ok(())
}

/// Lets go of the stock of a cart that is checked out. Of its lines everything was sold, so that there is
/// nothing to do but to forget; where more is held than that, it is returned.
///
/// # Errors
/// An outcome is unknown, or what is held keeps changing: the sweep goes on with it.
pub async fn let_go(app: &App, cart: &CartDocument, run: &Run) -> Result<(), Error> {
    let skus: Vec<&str> = cart.lines.iter().map(|line| line.sku.as_str()).collect();
    if inventory::operations::forget_each(app, &skus, &cart.id, run).await? {
        return Ok(());
    }
    return_everything(app, &cart.id).await
}

/// Returns all that a cart still holds whose state lets nothing be decided any more and whose
/// outbox is empty. Each entry is returned as it was read, so that a late command of ours can't
/// touch what came after it.
///
/// # Errors
/// The outcome of one is unknown, or they keep changing.
pub async fn return_everything(app: &App, cart_id: &str) -> Result<(), Error> {
    for _ in 0..ROUNDS {
        let mut entries = inventory::operations::reservations_of(app, cart_id).await?;
        entries.retain(|(_, entry)| entry.quantity > 0 || !entry.takes.is_empty());
        if entries.is_empty() {
            return Ok(());
        }
        for (sku, entry) in &entries {
            inventory::operations::return_surplus(app, sku, entry, entry.quantity).await?;
        }
    }
    Err(Error::unavailable("what a closed cart holds keeps changing"))
}
