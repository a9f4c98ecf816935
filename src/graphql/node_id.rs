//! Opaque global ids: what kind of thing it is and the document's own `_id`, base64url. All ids that
//! clients get and give are of this form; natural keys, such as a SKU, are called by their names.

use async_graphql::ID;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

/// The kinds of things that have a global id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// An account for transfers.
    Account,
    /// A file.
    Asset,
    /// A cart.
    Cart,
    /// A category of the tree.
    Category,
    /// A page, blog entry, folder, blog or gallery.
    Content,
    /// An order.
    Order,
    /// Someone who makes things.
    Person,
    /// A product of any type; its key is its SKU.
    Product,
    /// A transfer.
    Transfer,
}

impl NodeKind {
    const ALL: [Self; 9] = [
        Self::Account,
        Self::Asset,
        Self::Cart,
        Self::Category,
        Self::Content,
        Self::Order,
        Self::Person,
        Self::Product,
        Self::Transfer,
    ];

    /// For people, such as `cart`. Global ids hold it too: it never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Asset => "asset",
            Self::Cart => "cart",
            Self::Category => "category",
            Self::Content => "content",
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

/// Characters of a global id at the most; keys have up to 128.
const LONGEST: usize = 256;

/// Kind and `_id` of a global id; `None` for anything that isn't one.
pub fn decode(id: &str) -> Option<(NodeKind, String)> {
    if id.len() > LONGEST {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(id).ok()?).ok()?;
    let (name, key) = text.split_once(':')?;
    let kind = NodeKind::ALL.into_iter().find(|kind| kind.name() == name)?;
    Some((kind, key.to_owned()))
}
