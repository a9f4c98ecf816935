//! Screenings: their creation and lists, and suggestions of seats.

use std::{cmp::Ordering, collections::HashMap};

use super::super::{
    documents::{BookedSeat, Offer, ScreeningDocument, SeatAt, TheaterDocument},
    store::{self, screenings as collection},
    types::{CreateScreeningInput, CreateScreeningResult, Screening, Seat, SeatInput},
};
use crate::{
    graphql::{prelude::*, scalars::DateTime},
    mongo::Version,
};

/// Longest time from beginning to end.
const LONGEST: i64 = 7 * 86_400_000;

/// One screening.
pub async fn screening(app: &App, id: &str) -> Result<Option<ScreeningDocument>> {
    let Ok(id) = input::id(NodeKind::SCREENING, id) else { return Ok(None) };
    collection(app).get(&id).await
}

/// The screenings of a theater that begin in a time.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn screenings(
    app: &App,
    theater: &str,
    (from, to): (DateTime, DateTime),
    paging: Paging,
) -> Result<Connection<Screening>> {
    if to.0 <= from.0 {
        return Err(Error::bad_input("to", "must be after from"));
    }
    let theater = input::id_or_none(NodeKind::THEATER, theater);
    let list = format!("screenings {theater} {} {}", from.0, to.0);
    let order = Order { list, keys: vec![("startsAt", 1), ("_id", 1)] };
    let page = Page::new(app, order, paging)?;
    let found = store::list_screenings(app, &theater, (from.0, to.0), &page).await?;
    let position =
        |found: &ScreeningDocument| vec![found.starts_at.into(), found.id.as_str().into()];
    Ok(page.connection(found, position, Screening::from))
}

/// Creates a screening with a copy of the theater's plan, once per idempotency key.
pub async fn create_screening(
    cx: Cx<'_>,
    input: CreateScreeningInput,
) -> Answer<CreateScreeningResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createScreening"], &input);
    if input.idempotency_key.is_some()
        && let Some(found) = collection(&cx).get_settled(&op.id).await?
    {
        op.demand_same(&found.origin)?;
        return Ok(found);
    }
    let (attempt, theater) = cx.begin_with::<TheaterDocument>(&input.theater_id).await?;
    let theater = theater.ok_or_else(|| NotFound::of(NodeKind::THEATER, &input.theater_id))?;
    let (starts, ends) = (input.starts_at.0, input.ends_at.0);
    if starts < attempt.now() {
        return Err(InvalidInput::new("startsAt", "is in the past").into());
    }
    let lasts = ends.timestamp_millis().saturating_sub(starts.timestamp_millis());
    if !(1..=LONGEST).contains(&lasts) {
        let reason = "must be later than the beginning, by no more than a week";
        return Err(InvalidInput::new("endsAt", reason).into());
    }
    let prices = prices(&theater, &input)?;
    let CreateScreeningInput { name, description, currency, .. } = input.into_inner();
    let screening = ScreeningDocument {
        id: op.id.clone(),
        theater_id: theater.id,
        name,
        description: description.unwrap_or_default(),
        starts_at: starts,
        ends_at: ends,
        currency,
        available: theater.plan.count(),
        plan: theater.plan,
        prices,
        cancelled_at: None,
        cancelling_at: None,
        taken: [].into(),
        holds: Vec::new(),
        sold: Vec::new(),
        freed: Vec::new(),
        origin: op.input.clone(),
        created_at: attempt.now(),
        v: Version,
    };
    let screening = collection(&cx).insert_once(screening).await?;
    op.demand_same(&screening.origin)?;
    Ok(screening)
}

/// The price of each category of the theater's plan, in the plan's order.
fn prices(
    theater: &TheaterDocument,
    input: &CreateScreeningInput,
) -> Result<Vec<i64>, InvalidInput> {
    let mut given = HashMap::new();
    for (at, price) in input.prices.iter().enumerate() {
        let is_known = theater.plan.categories.iter().any(|own| own.code == price.category);
        if !is_known || given.insert(price.category.as_str(), price.price.0).is_some() {
            let reason =
                if is_known { "has a price already" } else { "isn't a category of the plan" };
            return Err(InvalidInput::new(&format!("prices.{at}.category"), reason));
        }
    }
    let price = |own: &str| {
        let price = given.get(own).copied();
        price.ok_or_else(|| InvalidInput::new("prices", format!("has no price of category {own}")))
    };
    theater.plan.categories.iter().map(|own| price(&own.code)).collect()
}

