//! The documents of theaters as MongoDB stores them.

mod bookings;
mod plan;
mod screenings;

pub use bookings::{
    BookedSeat, BookedSeats, BookingDocument, BookingState, Checkout, ReceiptDocument,
    ReceiptPayment, ReceiptState, Release,
};
pub(super) use plan::GAP;
pub use plan::{NoSeat, PlanRow, PriceCategory, SeatAt, SeatPlan};
pub(super) use screenings::SWEEP_AT;
pub use screenings::{Freed, Hold, Offer, Sale, ScreeningDocument, SweptScreening};

use crate::mongo::prelude::*;

document! {
    /// One theater.
    pub struct TheaterDocument {
        /// Derived from the idempotency key that created it, otherwise random.
        pub id as "_id": String,
        pub name: String,
        /// Postal address on one or several lines.
        pub address: String,
        pub place: GeoPoint,
        pub plan: SeatPlan,
        /// It rises with each change of the theater or its plan.
        pub version: i64,
        /// Digest of the input that created it, which identifies a repeat.
        pub origin: String,
        /// Server time of creation.
        pub created_at: DateTime,
        pub v: Version<1>,
    } in "theaters" {
        plain("place", "%place", "theatersNear and theatersWithin"),
    }

    /// A point of `GeoJSON`.
    #[derive(PartialEq)]
    pub struct GeoPoint {
        /// Always `Point`.
        pub kind as "type": String,
        /// Longitude and latitude in degrees.
        pub coordinates: [f64; 2],
    }
}

impl GeoPoint {
    /// The point with these degrees.
    pub fn new(longitude: f64, latitude: f64) -> Self {
        Self { kind: "Point".into(), coordinates: [longitude, latitude] }
    }
}
