//! The checkout of [baskets](super::baskets): the content of a basket is paid, and a document is placed for it, such as an
//! order. The basket is the decider. Each room declares a [`Sale`]: the part of the content that isn't reserved yet, how the
//! content is sold, and the document that is placed. The `_id` of that document is the checkout's.
//!
//! There are two flows. If the payment needs no outside provider, the checkout needs no *claim* (`unclaimed`). If an outside
//! provider authorises the payment, it needs one (`claimed`). `claimed` also finishes checkouts of versions that had only that
//! flow.
//!
//! The payment has its own id, which the basket records: a reader of the payment must not be able to derive the id of what is
//! placed.
//!
//! **Ownership.** A basket without an owner gets the caller who checks it out with a token as its owner. The checkout records
//! that caller, guarded by the basket's owner as it was read. The commit writes it as the basket's owner, and the placed
//! document has the same owner. A checkout that is aborted leaves the owner unchanged.
//!
//! A room's sweep calls, in this order, [`sweep_checkouts`], [`sweep_holds`] and [`sweep_authorisations`].

mod claimed;
mod sweep;
mod unclaimed;

pub use sweep::{has_payment, sweep_authorisations, sweep_checkouts, sweep_holds};

use std::future::ready;

use mongodb::bson::DateTime;

use super::{
    baskets::{self, Basket, State, Terms},
    paying::{Payment, PaymentDeclined},
    payments::{
        Charge,
        operations::{self as payments, needs_no_provider},
    },
    transfers::AccountDocument,
};
use crate::{
    flow::Decider as _,
    graphql::prelude::*,
    mongo::{Stored, guarded::Sends},
};

/// What a room gives to the checkout of a kind of baskets.
pub trait Sale: Copy + Send + Sync + 'static {
    /// The baskets.
    type Basket: Basket;
    /// What is placed for a basket.
    type Placed: Stored;
    /// The result of the mutation.
    type Refused: From<NotFound>
        + From<InvalidInput>
        + From<Conflict>
        + From<PaymentDeclined>
        + From<<Self::Basket as Basket>::NotActive>
        + Send;

    /// The kind of the global id of what is placed.
    const PLACED: NodeKind;
    /// Whether open authorisations that name no holder are of this room. Old ones name none.
    const HAS_UNNAMED: bool = false;
    /// What the ids of the checkout and of its payment are derived from, beside the basket and the try.
    const IDS: [&'static str; 2];
    /// Name of the work behind the answer.
    const FINISHING: &'static str;

    /// The name of a payment or a basket in the provider's records, which are those of all rooms.
    fn recorded(name: &str) -> String;
    /// The name behind a holder's in the provider's records; `None` if the holder is of another room.
    fn own_name(holder: &str) -> Option<&str>;
    /// Whether the payment belongs to what has this name: to its checkout, or to what the checkout has placed.
    fn has_payment(
        app: &App,
        name: &str,
        payment: &str,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// The parts of an ACTIVE basket as it was read that are part of the tag: others need other reservations or another
    /// amount.
    ///
    /// # Errors
    /// Why it can't be checked out.
    fn parts(
        cx: Cx<'_>,
        basket: &Self::Basket,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<Vec<String>, Stop<Self::Refused>>> + Send;
    /// The document that a checkout places.
    fn placed(run: Run<'_, Self>) -> Self::Placed;
    /// Inserts what is placed. Returns it if this call inserted it.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn place(
        app: &App,
        placed: Self::Placed,
    ) -> impl Future<Output = Result<Option<Self::Placed>>> + Send {
        insert(app, placed)
    }
    /// Whether the placed document was deleted since.
    fn is_deleted(_placed: &Self::Placed) -> bool {
        false
    }

    /// Reserves what the basket doesn't hold yet, under [`Terms::reserves_under`]. Returns whether this attempt reserved
    /// everything itself and no copy of a reserve is still on its way, or the reason why the checkout has to be aborted.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn reserve(
        _run: Run<'_, Self>,
    ) -> impl Future<Output = Result<Result<bool, Stop<Self::Refused>>>> + Send {
        ready(Ok(Ok(true)))
    }
    /// Releases what [`Self::reserve`] reserved.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn release(_run: Run<'_, Self>) -> impl Future<Output = Result<()>> + Send {
        ready(Ok(()))
    }
    /// Sells the content of the basket, each part once. Returns whether a sale was sent twice.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn sell(run: Run<'_, Self>) -> impl Future<Output = Result<Sends>> + Send;
    /// Removes the marks of a checkout without a claim early, as far as the receivers permit it.
    ///
    /// # Errors
    /// The outcome is unknown. The marks are removed later.
    fn forget(_run: Run<'_, Self>) -> impl Future<Output = Result<()>> + Send {
        ready(Ok(()))
    }
    /// Begins in the background what follows a checkout with a claim.
    fn claim_ended(_run: Run<'_, Self>) {}
}

/// The baskets of a room. With this name, the derived `Copy` of [`Run`] doesn't require that a basket is `Copy`.
type BasketOf<S> = <S as Sale>::Basket;

/// The stored checkouts of a room.
pub type Record<S> = <<S as Sale>::Basket as Basket>::Checkout;

/// The stored checkout that begins, or why it can't begin.
pub type Recorded<S> = Result<Record<S>, Stop<<S as Sale>::Refused>>;

/// What a checkout returns.
pub type Placed<S> = Result<<S as Sale>::Placed, Stop<<S as Sale>::Refused>>;

/// A checkout that begins: the values of the stored one. The fields are those of [`Terms`].
#[derive(Debug)]
pub struct NewCheckout {
    pub id: String,
    pub tag: Option<String>,
    pub payment_id: String,
    pub owner: Option<String>,
    pub op: String,
    pub input: String,
    pub payment: Payment,
    pub total: i64,
    pub deadline: DateTime,
}

/// A checkout, as an attempt carries it out.
#[derive(Clone, Copy)]
pub struct Run<'a, S: Sale> {
    pub app: &'a App,
    pub basket: &'a BasketOf<S>,
    pub checkout: &'a Record<S>,
    pub terms: Terms<'a>,
    pub attempt: &'a Attempt,
    /// Whether this attempt reserved everything itself; see [`Sale::reserve`].
    took: bool,
}

