//! GraphQL types of vouchers.

use async_graphql::Enum;

use super::{
    super::{
        documents::CartDocument,
        quotes::MAX_AMOUNT,
        types::{Cart, CartNotActive},
    },
    documents::{AppliedVoucher, VoucherDocument},
};
use crate::graphql::{
    prelude::*,
    refusals::CurrencyMismatch,
    scalars::{DateTime, int},
};

/// Maximum number of uses.
const MAX_USES: i64 = 1_000_000_000;
/// Maximum number of characters of a code.
const MAX_CODE: usize = 64;

/// The code as it is stored, in capitals; `None` if it can't be one.
pub(super) fn normal_code(code: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_code = (1..=MAX_CODE).contains(&code.len()) && code.bytes().all(fits);
    is_code.then(|| code.to_ascii_uppercase())
}

/// Checks a code, and makes its letters capital.
fn code(field: &str, value: &mut String) -> Result<(), InvalidInput> {
    let reason = "takes 1 to 64 letters, digits, '-' or '_'";
    *value = normal_code(value).ok_or_else(|| InvalidInput::new(field, reason))?;
    Ok(())
}

object! {
    /// A voucher: a code that takes a percentage or an amount off a cart.
    pub type Voucher = VoucherDocument as voucher {
        /// Code that shoppers enter, in capitals.
        voucher_code: &str = &voucher.code,
        /// Percentage that it takes off the sum of the lines. Null if it takes off an amount.
        percent: Option<i32> = voucher.percent.map(int),
        /// Amount that it takes off, at most the sum of the lines. Null if it takes off a percentage.
        amount: Option<Money> = voucher.money(voucher.amount),
        /// Currency of the carts to which it can be applied.
        currency: CurrencyCode = voucher.currency,
        /// Least sum of the lines of a cart.
        minimum: Money = Money::new(voucher.minimum, voucher.currency),
        /// Maximum of what it takes off in total. Null if there is none.
        budget: Option<Money> = voucher.money(voucher.budget),
        /// Maximum number of uses. Null if there is none.
        budget_uses: Option<i32> = voucher.budget_uses.map(int),
        /// Maximum number of uses per customer. Null if there is none.
        per_customer: Option<i32> = voucher.per_customer.map(int),
        /// Time from which it can be used. Null if it can be used from its creation on.
        valid_from: Option<DateTime> = voucher.valid_from.map(DateTime),
        /// Time at which it can't be used any more. Null if it doesn't end.
        valid_until: Option<DateTime> = voucher.valid_until.map(DateTime),
        /// What checkouts in progress take off.
        reserved: Money = Money::new(voucher.reserved, voucher.currency),
        /// Number of checkouts in progress that use it.
        reserved_uses: i32 = int(voucher.reserved_uses),
        /// What it took off at the checkout of orders that aren't cancelled.
        spent: Money = Money::new(voucher.spent, voucher.currency),
        /// Number of these orders.
        spent_uses: i32 = int(voucher.spent_uses),
        /// Time at which it was created.
        created_at: DateTime = DateTime(voucher.created_at),
    }
}

impl Voucher {
    fn money(&self, minor_units: Option<i64>) -> Option<Money> {
        minor_units.map(|amount| Money::new(amount, self.0.currency))
    }
}

/// The voucher of a cart.
#[derive(Debug)]
pub struct CartVoucher {
    terms: AppliedVoucher,
    currency: CurrencyCode,
}

impl CartVoucher {
    /// That of a cart.
    pub(in super::super) fn of(cart: &CartDocument) -> Option<Self> {
        let terms = cart.voucher.clone()?;
        Some(Self { terms, currency: cart.currency })
    }
}

object! {
    /// The voucher of a cart, with its terms.
    impl CartVoucher as voucher {
        /// Its code, in capitals.
        voucher_code: &str = &voucher.terms.code,
        /// Percentage that it takes off the sum of the lines. Null if it takes off an amount.
        percent: Option<i32> = voucher.terms.percent.map(int),
        /// Amount that it takes off. Null if it takes off a percentage.
        amount: Option<Money> =
            voucher.terms.amount.map(|amount| Money::new(amount, voucher.currency)),
        /// Least sum of the lines. Below it, the voucher takes nothing off.
        minimum: Money = Money::new(voucher.terms.minimum, voucher.currency),
    }
}

