//! Invariants of theaters, for `docgate check`.

use std::collections::{HashMap, HashSet};

use super::{
    documents::{
        BookedSeats, BookingDocument, BookingState, ReceiptDocument, ReceiptState,
        ScreeningDocument,
    },
    store::{bookings, receipts, screenings},
};
use crate::{
    app::App,
    domains::{
        baskets::Basket as _,
        payments::{Books, of_seats},
    },
    error::Error,
    invariants::Report,
};

/// Places of the seats under a tag in a screening: by screening and tag.
type Seats = HashMap<(String, String), Vec<i32>>;

/// What the rules need to know of the screenings.
#[derive(Default)]
struct Taken {
    /// Seats that are held, with the booking's id.
    held: HashMap<(String, String), (String, Vec<i32>)>,
    /// Seats that are sold, with the receipt's id.
    sold: HashMap<(String, String), (String, Vec<i32>)>,
}

/// Checks the seats of each screening, and compares them with the bookings and the receipts.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let (mut taken, mut broken, mut given_back) = (Taken::default(), Vec::new(), Vec::new());
    screenings(app)
        .for_each(|screening| {
            broken.extend(unsound_seats(&screening));
            if screening.is_given_back() && !screening.taken.is_empty() {
                given_back.push(format!("screening {}: somebody has seats", screening.id));
            }
            taken.note(screening);
        })
        .await?;
    let rule = "theater: the free seats equal the counter; each taken seat is in one hold or sale";
    report.add(rule, broken);
    let rule = "theater: nobody has seats of a cancelled screening, or they are being given back";
    report.add(rule, given_back);
    let late = screenings(app).list_late().await?.into_iter().map(|late| late.to_string());
    report.add("theater: the sweep finds each hold in time (`sweepAt`)", late);
    let mut of_bookings = HashMap::new();
    let mut unequal = Vec::new();
    bookings(app)
        .for_each(|booking| {
            unequal.extend(unequal_holds(&booking, &mut taken));
            of_bookings.insert(booking.id.clone(), booking);
        })
        .await?;
    let left = taken.held.iter();
    unequal.extend(left.map(|((screening, tag), (booking, seats))| {
        format!("screening {screening} holds {seats:?} under {tag} for {booking}, which is gone")
    }));
    let rule = "theater: each hold belongs to one booking, and closed bookings hold nothing";
    report.add(rule, unequal);
    check_receipts(app, of_bookings, taken, report).await
}

/// Faults of the seats of a screening.
fn unsound_seats(screening: &ScreeningDocument) -> Vec<String> {
    let (id, mut broken) = (&screening.id, Vec::new());
    let plan: HashSet<i32> = screening.plan.seats().map(|seat| seat.place).collect();
    let free = plan.iter().filter(|place| screening.taken(**place).is_none()).count();
    if i64::try_from(free) != Ok(screening.available) {
        broken.push(format!("screening {id}: {free} are free, not {}", screening.available));
    }
    let mut seen: HashMap<i32, i32> = HashMap::new();
    let held = screening.holds.iter().map(|hold| (ScreeningDocument::HELD, &hold.seats));
    let sold = screening.sold.iter().map(|sale| (ScreeningDocument::SOLD, &sale.seats));
    for (state, seats) in held.chain(sold) {
        for seat in seats {
            if seen.insert(*seat, state).is_some() {
                broken.push(format!("screening {id}: seat {seat} is taken twice"));
            }
        }
    }
    if let Some(seat) = seen.keys().find(|seat| !plan.contains(seat)) {
        broken.push(format!("screening {id}: {seat} is no seat of the plan"));
    }
    let stored: HashMap<i32, i32> = screening
        .taken
        .iter()
        .map(|(place, state)| (place.parse().unwrap_or(-1), *state))
        .collect();
    if stored != seen {
        broken.push(format!("screening {id}: the seats differ from its holds and sales"));
    }
    broken
}

impl Taken {
    fn note(&mut self, screening: ScreeningDocument) {
        let ScreeningDocument { id, holds, sold, .. } = screening;
        for hold in holds {
            self.held.insert((id.clone(), hold.tag), (hold.booking_id, hold.seats));
        }
        for sale in sold {
            self.sold.insert((id.clone(), sale.tag), (sale.receipt_id, sale.seats));
        }
    }
}

