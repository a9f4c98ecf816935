//! The business rules of vouchers, and the steps of a checkout on them.

use super::{
    super::documents::{CartDocument, total},
    documents::{AppliedVoucher, Uses, VoucherCustomerDocument, VoucherDocument, VoucherHold},
    store::{self, NotDone, NotReserved, vouchers},
    types::{
        ApplyVoucherResult, CreateVoucherInput, CreateVoucherResult, EndVoucherInput,
        EndVoucherResult, Voucher, VoucherFault, VoucherRefused, normal_code,
    },
};
use crate::{
    graphql::{prelude::*, refusals::CurrencyMismatch},
    mongo::{Collection, Version},
};

use std::time::Duration;

/// Pause before a give-back looks again whether the voucher is spent.
const LOOK: Duration = Duration::from_millis(50);

/// Creates a voucher.
pub async fn create_voucher(cx: Cx<'_>, input: CreateVoucherInput) -> Answer<CreateVoucherResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createVoucher"], &input);
    let (percent, amount) = match (input.percent, input.amount) {
        (Some(percent), None) => (Some(i64::from(percent)), None),
        (None, Some(amount)) => (None, Some(amount.0)),
        _ => {
            return Err(
                InvalidInput::new("percent", "give either a percentage or an amount").into()
            );
        }
    };
    let (from, until) =
        (input.valid_from.map(|from| from.0), input.valid_until.map(|until| until.0));
    if from.zip(until).is_some_and(|(from, until)| from >= until) {
        return Err(InvalidInput::new("validUntil", "must be later than validFrom").into());
    }
    let attempt = cx.begin().await?;
    let budget = input.budget.map(i64::from);
    let budget_uses = input.budget_uses.map(i64::from);
    let voucher = VoucherDocument {
        code: input.code.clone(),
        percent,
        amount,
        currency: input.currency,
        minimum: input.minimum.map_or(0, i64::from),
        budget,
        budget_uses,
        per_customer: input.per_customer.map(i64::from),
        valid_from: from,
        valid_until: until,
        left: budget,
        left_uses: budget_uses,
        reserved: 0,
        reserved_uses: 0,
        spent: 0,
        spent_uses: 0,
        marks: Vec::new(),
        created_by: subject.to_owned(),
        op: op.id.clone(),
        input: op.input.clone(),
        created_at: attempt.now(),
        v: Version,
    };
    // A repeat may come after the time at which the voucher ends.
    let is_over = until.is_some_and(|until| until <= attempt.now());
    if !is_over && vouchers(&cx).insert(&voucher).await.decided()?.is_some() {
        return Ok(voucher);
    }
    match vouchers(&cx).get_settled(&voucher.code).await? {
        Some(own) if own.op == op.id && own.input == op.input => Ok(own),
        _ if is_over => Err(InvalidInput::new("validUntil", "must be in the future").into()),
        Some(own) if own.op == op.id => Err(Conflict::other_input().into()),
        _ => Err(AlreadyExists::new("voucher", &*input.code).into()),
    }
}

/// Ends a voucher: from now on no checkout can reserve it. A repeat is safe without an idempotency key.
pub async fn end_voucher(cx: Cx<'_>, input: EndVoucherInput) -> Answer<EndVoucherResult> {
    let input = input.checked()?;
    if let Some(ended) = store::end(&cx, &input.code).after().await? {
        return Ok(ended);
    }
    let found = vouchers(&cx).get_settled(&input.code).await?;
    Ok(found.ok_or_else(|| NotFound::new("voucher", input.code.as_str()))?)
}

/// The voucher with this code.
///
/// # Errors
/// The read failed.
pub async fn voucher(cx: Cx<'_>, code: &str) -> Result<Option<VoucherDocument>> {
    let Some(code) = normal_code(code) else { return Ok(None) };
    vouchers(&cx).get_settled(&code).await
}

/// All vouchers, newest first.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn list_vouchers(cx: Cx<'_>, paging: Paging) -> Result<Connection<Voucher>> {
    let (list, keys) = ("vouchers".to_owned(), vec![("createdAt", -1), ("_id", -1)]);
    let page = Page::new(&cx, Order { list, keys }, paging)?;
    let found = store::list_newest(&cx, &page).await?;
    let values =
        |voucher: &VoucherDocument| vec![voucher.created_at.into(), (&voucher.code).into()];
    Ok(page.connection(found, values, Voucher::from))
}

