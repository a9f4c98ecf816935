//! The personal data in the collections of this room. An erasure also cancels the person's bookings.

use super::{operations::cancel_booking, store::bookings, types::CancelBookingInput};
use crate::{
    domains::{
        baskets::Basket,
        persons::{self, Erasing},
    },
    graphql::prelude::*,
    mongo::personal::{Blank, Field, Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("theaters", "halls and their seats"),
    Personal::nothing("screenings", "seats; their holders are bookings and receipts"),
    Personal::of(
        "bookings",
        Find::Walk,
        &[
            Field::replaces("owner"),
            Field::blanks("checkout.owner", &[("payment.token", Blank::Nothing)]),
        ],
    )
    // Its flow writes the owner to the receipt.
    .unless(&["state"], |booking, _| {
        !matches!(booking.get_str("state"), Ok("COMPLETE" | "EXPIRED" | "CANCELLED"))
    }),
    Personal::of("receipts", Find::Index("owner", "owner_paid"), &[Field::replaces("owner")]),
];

/// Cancels the person's bookings, which frees their seats. One that is being checked out is left to the next run.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    let requester = erasing.requester.clone();
    for id in persons::ids(app, "bookings", "owner", &erasing.subject).await? {
        let booking = bookings(app).get_settled(&id).await?;
        if booking.is_none_or(|booking| booking.state().is_final()) {
            continue;
        }
        let cx = Cx { app, requester: &requester };
        let input = CancelBookingInput { booking_id: NodeKind::BOOKING.id(&id) };
        match cancel_booking(cx, input).await {
            Ok(_) => erasing.ends("bookings"),
            Err(Stop::Failed(error)) => return Err(error),
            // The flow that is going on closes it or gives it back.
            Err(Stop::Refused(_)) => {
                erasing.waits.push("a booking is being checked out or closed".to_owned());
            }
        }
    }
    Ok(())
}
