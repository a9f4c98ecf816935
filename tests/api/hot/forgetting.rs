//! Sold reservations are forgotten in lots of sixteen; the rules are those of `tests/models`. No attempt may be half over
//! before its end, however busy the machine.

use futures_util::future::join_all;
use mongodb::bson::Bson;

use crate::{
    shop::{account, add, cart, checkout, settled, state, stock, stocked, stored},
    support::{Client, Gateway, key, proxy::Cut, short_bounds, until, very_long_bounds},
};

/// Number of reservations of one SKU that are forgotten by one write.
const LOT: usize = 16;

/// A cart with one piece of `hot`, and who pays for it.
#[derive(Clone)]
struct Buyer {
    client: Client,
    cart: String,
    purse: String,
}

impl Buyer {
    async fn new(gateway: &Gateway, name: &str, policy: &str) -> Self {
        let (client, purse) = (gateway.shopper(name), account(gateway, name, 1_000).await);
        let cart = cart(&client, policy, &[("hot", 1)]).await;
        Self { client, cart, purse }
    }

    /// So many of them.
    async fn several(gateway: &Gateway, name: &str, count: usize, policy: &str) -> Vec<Self> {
        let names: Vec<_> = (0..count).map(|number| format!("{name}-{number}")).collect();
        join_all(names.iter().map(|name| Self::new(gateway, name, policy))).await
    }

    async fn buys(&self) {
        let order = checkout(&self.client, &self.cart, &self.purse, "op").await;
        assert_eq!(order["__typename"], "Order", "{order:#}");
    }
}

/// All of them check out, and their carts are complete.
async fn sold(gateway: &Gateway, buyers: &[Buyer]) {
    join_all(buyers.iter().map(Buyer::buys)).await;
    for buyer in buyers {
        // What follows the answer may have to find the server again first.
        let is_complete = async || state(gateway, "carts", &buyer.cart).await == "COMPLETE";
        until("the cart is complete", is_complete).await;
    }
    settled(gateway).await;
}

/// The carts that the stock of `hot` has an entry of.
async fn holders(gateway: &Gateway) -> Vec<String> {
    let stock = stored(gateway, "inventory", "hot").await;
    let holder = |entry: &Bson| {
        let entry = entry.as_document().expect("an entry");
        entry.get_str("holder").expect("a holder").to_owned()
    };
    stock.get_array("reservations").expect("entries").iter().map(holder).collect()
}

/// The sweeps of a gateway with short bounds, when no flow is running any more. They leave `sold` pieces sold and
/// nothing reserved.
async fn swept(gateway: &Gateway, received: i64, sold: i64) {
    let sweeper = gateway.sibling_with(short_bounds).await;
    sweeper.sweep().await;
    assert_eq!(stock(gateway, "hot").await, (received - sold, 0, sold));
    assert!(holders(gateway).await.is_empty());
    sweeper.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stock_document_of_a_sku_in_demand_stays_small() {
    let gateway = Gateway::with(very_long_bounds).await;
    stocked(&gateway, "hot", 100, 1_000).await;
    // 200 checkouts by 64 callers, one after the other each.
    let caller = async |number: usize| {
        for round in 0..if number < 8 { 4 } else { 3 } {
            let policy = ["RESERVE", "AT_CHECKOUT"][(number + round) % 2];
            Buyer::new(&gateway, &format!("buyer-{number}-{round}"), policy).await.buys().await;
        }
    };
    join_all((0..64).map(caller)).await;
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "hot").await, (800, 0, 200));
    let stored = stored(&gateway, "inventory", "hot").await;
    let (entries, bytes) = (holders(&gateway).await.len(), stored.to_vec().expect("bytes").len());
    // An incomplete lot, and a few whose carts weren't reserved by one command.
    assert!(entries < 3 * LOT, "{entries} entries, {bytes} bytes");
    gateway.assert_sound().await;
    swept(&gateway, 1_000, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sku_that_is_seldom_sold_is_left_to_the_sweep() {
    let gateway = Gateway::with(very_long_bounds).await;
    stocked(&gateway, "hot", 100, 100).await;
    let buyers = Buyer::several(&gateway, "buyer", LOT, "RESERVE").await;
    let (last, first) = buyers.split_last().expect("some");
    sold(&gateway, first).await;
    // The last one holds its piece, and the others are sold.
    assert_eq!((holders(&gateway).await.len(), stock(&gateway, "hot").await), (LOT, (84, 1, 15)));
    sold(&gateway, std::slice::from_ref(last)).await;
    assert!(holders(&gateway).await.is_empty());
    gateway.assert_sound().await;
}

/// A checkout without a payment isn't forgotten (`one-seller`), nor one whose cart holds something more
/// (`forget-empty`).
#[tokio::test(flavor = "multi_thread")]
async fn what_is_free_or_still_holds_something_is_not_forgotten() {
    let gateway = Gateway::with(very_long_bounds).await;
    stocked(&gateway, "free", 0, 100).await;
    stocked(&gateway, "hot", 100, 100).await;
    for number in 0..LOT {
        let nobody = gateway.shopper(&format!("nobody-{number}"));
        let id = cart(&nobody, "RESERVE", &[("free", 1)]).await;
        assert_eq!(checkout(&nobody, &id, "none", "op").await["__typename"], "Order");
    }
    settled(&gateway).await;
    let free = stored(&gateway, "inventory", "free").await;
    assert_eq!(free.get_array("reservations").expect("entries").len(), LOT);

    let buyers = Buyer::several(&gateway, "buyer", LOT, "RESERVE").await;
    let holds_more = &buyers[0].cart;
    // An addition has reserved one more, and its commit is held back until the cart is sold.
    let slow = gateway.sibling_behind_proxy().await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let adding = slow.shopper("buyer-0");
    let (added, ()) = tokio::join!(add(&adding, holds_more, "hot", 1), async {
        proxy.reached().await;
        sold(&gateway, &buyers).await;
        assert_eq!(holders(&gateway).await, [key(holds_more)]);
        assert_eq!(stock(&gateway, "hot").await, (83, 1, 16));
        proxy.release().await;
    });
    assert_eq!(added["code"], "CART_NOT_ACTIVE", "{added:#}");
    settled(&slow).await;
    assert_eq!(stock(&gateway, "hot").await, (84, 0, 16));
    swept(&gateway, 100, 16).await;
}

/// A sale, or a reserve of the checkout, that was sent twice isn't forgotten (`forget-sell`, `forget-take`): the first
/// copy finds the mark.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_twice_is_not_forgotten() {
    for policy in ["RESERVE", "AT_CHECKOUT"] {
        let gateway = Gateway::behind_proxy(very_long_bounds).await;
        stocked(&gateway, "hot", 100, 100).await;
        let first = Buyer::new(&gateway, "first", policy).await;
        let buyers = Buyer::several(&gateway, "buyer", LOT, policy).await;
        settled(&gateway).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        // The reserve of the checkout, if it sends one, else the sale.
        proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
        proxy.cut(0, Cut::BreakAndHold);
        tokio::join!(first.buys(), proxy.reached());
        proxy.heal();
        settled(&gateway).await;
        sold(&gateway, &buyers).await;
        sold(&gateway, std::slice::from_ref(&first)).await;
        assert_eq!(stock(&gateway, "hot").await, (83, 0, 17), "{policy}");
        assert_eq!(holders(&gateway).await, [key(&first.cart)], "{policy}");
        let before = gateway.snapshot().await;
        proxy.release().await;
        assert_eq!(gateway.snapshot().await, before, "{policy}");
        gateway.assert_sound().await;
        swept(&gateway, 100, 17).await;
    }
}