/// A call of the mutation that checks out.
#[derive(Debug)]
pub struct Call<'a> {
    pub cx: Cx<'a>,
    /// `_id` of the basket.
    pub id: &'a str,
    pub op: &'a Op,
    pub payment: Payment,
}

/// Checks a basket out, and returns what is placed. `record` makes the stored checkout, or refuses it.
///
/// # Errors
/// A refusal, which left the basket as it was; or the outcome is unknown.
pub async fn check_out<S: Sale>(
    call: &Call<'_>,
    record: impl Fn(NewCheckout, &S::Basket) -> Recorded<S> + Sync,
) -> Placed<S> {
    let (cx, op, record) = (call.cx, call.op, &record);
    let read = || async move {
        let payer = payments::payer(&cx, call.payment.account.as_deref());
        let (began, payer) = tokio::join!(begin::<S>(cx, call.id), payer);
        let (attempt, basket) = began?;
        Ok((attempt, (basket, payer?)))
    };
    decide(
        read,
        |attempt: Attempt, (basket, payer): (S::Basket, Option<AccountDocument>)| async move {
            let own = basket.checkout().filter(|checkout| S::Basket::terms(checkout).op == op.id);
            let Some(checkout) = own.filter(|_| basket.state() != State::Active) else {
                if basket.state() != State::Active {
                    return Err(basket.not_active().into());
                }
                return try_out::<S>(call, &basket, payer.as_ref(), &attempt, record).await;
            };
            let run = Run::<S>::of(&cx, &basket, checkout, &attempt);
            if run.terms.input != op.input {
                return Err(OtherInput.into());
            }
            match basket.state() {
                State::Complete => Ok(Step::Done(run.placed_before().await?)),
                State::Paid if run.terms.tag.is_some() => Ok(Step::Done(run.place().await?)),
                _ if !attempt.is_overdue(run.terms.deadline) => Ok(Step::Wait),
                _ => {
                    // Its attempt was interrupted, and none of its writes can still be applied.
                    run.recover().await?;
                    Ok(Step::Again)
                }
            }
        },
    )
    .await
}

/// Begins an attempt. Only the owner checks a basket out, and anyone who knows its id if there is none.
async fn begin<S: Sale>(cx: Cx<'_>, id: &str) -> Result<(Attempt, S::Basket), Stop<S::Refused>> {
    let (attempt, basket) = cx.begin_with::<S::Basket>(id).await?;
    let is_theirs = |basket: &S::Basket| basket.owner().is_none_or(|owner| cx.requester.is(owner));
    let basket = basket.filter(is_theirs);
    Ok((attempt, basket.ok_or_else(|| NotFound::of(S::Basket::KIND, id))?))
}