input! {
    /// Input of `createVoucher`: the code, what it takes off, and its bounds. Its terms never change; `endVoucher` ends it.
    pub struct CreateVoucherInput {
        /// Code that shoppers enter: 1 to 64 letters, digits, `-` or `_`. Its letters become capital.
        pub code: String where code,
        /// Percentage that it takes off the sum of the lines, 1 to 100. Give either this or `amount`.
        pub percent: Option<i32> where optional(within(1..=100)),
        /// Amount that it takes off, in minor units. Give either this or `percent`.
        pub amount: Option<Long> where optional(within(1..=MAX_AMOUNT)),
        /// Currency of the amounts, and of the carts to which it can be applied.
        pub currency: CurrencyCode,
        /// Maximum of what it takes off in total, in minor units. Default: no maximum.
        pub budget: Option<Long> where optional(within(1..=MAX_AMOUNT)),
        /// Maximum number of uses. Default: no maximum.
        pub budget_uses: Option<i32> where optional(within(1..=MAX_USES)),
        /// Maximum number of uses per customer. A voucher with such a limit is for signed-in customers. Default: no
        /// maximum.
        pub per_customer: Option<i32> where optional(within(1..=MAX_USES)),
        /// Time from which it can be used. Default: now.
        pub valid_from: Option<DateTime>,
        /// Time at which it can't be used any more. It must be in the future. Default: it doesn't end.
        pub valid_until: Option<DateTime>,
        /// Least sum of the lines of a cart, in minor units. Default: 0.
        pub minimum: Option<Long> where optional(within(0..=MAX_AMOUNT)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the voucher of the first call.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `endVoucher`: the code of the voucher to end.
    pub struct EndVoucherInput {
        /// Code of the voucher, in any case.
        pub code: String where code,
    }

    /// Input of `applyVoucher`: the cart and the code.
    pub struct ApplyVoucherInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// Code of the voucher, in any case. It replaces the voucher that the cart has.
        pub code: String where code,
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't replace a voucher that was applied in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `removeVoucher`: the cart whose voucher is removed.
    pub struct RemoveVoucherInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't remove a voucher that was applied in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `createVoucher`: the voucher, or a refusal. `AlreadyExists`: there is a voucher with this code. `Conflict`:
    /// this `idempotencyKey` was used with another input.
    pub enum CreateVoucherResult:
        VoucherDocument => Voucher | AlreadyExists | Conflict | InvalidInput;

    /// Result of `endVoucher`: the voucher, which can't be used any more, or a refusal. `NotFound`: there is no such voucher.
    pub enum EndVoucherResult:
        VoucherDocument => Voucher | NotFound | InvalidInput;

    /// Result of `applyVoucher`: the cart after the change, or a refusal. `NotFound`: with `what` `cart` the cart doesn't exist
    /// for this caller, with `voucher` there is no such voucher. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum ApplyVoucherResult:
        CartDocument => Cart | NotFound | CartNotActive | VoucherRefused | CurrencyMismatch | Conflict |
        InvalidInput;

    /// Result of `removeVoucher`: the cart without a voucher, or a refusal. `NotFound`: the cart doesn't exist for this
    /// caller. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum RemoveVoucherResult:
        CartDocument => Cart | NotFound | CartNotActive | Conflict | InvalidInput;
}

/// Why a voucher can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum VoucherFault {
    /// It can't be used yet.
    NotYetValid,
    /// It can't be used any more.
    Expired,
    /// Too little of its budget is left.
    Spent,
    /// The customer has used it as often as one may.
    LimitReached,
    /// The lines of the cart are worth too little.
    BelowMinimum,
    /// It has a limit per customer, and the caller isn't signed in.
    SignInRequired,
}

refusal! {
    /// A voucher can't be used. Nothing was taken and nothing was paid.
    struct VoucherRefused as "VOUCHER_REFUSED" {
        /// Code of the voucher that was to be used, in upper case.
        pub voucher_code: String,
        /// Why it can't be used.
        pub fault: VoucherFault,
        /// Least sum of the lines of a cart, if `fault` is `BELOW_MINIMUM`; otherwise null.
        pub minimum: Option<Money>,
    }
}

impl VoucherRefused {
    /// The voucher with this code can't be used because of this fault. [`Self::below`] names the minimum of the voucher.
    pub fn new(code: &str, fault: VoucherFault) -> Self {
        let reason = match fault {
            VoucherFault::NotYetValid => "can't be used yet",
            VoucherFault::Expired => "can't be used any more",
            VoucherFault::Spent => "is used up",
            VoucherFault::LimitReached => "was used by this customer as often as it may be",
            VoucherFault::BelowMinimum => "takes a cart that is worth more",
            VoucherFault::SignInRequired => "takes a customer who is signed in",
        };
        Self::because(format!("the voucher {code} {reason}"), code.to_owned(), fault, None)
    }

    /// The lines of the cart are worth less than this minimum of the voucher.
    pub fn below(code: &str, minimum: Money) -> Self {
        let message =
            format!("the voucher {code} takes a cart whose lines are worth at least {minimum}");
        Self::because(message, code.to_owned(), VoucherFault::BelowMinimum, Some(minimum))
    }
}