/// The seats of an input, at the prices of the screening.
///
/// # Errors
/// One of them isn't in the plan, is a gap, or is named twice.
pub(super) fn wanted(offer: &Offer, seats: &[SeatInput]) -> Result<Vec<BookedSeat>, InvalidInput> {
    if seats.is_empty() {
        return Err(InvalidInput::new("seats", "takes at least one seat"));
    }
    let mut wanted: Vec<BookedSeat> = Vec::with_capacity(seats.len());
    for (at, SeatInput { row, number }) in seats.iter().enumerate() {
        let invalid = |reason: &str| Err(InvalidInput::new(&format!("seats.{at}"), reason));
        let Ok(seat) = offer.plan.seat(row, (*number).into()) else {
            return invalid("isn't a seat of the plan");
        };
        if wanted.iter().any(|other| other.place == seat.place) {
            return invalid("is named twice");
        }
        wanted.push(BookedSeat {
            place: seat.place,
            row: row.clone(),
            number: *number,
            category: seat.category.to_string(),
            price: offer.plan.price(&offer.prices, seat.category),
        });
    }
    Ok(wanted)
}

/// The best free seats. `None` if there aren't as many, or if the screening doesn't exist, is cancelled or has begun.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn suggest_seats(
    app: &App,
    id: &str,
    count: i32,
    together: bool,
    category: Option<&str>,
) -> Result<Option<Vec<Seat>>> {
    input::within("count", count.into(), 1..=50)?;
    if category.is_some_and(|code| !matches!(code.as_bytes(), [b'A'..=b'Z'])) {
        return Err(Error::bad_input("category", "takes one capital letter from A to Z"));
    }
    let Ok(id) = input::id(NodeKind::SCREENING, id) else { return Ok(None) };
    let found = collection(app).get_timed(&id).await?;
    let found = found.filter(|found| found.document.cancelled_at.is_none());
    let Some(timed) = found.filter(|found| found.now < found.document.starts_at) else {
        return Ok(None);
    };
    let (screening, wanted) = (timed.document, usize::try_from(count).unwrap_or_default());
    let best = best(&screening, wanted, together, category);
    Ok(best.map(|seats| seats.iter().map(|seat| Seat::of(&screening, seat)).collect()))
}

/// The best `wanted` free seats of a category, or of all: those nearest to the middle of the hall. If they are to be
/// together, they are side by side in one row.
fn best<'a>(
    screening: &'a ScreeningDocument,
    wanted: usize,
    together: bool,
    category: Option<&str>,
) -> Option<Vec<SeatAt<'a>>> {
    let is_wanted = |seat: &SeatAt<'_>| {
        screening.taken(seat.place).is_none()
            && category.is_none_or(|code| code.starts_with(seat.category))
    };
    let mut free: Vec<SeatAt<'a>> = screening.plan.seats().filter(is_wanted).collect();
    let far = |seat: &SeatAt<'_>| distance(screening, seat);
    let by = |left: f64, right: f64| left.partial_cmp(&right).unwrap_or(Ordering::Equal);
    if !together {
        free.sort_by(|left, right| by(far(left), far(right)));
        free.truncate(wanted);
        return (free.len() == wanted).then_some(free);
    }
    let is_run = |seats: &&[SeatAt<'_>]| {
        seats.windows(2).all(|two| two[0].row == two[1].row && two[0].number + 1 == two[1].number)
    };
    let sum = |seats: &[SeatAt<'_>]| seats.iter().map(far).sum::<f64>();
    let runs = free.windows(wanted).filter(is_run);
    runs.min_by(|left, right| by(sum(left), sum(right))).map(<[_]>::to_vec)
}

/// How far a seat is from the best one of the hall: the middle of a row a little behind the middle.
fn distance(screening: &ScreeningDocument, seat: &SeatAt<'_>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "plans are small")]
    let real = |number: usize| number as f64;
    let rows = &screening.plan.rows;
    let width = rows.get(seat.row).map_or(0, |row| row.places.len());
    let (across, back) =
        (real(seat.number) - real(width + 1) / 2.0, real(seat.row) - real(rows.len()) * 0.6);
    across.hypot(back)
}
