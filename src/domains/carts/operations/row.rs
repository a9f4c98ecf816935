//! Changes of several lines of one cart at once: mutations that follow each other in a request. A single change is made in the
//! same way if its result doesn't show the time.
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | reserve on the stock, for all lines side by side | as for one line, each under its own tag | as for one line |
//! | commit of all changes on the cart | ACTIVE, the owner as read; nothing was committed or aborted since the read; deadline | all changes are made |
//!
//! Each change has its own op, tag and result. They concern different lines, so none depends on the result of another,
//! except for the limits of the cart: if these could be reached, the changes are made one after the other instead. A
//! refused change isn't part of the commit. All that is shown of the cart is as it was read, so the cart after each change is
//! known. Only the time of the last change isn't: the cart is read again for a result that shows it, and to return stock. If
//! the commit is refused, each change is made by itself, with its own guard: rows that are tried again could refuse each other
//! without end, because each one that gives its reservations back leaves records.

use std::{iter, sync::Arc};

use super::{
    super::{
        MAX_CHANGES, MAX_LINES,
        documents::{CartDocument, CartState},
        store::{self, carts},
        types::{AddCartLineInput, AddCartLineResult, CartNotActive, SetCartLineQuantityInput},
    },
    lines::{Call, Edit, Ready, addition, setting},
};
use crate::{
    domains::{
        baskets::{Basket as _, may_use},
        catalog::operations::{self as catalog, Offer},
        inventory::operations as inventory,
    },
    graphql::{declared::Checked, prelude::*},
    join::join_all,
    mongo::batched,
};

/// A change of one line.
#[derive(Debug)]
pub struct LineChange {
    op: Op,
    input: LineInput,
}

/// The input of a change of one line.
#[derive(Debug)]
pub enum LineInput {
    /// Of `addCartLine`.
    Add(Checked<AddCartLineInput>),
    /// Of `setCartLineQuantity`.
    Set(Checked<SetCartLineQuantityInput>),
}

impl LineChange {
    /// The change that this input describes.
    pub fn of(cx: Cx<'_>, input: LineInput) -> Self {
        let op = match &input {
            LineInput::Add(input) => addition(cx, input),
            LineInput::Set(input) => setting(cx, input),
        };
        Self { op, input }
    }

    /// `_id` of the cart, and the SKU of the line.
    fn subject(&self) -> (&str, &str) {
        match &self.input {
            LineInput::Add(input) => (&input.cart_id, &input.sku),
            LineInput::Set(input) => (&input.cart_id, &input.sku),
        }
    }

    /// Whether both can be made at once: they are different ops, and change different lines of one cart.
    pub fn may_join(&self, other: &Self) -> bool {
        let ((cart, sku), (other_cart, other_sku)) = (self.subject(), other.subject());
        cart == other_cart && sku != other_sku && self.op.id != other.op.id
    }

    /// Reads the product of an addition.
    async fn offer(&self, app: &App) -> Result<Option<Offer>> {
        match &self.input {
            LineInput::Add(input) => catalog::offer(app, &input.sku).await,
            LineInput::Set(_) => Ok(None),
        }
    }

    /// Reserves what the change needs. `None` if its op is committed already. `offer` is what was read of its product.
    async fn prepare(&self, call: &Call<'_>, offer: Result<Option<Offer>>) -> Prepared {
        if self.op.is_committed(&call.cart.ops)? {
            return Ok(None);
        }
        if call.cart.state != CartState::Active {
            return Err(CartNotActive::new(call.cart.state).into());
        }
        match &self.input {
            LineInput::Add(input) => call.add(input, offer?).await,
            LineInput::Set(input) => call.set(input).await,
        }
        .map(Some)
    }
}

/// The result of one change: the cart directly after it.
type Verdict = Answer<AddCartLineResult>;

/// Makes changes that [may join](LineChange::may_join) each other. Returns their results in the same order, or `None` if
/// each has to be made by itself, one after the other. Without `shows_time` the time of the last change in the results isn't
/// needed.
pub async fn change_lines(
    cx: Cx<'_>,
    changes: &[LineChange],
    shows_time: bool,
) -> Option<Vec<Verdict>> {
    let (id, _) = changes.first()?.subject();
    let read = || async move {
        let offers = batched(join_all(changes.iter().map(|change| change.offer(cx.app))));
        let (began, offers) = tokio::join!(cx.begin_with::<CartDocument>(id), offers);
        let (attempt, cart) = began?;
        Ok((attempt, (cart, offers)))
    };
    let verdicts = decide(read, |attempt: Attempt, (cart, offers): Read| async move {
        if let Some(cart) = cart.filter(|cart| may_use(cart, cx.requester)) {
            return change_all(cx, (cart, offers), attempt, changes, shows_time).await;
        }
        let missing = |_: &LineChange| Err(NotFound::of(NodeKind::CART, id).into());
        Ok(Step::Done(Some(changes.iter().map(missing).collect())))
    });
    verdicts.await.unwrap_or_else(|error| {
        Some(changes.iter().map(|_| Err(error.for_another().into())).collect())
    })
}

/// What is read: the cart, and side by side the products of the changes.
type Read = (Option<CartDocument>, Vec<Result<Option<Offer>>>);

/// What [`LineChange::prepare`] returns.
type Prepared = Result<Option<Ready>, Stop<AddCartLineResult>>;

