//! Invariants of carts and of the stock that is reserved for them, for `docgate check`.

use std::collections::{HashMap, HashSet};

use super::{
    MAX_LINES, MAX_QUANTITY,
    documents::{CartDocument, CartState},
    order_of_holder, store, vouchers,
};
use crate::{
    app::App,
    domains::{
        baskets::Basket as _,
        inventory::{self, Reservation},
    },
    error::Result,
    invariants::Report,
};

/// Reserved quantity per cart and SKU.
type Reserved = HashMap<(String, String), i64>;

/// Checks that lines are valid and that reservations agree with them.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut reserved = Reserved::new();
    inventory::operations::for_each(app, |stock| {
        let of_carts = |entry: &Reservation| order_of_holder(&entry.holder).is_none();
        for entry in stock.reservations.into_iter().filter(of_carts) {
            reserved.insert((entry.holder, stock.sku.clone()), entry.quantity);
        }
    })
    .await?;
    let (mut unsound, mut unequal) = (Vec::new(), Vec::new());
    store::for_each(app, |cart| {
        unsound.extend(unsound_lines(&cart));
        unequal.extend(unequal_reservations(&cart, &mut reserved));
    })
    .await?;
    let left = reserved.into_iter().filter(|(_, quantity)| *quantity != 0);
    unequal.extend(left.map(|((cart, sku), quantity)| {
        format!("{quantity} of {sku:?} are reserved for {cart:?}, which has no such line")
    }));

    let rule = "carts: one line per SKU, 0 <= held <= quantity, all within the bounds";
    report.add(rule, unsound);
    let rule = "carts: the stock reserves what active carts hold; closed carts hold nothing";
    report.add(rule, unequal);
    vouchers::invariants::check(app, report).await
}

fn unsound_lines(cart: &CartDocument) -> Vec<String> {
    let mut skus = HashSet::new();
    let mut broken = Vec::new();
    for line in &cart.lines {
        let sound = skus.insert(&line.sku)
            && (1..=MAX_QUANTITY).contains(&line.quantity)
            && (0..=line.quantity).contains(&line.reserved)
            && line.unit_price >= 0;
        if !sound {
            broken.push(format!("cart {:?} has the line {line:?}", cart.id));
        }
    }
    if cart.lines.len() > MAX_LINES {
        broken.push(format!("cart {:?} has {} lines", cart.id, cart.lines.len()));
    }
    broken
}

/// Removes the cart's entries from `reserved`, and returns those that differ from what they should be. A cart
/// in an intermediate state is part of a running flow and isn't judged.
fn unequal_reservations(cart: &CartDocument, reserved: &mut Reserved) -> Vec<String> {
    let mut due: HashMap<&str, i64> = HashMap::new();
    let is_active = cart.state == CartState::Active;
    for line in &cart.lines {
        due.insert(&line.sku, if is_active { line.reserved } else { 0 });
    }
    for entry in &cart.outbox {
        *due.entry(&entry.sku).or_default() += entry.quantity;
    }
    let mut broken = Vec::new();
    for (sku, due) in due {
        let found = reserved.remove(&(cart.id.clone(), sku.to_owned())).unwrap_or_default();
        if (is_active || cart.state().is_final()) && found != due {
            let CartDocument { id, state, .. } = cart;
            broken.push(format!("{state} cart {id:?} holds {found} of {sku:?}, not {due}"));
        }
    }
    broken
}
