//! GraphQL types of metadata.

use super::{
    documents::{EVERYONE, MetadataPairs, StoredPair},
    store::NONE,
};
use crate::{
    domains::{
        attributes::{different, value_input},
        audiences::role_names,
        nodes::{self, Node},
    },
    graphql::{prelude::*, scalars::DateTime},
};

/// Maximum length of a key, in bytes.
const KEY: usize = 64;
/// Maximum number of pairs to set, and of keys to remove, in one call.
const GIVEN: usize = 200;

/// Metadata of an object, as the caller sees it.
#[derive(Debug, Clone)]
pub struct Metadata {
    version: String,
    pairs: Vec<StoredPair>,
}

impl Metadata {
    /// The stored metadata without the pairs that the caller may not read.
    pub fn of(cx: Cx<'_>, stored: Option<&MetadataPairs>) -> Self {
        let Some(MetadataPairs { version, pairs }) = stored else {
            return Self { version: NONE.to_owned(), pairs: Vec::new() };
        };
        let roles = cx.requester.role_names();
        let is_own = |name: &String| name == EVERYONE || roles.iter().any(|role| role == name);
        let seen = pairs.iter().filter(|pair| pair.readers.iter().any(is_own));
        Self { version: version.clone(), pairs: seen.cloned().collect() }
    }
}

object! {
    /// Metadata of an object: pairs of a key and a value, of which the site decides the meaning.
    impl Metadata as metadata {
        /// Version of the metadata; it changes with every change of a pair, also of one that the caller doesn't see.
        /// `setMetadata` takes it.
        version: ID = ID(metadata.version.clone()),
        /// Pairs that the caller may read, sorted by key.
        pairs: &[StoredPair] = &metadata.pairs,
        /// Pair with a key; null if there is none that the caller may read.
        pair(
            _context,
            #[graphql(desc = "Key of the pair.")] key: String,
        ): Option<&StoredPair> = metadata.pairs.iter().find(|pair| pair.key == key),
    }
}

object! {
    /// Pair of metadata. Exactly one of its values isn't null.
    impl StoredPair = "MetadataPair" as pair {
        /// Key of the pair, unique within the object.
        key: &str = &pair.key,
        /// Value, if it is a text.
        text: Option<&str> = pair.value.as_str(),
        /// Value, if it is a number.
        number: Option<f64> = pair.value.as_f64(),
        /// Value, if it is a point in time.
        date: Option<DateTime> = pair.value.as_datetime().map(|moment| (*moment).into()),
        /// Value, if it is true or false.
        flag: Option<bool> = pair.value.as_bool(),
        /// Names of the roles that may read the pair, with the role that may change it. Empty: everyone who sees the
        /// object.
        roles: Vec<&str> = {
            let names = pair.readers.iter().map(String::as_str);
            names.filter(|name| *name != EVERYONE).collect()
        },
    }
}

value_input! {
    /// Value of a pair of metadata. Exactly one field must be set.
    MetadataValueInput
}

input! {
    /// A pair of metadata by which objects are found. Only pairs that the caller may read are searched.
    pub struct MetadataFilter {
        /// Key of the pair.
        pub key: String where metadata_key,
        /// Value of the pair. The types must match too.
        pub value: MetadataValueInput where MetadataValueInput::check,
    }

    /// A pair of metadata to set.
    pub struct MetadataPairInput {
        /// Key, 1 to 64 ASCII letters, digits, `-`, `_`, `.` or `:`. It begins with a letter.
        pub key: String where metadata_key,
        /// Value. Its type determines which of the fields of `MetadataPair` holds it.
        pub value: MetadataValueInput where MetadataValueInput::check,
        /// Names of the roles that may read the pair, such as `analyst`, beside the role that may change it. An empty list
        /// permits everyone who sees the object.
        #[graphql(default)]
        pub roles: Vec<String> where role_names,
    }

    /// Input of `setMetadata`: the object, the pairs to set, and the keys to remove.
    pub struct SetMetadataInput {
        /// Global id of the product, category, content, asset, order or user.
        pub owner_id: ID,
        /// `version` of the metadata as the client read it. If any pair changed since, the call is refused with
        /// `Conflict`. Default: any version is changed.
        pub version: Option<ID>,
        /// Pairs with different keys, at most 200. A pair with an existing key replaces it, with its roles.
        #[graphql(default)]
        pub set: Vec<MetadataPairInput> where different(GIVEN, |pair: &MetadataPairInput| &pair.key),
        /// Keys of the pairs to remove, at most 200. Keys that the object doesn't have are ignored, and so are those of
        /// pairs to set.
        #[graphql(default)]
        pub remove: Vec<String> where each(GIVEN, |field: &str, key: &mut String| metadata_key(field, key)),
    }
}

/// Checks a key. It isn't trimmed: searches compare it exactly.
fn metadata_key(field: &str, key: &str) -> Result<(), InvalidInput> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let begins = key.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if begins && key.len() <= KEY && key.bytes().all(fits) {
        return Ok(());
    }
    let reason = format!(
        "takes 1 to {KEY} ASCII letters, digits, '-', '_', '.' or ':', beginning with a letter"
    );
    Err(InvalidInput::new(field, reason))
}

result! {
    /// Result of `setMetadata`: the metadata after the change, or a refusal. `Conflict`: a pair changed since `version` was
    /// read. `InvalidInput`: among others, the object would have too many pairs.
    pub enum SetMetadataResult:
        MetadataChange | NotFound | Conflict | InvalidInput;
}

/// What a change of metadata left.
#[derive(Debug)]
pub struct MetadataChange {
    /// Global id of the owner.
    pub owner_id: ID,
    /// All pairs after the change.
    pub metadata: Metadata,
}

object! {
    /// Metadata of an object after a change.
    impl MetadataChange as change {
        /// Global id of the object.
        owner_id: ID = change.owner_id.clone(),
        /// The object; null if it was just deleted.
        owner(context)?: Option<Node> = nodes::find(cx(context), &change.owner_id).await?,
        /// All pairs after the change that the caller may see, with the version for the next change.
        metadata: Metadata = change.metadata.clone(),
    }
}
