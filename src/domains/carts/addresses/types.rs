//! GraphQL types of saved addresses.

use super::{
    super::documents::Address,
    documents::{AddressBookDocument, LabelledAddress},
};
use crate::graphql::{prelude::*, scalars::DateTime};

object! {
    /// The saved addresses of a person. Nobody else sees them.
    pub type AddressBook = AddressBookDocument as book {
        /// The addresses, at most 20, in the order in which their labels were first saved.
        addresses: Vec<SavedAddress> =
            book.addresses.iter().cloned().map(SavedAddress::from).collect(),
    }
}

object! {
    /// An address under the name that its person gave it. Nobody else sees it.
    pub type SavedAddress = LabelledAddress as saved {
        /// The person's name for it, such as `home`.
        label: &str = &saved.label,
        /// Name and place of the recipient, as they were saved.
        address: &Address = &saved.address,
        /// Time at which it was saved.
        saved_at: DateTime = DateTime(saved.saved_at),
    }
}

input! {
    /// Input of `saveAddress`: the label and the address.
    pub struct SaveAddressInput {
        /// The caller's name for the address, 1 to 64 characters. An address with this label is replaced.
        pub label: String where composed(1..=64),
        /// Name and place of the recipient.
        pub address: Address where nested(),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't overwrite an address that was saved in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `removeAddress`: the label of the address to remove.
    pub struct RemoveAddressInput {
        /// The caller's name for the address.
        pub label: String where composed(1..=64),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't remove an address that was saved in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `saveAddress`: the caller's addresses after the change, or a refusal. `Conflict`: this `idempotencyKey` was
    /// used with another input. `InvalidInput`: among others, the caller has 20 addresses already.
    pub enum SaveAddressResult:
        AddressBookDocument => AddressBook | Conflict | InvalidInput;

    /// Result of `removeAddress`: the caller's addresses after the change, or a refusal. `NotFound`: the caller has no address
    /// with this label. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum RemoveAddressResult:
        AddressBookDocument => AddressBook | NotFound | Conflict | InvalidInput;
}
