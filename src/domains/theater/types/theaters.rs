//! GraphQL types of theaters and their seat plans.

use std::collections::HashSet;

use async_graphql::SimpleObject;

use super::super::{
    MAX_PLACES, MAX_ROWS, MAX_SEATS_OF_PLAN,
    documents::{GAP, PlanRow, PriceCategory, SeatPlan, TheaterDocument},
    operations,
};
use super::Screening;
use crate::graphql::{
    prelude::*,
    scalars::{DateTime, int},
};

object! {
    /// A theater: a hall on the map with a plan of its seats.
    pub type Theater = TheaterDocument as theater {
        /// Global id of the theater.
        pub id: ID = NodeKind::THEATER.id(&theater.id),
        /// Name of the theater.
        name: &String = &theater.name,
        /// Postal address on one or several lines.
        address: &String = &theater.address,
        /// Place on the map.
        location: GeoPoint = {
            let [longitude, latitude] = theater.place.coordinates;
            GeoPoint { latitude, longitude }
        },
        /// Plan of the seats. Screenings that were created before a change of the plan keep the former one.
        seat_plan: &SeatPlan = &theater.plan,
        /// Number of seats of the plan.
        seat_count: i32 = int(theater.plan.count()),
        /// Version of the theater and its plan, for `updateTheater` and `changeSeatPlan`.
        version: ID = ID(theater.version.to_string()),
        /// Screenings in the theater, in the order of their beginning.
        screenings(
            context,
            #[graphql(desc = "They begin at or after this time.")] from: DateTime,
            #[graphql(desc = "They begin before this time, which is after `from`.")] to: DateTime,
        )?: Connection<Screening> = {
            let id = NodeKind::THEATER.id(&theater.id);
            operations::screenings(app(context), &id, (from, to), paging(context)?).await?
        },
    }
}

/// A point on the globe.
#[derive(Debug, Clone, Copy, SimpleObject)]
pub struct GeoPoint {
    /// Latitude in degrees, from -90 to 90; north is positive.
    pub latitude: f64,
    /// Longitude in degrees, from -180 to 180; east is positive.
    pub longitude: f64,
}

/// A theater and its distance from the point that was asked for.
#[derive(SimpleObject)]
pub struct NearbyTheater {
    /// Distance in meters on the surface of the globe.
    pub distance: f64,
    /// What is at that distance.
    pub theater: Theater,
}