/// The terms of a voucher, if the customer can use it for the cart as both are now. The checkout decides again.
pub(in super::super) async fn usable(
    app: &App,
    code: &str,
    cart: &CartDocument,
    customer: Option<&str>,
    attempt: &Attempt,
) -> Result<AppliedVoucher, Stop<ApplyVoucherResult>> {
    let found = vouchers(app).get_settled(code).await?;
    let voucher = found.ok_or_else(|| NotFound::new("voucher", code))?;
    if voucher.currency != cart.currency {
        let (expected, found) = (("cart", cart.currency), ("voucher", voucher.currency));
        return Err(CurrencyMismatch::new(expected, found).into());
    }
    let goods = total(&cart.lines);
    if goods < voucher.minimum {
        let minimum = Money::new(voucher.minimum, voucher.currency);
        return Err(VoucherRefused::below(code, minimum).into());
    }
    let terms = voucher.terms();
    // The same rules as at the checkout, under a tag that has no mark.
    let reserving = store::reserving(code, "", "", terms.discount(goods));
    if let Some(fault) = reserving.broken(&voucher, attempt.now()).and_then(|why| fault(*why)) {
        return Err(VoucherRefused::new(code, fault).into());
    }
    if let Some(limit) = terms.per_customer {
        let Some(customer) = customer else {
            return Err(VoucherRefused::new(code, VoucherFault::SignInRequired).into());
        };
        let id = customer_id(code, customer);
        let uses = app.collection::<VoucherCustomerDocument>().get_settled(&id).await?;
        let uses = uses.unwrap_or_else(|| VoucherCustomerDocument::fresh(&id, Some(limit)));
        if uses.left_uses.is_some_and(|left| left < 1) {
            return Err(VoucherRefused::new(code, VoucherFault::LimitReached).into());
        }
    }
    Ok(terms)
}

/// Why a voucher can't be used; `None` if nothing is wrong with it.
fn fault(why: NotReserved) -> Option<VoucherFault> {
    match why {
        NotReserved::Already | NotReserved::Full => None,
        NotReserved::Early => Some(VoucherFault::NotYetValid),
        NotReserved::Late => Some(VoucherFault::Expired),
        NotReserved::Used => Some(VoucherFault::Spent),
    }
}

/// `_id` of the document of a customer.
fn customer_id(code: &str, customer: &str) -> String {
    format!("{code}:{customer}")
}

/// `_id` of the customer's document, if the checkout needs one.
fn customer_of(hold: &VoucherHold) -> Option<String> {
    hold.customer.as_deref().map(|customer| customer_id(&hold.code, customer))
}

/// What a checkout of the cart by this customer reserves of its voucher: nothing, if the voucher takes nothing off.
pub fn hold_of(cart: &CartDocument, customer: Option<&str>) -> Option<VoucherHold> {
    let (voucher, amount) = (cart.voucher.as_ref()?, cart.discount());
    (amount > 0).then(|| VoucherHold {
        code: voucher.code.clone(),
        customer: voucher.per_customer.and(customer).map(str::to_owned),
        per_customer: voucher.per_customer,
        amount,
    })
}

/// One step of a checkout's flow on a voucher.
#[derive(Debug, Clone, Copy)]
pub struct VoucherStep<'a> {
    /// The gateway.
    pub app: &'a App,
    /// What the checkout reserves.
    pub hold: &'a VoucherHold,
    /// Tag of the step, which the voucher remembers.
    pub tag: &'a str,
}

