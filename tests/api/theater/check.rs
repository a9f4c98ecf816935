//! Each invariant finds a fault that is planted.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{cancelling, check_out, complete, hall, holding_seats, id_of, refunding, said, stored};
use crate::{
    shop::account,
    support::{
        Gateway,
        faults::Fault::{Changed, Removed},
        key,
    },
};

const SEATS: &str =
    "theater: the free seats equal the counter; each taken seat is in one hold or sale";
const LATE: &str = "theater: the sweep finds each hold in time (`sweepAt`)";
const HOLDS: &str = "theater: each hold belongs to one booking, and closed bookings hold nothing";
const RECEIPTS: &str =
    "theater: every completed booking has one receipt with the same owner and total";
const GIVEN_BACK: &str =
    "theater: nobody has seats of a cancelled screening, or they are being given back";
const SALES: &str = "theater: each sold seat is in one receipt";
const PAYMENTS: &str = "theater: receipts equal what the provider captured and refunded";

/// A screening. Of its first row, seat 1 is sold, 3 was sold and refunded, 5 is held, and 7 was held.
struct Evening {
    gateway: Gateway,
    screening: String,
    /// The receipt of seat 1, and its booking.
    sold: String,
    complete: String,
    refunded: String,
    active: String,
    closed: String,
}

impl Evening {
    async fn new() -> Self {
        let gateway = Gateway::start().await;
        let screening = hall(&gateway, &["AAAAAAAA"]).await;
        let ann = gateway.shopper("ann");
        let purse = account(&gateway, "ann", 5_000).await;
        let buy = async |seat| {
            let booking = holding_seats(&ann, &screening, &[("A", seat)]).await;
            let paid = check_out(&ann, &booking, &purse, "op").await;
            complete(&gateway, &booking).await;
            (id_of(&paid), booking)
        };
        let ((sold, complete), (refunded, _)) = (buy(1).await, buy(3).await);
        let back = ann.does(refunding(&refunded, "op")).await;
        assert_eq!(back["state"], "CANCELLED", "{back:#}");
        let active = holding_seats(&ann, &screening, &[("A", 5)]).await;
        let closed = holding_seats(&ann, &screening, &[("A", 7)]).await;
        assert_eq!(said(&ann.does(cancelling(&closed)).await), "Booking");
        crate::shop::settled(&gateway).await;
        gateway.assert_sound().await;
        let [screening, sold, complete, refunded, active, closed] =
            [screening, sold, complete, refunded, active, closed].map(|id| key(&id));
        Self { gateway, screening, sold, complete, refunded, active, closed }
    }

    /// The rules that are broken by an update of the screening.
    async fn of_screening(&self, update: Document) -> Vec<String> {
        self.gateway.broken_by("screenings", &self.screening, Changed(update)).await
    }
}

