//! Stored documents of bookings, and of the receipts of those that were checked out.

use async_graphql::Enum;

use crate::{
    domains::paying::Payment,
    flow::{Decider, OpRecord},
    graphql::scalars::CurrencyCode,
    mongo::prelude::*,
};

document! {
    /// One booking.
    pub struct BookingDocument {
        /// 128 random bits. The id is the capability of a visitor without a token.
        pub id as "_id": String,
        /// Subject of the visitor who opened the booking with a token.
        pub owner?: String,
        /// Currency of every hold.
        pub currency: CurrencyCode,
        /// State; the diagram is in the room's `mod.rs`.
        pub state: BookingState,
        /// The seats that it holds.
        pub holds: Vec<BookedSeats>,
        /// Records of ops that were applied or aborted.
        pub ops: Vec<OpRecord>,
        /// Seats that are still to be released.
        pub outbox: Vec<Release>,
        /// The checkout in progress, or the one that closed the booking.
        pub checkout?: Checkout,
        /// Number of checkouts with a claim that were started. It is part of the next one's id.
        pub checkouts: i32,
        /// Server time of opening.
        pub opened_at: DateTime,
        /// Server time of the last change of holds or state, or of the last settled release.
        pub modified_at: DateTime,
        /// Server time at which it is removed, if it was cancelled or has expired.
        pub expires_at?: DateTime,
        pub v: Version<1>,
    } in "bookings" {
        plain("state_modified", "state modifiedAt _id",
            "the sweeps of idle bookings and of flows that were cut"),
        of_field("outbox_at", "outbox.at", "the sweep of seats that are still to be released"),
        of("owner_modified", "owner state -modifiedAt -_id", "owner", "myBooking"),
        expiry("expires_at", "expiresAt", "the removal of bookings that were cancelled or have expired"),
    }

    /// State of a booking. Only an active booking can be changed.
    #[derive(Enum)]
    #[graphql(display)]
    pub enum BookingState {
        /// The booking can be changed and checked out.
        Active,
        /// A checkout is in progress: it authorises the payment.
        Pending,
        /// A checkout failed and is being undone. The booking becomes active again.
        Voiding,
        /// The payment is authorised. The seats are being sold.
        Paid,
        /// The booking was checked out and has a receipt.
        Complete,
        /// The booking was idle for too long. Its seats are being released.
        Expiring,
        /// The booking was idle for too long. Its seats were released.
        Expired,
        /// The visitor cancelled the booking. Its seats are being released.
        Cancelling,
        /// The visitor cancelled the booking. Its seats were released.
        Cancelled,
    }
}

document! {
    /// Seats of one screening that were taken by one call, at the prices of the screening.
    #[derive(PartialEq, Eq)]
    pub struct BookedSeats {
        /// Tag of the hold in the screening.
        pub tag: String,
        pub screening_id: String,
        pub theater_id: String,
        /// Name of the screening.
        pub name: String,
        pub starts_at: DateTime,
        pub seats: Vec<BookedSeat>,
    }

    /// A seat with its price.
    #[derive(PartialEq, Eq)]
    pub struct BookedSeat {
        /// Number of its place in the plan.
        pub place: i32,
        /// Label of its row.
        pub row: String,
        /// Number of the place in its row, from 1.
        pub number: i32,
        /// Code of its category.
        pub category: String,
        /// Price in minor units.
        pub price: i64,
    }
}

impl BookedSeats {
    /// Name of the hold within its booking. It stays the same when the call is repeated.
    pub fn key(&self) -> &str {
        self.tag.split('/').next().unwrap_or_default()
    }

    /// Sum of the prices, in minor units. It can't overflow: the limits in the room's `mod.rs` exclude it.
    pub fn total(&self) -> i64 {
        self.seats.iter().map(|seat| seat.price).sum()
    }

    /// Numbers of the places.
    pub fn places(&self) -> Vec<i32> {
        self.seats.iter().map(|seat| seat.place).collect()
    }
}

