//! GraphQL types of theaters.

mod bookings;
mod screenings;
mod theaters;

pub use bookings::{
    BookedSeat, BookedSeats, Booking, BookingEmpty, BookingNotActive, CancelBookingInput,
    CancelBookingResult, CancelReceiptInput, CancelReceiptResult, CheckoutBookingInput,
    CheckoutBookingResult, HoldSeatsInput, HoldSeatsResult, OpenBookingInput, OpenBookingResult,
    Receipt, ReceiptNotOpen, ReleaseSeatsInput, ReleaseSeatsResult, ScreeningBegun,
    ScreeningCancelled, SeatsTaken, TakenSeat,
};
pub use screenings::{
    CancelScreeningInput, CancelScreeningResult, CategoryPriceInput, CreateScreeningInput,
    CreateScreeningResult, Screening, Seat, SeatCategory, SeatInput, SeatRow, SeatState,
};
pub use theaters::{
    ChangeSeatPlanInput, ChangeSeatPlanResult, CreateTheaterInput, CreateTheaterResult, GeoPoint,
    GeoPointInput, NearbyTheater, PlanRowInput, PriceCategoryInput, SeatPlanInput, Theater,
    UpdateTheaterInput, UpdateTheaterResult,
};