/// The first copy of a reserve arrives when its mark is forgotten. It reserves once more, and nobody sells that.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_reserve_sells_nothing() {
    let gateway = Gateway::behind_proxy(very_long_bounds).await;
    stocked(&gateway, "hot", 100, 100).await;
    let mut buyers = Buyer::several(&gateway, "buyer", LOT - 1, "RESERVE").await;
    let (client, purse) = (gateway.shopper("late"), account(&gateway, "late", 1_000).await);
    let id = cart(&client, "RESERVE", &[]).await;
    settled(&gateway).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
    proxy.cut(0, Cut::BreakAndHold);
    let (added, ()) = tokio::join!(add(&client, &id, "hot", 1), proxy.reached());
    assert_eq!(added["__typename"], "Cart", "{added:#}");
    proxy.heal();
    let late = Buyer { client, cart: id, purse };
    buyers.push(late.clone());
    sold(&gateway, &buyers).await;
    assert!(holders(&gateway).await.is_empty());
    proxy.release().await;
    assert_eq!(stock(&gateway, "hot").await, (83, 1, 16));
    late.buys().await;
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "hot").await, (83, 1, 16));
    swept(&gateway, 100, 16).await;
}

/// A repeat of the call reserves when the marks of its tag are forgotten. Its decision is refused, it returns the order,
/// and nobody sells what it reserved.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_repeat_sells_nothing() {
    let gateway = Gateway::with(very_long_bounds).await;
    stocked(&gateway, "hot", 100, 100).await;
    let buyers = Buyer::several(&gateway, "buyer", LOT, "AT_CHECKOUT").await;
    let first = &buyers[0];
    let slow = gateway.sibling_behind_proxy().await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let client = slow.shopper("buyer-0");
    let (repeat, ()) = tokio::join!(checkout(&client, &first.cart, &first.purse, "op"), async {
        proxy.reached().await;
        sold(&gateway, &buyers).await;
        assert!(holders(&gateway).await.is_empty());
        proxy.release().await;
    });
    let order = checkout(&first.client, &first.cart, &first.purse, "op").await;
    assert_eq!(repeat, order);
    settled(&slow).await;
    assert_eq!(stock(&gateway, "hot").await, (83, 1, 16));
    swept(&gateway, 100, 16).await;
}

/// The write that forgets is cut in each way; what it leaves is swept.
#[tokio::test(flavor = "multi_thread")]
async fn cut_while_it_forgets_a_checkout_stays_as_it_is() {
    for way in [Cut::Refused, Cut::Unsure, Cut::BeforeForwarding, Cut::ReplyLost] {
        let gateway = Gateway::behind_proxy(very_long_bounds).await;
        stocked(&gateway, "hot", 100, 100).await;
        let buyers = Buyer::several(&gateway, "buyer", LOT, "RESERVE").await;
        let (last, first) = buyers.split_last().expect("some");
        sold(&gateway, first).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
        // After the sale of the last one.
        proxy.cut_all_from(1, way);
        last.buys().await;
        settled(&gateway).await;
        proxy.reached().await;
        let left = holders(&gateway).await.len();
        let is_applied = matches!(way, Cut::Unsure | Cut::ReplyLost);
        assert_eq!(left, if is_applied { 0 } else { LOT }, "{way:?}");
        assert_eq!(stock(&gateway, "hot").await, (84, 0, 16), "{way:?}");
        gateway.assert_sound().await;
        swept(&gateway, 100, 16).await;
    }
}
