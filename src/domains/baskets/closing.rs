//! Opens baskets, and closes those that aren't checked out. A basket is closed when its user cancels it, or when it
//! expires.

use std::time::Duration;

use mongodb::bson::DateTime;

use super::{
    Basket, State,
    store::{self, BATCH, baskets},
};
use crate::{
    domains::persons::{self, Erasing},
    flow::Sweep,
    graphql::prelude::*,
};

/// Opens an empty basket. It belongs to the caller if there is a token; otherwise its id is the capability to use it. With
/// an idempotency key the basket's `_id` is derived from it, so a repeat finds the same basket. A repeat doesn't open another
/// one after that one was closed, since it may be a delayed call. `make` makes the basket of an `_id`, an owner and the time;
/// `is_same` compares one that was opened before with the input.
pub async fn open<B: Basket, U>(
    cx: Cx<'_>,
    mutation: &str,
    idempotency_key: Option<&ID>,
    make: impl FnOnce(String, Option<String>, DateTime) -> B,
    is_same: impl FnOnce(&B) -> bool,
) -> Result<B, Stop<U>>
where
    U: From<InvalidInput> + From<Conflict> + From<B::NotActive>,
{
    let owner = cx.requester.subject.clone();
    if owner.is_none() && idempotency_key.is_some() {
        // Idempotency keys are scoped by subject. All anonymous callers would share one scope, and so the basket.
        let reason = "takes a signed-in caller; without a token leave it out";
        return Err(InvalidInput::new("idempotencyKey", reason).into());
    }
    let scope = [owner.as_deref().unwrap_or_default(), mutation];
    let op = cx.ids().op(&scope, idempotency_key.map(|key| key.as_str()), &());
    let attempt = cx.begin().await?;
    let basket = make(op.id, owner, attempt.now());
    if baskets(&cx).insert(&basket).await.decided()?.is_some() {
        return Ok(basket);
    }
    // The `_id` is taken: this op was applied before.
    match baskets::<B>(&cx).get_settled(basket.id()).await? {
        Some(opened) if !is_same(&opened) => Err(Conflict::other_input().into()),
        Some(opened) if !opened.state().may_become_active() => {
            let message = format!(
                "the {} that this idempotency key opened is {}; open another one with a new key",
                B::NAME,
                opened.state()
            );
            Err(opened.not_active_because(message).into())
        }
        Some(opened) => Ok(opened),
        None => {
            Err(Error::unavailable(format!("the {} was removed at the same time", B::NAME)).into())
        }
    }
}

/// Whether the caller may use the basket. One without an owner may be used by anyone who knows its id.
pub fn may_use(basket: &impl Basket, requester: &Requester) -> bool {
    basket.owner().is_none_or(|owner| requester.is(owner)) || requester.has(Role::Service)
}

/// Begins an attempt with the basket as its first read. `NotFound` if this caller may not use it.
pub async fn begin<B: Basket, U: From<NotFound>>(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, B), Stop<U>> {
    let (attempt, basket) = cx.begin_with::<B>(id).await?;
    let basket = basket.filter(|basket| may_use(basket, cx.requester));
    Ok((attempt, basket.ok_or_else(|| NotFound::of(B::KIND, id))?))
}

