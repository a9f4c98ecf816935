//! Checks the texts of accounts and transfers: the name that an owner gives an account, and the purpose of a transfer.

use super::{
    documents::AccountDocument,
    types::{Account, AccountClosed},
};
use crate::graphql::prelude::*;

/// Maximum length of an account's name, in characters.
const ACCOUNT_NAME: usize = 100;
/// Maximum length of a transfer's purpose, in characters.
const PURPOSE: usize = 140;

/// Checks the name of an account.
pub(super) fn account_name(field: &str, name: &mut String) -> Result<(), InvalidInput> {
    shown_line(field, name, ACCOUNT_NAME)
}

/// Checks the purpose of a transfer.
pub(super) fn transfer_purpose(field: &str, purpose: &mut String) -> Result<(), InvalidInput> {
    shown_line(field, purpose, PURPOSE)
}

/// A text of one line, without the white space at its ends.
fn shown_line(field: &str, text: &mut String, longest: usize) -> Result<(), InvalidInput> {
    *text = input::line(field, &input::text(field, text, 1..=longest)?, 1..=longest)?;
    Ok(())
}

input! {
    /// Input of `renameAccount`: the account and its new name.
    pub struct RenameAccountInput {
        /// Global id of the account.
        pub account_id: ID where id(NodeKind::ACCOUNT),
        /// New name, a line of 1 to 100 characters. Default: the account has no name any more.
        pub name: Option<String> where optional(account_name),
    }
}

result! {
    /// Result of `renameAccount`: the account with its new name, or a refusal.
    pub enum RenameAccountResult:
        AccountDocument => Account | NotFound | AccountClosed | InvalidInput;
}