document! {
    /// Outbox entry: seats that are to be released.
    #[derive(PartialEq, Eq)]
    pub struct Release {
        /// Tag of their hold.
        pub tag: String,
        pub screening_id: String,
        /// Numbers of their places.
        pub seats: Vec<i32>,
        /// Server time of the commit.
        pub at: DateTime,
    }

    /// A checkout of a booking.
    #[derive(PartialEq, Eq)]
    pub struct Checkout {
        /// Derived from the tag, or from the op and the number of the checkout. It becomes the receipt's `_id`, which for
        /// an anonymous receipt is the capability to read it.
        pub id: String,
        /// Tag under which money is held, if the checkout is decided without a claim.
        pub tag?: String,
        /// Id of the payment. Others see it, and the receipt's id can't be derived from it.
        pub payment_id: String,
        /// Subject of the caller who checks out, if there is a token. Once the checkout is paid, the booking is theirs.
        pub owner?: String,
        /// Id of the op that began it.
        pub op: String,
        /// Digest of the op's input.
        pub input: String,
        pub payment: Payment,
        /// Sum of the holds, in minor units.
        pub total: i64,
        /// Deadline of the attempt that began it, on the server's clock.
        pub deadline: DateTime,
    }

    /// One receipt.
    pub struct ReceiptDocument {
        /// Id of the checkout that created it. For an anonymous receipt it is the capability to use it.
        pub id as "_id": String,
        /// The booking that was checked out.
        pub booking_id: String,
        /// Subject of the visitor, if the booking had an owner.
        pub owner?: String,
        pub state: ReceiptState,
        /// Currency of every amount.
        pub currency: CurrencyCode,
        /// The seats, one entry per hold of the booking.
        pub lines: Vec<BookedSeats>,
        /// Sum of the lines, in minor units.
        pub total: i64,
        /// The payment, unless the total is zero.
        pub payment?: ReceiptPayment,
        /// Beginning of the earliest screening.
        pub starts_at: DateTime,
        /// Records of applied ops.
        pub ops: Vec<OpRecord>,
        /// Server time of the checkout.
        pub paid_at: DateTime,
        /// Server time of the last change.
        pub changed_at: DateTime,
        /// Server time of the cancellation, while seats or money are still to be returned.
        pub cancelling_at?: DateTime,
        pub v: Version<1>,
    } in "receipts" {
        of("owner_paid", "owner -paidAt -_id", "owner", "myReceipts"),
        plain("screening_paid", "lines.screeningId -paidAt -_id",
            "receipts, and the cancellation of a screening"),
        of_field("cancelling_at", "cancellingAt", "the sweep of refunds that are still to be made"),
    }

    /// How far a receipt has come: from `PAID` to `CANCELLING` and `CANCELLED`, and never back.
    #[derive(Enum)]
    pub enum ReceiptState {
        /// The seats are sold.
        Paid,
        /// The receipt is cancelled. Seats or money are still to be returned.
        Cancelling,
        /// The receipt is cancelled. Its seats are free and its money is refunded.
        Cancelled,
    }

    /// The payment of a receipt.
    #[derive(PartialEq, Eq)]
    pub struct ReceiptPayment {
        /// Id under which the provider knows it.
        pub id: String,
        /// Whether it was refunded.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub refunded: bool,
    }
}

impl Decider for BookingDocument {
    fn ops(&self) -> &[OpRecord] {
        &self.ops
    }
}

impl BookingDocument {
    /// Sum of the holds in minor units. It can't overflow: the limits in the room's `mod.rs` exclude it.
    pub fn total(&self) -> i64 {
        self.holds.iter().map(BookedSeats::total).sum()
    }

    /// Number of seats that it holds.
    pub fn seats(&self) -> usize {
        self.holds.iter().map(|hold| hold.seats.len()).sum()
    }
}