/// Removes the booking's holds from those of the screenings, and returns those that differ from what they should be. A
/// booking in an intermediate state is part of a running flow and isn't judged.
fn unequal_holds(booking: &BookingDocument, taken: &mut Taken) -> Vec<String> {
    let BookingDocument { id, state, .. } = booking;
    let mut due: Seats = HashMap::new();
    for hold in &booking.holds {
        due.insert((hold.screening_id.clone(), hold.tag.clone()), hold.places());
    }
    for release in &booking.outbox {
        due.insert((release.screening_id.clone(), release.tag.clone()), release.seats.clone());
    }
    let is_judged = *state == BookingState::Active || booking.state().is_final();
    let mut broken = Vec::new();
    for (key, seats) in due {
        let found = taken.held.remove(&key);
        let expected = (*state == BookingState::Active).then(|| (id.clone(), seats));
        if is_judged && found != expected {
            broken.push(format!("{state} booking {id} holds {found:?}, not {expected:?}"));
        }
    }
    broken
}

/// Checks that completed bookings and receipts belong together, that receipts and sales do, and that receipts and payments
/// do.
async fn check_receipts(
    app: &App,
    mut bookings: HashMap<String, BookingDocument>,
    mut taken: Taken,
    report: &mut Report,
) -> Result<(), Error> {
    let (mut unowned, mut unsold) = (Vec::new(), Vec::new());
    let mut books = Books::default();
    receipts(app)
        .for_each(|receipt| {
            let booking = bookings.remove(&receipt.booking_id);
            unowned.extend(unlike_booking(&receipt, booking.as_ref()));
            let is_sold = booking.is_some_and(|booking| booking.state == BookingState::Complete);
            unsold.extend(unequal_sales(&receipt, is_sold, &mut taken));
            note_payment(&receipt, &mut books);
        })
        .await?;
    let complete = |booking: &BookingDocument| booking.state == BookingState::Complete;
    let without = bookings.values().filter(|booking| complete(booking));
    unowned.extend(without.map(|booking| format!("booking {} has no receipt", booking.id)));
    let rule = "theater: every completed booking has one receipt with the same owner and total";
    report.add(rule, unowned);
    unsold.extend(taken.sold.iter().map(|((screening, _), (receipt, seats))| {
        format!("screening {screening}: {seats:?} are sold, but receipt {receipt} hasn't them")
    }));
    report.add("theater: each sold seat is in one receipt", unsold);
    let rule = "theater: receipts equal what the provider captured and refunded";
    books.check(app, |payment| of_seats(payment).is_some(), rule, report).await
}

/// How a receipt differs from its booking.
fn unlike_booking(receipt: &ReceiptDocument, booking: Option<&BookingDocument>) -> Option<String> {
    let id = &receipt.id;
    let Some(booking) = booking else {
        return Some(format!("receipt {id} is of no booking, or of one with another receipt"));
    };
    let is_decided = matches!(booking.state, BookingState::Paid | BookingState::Complete);
    let checkout = booking.checkout.as_ref().filter(|checkout| checkout.id == *id);
    let total: i64 = receipt.lines.iter().map(BookedSeats::total).sum();
    let is_alike = is_decided
        && checkout.is_some_and(|checkout| checkout.total == receipt.total)
        && total == receipt.total
        && booking.owner == receipt.owner
        && booking.holds == receipt.lines;
    (!is_alike).then(|| format!("receipt {id} differs from its booking {}", booking.id))
}

/// Removes the receipt's sales from those of the screenings, and returns those that differ from what they should be. Those
/// of a receipt whose seats are still being sold or freed aren't judged.
fn unequal_sales(receipt: &ReceiptDocument, is_sold: bool, taken: &mut Taken) -> Vec<String> {
    let mut broken = Vec::new();
    for line in &receipt.lines {
        let found = taken.sold.remove(&(line.screening_id.clone(), line.tag.clone()));
        let expected = match receipt.state {
            ReceiptState::Paid if is_sold => Some((receipt.id.clone(), line.places())),
            ReceiptState::Cancelled => None,
            _ => continue,
        };
        if found != expected {
            let (id, screening) = (&receipt.id, &line.screening_id);
            broken.push(format!("receipt {id}: {found:?} in {screening}, not {expected:?}"));
        }
    }
    broken
}

fn note_payment(receipt: &ReceiptDocument, books: &mut Books) {
    let Some(payment) = &receipt.payment else { return };
    let (kept, due) = match receipt.state {
        ReceiptState::Paid => (receipt.total, 0),
        ReceiptState::Cancelling => (0, receipt.total),
        ReceiptState::Cancelled => (0, 0),
    };
    books.note(&payment.id, kept, due);
}
