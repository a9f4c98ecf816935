//! Stored documents of screenings: the seats of one evening, and who has them.

use std::collections::BTreeMap;

use super::SeatPlan;
use crate::{
    config::Config,
    graphql::scalars::CurrencyCode,
    mongo::{derived::Derived, prelude::*},
};

document! {
    /// One screening. Its plan and prices never change.
    pub struct ScreeningDocument {
        /// Derived from the idempotency key that created it, otherwise random.
        pub id as "_id": String,
        pub theater_id: String,
        pub name: String,
        pub description: String,
        pub starts_at: DateTime,
        pub ends_at: DateTime,
        pub currency: CurrencyCode,
        /// Copy of the theater's plan.
        pub plan: SeatPlan,
        /// Price per category, in the order of the plan's categories, in minor units.
        pub prices: Vec<i64>,
        /// Server time at which it was cancelled. From then on no seat is held.
        pub cancelled_at?: DateTime,
        /// The same, as long as bookings or receipts may have seats of it.
        pub cancelling_at?: DateTime,
        /// Number of seats that are neither held nor sold.
        pub available as "seatsAvailable": i64,
        /// The seats that aren't free, by place: [`HELD`](Self::HELD) or [`SOLD`](Self::SOLD).
        pub taken: BTreeMap<String, i32>,
        /// Held seats, one entry per hold.
        pub holds: Vec<Hold>,
        /// Sold seats, one entry per hold from which they were sold.
        pub sold: Vec<Sale>,
        /// Marks of refunds, until no sale of their seats can arrive any more.
        pub freed: Vec<Freed>,
        /// Digest of the input that created it, which identifies a repeat.
        pub origin: String,
        /// Server time of creation.
        pub created_at: DateTime,
        pub v: Version<1>,
    }

    /// The part of a screening that a hold needs to know before it is made.
    pub struct Offer {
        pub id as "_id": String,
        pub theater_id: String,
        pub name: String,
        pub starts_at: DateTime,
        pub currency: CurrencyCode,
        pub plan: SeatPlan,
        pub prices: Vec<i64>,
        pub v: Version<1>,
    } in ScreeningDocument: [
        "_id", "theaterId", "name", "startsAt", "currency", "plan", "prices", "v"
    ];

    /// The part of a screening that the sweep reads.
    pub struct SweptScreening {
        pub id as "_id": String,
        pub holds: Vec<Hold>,
        pub freed: Vec<Freed>,
    } in ScreeningDocument: ["holds", "freed", SWEEP_AT];

    /// Seats that are held for a booking.
    pub struct Hold {
        /// Tag of the try that reserved them.
        pub tag: String,
        pub booking_id: String,
        /// Numbers of their places.
        pub seats: Vec<i32>,
        /// Whether the sweep found the hold in its booking. Then only the booking releases it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub kept: bool,
        /// Server time of the write.
        pub at: DateTime,
    }

    /// Seats that were sold.
    pub struct Sale {
        /// Tag of the hold.
        pub tag: String,
        pub receipt_id: String,
        /// Numbers of their places.
        pub seats: Vec<i32>,
        /// Server time of the write.
        pub at: DateTime,
    }

    /// Mark of a refund.
    pub struct Freed {
        /// Tag of the hold.
        pub tag: String,
        /// Server time of the write.
        pub at: DateTime,
    }
}

impl ScreeningDocument {
    /// Value of a held seat.
    pub const HELD: i32 = 1;
    /// Value of a sold seat.
    pub const SOLD: i32 = 2;

    /// Price of a seat of this category, in minor units.
    pub fn price(&self, category: char) -> i64 {
        self.plan.price(&self.prices, category)
    }

    /// Whether it is cancelled, and bookings and receipts have no seats of it any more.
    pub fn is_given_back(&self) -> bool {
        self.cancelled_at.is_some() && self.cancelling_at.is_none()
    }

    /// Whether the seat at this place is held or sold, as [`Self::HELD`] or [`Self::SOLD`].
    pub fn taken(&self, place: i32) -> Option<i32> {
        self.taken.get(&place.to_string()).copied()
    }
}

/// The field by which the sweep finds screenings.
pub(in super::super) const SWEEP_AT: &str = "sweepAt";

/// Expression: the time of the first hold that the sweep hasn't looked at, and of the marks of refunds the earliest one. Holds
/// are appended. A later one can only be older by as much as commands overtake each other, or by the difference of the
/// members' clocks, and has its turn when the sweep has looked at the first. So MongoDB evaluates no further hold, of which
/// there can be thousands.
fn sweep_at(_delay: i64) -> Bson {
    let is_unknown = doc! { "$ne": ["$$this.kept", true] };
    let first = doc! { "$filter": { "input": "$holds", "cond": is_unknown, "limit": 1 } };
    doc! { "$min": [{ "$min": map(first, "$$this.at") }, { "$min": "$freed.at" }] }.into()
}

impl Stored for ScreeningDocument {
    const COLLECTION: &'static str = "screenings";
    const INDEXES: &'static [Index] = &[
        Index::plain("theater_starts", "theaterId startsAt _id", "screenings of a theater"),
        Index::of_field("sweep_at", SWEEP_AT, "the sweep of holds and of marks of refunds"),
        Index::of_field("cancelling_at", "cancellingAt", "the sweep of cancelled screenings"),
    ];

    fn derived(_: &Config) -> Option<Derived> {
        Some(Derived { field: SWEEP_AT, value: sweep_at, delay: 0 })
    }
}
