//! Guests, whom `docgate person` knows by an order.

use super::super::failure::Failure;
use crate::{
    app::App,
    domains::{
        carts::CartDocument,
        orders::{OrderDocument, operations as orders},
        persons::{self, Count},
    },
    mongo::Stored as _,
};

/// The guest of an order.
pub(super) struct Guest {
    /// The order. Of one that was deleted, the cart alone has anything of the guest.
    pub(super) order: OrderDocument,
    /// The cart that was checked out. It keeps the address of the checkout, which is another one than that of the order if
    /// the latter was corrected.
    pub(super) cart: Option<CartDocument>,
    /// What stands for the guest as a subject.
    pub(super) subject: String,
    /// Whether an erasure that was cut has replaced the subject in the order or the cart.
    is_replaced: bool,
}

impl Guest {
    /// The guest of the order with this number or global id.
    ///
    /// # Errors
    /// There is no such order, it isn't a guest's, the guest was erased, or a read failed.
    pub(super) async fn of(app: &App, named: &str) -> Result<Self, Failure> {
        let order = orders::order_named(app, named).await?;
        let order = order.ok_or_else(|| Failure::usage(format!("there is no order {named}")))?;
        let cart = app.collection::<CartDocument>().get_settled(&order.cart_id).await?;
        let subject = orders::guest_of(app, &order);
        let of_cart = cart.as_ref().and_then(|cart| cart.owner.as_deref());
        let mut is_replaced = false;
        for owner in [order.owner.as_deref(), of_cart].into_iter().flatten() {
            if owner == subject {
                continue;
            }
            if !persons::is_replacing(app, &subject, owner).await? {
                let sentence = format!("order {named} isn't a guest's, or its guest was erased");
                return Err(Failure::usage(sentence).with_hint("name a customer by subject"));
            }
            is_replaced = true;
        }
        Ok(Self { order, cart, subject, is_replaced })
    }

    /// What an erasure changes.
    pub(super) fn counts(&self) -> Vec<Count> {
        let order = (!self.order.deleted).then_some(OrderDocument::COLLECTION);
        let cart = self.cart.as_ref().map(|_| CartDocument::COLLECTION);
        let one = |collection: &str| Count { collection: collection.to_owned(), found: 1 };
        order.into_iter().chain(cart).map(one).collect()
    }

    /// Makes the guest the owner of the order and of the cart, so that an erasure finds both. Returns `false` if that has to
    /// wait for the checkout.
    pub(super) async fn name(&self, app: &App) -> Result<bool, Failure> {
        Ok(self.is_replaced || orders::name_guest(app, &self.order, &self.subject).await?)
    }
}
