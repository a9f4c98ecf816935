//! Opaque global ids: the kind of document and its `_id` in base64url. All ids that clients send and receive
//! have this form; natural keys, such as an SKU, are fields with names of their own.

use async_graphql::ID;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

/// Kinds of documents that have a global id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// An account for transfers.
    Account,
    /// An asset: a file with its metadata.
    Asset,
    /// A shopping cart.
    Cart,
    /// A category of the tree.
    Category,
    /// A comment or a review. Its key also names what is discussed.
    Comment,
    /// A page, blog entry, folder, blog or gallery.
    Content,
    /// A job of the work queue.
    Job,
    /// An order.
    Order,
    /// A person who contributes to products.
    Person,
    /// A product of any type. Its key is its SKU.
    Product,
    /// A transfer of money.
    Transfer,
}

impl NodeKind {
    const ALL: [Self; 11] = [
        Self::Account,
        Self::Asset,
        Self::Cart,
        Self::Category,
        Self::Comment,
        Self::Content,
        Self::Job,
        Self::Order,
        Self::Person,
        Self::Product,
        Self::Transfer,
    ];

    /// Name of the kind, such as `cart`. It is a part of global ids and never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Asset => "asset",
            Self::Cart => "cart",
            Self::Category => "category",
            Self::Comment => "comment",
            Self::Content => "content",
            Self::Job => "job",
            Self::Order => "order",
            Self::Person => "person",
            Self::Product => "product",
            Self::Transfer => "transfer",
        }
    }

    /// The global id of a document of this kind.
    pub fn id(self, key: &str) -> ID {
        ID(BASE64.encode([self.name(), ":", key].concat()))
    }
}

/// Maximum number of characters of a global id; a key has up to 128, and that of a comment up to 160.
const LONGEST: usize = 256;

/// Kind and `_id` of a global id; `None` if the text isn't one.
pub fn decode(id: &str) -> Option<(NodeKind, String)> {
    if id.len() > LONGEST {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(id).ok()?).ok()?;
    let (name, key) = text.split_once(':')?;
    let kind = NodeKind::ALL.into_iter().find(|kind| kind.name() == name)?;
    Some((kind, key.to_owned()))
}
