//! Invariants of orders and checkouts, for `docgate check`.

mod charges;
mod fulfilment;
mod vouchers;

use std::{
    collections::{HashMap, HashSet},
    mem,
};

pub(super) use fulfilment::repair;
use vouchers::Vouchers;

use super::{
    documents::{OrderDocument, OrderState},
    store::orders,
};
use crate::{
    app::App,
    domains::{
        carts::{self, CartState, quotes::Charges},
        inventory::{self, Reservation},
        payments::{Books, of_seats},
    },
    error::Result,
    invariants::Report,
};

/// What the rules need to know of all orders.
#[derive(Default)]
struct Orders {
    /// The cart of each order.
    carts: HashMap<String, String>,
    /// Owner of each order that isn't deleted.
    owners: HashMap<String, Option<String>>,
    /// Quantity per SKU in the lines of placed orders.
    sold: HashMap<String, i64>,
    /// Faults within single orders.
    broken: Vec<String>,
    /// Number of each order that has one.
    numbers: HashMap<String, String>,
    /// Impossible charges of single orders.
    impossible: Vec<String>,
    /// Faults of their shipments and returns.
    unsound: Vec<String>,
    /// Holder names of the orders with a raise or an outbox entry.
    raising: HashSet<String>,
    /// Their payments.
    books: Books,
    /// What orders have of vouchers.
    vouchers: Vouchers,
}

/// Checks the orders against themselves, the carts, the stock and the payments.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut found = Orders::default();
    orders(app).for_each(|order| found.note(&order)).await?;
    let rule = "orders: the total is the sum of the lines, shipping and tax that isn't included, less the \
                discount, and what was paid less what was refunded";
    report.add(rule, found.broken.drain(..));
    report.add(charges::RULE, found.impossible.drain(..));
    report.add(fulfilment::RULE, found.unsound.drain(..));
    fulfilment::check_numbers(app, mem::take(&mut found.numbers), report).await?;
    check_carts(app, &found, report).await?;
    check_stock(app, &mut found, report).await?;
    mem::take(&mut found.vouchers).check(app, &found.carts, report).await?;
    let rule = "orders: what was paid and refunded is what the provider captured and refunded, \
                but for refunds that are due";
    found.books.check(app, |payment| of_seats(payment).is_none(), rule, report).await
}

impl Orders {
    fn note(&mut self, order: &OrderDocument) {
        self.carts.insert(order.id.clone(), order.cart_id.clone());
        if !order.deleted {
            self.owners.insert(order.id.clone(), order.owner.clone());
        }
        if !(order.raises.is_empty() && order.outbox.is_empty()) {
            self.raising.insert(carts::order_as_holder(&order.id));
        }
        if let Some(number) = &order.number
            && let Some(other) = self.numbers.insert(number.clone(), order.id.clone())
        {
            self.unsound.push(format!("orders {other} and {} have the number {number}", order.id));
        }
        self.unsound.extend(fulfilment::faults(order));
        let lines = &order.lines;
        let sum: i64 = lines.iter().map(|line| line.quantity * line.unit_price).sum();
        let kept: i64 = order.payments.iter().map(|own| own.amount - own.refunded).sum();
        let due = if order.state == OrderState::Placed { order.total } else { 0 };
        let off = order.taken_off();
        let added = order.charges.as_ref().map_or(0, Charges::total);
        if sum - off + added != order.total || kept != due || off < 0 {
            let (id, total) = (&order.id, order.total);
            let parts = format!(
                "total {total}, lines {sum}, shipping and added tax {added}, discount {off}, paid {kept}"
            );
            self.broken.push(format!("order {id}: {parts}"));
        }
        self.impossible.extend(charges::fault(order));
        self.vouchers.note(order);
        if order.state == OrderState::Placed {
            for line in lines {
                *self.sold.entry(line.sku.clone()).or_default() += line.quantity;
            }
        }
        self.note_payments(order);
    }

    fn note_payments(&mut self, order: &OrderDocument) {
        for payment in &order.payments {
            let refunds = order.refunds_due().filter(|(of, _)| *of == payment.id);
            let due: i64 = refunds.map(|(_, amount)| amount).sum();
            if due > payment.refunded {
                let (id, refunded) = (&order.id, payment.refunded);
                self.broken.push(format!("order {id}: {due} due of {refunded} to be refunded"));
            }
            self.books.note(&payment.id, payment.amount - payment.refunded, due);
        }
    }
}

/// Checks that completed carts and orders belong together one to one, with the same owner.
async fn check_carts(app: &App, orders: &Orders, report: &mut Report) -> Result<()> {
    report.rule(
        "orders: every completed cart has one order, and every order is of one cart with the same \
         owner",
    );
    let mut of_cart: HashMap<&str, &str> = HashMap::new();
    for (order, cart) in &orders.carts {
        if let Some(other) = of_cart.insert(cart, order) {
            report.broken(format!("cart {cart} has the orders {order} and {other}"));
        }
    }
    carts::operations::for_each(app, |cart| {
        let checkout = cart.checkout.as_ref().map(|checkout| checkout.id.as_str());
        let order = of_cart.remove(cart.id.as_str());
        if cart.state == CartState::Complete && (order.is_none() || order != checkout) {
            report.broken(format!("cart {} is complete without its order", cart.id));
        }
        let is_decided = cart.state == CartState::Paid && order == checkout;
        if cart.state != CartState::Complete && order.is_some() && !is_decided {
            report.broken(format!("cart {} has an order and is {}", cart.id, cart.state));
        }
        let owner = order.and_then(|order| orders.owners.get(order));
        if owner.is_some_and(|owner| *owner != cart.owner) {
            report.broken(format!("cart {} and its order have different owners", cart.id));
        }
    })
    .await?;
    for (cart, order) in of_cart {
        report.broken(format!("order {order} is of the cart {cart}, which isn't there"));
    }
    Ok(())
}

/// Checks per SKU that sold stock equals the lines of placed orders.
async fn check_stock(app: &App, orders: &mut Orders, report: &mut Report) -> Result<()> {
    report.rule(
        "orders: per SKU, sold stock equals the lines of placed orders, and orders hold only what \
         they are raised by",
    );
    inventory::operations::for_each(app, |stock| {
        for entry in stock.reservations.iter().filter(|entry| entry.quantity > 0) {
            let Reservation { holder, quantity, .. } = entry;
            if carts::order_of_holder(holder).is_some() && !orders.raising.contains(holder) {
                let sku = &stock.sku;
                report.broken(format!("{sku}: {holder} holds {quantity} and raises nothing"));
            }
        }
        let ordered = orders.sold.remove(&stock.sku).unwrap_or(0);
        if ordered != stock.sold {
            let (sku, sold) = (&stock.sku, stock.sold);
            report.broken(format!("{sku}: {sold} are sold, {ordered} are ordered"));
        }
    })
    .await
    // If a product was removed together with its stock, only its orders are left.
}
