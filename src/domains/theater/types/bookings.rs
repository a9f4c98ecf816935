//! GraphQL types of bookings and receipts.

use std::time::Duration;

use async_graphql::SimpleObject;

use super::{
    super::{
        documents::{self, BookingDocument, BookingState, ReceiptDocument, ReceiptState},
        operations,
    },
    screenings::{Screening, SeatInput},
};
use crate::{
    domains::paying::{PaymentDeclined, PaymentInput},
    flow::later,
    graphql::{prelude::*, refusals::CurrencyMismatch, scalars::DateTime},
};

object! {
    /// A booking: seats of one or several screenings that are held for a visitor until they are paid.
    pub type Booking = BookingDocument as booking {
        /// Global id of the booking. The id of a booking without an owner is a capability: whoever knows it may use the
        /// booking. This ends when a signed-in caller checks it out.
        pub id: ID = NodeKind::BOOKING.id(&booking.id),
        /// State of the booking. Only an `ACTIVE` booking can be changed.
        state: BookingState = booking.state,
        /// Currency of all prices.
        currency: CurrencyCode = booking.currency,
        /// The seats that it holds, one entry for each call of `holdSeats`, at most 20.
        holds: Vec<BookedSeats> = BookedSeats::all(&booking.holds, booking.currency),
        /// Sum of the prices of all seats.
        total: Money = Money::new(booking.0.total(), booking.currency),
        /// Time at which the booking was opened.
        opened_at: DateTime = booking.opened_at.into(),
        /// Time of the last change.
        modified_at: DateTime = booking.modified_at.into(),
        /// Time at which the booking expires if it isn't changed until then: `booking_idle_seconds` (by default 600)
        /// after the last change. Null unless it is `ACTIVE`.
        expires_at(context): Option<DateTime> = {
            let idle = Duration::from_secs(app(context).config().booking_idle_seconds);
            let is_active = booking.state == BookingState::Active;
            is_active.then(|| later(booking.modified_at, idle).into())
        },
        /// Global id of the receipt that the checkout made. Null unless the booking is `PAID` or `COMPLETE`.
        receipt_id: Option<ID> = booking.paid(),
        /// The receipt that the checkout made. Null unless the booking is `PAID` or `COMPLETE` and the receipt is visible to
        /// the caller. For a moment after the payment it is null as well.
        receipt(context)?: Option<Receipt> = {
            let Some(id) = booking.paid() else { return Ok(None) };
            operations::receipt(cx(context), &id).await?.map(Receipt::from)
        },
    }
}

impl Booking {
    fn paid(&self) -> Option<ID> {
        let is_paid = matches!(self.0.state, BookingState::Paid | BookingState::Complete);
        let checkout = self.0.checkout.as_ref().filter(|_| is_paid);
        checkout.map(|checkout| NodeKind::RECEIPT.id(&checkout.id))
    }
}

object! {
    /// A receipt: seats that were sold.
    pub type Receipt = ReceiptDocument as receipt {
        /// Global id of the receipt. The id of a receipt of a checkout without signing in is a capability: whoever knows
        /// it can see and cancel the receipt.
        pub id: ID = NodeKind::RECEIPT.id(&receipt.id),
        /// Global id of the booking that was checked out.
        booking_id: ID = NodeKind::BOOKING.id(&receipt.booking_id),
        /// The booking that was checked out. Null unless it is visible to the caller; merchants don't see the bookings of
        /// others.
        booking(context)?: Option<Booking> = {
            let id = NodeKind::BOOKING.id(&receipt.booking_id);
            operations::booking(cx(context), &id).await?.map(Booking::from)
        },
        /// User id of the customer, the subject of the token with which the booking was checked out. Null for a receipt of a
        /// checkout without signing in. Once the customer's data are erased, it is a pseudonym.
        customer_id: Option<ID> = receipt.owner.clone().map(ID),
        /// How far the receipt has come. Only a `PAID` receipt can be cancelled.
        state: ReceiptState = receipt.state,
        /// The seats, one entry for each hold of the booking.
        lines: Vec<BookedSeats> = BookedSeats::all(&receipt.lines, receipt.currency),
        /// Sum of the prices of all seats.
        total: Money = Money::new(receipt.total, receipt.currency),
        /// Part of the total that was paid back.
        refunded: Money = {
            let is_refunded = receipt.payment.as_ref().is_some_and(|payment| payment.refunded);
            Money::new(if is_refunded { receipt.total } else { 0 }, receipt.currency)
        },
        /// Time at which the first of its screenings begins. Until then it can be cancelled.
        starts_at: DateTime = receipt.starts_at.into(),
        /// Time of the checkout.
        paid_at: DateTime = receipt.paid_at.into(),
        /// Time of the last change.
        changed_at: DateTime = receipt.changed_at.into(),
    }
}