input! {
    /// A point on the globe.
    pub struct GeoPointInput {
        /// Latitude in degrees, from -90 to 90; north is positive.
        pub latitude: f64 where degrees(90.0),
        /// Longitude in degrees, from -180 to 180; east is positive.
        pub longitude: f64 where degrees(180.0),
    }

    /// A price category of a seat plan.
    pub struct PriceCategoryInput {
        /// One capital letter from `A` to `Z`. It is unique in the plan.
        pub code: String where code,
        /// Name for display, 1 to 100 characters.
        pub name: String where text(1..=100),
    }

    /// A row of a seat plan.
    pub struct PlanRowInput {
        /// Name of the row, such as `C`, 1 to 10 characters. It is unique in the plan.
        pub label: String where label,
        /// One character for each place, 1 to 200 of them: the code of the seat's category, or `_` for a gap.
        pub places: String,
    }

    /// A seat plan: its price categories and rows.
    pub struct SeatPlanInput {
        /// Price categories, 1 to 26.
        pub categories: Vec<PriceCategoryInput> where each(26, nested()),
        /// Rows, 1 to 100, the one nearest to the stage first. Together they have 1 to 3,000 seats.
        pub rows: Vec<PlanRowInput> where each(MAX_ROWS, nested()),
    }

    /// Input of `createTheater`: its name, its place and the plan of its seats.
    pub struct CreateTheaterInput {
        /// Name of the theater, 1 to 200 characters.
        pub name: String where text(1..=200),
        /// Postal address on one or several lines, 1 to 500 characters.
        pub address: String where text(1..=500),
        /// Place on the map.
        pub location: GeoPointInput where nested(),
        /// Rows with their seats and gaps, 1 to 3,000 seats.
        pub seat_plan: SeatPlanInput where plan,
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the theater that the first call
        /// created.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `updateTheater`: the theater, its version, and what it is called and where it is from now on.
    pub struct UpdateTheaterInput {
        /// Global id of the theater.
        pub theater_id: ID where id(NodeKind::THEATER),
        /// Version of the theater on which the change is based.
        pub version: ID,
        /// Name of the theater, 1 to 200 characters.
        pub name: String where text(1..=200),
        /// Postal address on one or several lines, 1 to 500 characters.
        pub address: String where text(1..=500),
        /// Place on the map.
        pub location: GeoPointInput where nested(),
    }

    /// Input of `changeSeatPlan`: the theater, its version, and the new plan.
    pub struct ChangeSeatPlanInput {
        /// Global id of the theater.
        pub theater_id: ID where id(NodeKind::THEATER),
        /// Version of the theater on which the new plan is based.
        pub version: ID,
        /// The new plan.
        pub seat_plan: SeatPlanInput where plan,
    }
}

/// A number of degrees that isn't beyond `most`.
fn degrees(most: f64) -> impl Fn(&str, &mut f64) -> Result<(), InvalidInput> {
    move |field, value| {
        if (-most..=most).contains(value) {
            return Ok(());
        }
        Err(InvalidInput::new(field, format!("must be between -{most} and {most}")))
    }
}

/// The code of a price category.
pub(super) fn code(field: &str, value: &mut String) -> Result<(), InvalidInput> {
    if matches!(value.as_bytes(), [b'A'..=b'Z']) {
        return Ok(());
    }
    Err(InvalidInput::new(field, "takes one capital letter from A to Z"))
}

/// The label of a row.
pub(super) fn label(field: &str, value: &mut str) -> Result<(), InvalidInput> {
    input::line(field, value, 1..=10).map(drop)
}

/// A seat plan: its parts fit each other.
fn plan(field: &str, plan: &mut SeatPlanInput) -> Result<(), Unusable> {
    plan.check().map_err(|fault| match fault {
        Unusable::Invalid(invalid) => Unusable::Invalid(invalid.below(field)),
        missing @ Unusable::Missing(_) => missing,
    })?;
    let SeatPlanInput { categories, rows } = plan;
    let fault = |at: String, reason: &str| {
        Err(Unusable::Invalid(InvalidInput::new(&format!("{field}.{at}"), reason)))
    };
    let mut codes = HashSet::from([GAP]);
    for (at, category) in categories.iter().enumerate() {
        if !category.code.chars().all(|code| codes.insert(code)) {
            return fault(format!("categories.{at}.code"), "is the code of another category");
        }
    }
    let mut labels = HashSet::new();
    for (at, row) in rows.iter().enumerate() {
        if !labels.insert(&row.label) {
            return fault(format!("rows.{at}.label"), "is the label of another row");
        }
        if !(1..=MAX_PLACES).contains(&row.places.len()) {
            return fault(format!("rows.{at}.places"), "takes 1 to 200 characters");
        }
        if !row.places.chars().all(|place| codes.contains(&place)) {
            let reason = "takes the codes of the plan's categories, and _ for a gap";
            return fault(format!("rows.{at}.places"), reason);
        }
    }
    Ok(())
}

impl SeatPlanInput {
    /// Checks the number of seats.
    ///
    /// # Errors
    /// There are none, or too many.
    pub fn demand_seats(&self) -> Result<(), InvalidInput> {
        let places = self.rows.iter().flat_map(|row| row.places.chars());
        if (1..=MAX_SEATS_OF_PLAN).contains(&places.filter(|place| *place != GAP).count()) {
            return Ok(());
        }
        Err(InvalidInput::new("seatPlan.rows", "takes 1 to 3000 seats in all rows"))
    }
}

impl From<SeatPlanInput> for SeatPlan {
    fn from(SeatPlanInput { categories, rows }: SeatPlanInput) -> Self {
        let category = |PriceCategoryInput { code, name }| PriceCategory { code, name };
        let row = |PlanRowInput { label, places }| PlanRow { label, places };
        Self {
            categories: categories.into_iter().map(category).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

result! {
    /// Result of `createTheater`: the theater, or a refusal. `Conflict`: this `idempotencyKey` was used with another
    /// input.
    pub enum CreateTheaterResult:
        TheaterDocument => Theater | Conflict | InvalidInput;

    /// Result of `updateTheater`: the theater after the change, or a refusal. `NotFound`: there is no such theater.
    /// `Conflict`: the theater or its plan was changed since that version.
    pub enum UpdateTheaterResult:
        TheaterDocument => Theater | NotFound | Conflict | InvalidInput;

    /// Result of `changeSeatPlan`: the theater with the new plan, or a refusal. `NotFound`: there is no such theater.
    /// `Conflict`: the theater or its plan was changed since that version.
    pub enum ChangeSeatPlanResult:
        TheaterDocument => Theater | NotFound | Conflict | InvalidInput;
}