/// Tries the changes on the cart as it was read.
async fn change_all(
    cx: Cx<'_>,
    (cart, offers): (CartDocument, Vec<Result<Option<Offer>>>),
    attempt: Attempt,
    changes: &[LineChange],
    shows_time: bool,
) -> Result<Step<Option<Vec<Verdict>>>> {
    if !has_room(cx, &cart, &attempt, changes) {
        return Ok(Step::Done(None));
    }
    let cart = Arc::new(cart);
    let prepared = batched(join_all(changes.iter().zip(offers).map(|(change, offer)| {
        let call = Call { cx, op: &change.op, attempt, cart: Arc::clone(&cart) };
        async move { change.prepare(&call, offer).await }
    })));
    let prepared = prepared.await;
    let ready = changes.iter().zip(&prepared).filter_map(|(change, prepared)| {
        let ready = prepared.as_ref().ok()?.as_ref()?;
        Some((&change.op, ready))
    });
    let ready: Vec<_> = ready.collect();
    // An earlier call of a committed op may have been interrupted before it returned stock.
    let is_returning = |prepared: &Prepared| match prepared {
        Ok(Some(ready)) => ready.is_lower,
        Ok(None) => true,
        Err(_) => false,
    };
    let returns = prepared.iter().any(is_returning);
    let committed = match commit(cx, &cart, &attempt, &ready, shows_time || returns).await {
        Ok(Step::Done(after)) => Ok(after),
        Ok(Step::Again | Step::Wait) => {
            // What came between may concern other lines, so the guard of a single change may hold.
            if let (&[(op, ready)], [_]) = (&ready[..], changes) {
                let after = Call { cx, op, attempt, cart }.commit(ready).await?;
                if let Step::Done(after) = after {
                    return Ok(Step::Done(Some(vec![Ok(after)])));
                }
            } else {
                abort(cx, &cart.id, &ready).await?;
            }
            return Ok(if attempt.is_over() { Step::Again } else { Step::Done(None) });
        }
        Err(error) => Err(error),
    };
    let returned = match &committed {
        Ok(after) if returns => {
            after.as_ref().unwrap_or(&cart).carry_out_outbox(&cx, &attempt).await
        }
        _ => Ok(()),
    };
    // The results don't show the records.
    let mut now = CartDocument { ops: Vec::new(), ..Arc::unwrap_or_clone(cart) };
    let verdicts = prepared.into_iter().map(|prepared| {
        if let (true, Err(error)) = (is_returning(&prepared), &returned) {
            return Err(error.for_another().into());
        }
        if let Some(ready) = prepared? {
            let after = committed.as_ref().map_err(Error::for_another)?;
            now.modified_at = after.as_ref().map_or(now.modified_at, |after| after.modified_at);
            now.put_line(ready.line);
        }
        Ok(now.clone())
    });
    Ok(Step::Done(Some(verdicts.collect())))
}

/// Whether the cart stays within its limits, whatever the results of the changes are.
fn has_room(cx: Cx<'_>, cart: &CartDocument, attempt: &Attempt, changes: &[LineChange]) -> bool {
    let is_new = |change: &&LineChange| {
        let (_, sku) = change.subject();
        cart.lines.iter().all(|line| line.sku != sku)
    };
    let lines = cart.lines.len() + changes.iter().filter(is_new).count();
    // One record less than the limit must be left before the last change.
    let most = (MAX_CHANGES + 1).saturating_sub(changes.len());
    let bounds = store::bounds(&cx).remembering(most);
    lines <= MAX_LINES && bounds.demand_room(&cart.ops, attempt, "too many changes").is_ok()
}

/// Commits all changes that are ready. Returns the cart after them if it is shown and there were any, or
/// [`Step::Again`] if the guard didn't hold.
async fn commit(
    cx: Cx<'_>,
    cart: &CartDocument,
    attempt: &Attempt,
    ready: &[(&Op, &Ready)],
    is_shown: bool,
) -> Result<Step<Option<CartDocument>>> {
    if ready.is_empty() {
        return Ok(Step::Done(None));
    }
    let are_new = ready.iter().all(|(_, ready)| matches!(ready.edit, Edit::Push));
    let change = if are_new {
        let lines = ready.iter().map(|(_, ready)| &ready.line);
        store::modify_in_turn(cart, iter::once(store::pushed(lines)))
    } else {
        store::modify_in_turn(cart, ready.iter().map(|(_, ready)| ready.set()))
    };
    let ops: Vec<_> = ready.iter().map(|(op, ready)| (*op, ready.tag.as_str())).collect();
    let change = change.committing_as_read(&ops, &cart.ops, attempt, store::bounds(&cx));
    let write = carts(&cx).change(change).within(attempt);
    if is_shown {
        return Ok(Step::or_again(write.then_read().await?.map(Some)));
    }
    Ok(if write.held().await? { Step::Done(None) } else { Step::Again })
}

/// Marks the tags of changes that weren't committed as void, and releases what is reserved under them.
async fn abort(cx: Cx<'_>, cart: &str, ready: &[(&Op, &Ready)]) -> Result<()> {
    let reserved = ready.iter().map(|(_, ready)| *ready).filter(|ready| ready.reserved > 0);
    let undo = reserved.map(|Ready { tag, line, .. }| async move {
        if carts(&cx).abort(cart, tag, store::bounds(&cx)).await? {
            inventory::release(&cx, &line.sku, cart, tag).await?;
        }
        Ok::<_, Error>(())
    });
    batched(join_all(undo)).await.into_iter().collect()
}
