//! The business rules of quotes.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{Address, CartDocument, CartState, total},
        operations::{cart, change},
        store,
    },
    MAX_AMOUNT,
    documents::{CartQuote, Charges, basis},
    goods::Goods,
    service::{self, Failure},
    settings::{is_needed, is_on},
    tables,
    types::{
        QuoteFault, QuoteUnavailable, RemoveShippingMethodInput, RemoveShippingMethodResult,
        SetShippingMethodInput, SetShippingMethodResult, ShippingCharges,
    },
};
use crate::{
    flow::earlier,
    graphql::{
        prelude::*,
        shares::{Clients, Shares},
    },
};

/// Maximum number of calls of the outside service at once, of one gateway.
const AT_ONCE: usize = 64;
/// The part of them that one client may have, in percent.
const EACH: usize = 50;

/// The calls of the outside service that this gateway makes now.
#[derive(Default)]
struct Calls(OnceLock<Arc<Shares>>);

/// Why nothing is quoted.
enum Unquoted {
    /// The goods cost too much, or the outside service doesn't know the destination.
    Invalid(InvalidInput),
    /// The outside service refuses the request; or it gave no usable answer, and no tables are configured.
    Unavailable,
}

/// The shipping methods that are offered for a cart to a destination, the cheapest first. `None` if the caller may not see
/// the cart.
///
/// # Errors
/// `BadInput`; `Unread` if nothing can be quoted now; `RateLimited` or `Overloaded` if too many calls of the outside service
/// are made.
pub async fn shipping_methods(
    cx: Cx<'_>,
    id: &str,
    country: &str,
    city: Option<&str>,
) -> Result<Option<Vec<ShippingCharges>>> {
    let Some(cart) = cart(cx, id).await? else { return Ok(None) };
    input::country("country", country)?;
    let city = city.map(|city| input::text("city", city, 1..=200)).transpose()?;
    let city = needed(&cx, city.as_deref())?;
    let offered = offers(cx, &cart, country, city).await?.map_err(|why| match why {
        Unquoted::Invalid(fault) => Error::from(fault),
        Unquoted::Unavailable => {
            Error::Unread("the service of quotes gives no usable answer".into())
        }
    })?;
    let shown = |offer| ShippingCharges::of(offer, cart.currency);
    Ok(Some(offered.into_iter().map(shown).collect()))
}

/// The refusal of goods that cost too much.
fn too_much() -> InvalidInput {
    let reason = "costs more than an order with shipping and tax can add up";
    InvalidInput::new("cartId", reason)
}

/// Chooses a shipping method: its amounts for the cart as it was read become the cart's quote.
pub async fn set_shipping_method(
    cx: Cx<'_>,
    input: SetShippingMethodInput,
) -> Answer<SetShippingMethodResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "setShippingMethod"], input);
    change(cx, &input.cart_id, op, |call| async move {
        let cart = &call.cart;
        let city = needed(&cx, input.city.as_deref())?;
        if cart.lines.is_empty() {
            return Err(InvalidInput::new("cartId", "the cart has no lines").into());
        }
        let offered = offers(cx, cart, &input.country, city).await?.map_err(|why| match why {
            Unquoted::Invalid(fault) => Stop::<SetShippingMethodResult>::from(fault),
            Unquoted::Unavailable => {
                let message = "shipping and tax can't be computed at the moment; try again later";
                QuoteUnavailable::because(message).into()
            }
        })?;
        let chosen = offered.into_iter().find(|offer| offer.method == input.shipping_method);
        let charges = chosen.ok_or_else(|| {
            let where_to = format!("for this cart to {}", input.country);
            NotFound::not_offered("shipping method", &*input.shipping_method, &where_to)
        })?;
        if total(&cart.lines) + charges.total() > MAX_AMOUNT {
            return Err(too_much().into());
        }
        let quote = CartQuote {
            id: cx.ids().random(),
            basis: basis(cart),
            at: Some(call.attempt.now()),
            country: input.country.clone(),
            place: city.map(|city| place(&cx, city)),
            charges,
        };
        Ok(call.commit_change(store::set_quote(cart, Some(&quote))).await?)
    })
    .await
}

/// Takes the choice of a shipping method back, if a checkout needs none.
pub async fn remove_shipping_method(
    cx: Cx<'_>,
    input: RemoveShippingMethodInput,
) -> Answer<RemoveShippingMethodResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "removeShippingMethod"], input);
    change(cx, &input.cart_id, op, |call| async move {
        if is_needed(cx.config()) {
            let reason = "needs a shipping method in this shop; choose another one instead";
            return Err(InvalidInput::new("cartId", reason).into());
        }
        Ok(call.commit_change(store::set_quote(&call.cart, None)).await?)
    })
    .await
}

/// The city on which the amounts may depend: only those of an outside service do.
fn needed<'a>(app: &App, city: Option<&'a str>) -> Result<Option<&'a str>, InvalidInput> {
    if app.config().quote_url.is_none() {
        return Ok(None);
    }
    let reason = "is needed, because the amounts depend on it";
    city.map(Some).ok_or_else(|| InvalidInput::new("city", reason))
}