/// A try on an ACTIVE basket, of which the payer's account was read too.
async fn try_out<S: Sale>(
    Call { cx, op, payment, .. }: &Call<'_>,
    basket: &S::Basket,
    payer: Option<&AccountDocument>,
    attempt: &Attempt,
    record: &(impl Fn(NewCheckout, &S::Basket) -> Recorded<S> + Sync),
) -> Result<Step<S::Placed>, Stop<S::Refused>> {
    let parts = S::parts(*cx, basket, attempt).await?;
    let at_once = needs_no_provider(cx, basket.total());
    let new = new_checkout::<S>(*cx, op, basket, &parts, at_once, payment, attempt);
    let checkout = record(new, basket)?;
    let run = Run::<S>::of(cx, basket, &checkout, attempt);
    if at_once {
        payments::check_payer(*cx, &run.charge(), payer)?;
    }
    basket.carry_out_outbox(cx, attempt).await?;
    if at_once {
        return run.check_out(op).await;
    }
    let frozen = baskets::freeze(cx, basket, &checkout).within(attempt).then_read().await?;
    let is_ours = |now: &S::Basket| {
        let own = now.checkout().map(|own| S::Basket::terms(own).id);
        now.state() == State::Pending && own == Some(run.terms.id)
    };
    let Some(frozen) = frozen.filter(is_ours) else { return Ok(Step::Again) };
    Ok(Step::Done(Run::<S>::new(cx, &frozen, attempt)?.carry_through().await?))
}

/// The checkout that an attempt begins, with or without a claim.
fn new_checkout<S: Sale>(
    cx: Cx<'_>,
    op: &Op,
    basket: &S::Basket,
    parts: &[String],
    is_unclaimed: bool,
    payment: &Payment,
    attempt: &Attempt,
) -> NewCheckout {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let tag = || format!("{}/{}", op.tag(basket.ops()), cx.ids().derived(&parts));
    let tag = is_unclaimed.then(tag);
    let number = basket.checkouts().to_string();
    let name = tag.as_ref().map_or_else(|| [&*op.id, &number], |tag| [tag, ""]);
    let derived = |what| cx.ids().derived(&[what, basket.id(), name[0], name[1]]);
    let [id, payment_id] = S::IDS.map(derived);
    NewCheckout {
        id,
        payment_id: S::recorded(&payment_id),
        owner: cx.requester.subject.clone(),
        op: op.id.clone(),
        input: op.input.clone(),
        payment: payment.clone(),
        total: basket.total(),
        deadline: attempt.deadline(),
        tag,
    }
}

/// Inserts a document. Returns it if this call inserted it.
async fn insert<T: Stored>(app: &App, placed: T) -> Result<Option<T>> {
    let inserted = app.collection().insert(&placed).await;
    Ok(inserted.decided()?.map(|()| placed))
}

impl<'a, S: Sale> Run<'a, S> {
    fn new(app: &'a App, basket: &'a S::Basket, attempt: &'a Attempt) -> Result<Self> {
        let checkout = basket.checkout();
        let checkout = checkout.ok_or_else(|| Error::internal("a basket without its checkout"))?;
        Ok(Self::of(app, basket, checkout, attempt))
    }

    fn of(
        app: &'a App,
        basket: &'a S::Basket,
        checkout: &'a Record<S>,
        attempt: &'a Attempt,
    ) -> Self {
        let terms = S::Basket::terms(checkout);
        Self { app, basket, checkout, terms, attempt, took: false }
    }

    /// The owner of what is placed: the caller who checks out, or without one the owner of the basket. From the decision on it
    /// is that of the basket.
    pub fn owner(self) -> Option<&'a str> {
        let Self { basket, terms, .. } = self;
        terms.owner.or_else(|| basket.owner())
    }

    fn charge(self) -> Charge {
        let Self { basket, terms, .. } = self;
        let total = Money::new(terms.total, basket.currency());
        let holder = S::recorded(basket.id());
        Charge::new(terms.payment_id, holder, total, terms.payment.clone())
    }

    /// What a completed checkout has placed, as it is now.
    async fn placed_before(self) -> Placed<S> {
        let id = self.terms.id;
        let placed = self.app.collection::<S::Placed>().get_settled(id).await?;
        let placed = placed.filter(|placed| !S::is_deleted(placed));
        Ok(placed.ok_or_else(|| NotFound::of(S::PLACED, id))?)
    }

    /// Finishes an interrupted checkout: aborts it if it isn't paid, else applies what it owes.
    ///
    /// # Errors
    /// The outcome is unknown. The sweep or a repeat tries again.
    async fn recover(self) -> Result<()> {
        match self.basket.state() {
            State::Pending | State::Voiding => self.undo().await.map(drop),
            State::Paid if self.terms.tag.is_some() => self.place_and_finish().await,
            State::Paid => self.go_forward().await.map(drop),
            _ => Ok(()),
        }
    }
}
