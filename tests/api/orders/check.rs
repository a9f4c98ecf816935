//! The invariant of payments finds faults that are planted.

use mongodb::bson::{Document, doc};

use crate::{
    shop::{account, placed, settled, stocked},
    support::{Gateway, faults::Fault::Changed, key},
};

const SUMS: &str = "orders: the total is the sum of the lines, shipping and tax that isn't included, less the \
                    discount, and what was paid less what was refunded";
const PAYMENTS: &str = "orders: what was paid and refunded is what the provider captured and refunded, but for \
                        refunds that are due";

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_differs_from_the_providers_is_found() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 500, 10).await;
    let purse = account(&gateway, "ann", 5_000).await;
    let order = key(&placed(&gateway.shopper("ann"), &purse, &[("a", 2)]).await);
    settled(&gateway).await;
    gateway.assert_sound().await;
    let broken = async |set: Document| {
        gateway.broken_by("orders", &order, Changed(doc! { "$set": set })).await
    };
    // The provider has a payment without an order, and the order one that the provider doesn't have.
    assert_eq!(broken(doc! { "payments.0.id": "another" }).await, [PAYMENTS]);
    assert_eq!(broken(doc! { "payments.0.amount": 1_001_i64 }).await, [SUMS, PAYMENTS]);
    assert_eq!(broken(doc! { "payments.0.refunded": 1_i64 }).await, [SUMS, PAYMENTS]);
}
