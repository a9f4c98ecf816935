//! Resolvers: they translate between GraphQL and the operations of theaters.

use super::{operations, types::GeoPointInput};
use crate::graphql::{prelude::*, scalars::DateTime, subscription::follow_node};

queries! {
    /// Query fields.
    pub struct TheaterQuery;

    /// A theater by its global id. Null if it doesn't exist.
    ///
    /// Who: everyone.
    theater(
        context,
        #[graphql(desc = "Global id of the theater.")] id: ID,
    ) with consistency: Option<Theater> = operations::theater(app(context), &id).await?.map(Theater::from),

    /// Theaters around a point, the nearest first. The list is read forwards only.
    ///
    /// Who: everyone.
    theaters_near(
        context,
        #[graphql(desc = "Place from which distances are measured.")] point: GeoPointInput,
        #[graphql(desc = "Maximum distance in meters, 1 to 20,100,000.")] within_meters: i32,
    ) with consistency: Connection<NearbyTheater> =
        operations::theaters_near(app(context), point, within_meters, paging(context)?).await?,

    /// Theaters in a polygon, in the order of their ids. Its sides are the shortest lines on the globe between its
    /// corners, so it may cross the date line. It is the smaller one of the two areas that the sides separate.
    ///
    /// Who: everyone.
    theaters_within(
        context,
        #[graphql(desc = "Corners of the polygon, 3 to 100, in the order of its sides. Sides don't cross each other.")]
        polygon: Vec<GeoPointInput>,
    ) with consistency: Connection<Theater> =
        operations::theaters_within(app(context), polygon, paging(context)?).await?,

    /// A screening by its global id, with the map of its seats. Null if it doesn't exist.
    ///
    /// Who: everyone.
    screening(
        context,
        #[graphql(desc = "Global id of the screening.")] id: ID,
    ): Option<Screening> = operations::screening(app(context), &id).await?.map(Screening::from),

    /// Screenings of a theater, in the order of their beginning.
    ///
    /// Who: everyone.
    screenings(
        context,
        #[graphql(desc = "Global id of the theater.")] theater_id: ID,
        #[graphql(desc = "They begin at or after this time.")] from: DateTime,
        #[graphql(desc = "They begin before this time, which is after `from`.")] to: DateTime,
    ): Connection<Screening> =
        operations::screenings(app(context), &theater_id, (from, to), paging(context)?).await?,

    /// The best free seats of a screening: those nearest to the middle of the hall. They aren't held; `holdSeats` holds
    /// them if they are still free. Null if there aren't as many, if the screening is cancelled or has begun, or if it
    /// doesn't exist.
    ///
    /// Who: everyone.
    suggest_seats(
        context,
        #[graphql(desc = "Global id of the screening.")] screening_id: ID,
        #[graphql(desc = "Number of seats, 1 to 50.")] count: i32,
        #[graphql(desc = "Whether they are side by side in one row, without gaps between them.", default = true)]
        together: bool,
        #[graphql(desc = "Code of the price category of all of them. Default: any.")]
        category: Option<String>,
    ): Option<Vec<Seat>> = {
        let category = category.as_deref();
        operations::suggest_seats(app(context), &screening_id, count, together, category).await?
    },

    /// A booking by its global id. Null if it doesn't exist or isn't visible to the caller. A booking with an owner is
    /// visible to the owner and to the role `service`, a booking without one to everyone who knows its id.
    ///
    /// Who: everyone.
    booking(
        context,
        #[graphql(desc = "Global id of the booking.")] id: ID,
    ): Option<Booking> = operations::booking(cx(context), &id).await?.map(Booking::from),

    /// The caller's active booking, on whatever device it was opened. If there are several, the one that was changed last.
    /// Null if there is none; `openBooking` opens one. A booking that was opened without a token isn't found.
    my_booking(context) by signed_in: Option<Booking> =
        operations::my_booking(cx(context)).await?.map(Booking::from),

    /// A receipt by its global id. Null if it doesn't exist or isn't visible to the caller. A receipt is visible to its
    /// owner and to merchants; a receipt of a checkout without signing in is visible to everyone who knows its id.
    ///
    /// Who: everyone.
    receipt(
        context,
        #[graphql(desc = "Global id of the receipt.")] id: ID,
    ): Option<Receipt> = operations::receipt(cx(context), &id).await?.map(Receipt::from),

    /// Receipts with seats of a screening, newest first, also those that were cancelled.
    receipts(
        context,
        #[graphql(desc = "Global id of the screening.")] screening_id: ID,
    ) by merchant: Connection<Receipt> =
        operations::receipts_of_screening(app(context), &screening_id, paging(context)?).await?,

    /// Receipts of the caller, newest first.
    my_receipts(context) by signed_in: Connection<Receipt> =
        operations::my_receipts(cx(context), paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct TheaterMutation;

    /// Creates a theater.
    create_theater(CreateTheaterInput) -> CreateTheaterResult by merchant;

    /// Replaces the name, the address and the place of a theater. Repeatable: a repeat finds them and changes nothing.
    update_theater(UpdateTheaterInput) -> UpdateTheaterResult by merchant;

    /// Replaces the seat plan of a theater. Screenings that were created before keep the former plan. Repeatable: a
    /// repeat finds its plan and changes nothing.
    change_seat_plan(ChangeSeatPlanInput) -> ChangeSeatPlanResult by merchant;

    /// Creates a screening with a copy of the theater's seat plan. All of its seats are free.
    create_screening(CreateScreeningInput) -> CreateScreeningResult by merchant;

    /// Cancels a screening that hasn't begun, for good. From then on none of its seats can be held. Behind the reply,
    /// bookings release their seats, and its receipts are cancelled and refunded, each as a whole, also if it has seats of
    /// other screenings. A booking that is being checked out becomes a receipt first. Repeatable: a repeat returns the
    /// cancelled screening.
    cancel_screening(CancelScreeningInput) -> CancelScreeningResult by merchant;

    /// Opens an empty booking. With a token the booking belongs to the caller. Without a token it has no owner: its id is
    /// then a capability, and everyone who knows the id may use the booking.
    ///
    /// Who: everyone.
    open_booking(OpenBookingInput) -> OpenBookingResult;

    /// Holds seats of a screening for a booking: all of them or none. A booking may hold seats of several screenings. The
    /// seats stay held until they are released or paid, or until the booking is cancelled or expires. Allowed for the
    /// owner and the role `service`, and for everyone if the booking has no owner.
    ///
    /// Who: everyone.
    hold_seats(HoldSeatsInput) -> HoldSeatsResult;

    /// Releases the seats of one hold of a booking. Allowed for the owner and the role `service`, and for everyone if the
    /// booking has no owner.
    ///
    /// Who: everyone.
    release_seats(ReleaseSeatsInput) -> ReleaseSeatsResult;

    /// Cancels an active booking for good and releases its seats. Repeatable: cancelling a cancelled booking returns it.
    /// Allowed for the owner and the role `service`, and for everyone if the booking has no owner.
    ///
    /// Who: everyone.
    cancel_booking(CancelBookingInput) -> CancelBookingResult;

    /// Checks a booking out: collects the payment and sells its seats. Either both happen or nothing. Of several
    /// concurrent checkouts of a booking one sells the seats. Allowed for the owner of the booking, and for everyone if
    /// the booking has no owner. With a token, a booking without an owner and its receipt then belong to the caller.
    ///
    /// Who: everyone.
    checkout_booking(CheckoutBookingInput) -> CheckoutBookingResult;

    /// Cancels a receipt until the first of its screenings begins: its seats become free, and its total is refunded. The
    /// receipt is `CANCELLING` until the refund is paid. Allowed for the owner and for merchants, and for everyone if the
    /// checkout was made without signing in.
    ///
    /// Who: everyone.
    cancel_receipt(CancelReceiptInput) -> CancelReceiptResult;
}

subscriptions! {
    /// Subscription fields.
    pub struct TheaterSubscription;

    /// A screening with the map of its seats: the current state first, then each new state after a change of a seat, and
    /// when it is cancelled. If there is no such screening, the only response is the error `NOT_FOUND`. If changes come
    /// faster than the client reads, intermediate states are skipped.
    ///
    /// Who: everyone.
    seat_map_changed(
        context,
        #[graphql(desc = "Global id of the screening.")] screening_id: ID,
    ): Screening = {
        let visible = |screening: &Screening| {
            let shown = &screening.0;
            (shown.available, shown.cancelled_at, shown.taken.clone())
        };
        follow_node(context, NodeKind::SCREENING, screening_id, visible, |cx, id| {
            Box::pin(operations::screening(cx.app, id))
        })
    },
}
