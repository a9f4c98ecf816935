//! Theaters: their creation, their plans, and where they are.

use super::super::{
    FARTHEST, MAX_CORNERS,
    documents::{GeoPoint, SeatPlan, TheaterDocument},
    store::{self, DISTANCE, Near, theaters},
    types::{
        ChangeSeatPlanInput, ChangeSeatPlanResult, CreateTheaterInput, CreateTheaterResult,
        GeoPointInput, NearbyTheater, Theater, UpdateTheaterInput, UpdateTheaterResult,
    },
};
use crate::{
    graphql::{declared::valid, prelude::*},
    mongo::Version,
};

/// One theater.
pub async fn theater(app: &App, id: &str) -> Result<Option<TheaterDocument>> {
    let Ok(id) = input::id(NodeKind::THEATER, id) else { return Ok(None) };
    theaters(app).get(&id).await
}

/// The theaters around a point, the nearest first.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn theaters_near(
    app: &App,
    mut point: GeoPointInput,
    meters: i32,
    paging: Paging,
) -> Result<Connection<NearbyTheater>> {
    valid("point", &mut point)?;
    input::within("withinMeters", meters.into(), 1..=FARTHEST)?;
    let GeoPointInput { latitude, longitude } = point;
    let list = format!("theatersNear {latitude} {longitude} {meters}");
    let order = Order { list, keys: vec![(DISTANCE, 1), ("_id", 1)] };
    let page = Page::new(app, order, paging)?;
    page.demand_forward()?;
    let found = store::near(app, [longitude, latitude], meters.into(), &page).await?;
    let position = |near: &Near| vec![near.distance.into(), near.theater.id.as_str().into()];
    let node = |Near { distance, theater }| NearbyTheater { distance, theater: theater.into() };
    Ok(page.connection(found, position, node))
}

/// The theaters in a polygon, in the order of their ids.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn theaters_within(
    app: &App,
    mut polygon: Vec<GeoPointInput>,
    paging: Paging,
) -> Result<Connection<Theater>> {
    if !(3..=MAX_CORNERS).contains(&polygon.len()) {
        return Err(Error::bad_input("polygon", format!("takes 3 to {MAX_CORNERS} corners")));
    }
    for (at, corner) in polygon.iter_mut().enumerate() {
        valid(&format!("polygon.{at}"), corner)?;
    }
    let corners = polygon.iter().map(|corner| [corner.longitude, corner.latitude]);
    let corners: Vec<[f64; 2]> = corners.collect();
    let order = Order { list: format!("theatersWithin {corners:?}"), keys: vec![("_id", 1)] };
    let page = Page::new(app, order, paging)?;
    let found = store::within(app, &corners, &page).await?;
    Ok(page.connection(found, |theater| vec![theater.id.as_str().into()], Theater::from))
}

/// Creates a theater, once per idempotency key.
pub async fn create_theater(cx: Cx<'_>, input: CreateTheaterInput) -> Answer<CreateTheaterResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    input.seat_plan.demand_seats()?;
    let op = cx.op(&[subject, "createTheater"], &input);
    let attempt = cx.begin().await?;
    let CreateTheaterInput { name, address, location, seat_plan, .. } = input.into_inner();
    let theater = TheaterDocument {
        id: op.id.clone(),
        name,
        address,
        place: GeoPoint::new(location.longitude, location.latitude),
        plan: seat_plan.into(),
        version: 1,
        origin: op.input.clone(),
        created_at: attempt.now(),
        v: Version,
    };
    let theater = theaters(&cx).insert_once(theater).await?;
    op.demand_same(&theater.origin)?;
    Ok(theater)
}

/// Replaces the seat plan. Screenings keep the plan that they were created with. A repeat finds the new plan there.
pub async fn change_seat_plan(
    cx: Cx<'_>,
    input: ChangeSeatPlanInput,
) -> Answer<ChangeSeatPlanResult> {
    let ChangeSeatPlanInput { theater_id: id, version, seat_plan } = input.checked()?.into_inner();
    let (attempt, theater) = cx.begin_with::<TheaterDocument>(&id).await?;
    theater.ok_or_else(|| NotFound::of(NodeKind::THEATER, &id))?;
    seat_plan.demand_seats()?;
    let (plan, version) = (SeatPlan::from(seat_plan), number_of(&version));
    let change = store::change_plan(&id, version, &plan);
    let written = theaters(&cx).write_and_read(&change, &attempt).await?;
    changed(written, (&id, version), |theater| theater.plan == plan)
}

/// Replaces the name, the address and the place. A repeat finds them there.
pub async fn update_theater(
    cx: Cx<'_>,
    input: UpdateTheaterInput,
) -> Result<TheaterDocument, Stop<UpdateTheaterResult>> {
    let UpdateTheaterInput { theater_id: id, version, name, address, location } =
        input.checked()?.into_inner();
    let (attempt, theater) = cx.begin_with::<TheaterDocument>(&id).await?;
    theater.ok_or_else(|| NotFound::of(NodeKind::THEATER, &id))?;
    let (place, version) =
        (GeoPoint::new(location.longitude, location.latitude), number_of(&version));
    let change = store::update(&id, version, (&name, &address, &place));
    let written = theaters(&cx).write_and_read(&change, &attempt).await?;
    changed(written, (&id, version), |theater| {
        theater.name == name && theater.address == address && theater.place == place
    })
}

/// The number of a version that a client has read. No theater has version 0, nor the last one: a repeat looks for the next.
fn number_of(version: &str) -> i64 {
    version.parse::<i64>().ok().filter(|read| *read < i64::MAX).unwrap_or(0)
}

/// The result of a change of a theater that had this version. A repeat finds the next version with what the change made.
fn changed<U: From<Conflict> + From<NotFound>>(
    written: Verdict<TheaterDocument, (), TheaterDocument>,
    (id, version): (&str, i64),
    is_made: impl Fn(&TheaterDocument) -> bool,
) -> Result<TheaterDocument, Stop<U>> {
    match written {
        Verdict::Applied(theater) => Ok(theater),
        Verdict::Refused((), theater) if theater.version == version + 1 && is_made(&theater) => {
            Ok(theater)
        }
        Verdict::Refused((), theater) => {
            Err(Conflict::stale_version(theater.version.to_string()).into())
        }
        Verdict::Missing => Err(NotFound::of(NodeKind::THEATER, id).into()),
    }
}
