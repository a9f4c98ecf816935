//! GraphQL types of screenings and of the map of their seats.

use async_graphql::{Enum, SimpleObject};

use super::{
    super::{
        MAX_PRICE,
        documents::{GAP, PlanRow, PriceCategory, ScreeningDocument, SeatAt},
        operations,
    },
    bookings::ScreeningBegun,
    theaters::{Theater, code, label},
};
use crate::graphql::{
    prelude::*,
    scalars::{DateTime, int},
};

object! {
    /// A screening, or any other performance, in a theater.
    pub type Screening = ScreeningDocument as screening {
        /// Global id of the screening.
        pub id: ID = NodeKind::SCREENING.id(&screening.id),
        /// The theater in which it takes place.
        theater(context)?: Option<Theater> = {
            let id = NodeKind::THEATER.id(&screening.theater_id);
            operations::theater(app(context), &id).await?.map(Theater::from)
        },
        /// Name of what is shown.
        name: &String = &screening.name,
        /// Description of what is shown.
        description: &String = &screening.description,
        /// Time at which it begins. Seats can be taken and receipts be cancelled until then.
        starts_at: DateTime = screening.starts_at.into(),
        /// Time at which it ends.
        ends_at: DateTime = screening.ends_at.into(),
        /// Time at which it was cancelled; otherwise null. Its seats can't be held any more, and its receipts are refunded.
        cancelled_at: Option<DateTime> = screening.cancelled_at.map(DateTime::from),
        /// Currency of the prices.
        currency: CurrencyCode = screening.currency,
        /// Price categories of the seats, with their prices.
        categories: Vec<SeatCategory> = categories(screening),
        /// Number of seats.
        seat_count: i32 = int(screening.plan.count()),
        /// Number of seats that are neither held nor sold.
        seats_available: i32 = int(screening.available),
        /// The map of the seats: the rows, the one nearest to the stage first. With `label` and `map` alone it is
        /// small; `seats` has the same in a typed form.
        rows: Vec<SeatRow> = rows(screening),
    }
}

/// A price category of a screening.
#[derive(Debug, Clone, SimpleObject)]
pub struct SeatCategory {
    /// One capital letter, which stands for each free seat of the category in the map.
    pub code: String,
    /// Name for display.
    pub name: String,
    /// Price of a seat.
    pub price: Money,
}

fn categories(screening: &ScreeningDocument) -> Vec<SeatCategory> {
    let priced = screening.plan.categories.iter().zip(&screening.prices);
    let category = |(category, price): (&PriceCategory, &i64)| {
        let (code, name) = (category.code.clone(), category.name.clone());
        SeatCategory { code, name, price: Money::new(*price, screening.currency) }
    };
    priced.map(category).collect()
}

/// Whether a seat can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum SeatState {
    /// The seat can be taken.
    Free,
    /// A booking holds the seat.
    Held,
    /// The seat is sold.
    Sold,
}

impl SeatState {
    /// The state of a seat of the screening.
    pub fn of(screening: &ScreeningDocument, place: i32) -> Self {
        match screening.taken(place) {
            None => Self::Free,
            Some(ScreeningDocument::HELD) => Self::Held,
            Some(_) => Self::Sold,
        }
    }
}

/// A seat of a screening.
#[derive(Debug, Clone, SimpleObject)]
pub struct Seat {
    /// Label of its row.
    pub row: String,
    /// Number of its place in the row, from 1. Gaps are counted.
    pub number: i32,
    /// Code of its price category.
    pub category: String,
    /// Price of the seat.
    pub price: Money,
    /// Whether it can be taken.
    pub state: SeatState,
}

impl Seat {
    /// The seat of the screening at a place of its plan.
    pub fn of(screening: &ScreeningDocument, seat: &SeatAt<'_>) -> Self {
        Self {
            row: seat.label.to_owned(),
            number: i32::try_from(seat.number).unwrap_or(i32::MAX),
            category: seat.category.to_string(),
            price: Money::new(screening.price(seat.category), screening.currency),
            state: SeatState::of(screening, seat.place),
        }
    }
}

/// A row of the map.
#[derive(Debug, Clone)]
pub struct SeatRow {
    label: String,
    map: String,
    /// The seats without their states, which the map has.
    seats: Vec<(usize, char, Money)>,
}

