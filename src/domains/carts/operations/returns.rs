//! Return of reserved stock to the shelf.

use super::super::{documents::CartDocument, store};
use crate::{
    app::App,
    domains::inventory::{self, operations::Destination},
    error::Error,
    flow::Attempt,
};

/// Maximum number of times that a closed cart's reservations are read again because they changed.
const ROUNDS: usize = 10;

/// Applies and settles every outbox entry of the cart, which must have been read within `attempt`. An apply
/// may be repeated only within the length of one attempt after the entry was read.
///
/// # Errors
/// The outcome of an entry is unknown, or the attempt is over. The remaining entries stay in the outbox.
pub async fn carry_out_outbox(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<(), Error> {
    for due in &cart.outbox {
        let (sku, tag) = (&due.sku, &due.tag);
        let shelf = Destination::Available;
        inventory::operations::give(app, sku, &cart.id, tag, due.quantity, shelf, attempt).await?;
        // A refusal means that another attempt settled it.
        store::note_return(app, &cart.id, tag).await.decided()?;
    }
    Ok(())
}

/// Removes the stock entries of a cart that is checked out. All of its lines were sold, so usually the
/// entries are empty and are dropped. If an entry holds more, the rest is returned.
///
/// # Errors
/// An outcome is unknown, or the entries keep changing. The sweep continues.
pub async fn let_go(app: &App, cart: &CartDocument, attempt: &Attempt) -> Result<(), Error> {
    let skus: Vec<&str> = cart.lines.iter().map(|line| line.sku.as_str()).collect();
    if inventory::operations::forget_each(app, &skus, &cart.id, attempt).await? {
        return Ok(());
    }
    return_everything(app, &cart.id).await
}

/// Returns everything that a cart still holds. Its state must forbid further commits, and its outbox must be
/// empty. Each entry is returned as it was read, so that a late command of this attempt can't change what
/// came after it.
///
/// # Errors
/// The outcome of an entry is unknown, or the entries keep changing.
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