/// Seats of one screening that were taken by one call.
#[derive(Debug, Clone)]
pub struct BookedSeats {
    booked: documents::BookedSeats,
    currency: CurrencyCode,
}

object! {
    /// Seats of one screening that were taken by one call of `holdSeats`.
    impl BookedSeats as shown {
        /// Name of the hold within its booking, for `releaseSeats`.
        key: &str = shown.booked.key(),
        /// Global id of the screening.
        screening_id: ID = NodeKind::SCREENING.id(&shown.booked.screening_id),
        /// Name of what is shown.
        name: &String = &shown.booked.name,
        /// Time at which the screening begins.
        starts_at: DateTime = shown.booked.starts_at.into(),
        /// What is shown, as it is now. Null if it was deleted.
        screening(context)?: Option<Screening> = {
            let id = NodeKind::SCREENING.id(&shown.booked.screening_id);
            operations::screening(app(context), &id).await?.map(Screening::from)
        },
        /// The seats with their prices.
        seats: Vec<BookedSeat> = {
            let seat = |seat: &documents::BookedSeat| BookedSeat {
                row: seat.row.clone(),
                number: seat.number,
                category: seat.category.clone(),
                price: Money::new(seat.price, shown.currency),
            };
            shown.booked.seats.iter().map(seat).collect()
        },
        /// Sum of the prices of the seats.
        total: Money = Money::new(shown.booked.total(), shown.currency),
    }
}

impl BookedSeats {
    fn all(booked: &[documents::BookedSeats], currency: CurrencyCode) -> Vec<Self> {
        booked.iter().map(|booked| Self { booked: booked.clone(), currency }).collect()
    }
}

/// A seat of a booking or a receipt.
#[derive(Debug, Clone, SimpleObject)]
pub struct BookedSeat {
    /// Label of its row.
    pub row: String,
    /// Number of its place in the row, from 1. Gaps are counted.
    pub number: i32,
    /// Code of its price category.
    pub category: String,
    /// Price of the seat when it was taken.
    pub price: Money,
}

/// A seat that isn't free.
#[derive(Debug, Clone, SimpleObject)]
pub struct TakenSeat {
    /// Label of its row.
    pub row: String,
    /// Number of its place in the row, from 1. Gaps are counted.
    pub number: i32,
    /// Whether this booking holds the seat already.
    pub held_by_booking: bool,
}

