//! Seat plans: rows of places, each of which is a seat of a price category or a gap.

use async_graphql::SimpleObject;

use crate::mongo::prelude::*;

/// The character of a place without a seat.
pub(in super::super) const GAP: char = '_';

document! {
    /// The seats of a hall. A place that isn't a seat is a gap.
    #[derive(PartialEq, Eq, SimpleObject)]
    pub struct SeatPlan {
        /// Price categories of the seats.
        pub categories: Vec<PriceCategory>,
        /// Rows, the one nearest to the stage first.
        pub rows: Vec<PlanRow>,
    }

    /// A category of seats with one price.
    #[derive(PartialEq, Eq, SimpleObject)]
    pub struct PriceCategory {
        /// One capital letter, which stands for each seat of the category in the rows of the plan.
        pub code: String,
        /// Name for display, such as `Stalls`.
        pub name: String,
    }

    /// A row of a seat plan. Rows can have different lengths.
    #[derive(PartialEq, Eq, SimpleObject)]
    pub struct PlanRow {
        /// Name of the row, such as `C`. It is unique in the plan.
        pub label: String,
        /// One character for each place: the code of the seat's category, or `_` for a gap.
        pub places: String,
    }
}

/// A seat of a plan. Its place is the number under which screenings store it: all places are counted, row by row, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatAt<'a> {
    /// Number of the place.
    pub place: i32,
    /// Position of the row, from 0.
    pub row: usize,
    /// Label of the row.
    pub label: &'a str,
    /// Number of the place in its row, from 1. Gaps are counted.
    pub number: usize,
    /// Code of the category.
    pub category: char,
}

/// Why a plan has no such seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSeat {
    /// There is no row with this label.
    Row,
    /// The row has no place with this number.
    Number,
    /// The place is a gap.
    Gap,
}

impl SeatPlan {
    /// All seats, in the order of their places.
    pub fn seats(&self) -> impl Iterator<Item = SeatAt<'_>> {
        let places = self.rows.iter().enumerate().flat_map(|(row, PlanRow { label, places })| {
            let places = places.chars().enumerate();
            places.map(move |(at, category)| (row, label.as_str(), at + 1, category))
        });
        (0_i32..)
            .zip(places)
            .map(|(place, (row, label, number, category))| SeatAt {
                place,
                row,
                label,
                number,
                category,
            })
            .filter(|seat| seat.category != GAP)
    }

    /// Number of seats.
    pub fn count(&self) -> i64 {
        count(self.seats().count())
    }

    /// The seat with this number in the row with this label.
    ///
    /// # Errors
    /// There is no such seat.
    pub fn seat(&self, label: &str, number: i64) -> Result<SeatAt<'_>, NoSeat> {
        let mut rows = self.rows.iter().enumerate();
        let (row, PlanRow { label, places }) =
            rows.find(|(_, row)| row.label == label).ok_or(NoSeat::Row)?;
        let number = usize::try_from(number).map_err(|_negative| NoSeat::Number)?;
        let at = number.checked_sub(1).ok_or(NoSeat::Number)?;
        let category = places.chars().nth(at).ok_or(NoSeat::Number)?;
        if category == GAP {
            return Err(NoSeat::Gap);
        }
        let before = self.rows.iter().take(row).map(|row| row.places.chars().count());
        let place = i32::try_from(before.sum::<usize>() + at).map_err(|_large| NoSeat::Number)?;
        Ok(SeatAt { place, row, label, number, category })
    }

    /// The price of a seat of this category, if these are the prices of the plan's categories.
    pub fn price(&self, prices: &[i64], category: char) -> i64 {
        let mut each = self.categories.iter().zip(prices);
        let found = each.find(|(own, _)| own.code.starts_with(category));
        found.map_or(0, |(_, price)| *price)
    }
}