object! {
    /// A row of the map of a screening's seats.
    impl SeatRow as row {
        /// Name of the row.
        label: &String = &row.label,
        /// One character for each place: the code of the price category for a free seat, `h` for a held one, `s` for a
        /// sold one, and `_` for a gap.
        map: &String = &row.map,
        /// The seats of the row. Gaps are left out.
        seats: Vec<Seat> = row.typed(),
    }
}

impl SeatRow {
    fn typed(&self) -> Vec<Seat> {
        let states: Vec<char> = self.map.chars().collect();
        let seat = |(number, category, price): &(usize, char, Money)| Seat {
            row: self.label.clone(),
            number: i32::try_from(*number).unwrap_or(i32::MAX),
            category: category.to_string(),
            price: *price,
            state: match states.get(number - 1) {
                Some(&HELD) => SeatState::Held,
                Some(&SOLD) => SeatState::Sold,
                _ => SeatState::Free,
            },
        };
        self.seats.iter().map(seat).collect()
    }
}

/// The character of a held seat.
const HELD: char = 'h';
/// The character of a sold seat.
const SOLD: char = 's';

/// The rows of the map.
fn rows(screening: &ScreeningDocument) -> Vec<SeatRow> {
    let empty = |row: &PlanRow| {
        let map = row.places.chars().map(|_| GAP).collect::<Vec<_>>();
        (row.label.clone(), map, Vec::new())
    };
    let mut rows: Vec<_> = screening.plan.rows.iter().map(empty).collect();
    for seat in screening.plan.seats() {
        let Some((_, map, seats)) = rows.get_mut(seat.row) else { continue };
        if let Some(shown) = map.get_mut(seat.number - 1) {
            *shown = match SeatState::of(screening, seat.place) {
                SeatState::Free => seat.category,
                SeatState::Held => HELD,
                SeatState::Sold => SOLD,
            };
        }
        let price = Money::new(screening.price(seat.category), screening.currency);
        seats.push((seat.number, seat.category, price));
    }
    let row = |(label, map, seats): (String, Vec<char>, _)| SeatRow {
        label,
        map: map.into_iter().collect(),
        seats,
    };
    rows.into_iter().map(row).collect()
}

input! {
    /// A seat of a screening.
    pub struct SeatInput {
        /// Label of its row.
        pub row: String where label,
        /// Number of its place in the row, from 1. Gaps are counted.
        pub number: i32,
    }

    /// What a seat of one category of the plan costs.
    pub struct CategoryPriceInput {
        /// Code of a category of the theater's plan.
        pub category: String where code,
        /// Price of a seat in minor units, 0 to 1,000,000,000.
        pub price: Long where within(0..=MAX_PRICE),
    }

    /// Input of `createScreening`: what is shown, where and when, and the prices.
    pub struct CreateScreeningInput {
        /// Global id of the theater. The screening gets a copy of its seat plan.
        pub theater_id: ID where id(NodeKind::THEATER),
        /// Name of what is shown, 1 to 200 characters.
        pub name: String where text(1..=200),
        /// Description of what is shown, at most 2,000 characters.
        pub description: Option<String> where optional(text(0..=2_000)),
        /// Time at which it begins. It isn't in the past.
        pub starts_at: DateTime,
        /// Time at which it ends, later than its beginning and by no more than a week.
        pub ends_at: DateTime,
        /// Currency of the prices.
        pub currency: CurrencyCode,
        /// Price of each category of the plan.
        pub prices: Vec<CategoryPriceInput> where each(26, nested()),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the screening that the first call
        /// created.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

input! {
    /// Input of `cancelScreening`: the screening to cancel.
    pub struct CancelScreeningInput {
        /// Global id of the screening. It hasn't begun.
        pub screening_id: ID where id(NodeKind::SCREENING),
    }
}

result! {
    /// Result of `createScreening`: the screening, or a refusal. `NotFound`: there is no such theater. `Conflict`: this
    /// `idempotencyKey` was used with another input.
    pub enum CreateScreeningResult:
        ScreeningDocument => Screening | NotFound | Conflict | InvalidInput;

    /// Result of `cancelScreening`: the cancelled screening, or a refusal.
    pub enum CancelScreeningResult:
        ScreeningDocument => Screening | NotFound | ScreeningBegun | InvalidInput;
}