input! {
    /// Input of `openBooking`: the currency of the new booking.
    pub struct OpenBookingInput {
        /// Currency of all prices. Only seats of screenings with this currency can be held.
        pub currency: CurrencyCode,
        /// Idempotency key, 1 to 128 characters; signed-in callers only. A repeat with the same key returns the booking
        /// that the first call opened, or `BookingNotActive` if that booking is closed. Without a token a key is refused
        /// with `InvalidInput`, because it would be shared by all anonymous callers.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `holdSeats`: the booking, the screening and the seats.
    pub struct HoldSeatsInput {
        /// Global id of the booking.
        pub booking_id: ID where id(NodeKind::BOOKING),
        /// Global id of the screening.
        pub screening_id: ID where id(NodeKind::SCREENING),
        /// The seats, 1 to 50, none of them twice. A booking holds 100 seats at most.
        pub seats: Vec<SeatInput> where each(50, nested()),
        /// Idempotency key, 1 to 128 characters. The seats are held once, however often the call is repeated with the
        /// same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `releaseSeats`: the booking and one of its holds.
    pub struct ReleaseSeatsInput {
        /// Global id of the booking.
        pub booking_id: ID where id(NodeKind::BOOKING),
        /// The field `key` of the hold.
        pub hold: String where verbatim(1..=64),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the booking as it is now.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `cancelBooking`: the active booking to cancel.
    pub struct CancelBookingInput {
        /// Global id of the booking.
        pub booking_id: ID where id(NodeKind::BOOKING),
    }

    /// Input of `checkoutBooking`: the booking and how it is paid.
    pub struct CheckoutBookingInput {
        /// Global id of the booking.
        pub booking_id: ID where id(NodeKind::BOOKING),
        /// How the total of the booking is paid.
        pub payment: PaymentInput where nested(),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the receipt if the checkout
        /// succeeded, and tries again if it was refused.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `cancelReceipt`: the receipt to cancel.
    pub struct CancelReceiptInput {
        /// Global id of the receipt.
        pub receipt_id: ID where id(NodeKind::RECEIPT),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the receipt as it is now; with
        /// another key, or without one, it is refused with `ReceiptNotOpen`.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `openBooking`: the booking, or a refusal. `BookingNotActive`: the booking of this `idempotencyKey` is
    /// closed. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum OpenBookingResult:
        BookingDocument => Booking | BookingNotActive | Conflict | InvalidInput;

    /// Result of `holdSeats`: the booking after the change, or a refusal that left all seats as they were. `NotFound`:
    /// the booking or the screening doesn't exist for this caller. `CurrencyMismatch`: the prices of the screening are in
    /// another currency than the booking. `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`:
    /// among others, the plan has no such seat.
    pub enum HoldSeatsResult:
        BookingDocument => Booking | NotFound | BookingNotActive | SeatsTaken | ScreeningBegun |
        ScreeningCancelled | CurrencyMismatch | Conflict | InvalidInput;

    /// Result of `releaseSeats`: the booking after the change, or a refusal. `NotFound`: the booking doesn't exist for
    /// this caller, or has no such hold. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum ReleaseSeatsResult:
        BookingDocument => Booking | NotFound | BookingNotActive | Conflict | InvalidInput;

    /// Result of `cancelBooking`: the cancelled booking, or a refusal. `BookingNotActive`: the booking is being checked
    /// out, or was checked out, or has expired.
    pub enum CancelBookingResult:
        BookingDocument => Booking | NotFound | BookingNotActive | InvalidInput;

    /// Result of `checkoutBooking`: the receipt, or a refusal that left the booking as it was. `NotFound`: the booking or
    /// the paying account doesn't exist for this caller. `BookingNotActive`: the booking is closed or in another checkout.
    /// `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`: among others, the account can't pay
    /// this booking.
    pub enum CheckoutBookingResult:
        ReceiptDocument => Receipt | NotFound | BookingNotActive | BookingEmpty | ScreeningBegun |
        PaymentDeclined | Conflict | InvalidInput;

    /// Result of `cancelReceipt`: the receipt, `CANCELLING` or `CANCELLED`, or a refusal.
    pub enum CancelReceiptResult:
        ReceiptDocument => Receipt | NotFound | ReceiptNotOpen | ScreeningBegun | Conflict |
        InvalidInput;
}

refusal! {
    /// The booking can't be changed in its present state.
    struct BookingNotActive as "BOOKING_NOT_ACTIVE" {
        /// State in which the booking takes no changes.
        pub booking_state: BookingState,
    }

    /// The booking holds no seats.
    struct BookingEmpty as "BOOKING_EMPTY" {
    }

    /// Some of the seats are held or sold. None of the others was taken.
    struct SeatsTaken as "SEATS_TAKEN" {
        /// The seats that aren't free.
        pub taken: Vec<TakenSeat>,
    }

    /// The screening has begun: its seats aren't held or sold any more, and its receipts aren't cancelled.
    struct ScreeningBegun as "SCREENING_BEGUN" {
        /// Time at which it began.
        pub begun_at: DateTime,
    }

    /// The screening is cancelled: its seats aren't held any more, and its receipts are refunded.
    struct ScreeningCancelled as "SCREENING_CANCELLED" {
        /// Time at which it was cancelled.
        pub cancelled_at: DateTime,
    }

    /// The receipt can't be cancelled in its present state.
    struct ReceiptNotOpen as "RECEIPT_NOT_OPEN" {
        /// State in which the receipt can't be cancelled.
        pub receipt_state: ReceiptState,
    }
}

impl BookingNotActive {
    /// The booking is in this state.
    pub fn new(state: BookingState) -> Self {
        Self::because(format!("a booking in the state {state} can't be changed"), state)
    }
}

impl SeatsTaken {
    /// These seats aren't free.
    pub fn new(taken: Vec<TakenSeat>) -> Self {
        let sentence = |is_own: bool, of: &str| {
            let seats = taken.iter().filter(|seat| seat.held_by_booking == is_own);
            let names: Vec<_> =
                seats.map(|TakenSeat { row, number, .. }| format!("{row} {number}")).collect();
            (!names.is_empty()).then(|| format!("{of}: {}", names.join(", ")))
        };
        let others = sentence(false, "these seats are taken");
        let own = sentence(true, "this booking holds these seats already");
        let message: Vec<_> = others.into_iter().chain(own).collect();
        Self::because(message.join("; "), taken)
    }
}

impl ScreeningBegun {
    /// It began at this time.
    pub fn at(begun_at: impl Into<DateTime>) -> Self {
        Self::because("the screening has begun", begun_at.into())
    }
}

impl ScreeningCancelled {
    /// It was cancelled at this time.
    pub fn at(cancelled_at: impl Into<DateTime>) -> Self {
        Self::because("the screening is cancelled", cancelled_at.into())
    }
}

impl ReceiptNotOpen {
    /// The receipt is in this state.
    pub fn new(state: ReceiptState) -> Self {
        let message = match state {
            ReceiptState::Cancelling => "the receipt is being cancelled",
            _ => "the receipt is cancelled",
        };
        Self::because(message, state)
    }
}
