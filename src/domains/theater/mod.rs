//! Theaters: halls on the map with plans of their seats, screenings, and bookings that hold seats and buy them.
//!
//! A screening is the only document with the state of its seats. Like the stock of the shop, it is a *receiver*: a booking
//! or a receipt commits.
//!
//! ```text
//!             hold(tag)            sell(tag)
//!   free ────────────────▶ held ──────────────▶ sold
//!     ▲     free(tag)       │                    │
//!     └─────────────────────┴────────────────────┘ free(tag), for a refund
//! ```
//!
//! A hold has one entry in the screening, with the tag of the try that made it. A sale moves the entry from `holds` to
//! `sold`; freeing removes it. Seats, counter and entry change in one update. So the entry is the mark of each step: a
//! repeat finds it there, or gone, and can't touch seats that someone else got in between. Writes of one moment on one
//! screening share a command (`src/mongo/writer.rs`); if a seat of one of them isn't free, the others aren't affected.
//!
//! # Bookings
//!
//! The booking is the decider of its holds and of its checkout. It is a [basket](super::baskets), which has the diagram of its
//! states:
//!
//! - **Holding**: read the booking, and the screening's plan unless the gateway keeps it; hold the seats under a tag, then
//!   commit on the booking. If the commit is refused, the tag is marked void on the booking, then the seats are freed.
//! - **Releasing**: commit on the booking, which moves the hold to the outbox; then free and settle.
//! - **Closing**: CANCELLING or EXPIRING ends all commits. Then all holds are freed. A hold whose commit comes too late is
//!   freed by its own attempt or by the sweep.
//! - **Checkout**: that of all [baskets](super::checkout). `operations/checkout.rs` has what differs.
//!
//! # Receipts
//!
//! A receipt is made by a checkout, and is the decider of its cancellation:
//!
//! ```text
//!   PAID ──cancelReceipt──▶ CANCELLING ──seats freed, money refunded──▶ CANCELLED
//! ```
//!
//! A receipt can be cancelled until the first of its screenings begins, also while its seats are still being sold. Freeing
//! for a refund leaves a mark in the screening's `freed`: a late copy of the hold could otherwise arrive after it, and a
//! late copy of the sale after that. The sweep removes the mark two grace periods later.
//!
//! # Cancelled screenings
//!
//! A screening decides on its cancellation until it begins. It has no holds or sales any more when bookings and receipts
//! have given everything back; `operations/cancelling.rs` has the steps.
//!
//! # Sweeps
//!
//! Every write of a screening derives `sweepAt`: the time of the first hold that the sweep hasn't looked at, or of the
//! oldest mark of a refund. Two grace periods later no attempt can commit the hold any more. If its booking has the hold,
//! the sweep marks it as `kept`, and from then on leaves it to the booking. If the booking is closed or gone, or its tag is
//! recorded without the hold, nobody will sell it, and it is freed. Otherwise its tag is aborted first.
//!
//! # Plans
//!
//! A screening copies the plan of its theater when it is created. A change of the plan applies to later screenings. Plan,
//! prices and times of a screening never change, so what was read of them is true, and each gateway keeps it.
//!
//! # Invariants
//!
//! - As many seats of a screening are free as `seatsAvailable` says. Each held seat is in one hold, and each sold seat in one
//!   sale.
//! - Nobody has seats of a cancelled screening that is settled.
//! - The holds of an active booking are held. A closed booking holds nothing.
//! - Each sale is a line of one receipt that isn't cancelled, and each line of a paid receipt is sold.
//! - Completed bookings and receipts belong together one to one, with the same owner.
//! - The totals of the receipts, less what was refunded, equal those of the provider.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room, baskets,
    broadcasts::broadcasts,
    nodes::node_type,
    room::{documented, unmet},
};
use crate::{config::CENTURY, graphql::node_id::NodeKind};
pub use documents::{
    BookedSeat, BookedSeats, BookingDocument, BookingState, Checkout, Freed, GeoPoint, Hold,
    NoSeat, Offer, PlanRow, PriceCategory, ReceiptDocument, ReceiptPayment, ReceiptState, Release,
    Sale, ScreeningDocument, SeatAt, SeatPlan, SweptScreening, TheaterDocument,
};
use types::{Booking, Receipt, Screening, Theater};

/// Maximum number of rows of a plan.
pub const MAX_ROWS: usize = 100;
/// Maximum number of places of a row.
pub const MAX_PLACES: usize = 200;
/// Maximum number of seats of a plan.
pub const MAX_SEATS_OF_PLAN: usize = 3_000;
/// Maximum price of a seat. With it the total of a full booking can't overflow.
pub const MAX_PRICE: i64 = 1_000_000_000;
/// Maximum number of seats of a booking.
pub const MAX_SEATS: usize = 100;
/// Maximum number of holds of a booking.
pub const MAX_HOLDS: usize = 20;
/// Maximum number of op records of a booking.
pub const MAX_CHANGES: usize = 300;
/// Maximum number of corners of a polygon.
pub const MAX_CORNERS: usize = 100;
/// Maximum distance of a search, in meters: half of the way around the globe.
pub const FARTHEST: i64 = 20_100_000;
/// Maximum number of theaters that one page of a search by distance examines.
pub const NEAREST: i64 = 1_000;

impl NodeKind {
    /// A theater.
    pub const THEATER: Self = Self::new("theater");
    /// A screening.
    pub const SCREENING: Self = Self::new("screening");
    /// A booking.
    pub const BOOKING: Self = Self::new("booking");
    /// A receipt of a booking.
    pub const RECEIPT: Self = Self::new("receipt");
}

pub const ROOM: Room = Room {
    needs: &["payments", "transfers"],
    faults: Some(|config| {
        unmet([
            (
                (1..=CENTURY).contains(&config.booking_idle_seconds),
                &format!("booking_idle_seconds must be between 1 and {CENTURY}"),
            ),
            (
                config.booking_keep_seconds <= CENTURY,
                &format!("booking_keep_seconds can't be above {CENTURY}"),
            ),
        ])
    }),
    nodes: &[
        node_type!(THEATER: Theater, |cx, id| operations::theater(cx.app, id)),
        node_type!(SCREENING: Screening, |cx, id| operations::screening(cx.app, id)),
        node_type!(BOOKING: Booking, |cx, id| operations::booking(cx, id)),
        node_type!(RECEIPT: Receipt, |cx, id| operations::receipt(cx, id)),
    ],
    documents: &[
        documented::<TheaterDocument>(),
        documented::<ScreeningDocument>(),
        documented::<BookingDocument>(),
        documented::<ReceiptDocument>(),
    ],
    broadcasts: broadcasts! {
        "theaters" {
            aggregate "$geoNear" = "list: theaters near a place",
            find "place" = "list: theaters within a polygon",
        }
        "screenings" {
            find "theaterId" = "list: screenings of a theater",
            find "sweepAt" = "sweep: holds of seats, and marks of refunds",
            find "cancellingAt" = "sweep: cancelled screenings with seats that somebody has",
        }
        "bookings" {
            find "owner" = "list: the booking of its owner",
            find "state" = "sweep: idle bookings, and flows that were cut",
            find "outbox.at" = "sweep: seats that are still to be released",
        }
        "receipts" {
            find "owner" = "list: the receipts of their owner",
            find "lines.screeningId" = "list: the receipts of a screening",
            find "cancellingAt" = "sweep: refunds that are still to be made",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| {
        Box::pin(baskets::erase::<BookingDocument, types::CancelBookingResult>(app, erasing))
    }),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("theater")
};
