//! The business rules of theaters.

mod bookings;
mod cancelling;
mod checkout;
mod receipts;
mod screenings;
mod seats;
mod theaters;

pub use bookings::{booking, cancel_booking, my_booking, open_booking};
pub use cancelling::cancel_screening;
pub(super) use cancelling::give_back;
pub(super) use checkout::SaleOfSeats;
pub use checkout::checkout_booking;
pub(super) use receipts::carry_on;
pub use receipts::{cancel_receipt, my_receipts, receipt, receipts_of_screening};
pub use screenings::{create_screening, screening, screenings, suggest_seats};
pub(super) use seats::free;
pub use seats::{hold_seats, release_seats};
pub use theaters::{
    change_seat_plan, create_theater, theater, theaters_near, theaters_within, update_theater,
};
