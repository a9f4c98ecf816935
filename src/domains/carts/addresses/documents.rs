//! The documents of saved addresses as MongoDB stores them.

use super::super::documents::Address;
use crate::{
    flow::{Decider, OpRecord},
    mongo::prelude::*,
};

document! {
    /// The saved addresses of one person.
    pub struct AddressBookDocument {
        /// Subject of the person.
        pub subject as "_id": String,
        /// The addresses, in the order in which their labels were first saved.
        pub addresses: Vec<LabelledAddress>,
        /// Records of applied ops.
        pub ops: Vec<OpRecord>,
        pub v: Version<1>,
    } in "addressBooks" {}

    /// One saved address.
    #[derive(PartialEq, Eq)]
    pub struct LabelledAddress {
        /// The person's name for it. No two of a person are the same.
        pub label: String,
        /// The address.
        pub address: Address,
        /// Server time at which it was saved.
        pub saved_at: DateTime,
    }
}

impl Decider for AddressBookDocument {
    fn ops(&self) -> &[OpRecord] {
        &self.ops
    }
}

impl AddressBookDocument {
    /// That of a person who has saved nothing.
    pub(super) fn empty(subject: &str) -> Self {
        let subject = subject.to_owned();
        Self { subject, addresses: Vec::new(), ops: Vec::new(), v: Version }
    }

    /// Whether there is an address with this label.
    pub(super) fn has(&self, label: &str) -> bool {
        self.addresses.iter().any(|saved| saved.label == label)
    }
}
