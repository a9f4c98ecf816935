//! Checkouts while the primary is killed: each cart has one order, which is paid once, and the stock and the voucher show
//! exactly these orders.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use futures_util::future::join_all;
use serde_json::json;

use super::acknowledged;
use crate::{
    buying::{applied, created, used},
    shop::{account, balance, cart, checkout_input, checkout_query, stock, stocked},
    support::{Client, Gateway},
};

const BUYERS: usize = 6;
/// Carts of each buyer.
const CARTS: usize = 5;
const MONEY: i64 = 100_000;
const STOCK: i64 = 1_000;
/// What a cart costs: two of one product, and one of another.
const GOODS: i64 = 2 * 250 + 100;
/// What the voucher takes off.
const DISCOUNT: i64 = 60;
const VOUCHER: &str = "ELECTION";

/// Whether the cart with this number has the voucher.
fn has_voucher(number: usize) -> bool {
    number % 3 == 1
}

/// A buyer with an account, and with carts to check out.
struct Buyer {
    client: Client,
    purse: String,
    carts: Vec<String>,
}

impl Buyer {
    /// Some of the carts hold their goods, and the others get them at their checkout.
    async fn new(gateway: &Gateway, name: String) -> Self {
        let (client, purse) = (gateway.shopper(&name), account(gateway, &name, MONEY).await);
        let mut carts = Vec::new();
        for number in 0..CARTS {
            let policy = ["RESERVE", "AT_CHECKOUT"][number % 2];
            let id = cart(&client, policy, &[("c", 2), ("d", 1)]).await;
            if has_voucher(number) {
                applied(&client, &id, VOUCHER).await;
            }
            carts.push(id);
        }
        Self { client, purse, carts }
    }

    /// Checks the carts out, each twice under its idempotency key. Both calls return the same order.
    async fn buy(&self, done: &AtomicUsize) {
        for cart in &self.carts {
            let input = json!({ "input": checkout_input(cart, &self.purse, "once") });
            let order = acknowledged(&self.client, (&checkout_query(), input.clone())).await;
            assert_eq!(order["__typename"], "Order", "{order:#}");
            done.fetch_add(1, Relaxed);
            let again = acknowledged(&self.client, (&checkout_query(), input)).await;
            assert_eq!(again["id"], order["id"], "{again:#}");
        }
    }
}

/// All buyers.
pub struct Buyers {
    buyers: Vec<Buyer>,
    done: AtomicUsize,
}

impl Buyers {
    pub async fn new(gateway: &Gateway) -> Self {
        stocked(gateway, "c", 250, STOCK).await;
        stocked(gateway, "d", 100, STOCK).await;
        created(
            gateway,
            VOUCHER,
            json!({ "percent": 10, "budget": 1_000_000, "budgetUses": 1_000 }),
        )
        .await;
        let buyers = (0..BUYERS).map(|number| Buyer::new(gateway, format!("buyer-{number}")));
        Self { buyers: join_all(buyers).await, done: AtomicUsize::new(0) }
    }

    pub async fn buy(&self) {
        join_all(self.buyers.iter().map(|buyer| buyer.buy(&self.done))).await;
    }

    /// Whether checkouts are still to be acknowledged.
    pub fn are_busy(&self) -> bool {
        self.done.load(Relaxed) < BUYERS * CARTS
    }

    /// Compares money, stock and voucher with the orders, once the sweeps have run.
    pub async fn check(&self, gateway: &Gateway) {
        let number = |some: usize| i64::try_from(some).expect("a small number");
        let with_voucher = number((0..CARTS).filter(|number| has_voucher(*number)).count());
        let spent = number(CARTS) * GOODS - with_voucher * DISCOUNT;
        for buyer in &self.buyers {
            assert_eq!(balance(gateway, &buyer.purse).await, MONEY - spent);
        }
        let orders = gateway.stored("orders").await;
        let carts: BTreeSet<_> =
            orders.iter().filter_map(|one| one.get_str("cartId").ok()).collect();
        assert_eq!((orders.len(), carts.len()), (BUYERS * CARTS, BUYERS * CARTS));
        let sold = number(BUYERS * CARTS);
        assert_eq!(stock(gateway, "c").await, (STOCK - 2 * sold, 0, 2 * sold));
        assert_eq!(stock(gateway, "d").await, (STOCK - sold, 0, sold));
        let uses = with_voucher * number(BUYERS);
        assert_eq!(used(gateway, VOUCHER).await, [0, uses * DISCOUNT, 0, uses]);
    }
}