impl VoucherStep<'_> {
    /// The documents that it changes, with their `_id`s.
    fn parts(self) -> Vec<(Collection<Uses>, String)> {
        let parts = store::COUNTED.into_iter().zip(counted_on(self.hold));
        parts.map(|(collection, id)| (store::uses(self.app, collection), id)).collect()
    }

    /// Reserves the discount for a cart: first the customer's use, then the voucher's. A repeat changes nothing. `Some` is
    /// the reason why it isn't reserved as a whole; a part may be, so the tag has to be aborted and released.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over; `RateLimited` if too many checkouts use the voucher.
    pub async fn reserve(self, cart: &str, attempt: &Attempt) -> Result<Option<VoucherRefused>> {
        let Self { hold, .. } = self;
        let refused = |fault| Ok(Some(VoucherRefused::new(&hold.code, fault)));
        match (hold.per_customer, customer_of(hold)) {
            (Some(_), None) => return refused(VoucherFault::SignInRequired),
            (Some(limit), Some(id)) => {
                if let Some(why) = self.reserve_of_customer(&id, limit, cart, attempt).await? {
                    return self.answer(why, VoucherFault::LimitReached);
                }
            }
            (None, _) => {}
        }
        let reserving = store::reserving(&hold.code, self.tag, cart, hold.amount);
        match vouchers(self.app).write(&reserving, attempt).await? {
            Verdict::Applied(_) => Ok(None),
            Verdict::Refused(why, _) => self.answer(why, VoucherFault::Spent),
            // Only somebody else than docgate removes a voucher.
            Verdict::Missing => refused(VoucherFault::Spent),
        }
    }

    /// Reserves a use of the customer, whose document is made with the first one.
    async fn reserve_of_customer(
        self,
        id: &str,
        limit: i64,
        cart: &str,
        attempt: &Attempt,
    ) -> Result<Option<NotReserved>> {
        let customers = self.app.collection::<VoucherCustomerDocument>();
        let reserving = store::reserving(id, self.tag, cart, self.hold.amount);
        loop {
            match customers.write(&reserving, attempt).await? {
                Verdict::Applied(_) => return Ok(None),
                Verdict::Refused(why, _) => return Ok(Some(why)),
                Verdict::Missing if attempt.is_over() => return Err(attempt.overdue()),
                Verdict::Missing => {
                    // Another call of the customer may be faster.
                    let fresh = VoucherCustomerDocument::fresh(id, Some(limit));
                    customers.insert(&fresh).await.decided()?;
                }
            }
        }
    }

    /// What a refused reservation means; `used` is the fault if too little is left.
    fn answer(self, why: NotReserved, used: VoucherFault) -> Result<Option<VoucherRefused>> {
        match why {
            NotReserved::Already => Ok(None),
            NotReserved::Full => Err(Error::rate_limited(
                "too many shoppers are using the same voucher; try again in a moment",
            )),
            NotReserved::Used => Ok(Some(VoucherRefused::new(&self.hold.code, used))),
            why => Ok(fault(why).map(|fault| VoucherRefused::new(&self.hold.code, fault))),
        }
    }

    /// Releases what is reserved under the tag, which is void. If nothing is, nothing changes.
    ///
    /// # Errors
    /// The outcome is unknown. The sweep releases it.
    pub async fn release(self) -> Result<()> {
        for (uses, id) in self.parts() {
            let releasing = store::releasing(&id, self.tag, self.hold.amount);
            uses.change(releasing).held().await?;
        }
        Ok(())
    }

    /// Spends what is reserved under the tag of a checkout that has decided. A repeat changes nothing.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: it is still due.
    pub async fn spend(self, attempt: &Attempt) -> Result<()> {
        for (uses, id) in self.parts() {
            let spending = store::spending(&id, self.tag, self.hold.amount);
            uses.write(&spending, attempt).await?;
        }
        Ok(())
    }

    /// Gives back what was spent, once per tag. The voucher of an order that was placed a moment ago may not be spent yet;
    /// then it waits.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: it is still due.
    pub async fn give_back(self, attempt: &Attempt) -> Result<()> {
        for (uses, id) in self.parts() {
            let returning = store::returning(&id, self.tag, self.hold.amount);
            loop {
                match uses.write(&returning, attempt).await? {
                    Verdict::Refused(NotDone::Due, _) if attempt.is_over() => {
                        return Err(attempt.overdue());
                    }
                    Verdict::Refused(NotDone::Due, _) => tokio::time::sleep(LOOK).await,
                    // A voucher that somebody removed by hand takes nothing back.
                    Verdict::Applied(_)
                    | Verdict::Refused(NotDone::Already, _)
                    | Verdict::Missing => break,
                }
            }
        }
        Ok(())
    }

    /// Removes the mark of a give-back that its order has settled long enough ago.
    ///
    /// # Errors
    /// The outcome is unknown. It can be repeated.
    pub async fn forget_give_back(self) -> Result<()> {
        for (uses, id) in self.parts() {
            store::forget_return(&uses, &id, self.tag).held().await?;
        }
        Ok(())
    }
}

/// Calls `each` with the `_id` of each document of uses, what was spent, and each reservation with its cart and amount:
/// for the invariants of orders.
///
/// # Errors
/// The read failed.
pub async fn for_each(
    app: &App,
    mut each: impl FnMut(&str, i64, Vec<(String, i64)>),
) -> Result<()> {
    for collection in store::COUNTED {
        let note = |own: Uses| each(&own.id, own.spent, store::held(own.marks));
        store::uses(app, collection).for_each(note).await?;
    }
    Ok(())
}

/// `_id`s of the documents of uses on which a hold counts: that of the voucher, and that of the customer if there is a limit
/// per customer.
pub fn counted_on(hold: &VoucherHold) -> impl Iterator<Item = String> {
    [Some(hold.code.clone()), customer_of(hold)].into_iter().flatten()
}
