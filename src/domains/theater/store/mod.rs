//! MongoDB access of theaters. The guarded writes are values: the caller adds its attempt and sends them.

mod bookings;
mod offers;
mod receipts;
mod screenings;
mod seats;

pub(super) use bookings::{add_hold, as_read, drop_hold, ended};
pub(super) use offers::offer;
pub(super) use receipts::{cancelling, cancelling_for_screening, list_paid_of, settle_refund};
pub(super) use screenings::{NotCancelled, cancel, list_screenings, settle_cancelled};
pub(super) use seats::{NotHeld, freeing, holding, keep, selling};

use mongodb::error::ErrorKind;

use super::{
    NEAREST,
    documents::{
        BookingDocument, GeoPoint, ReceiptDocument, ScreeningDocument, SeatPlan, TheaterDocument,
    },
};
use crate::{domains::baskets, flow::Bounds, graphql::prelude::*, mongo::prelude::*};

pub(super) fn theaters(app: &App) -> Collection<TheaterDocument> {
    app.collection()
}

pub(super) fn screenings(app: &App) -> Collection<ScreeningDocument> {
    app.collection()
}

pub(super) fn bookings(app: &App) -> Collection<BookingDocument> {
    app.collection()
}

pub(super) fn receipts(app: &App) -> Collection<ReceiptDocument> {
    app.collection()
}

/// Limits of the flows and op records of bookings.
pub(super) fn bounds(app: &App) -> Bounds {
    baskets::bounds::<BookingDocument>(app)
}

/// Replaces the plan of a theater, if it still has this version.
pub(super) fn change_plan(id: &str, version: i64, plan: &SeatPlan) -> Change<()> {
    let set = doc! { "plan": literal(stored(plan)), "version": version + 1 };
    Change::ruled(id, [(is("version", version), ())], set)
}

/// Replaces the name, the address and the place of a theater, if it still has this version.
pub(super) fn update(
    id: &str,
    version: i64,
    (name, address, place): (&str, &str, &GeoPoint),
) -> Change<()> {
    let set = doc! {
        "name": literal(name), "address": literal(address), "place": literal(stored(place)),
        "version": version + 1,
    };
    Change::ruled(id, [(is("version", version), ())], set)
}

/// Field of a theater's distance, in meters.
pub(super) const DISTANCE: &str = "distance";

/// A theater with its distance from a point, in meters.
#[derive(Debug, Deserialize)]
pub(super) struct Near {
    pub(super) distance: f64,
    pub(super) theater: TheaterDocument,
}

/// The theaters within this many meters of a point, the nearest first. Each page begins at the distance at which the
/// previous one ended, and reads no more than the nearest [`NEAREST`] from there on.
pub(super) async fn near(
    app: &App,
    [longitude, latitude]: [f64; 2],
    meters: f64,
    page: &Page,
) -> Result<Vec<Near>> {
    // A client can put any number into a cursor, and the server refuses one that is no distance.
    let from = page.from().and_then(|from| from.first()).and_then(Bson::as_f64);
    let from = from.unwrap_or(0.0).max(0.0).min(meters);
    let nearest = doc! { "$geoNear": {
        "near": { "type": "Point", "coordinates": [longitude, latitude] },
        "key": "place", "distanceField": DISTANCE, "spherical": true,
        "minDistance": from, "maxDistance": meters,
    } };
    let rest = page.list(Document::new());
    let pipeline = vec![
        nearest,
        doc! { "$limit": NEAREST },
        doc! { "$project": { DISTANCE: 1, "theater": "$$ROOT" } },
        doc! { "$match": rest.filter },
        doc! { "$sort": rest.sort },
        doc! { "$limit": rest.limit },
    ];
    theaters(app).rank(pipeline, None).await
}

/// The theaters in a polygon, whose corners are points of longitude and latitude. Its sides are the shortest lines on
/// the globe, so it may cross the date line.
///
/// # Errors
/// `BadInput`: the sides cross each other, or corners are the same.
pub(super) async fn within(
    app: &App,
    corners: &[[f64; 2]],
    page: &Page,
) -> Result<Vec<TheaterDocument>> {
    let ring = corners.iter().chain(corners.first()).map(|corner| Bson::from(corner.to_vec()));
    let polygon = doc! { "type": "Polygon", "coordinates": [ring.collect::<Vec<_>>()] };
    let filter = doc! { "place": { "$geoWithin": { "$geometry": polygon } } };
    // All theaters in the polygon are examined for each page, because they are sorted.
    let list = List { hint: Some("place"), time: Some(EXAMINING), ..page.list(filter) };
    theaters(app).list(list).await.map_err(|error| match error {
        Error::Internal(source) if is_bad_value(source.downcast_ref()) => {
            Error::bad_input("polygon", "its sides cross or touch each other")
        }
        error => error,
    })
}

/// Whether the server refused a value of the command. Of the values of [`within`], it can only be the polygon.
fn is_bad_value(error: Option<&mongodb::error::Error>) -> bool {
    const BAD_VALUE: i32 = 2;
    error.is_some_and(|error| {
        matches!(error.kind.as_ref(), ErrorKind::Command(command) if command.code == BAD_VALUE)
    })
}