/// Cancels a basket, and gives back what it holds. A repeat is safe without an idempotency key.
pub async fn cancel<B: Basket, U>(cx: Cx<'_>, id: &str) -> Result<B, Stop<U>>
where
    U: From<NotFound> + From<B::NotActive>,
{
    let read = || begin(cx, id);
    decide(read, |attempt: Attempt, basket: B| async move {
        let basket = match basket.state() {
            State::Active => store::cancel(&cx, &basket).within(&attempt).after().await?,
            State::Cancelling => Some(basket),
            State::Cancelled => return Ok(Step::Done(basket)),
            _ => return Err(basket.not_active().into()),
        };
        let Some(basket) = basket else { return Ok(Step::Again) };
        Ok(Step::Done(close(&cx, &basket, &attempt).await?))
    })
    .await
}

/// Cancels the baskets of a person who is being erased, which gives back what they hold. One that is being checked out is
/// left to the next run. `U` is the room's result of a cancellation.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn erase<B: Basket, U>(app: &App, erasing: &mut Erasing) -> Result<()>
where
    U: From<NotFound> + From<B::NotActive>,
{
    let requester = erasing.requester.clone();
    let cx = Cx { app, requester: &requester };
    for id in persons::ids(app, B::COLLECTION, "owner", &erasing.subject).await? {
        let basket = baskets::<B>(app).get_settled(&id).await?;
        if basket.is_none_or(|basket| basket.state().is_final()) {
            continue;
        }
        match cancel::<B, U>(cx, &id).await {
            Ok(_) => erasing.ends(B::COLLECTION),
            Err(Stop::Failed(error)) => return Err(error),
            // The flow that is going on closes it or gives it back.
            Err(Stop::Refused(_)) => {
                erasing.waits.push(format!("a {} is being checked out or closed", B::NAME));
            }
        }
    }
    Ok(())
}

/// Expires a basket if it is still idle, and gives back what it holds. Returns whether it was idle.
async fn expire<B: Basket>(app: &App, id: &str) -> Result<bool> {
    // The attempt begins before the guarded write, whose reply has the outbox.
    let attempt = app.begin().await?;
    let expired = store::expire::<B>(app, id).within(&attempt).after().await?;
    if let Some(basket) = &expired {
        close(app, basket, &attempt).await?;
    }
    Ok(expired.is_some())
}

/// Finishes the closing of a basket that is CANCELLING or EXPIRING and was read within `attempt`. Nothing is committed on it
/// any more, so its outbox is complete.
async fn close<B: Basket>(app: &App, basket: &B, attempt: &Attempt) -> Result<B> {
    let end = match basket.state() {
        State::Cancelling => State::Cancelled,
        State::Expiring => State::Expired,
        _ => return Err(Error::internal(format!("a {} that isn't being closed", B::NAME))),
    };
    basket.give_back(app, attempt).await?;
    if let Some(closed) = store::end(app, basket, end).after().await? {
        return Ok(closed);
    }
    // Another attempt closed it first.
    let closed = baskets::<B>(app).get_settled(basket.id()).await?;
    closed.filter(|now| now.state() == end).ok_or_else(|| {
        let name = B::NAME;
        Error::unavailable(format!("the {name} was closed by another call at the same time"))
    })
}

/// Carries out what baskets owe, finishes their closing, and expires idle ones. A basket that can't be finished now stays at
/// the front of its list, and the sweep goes on behind it.
pub async fn sweep<B: Basket>(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    let by = ("outbox.at", "outbox_at");
    let list =
        |from, limit| baskets::<B>(app).list_elements_between(by, from, unchanged_before, limit);
    let settle = |basket: B| async move { carry_out::<B>(app, basket.id()).await };
    sweep.each_page("baskets that owe something", BATCH, list, settle).await;
    for state in [State::Cancelling, State::Expiring] {
        let finish = |basket: B| async move { finish_closing::<B>(app, basket.id()).await };
        sweep_untouched(app, sweep, state, unchanged_before, finish).await;
    }
    let idle = sweep.earlier(Duration::from_secs(B::idle_seconds(app.config())));
    let expire = |basket: B| async move { expire::<B>(app, basket.id()).await };
    sweep_untouched(app, sweep, State::Active, idle, expire).await;
}

/// Finishes each basket in `state` that was last changed before `before`, least recently changed first. `finish` returns
/// whether it finished the basket.
pub async fn sweep_untouched<B: Basket, F>(
    app: &App,
    sweep: &mut Sweep,
    state: State,
    before: DateTime,
    finish: impl FnMut(B) -> F,
) where
    F: Future<Output = Result<bool>>,
{
    let list = |from, limit| store::list_untouched::<B>(app, state, from, before, limit);
    sweep.each_page(&format!("baskets that are {state}"), BATCH, list, finish).await;
}

async fn carry_out<B: Basket>(app: &App, id: &str) -> Result<bool> {
    let (attempt, Some(basket)) = app.begin_with::<B>(id).await? else { return Ok(false) };
    basket.carry_out_outbox(app, &attempt).await?;
    Ok(!basket.owes_nothing())
}

async fn finish_closing<B: Basket>(app: &App, id: &str) -> Result<bool> {
    let (attempt, Some(basket)) = app.begin_with::<B>(id).await? else { return Ok(false) };
    let is_closing = matches!(basket.state(), State::Cancelling | State::Expiring);
    if is_closing {
        close(app, &basket, &attempt).await?;
    }
    Ok(is_closing)
}