/// Digest of a city. Capital letters don't matter.
fn place(app: &App, city: &str) -> String {
    app.ids().derived(&["place", &city.to_lowercase()])
}

/// What is offered for the cart to a destination.
async fn offers(
    cx: Cx<'_>,
    cart: &CartDocument,
    country: &str,
    city: Option<&str>,
) -> Result<Result<Vec<Charges>, Unquoted>> {
    if total(&cart.lines) > MAX_AMOUNT {
        return Ok(Err(Unquoted::Invalid(too_much())));
    }
    let (config, goods) = (cx.config(), Goods::of(cart));
    let (Some(url), Some(city)) = (config.quote_url.as_deref(), city) else {
        return Ok(Ok(tables::offers(config, &goods, country)));
    };
    let (calls, client) = (cx.shared::<Calls>(), cx.shared::<Clients>().of_caller(cx.requester));
    let calls = calls.0.get_or_init(|| Shares::of(AT_ONCE, EACH));
    let _permit = calls.acquire(Some(client))?;
    // A shopper who can make the service refuse a request can't choose the tables by that.
    let (reason, is_refused) = match service::offers(&cx, url, &goods, (country, city)).await {
        Ok(offered) => return Ok(Ok(offered)),
        Err(Failure::UnknownPlace) => {
            let reason = "the service that quotes shipping and tax doesn't know this destination";
            return Ok(Err(Unquoted::Invalid(InvalidInput::new("city", reason))));
        }
        Err(Failure::Refused(reason)) => (reason, true),
        Err(Failure::Unusable(reason)) => (reason, false),
    };
    tracing::warn!(event = "quote_failed", reason, "the service of quotes gave no usable answer");
    if is_refused || config.shipping_methods.is_empty() {
        return Ok(Err(Unquoted::Unavailable));
    }
    let mut offered = tables::offers(config, &goods, country);
    for offer in &mut offered {
        offer.by_default = true;
    }
    Ok(Ok(offered))
}

/// Why the cart can't be checked out to this address with the quote that it has; `None` if it can, or needs no quote.
pub fn fault(app: &App, cart: &CartDocument, to: &Address) -> Option<QuoteFault> {
    match (&cart.quote, cart.current_quote()) {
        (None, _) => is_needed(app.config()).then_some(QuoteFault::Missing),
        (Some(_), None) => is_on(app.config()).then_some(QuoteFault::Outdated),
        (Some(_), Some(quote)) => {
            let is_there = quote.country == to.country
                && quote.place.as_ref().is_none_or(|own| *own == place(app, &to.city));
            (!is_there).then_some(QuoteFault::OtherDestination)
        }
    }
}

/// The charges of an order without a shipping method, to this country: the tax that the prices of its cart include, which adds
/// nothing. `None` if the tables of the configuration don't tell it.
pub fn included(app: &App, cart: &CartDocument, country: &str) -> Option<Charges> {
    let config = app.config();
    // The address of a person who was erased meanwhile has no country.
    let is_told = config.quote_url.is_none() && !config.taxes.is_empty() && !country.is_empty();
    let charges = is_told.then(|| tables::without_method(config, &Goods::of(cart), country))?;
    // The configuration may have changed since the total was paid.
    (charges.total() == 0).then_some(charges)
}

/// Why an order with these charges can't be sent to a country other than that of its checkout; `None` if it can. Its charges
/// have to be those of the other country too: no shipping, and no tax.
pub fn country_fault(app: &App, charges: &Charges, country: &str) -> Option<&'static str> {
    let config = app.config();
    // Pieces that are added are taxed like the lines, also if the tax on these is rounded to 0. What an outside service would
    // charge there isn't known.
    if charges.has_method() || !charges.lines.is_empty() || config.quote_url.is_some() {
        return Some(
            "can't be another one: shipping and tax are those of the country of the checkout",
        );
    }
    let taxes = config.taxes.get(country)?;
    let is_taxed = taxes.rate > 0 || taxes.types.values().any(|rate| *rate > 0);
    is_taxed.then_some("can't be this one: it has taxes, and the order was paid without")
}

/// Whether the quote of a cart that can be changed has to be computed again, whatever it is for: because it is older than a
/// cart can be idle, or because its destination has no city and an outside service is asked now. A gateway without shipping
/// methods computes none, and takes it as it is.
pub fn is_stale(app: &App, cart: &CartDocument, now: DateTime) -> bool {
    let config = app.config();
    let oldest = earlier(now, Duration::from_secs(config.cart_idle_seconds));
    let is_stale = |quote: &CartQuote| {
        let lacks_place = config.quote_url.is_some() && quote.place.is_none();
        lacks_place || quote.at.is_none_or(|at| at < oldest)
    };
    cart.state == CartState::Active && is_on(config) && cart.quote.as_ref().is_some_and(is_stale)
}

/// The part of a cart's total that its quote adds, as it is shown now, in minor units.
pub fn shown_charges(app: &App, cart: &CartDocument) -> i64 {
    if is_stale(app, cart, app.clock()) { 0 } else { cart.charges() }
}