fn set(field: &str, value: impl Into<Bson>) -> Document {
    doc! { "$set": { field: value.into() } }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_seats_finds_its_fault() {
    let evening = Evening::new().await;
    let of = async |update: Document| evening.of_screening(update).await;
    assert_eq!(of(set("seatsAvailable", 7_i64)).await, [SEATS]);
    assert_eq!(of(doc! { "$unset": { "taken.0": "" } }).await, [SEATS]);
    assert_eq!(of(set("taken.0", 1)).await, [SEATS], "it is sold, not held");
    assert_eq!(of(set("taken.6", 1)).await, [SEATS], "nobody holds it");
    assert_eq!(of(set("taken.99", 1)).await, [SEATS]);
    let twice = doc! { "$set": { "sold.0.seats": [0, 0] } };
    assert_eq!(of(twice).await, [SEATS, SALES]);
    let of_another = doc! { "$set": { "holds.0.seats": [0] } };
    assert_eq!(of(of_another).await, [SEATS, HOLDS]);

    let earlier = DateTime::from_millis(1_000_000_000_000);
    assert_eq!(of(set("cancelledAt", earlier)).await, [GIVEN_BACK]);
    let under_way = doc! { "$set": { "cancelledAt": earlier, "cancellingAt": earlier } };
    assert!(of(under_way).await.is_empty(), "its seats are being given back");

    let later = DateTime::from_millis(4_000_000_000_000);
    assert_eq!(of(set("sweepAt", later)).await, [LATE]);
    assert_eq!(of(doc! { "$unset": { "sweepAt": "" } }).await, [LATE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_holds_finds_its_fault() {
    let evening = Evening::new().await;
    assert_eq!(evening.of_screening(set("holds.0.tag", "another")).await, [HOLDS]);
    assert_eq!(evening.of_screening(set("holds.0.bookingId", "another")).await, [HOLDS]);
    // Free again, although its booking holds it.
    let free =
        doc! { "$set": { "holds": [], "seatsAvailable": 7_i64 }, "$unset": { "taken.4": "" } };
    assert_eq!(evening.of_screening(free).await, [HOLDS]);

    let of = async |update: Document| {
        evening.gateway.broken_by("bookings", &evening.active, Changed(update)).await
    };
    assert_eq!(of(doc! { "$set": { "holds": [] } }).await, [HOLDS]);
    assert_eq!(of(set("holds.0.seats.0.place", 7)).await, [HOLDS]);
    assert_eq!(of(set("holds.0.screeningId", "another")).await, [HOLDS]);
    assert_eq!(of(set("state", "CANCELLED")).await, [HOLDS], "it holds something");
    assert!(of(set("state", "CANCELLING")).await.is_empty(), "its flow is under way");
    assert_eq!(of(set("state", "COMPLETE")).await, [HOLDS, RECEIPTS]);
    let gone = evening.gateway.broken_by("bookings", &evening.active, Removed).await;
    assert_eq!(gone, [HOLDS]);
    let gone = evening.gateway.broken_by("bookings", &evening.closed, Removed).await;
    assert!(gone.is_empty(), "closed bookings are removed some day");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_receipts_finds_its_fault() {
    let evening = Evening::new().await;
    let Evening { gateway, .. } = &evening;
    let of_booking =
        async |update| gateway.broken_by("bookings", &evening.complete, Changed(update)).await;
    assert_eq!(of_booking(set("owner", "eve")).await, [RECEIPTS]);
    assert_eq!(of_booking(set("checkout.total", 1_i64)).await, [RECEIPTS]);
    assert_eq!(of_booking(set("checkout.id", "another")).await, [RECEIPTS]);
    assert_eq!(of_booking(set("state", "CANCELLED")).await, [RECEIPTS]);
    assert_eq!(of_booking(set("holds.0.seats.0.price", 1_i64)).await, [RECEIPTS]);
    assert_eq!(gateway.broken_by("bookings", &evening.complete, Removed).await, [RECEIPTS]);

    let of = async |update| gateway.broken_by("receipts", &evening.sold, Changed(update)).await;
    assert_eq!(of(set("owner", "eve")).await, [RECEIPTS]);
    assert_eq!(of(set("bookingId", "another")).await, [RECEIPTS]);
    assert_eq!(of(set("total", 1_i64)).await, [RECEIPTS, PAYMENTS]);
    assert_eq!(of(doc! { "$set": { "lines": [] } }).await, [RECEIPTS, SALES]);
    let gone = gateway.broken_by("receipts", &evening.sold, Removed).await;
    assert_eq!(gone, [RECEIPTS, SALES, PAYMENTS]);

    let of_screening = async |update| evening.of_screening(update).await;
    assert_eq!(of_screening(set("sold.0.receiptId", "another")).await, [SALES]);
    assert_eq!(of_screening(set("sold.0.tag", "another")).await, [SALES]);
    let free =
        doc! { "$set": { "sold": [], "seatsAvailable": 7_i64 }, "$unset": { "taken.0": "" } };
    assert_eq!(of_screening(free).await, [SALES], "somebody else could buy it");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_payments_finds_its_fault() {
    let evening = Evening::new().await;
    let Evening { gateway, sold, refunded, .. } = &evening;
    let of = async |id: &str, update| gateway.broken_by("receipts", id, Changed(update)).await;
    assert_eq!(of(sold, set("payment.id", "seats:another")).await, [PAYMENTS]);
    let unpaid = doc! { "$unset": { "payment": "" } };
    assert_eq!(of(sold, unpaid).await, [PAYMENTS]);
    // A refund without seats and money, and a sale without either.
    assert_eq!(of(sold, set("state", "CANCELLED")).await, [SALES, PAYMENTS]);
    assert_eq!(of(refunded, set("state", "PAID")).await, [SALES, PAYMENTS]);
    // A refund that is due may be paid already, or not yet.
    for receipt in [sold, refunded] {
        let due =
            doc! { "$set": { "state": "CANCELLING", "cancellingAt": DateTime::from_millis(0) } };
        assert!(of(receipt, due).await.is_empty());
    }
    let stands = stored(gateway, "receipts", sold).await;
    let payment = stands.get_document("payment").and_then(|payment| payment.get_str("id"));
    let payment = payment.expect("a payment");
    let never = gateway.broken_by("transfers", payment, Removed).await;
    assert!(never.contains(&PAYMENTS.to_owned()), "{never:#?}");
}
