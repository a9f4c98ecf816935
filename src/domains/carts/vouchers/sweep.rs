//! The sweep of vouchers releases reservations whose checkout didn't decide. It drops marks that no repeat needs any
//! more.
//!
//! The sweep of orders runs before this one. If it could not finish a checkout, the reservation of that checkout stays.
//! A cart that is COMPLETE although its voucher is still reserved was completed by a gateway of a version without
//! vouchers; its reservation is spent here.

use super::{
    documents::{MarkState, Uses, VoucherMark},
    store,
};
use crate::{
    domains::{
        baskets::Basket as _,
        carts::{
            documents::{CartDocument, CartState},
            store::{self as cart_store, carts},
        },
    },
    flow::Sweep,
    graphql::prelude::*,
    mongo::prelude::{Collection, DateTime},
};

/// Number of untried documents that one command reads.
const BATCH: i64 = 100;

pub(in super::super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    for collection in store::COUNTED {
        let all = &store::uses(app, collection);
        // Marks that nothing is done about stay at the front.
        let by = ("marks.at", "marks_at");
        let list = |from, limit| all.list_elements_between(by, from, before, limit);
        let settle = |uses: Uses| async move { settle(app, all, &uses, before).await };
        sweep.each_page(collection, BATCH, list, settle).await;
    }
}

/// Returns whether anything was done.
async fn settle(app: &App, all: &Collection<Uses>, uses: &Uses, before: DateTime) -> Result<bool> {
    let mut done = false;
    let is_old = |mark: &&VoucherMark| mark.at < before;
    for mark in uses.marks.iter().filter(is_old) {
        match mark.state {
            MarkState::Reserved => done |= end_reservation(app, all, &uses.id, mark).await?,
            MarkState::Spent => done = true,
            // The order has to retire its entry first.
            MarkState::Returned => {}
        }
    }
    if done {
        store::drop_spent(all, &uses.id, before).held().await?;
    }
    Ok(done)
}

/// Ends a reservation whose attempt has ended. Returns whether it did.
async fn end_reservation(
    app: &App,
    all: &Collection<Uses>,
    id: &str,
    mark: &VoucherMark,
) -> Result<bool> {
    let VoucherMark { tag, amount, .. } = mark;
    let cart_id = mark.cart.as_deref().unwrap_or_default();
    let cart = carts(app).get_settled(cart_id).await?;
    let is_own = |cart: &CartDocument| {
        let own = cart.checkout.as_ref().map(CartDocument::terms);
        own.is_some_and(|own| own.reserves_under() == tag)
    };
    match cart.filter(is_own).map(|cart| cart.state) {
        Some(CartState::Complete) => {
            let attempt = app.begin().await?;
            let spending = store::spending(id, tag, *amount);
            all.write(&spending, &attempt).await.map(|_| true)
        }
        // Its checkout is finished or undone by the sweep of orders.
        Some(CartState::Pending | CartState::Voiding | CartState::Paid) => Ok(false),
        _ if !carts(app).abort(cart_id, tag, cart_store::bounds(app)).await? => Ok(false),
        _ => {
            let releasing = store::releasing(id, tag, *amount);
            all.change(releasing).held().await
        }
    }
}
