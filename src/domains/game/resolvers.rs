//! Resolvers: they translate between GraphQL and the operations of the game.

use super::operations;
use crate::graphql::{
    is_selected,
    prelude::*,
    shared::Shared,
    subscription::{Progress, follow_node},
};

queries! {
    /// Query fields.
    pub struct GameQuery;

    /// A character, with the place where it is and all that it carries, from one document. Null if there is none, and for
    /// everyone but its player and the game's masters.
    character(
        context,
        #[graphql(desc = "Global id of the character.")] id: ID,
    ) by signed_in: Option<Character> =
        operations::character(cx(context), &id).await?.map(Character::from),

    /// Characters of the caller, oldest first.
    my_characters(context) by signed_in: Connection<Character> =
        operations::my_characters(cx(context), paging(context)?).await?,

    /// A place of the game. Null if there is none.
    place(
        context,
        #[graphql(desc = "Global id of the place.")] id: ID,
    ) by signed_in: Option<Place> = operations::place(cx(context), &id).await?.map(Place::from),

    /// All places by their titles.
    places(
        context,
        #[graphql(
            desc = "Only those whose title begins with this text, 1 to 100 characters, in upper and lower case as given. Default: all."
        )]
        title_prefix: Option<String>,
    ) by master: Connection<Place> =
        operations::places(app(context), title_prefix, paging(context)?).await?,

    /// All items of the game's catalogue by their names.
    items(
        context,
        #[graphql(
            desc = "Only those whose name begins with this text, 1 to 100 characters, in upper and lower case as given. Default: all."
        )]
        name_prefix: Option<String>,
    ) by master: Connection<Item> =
        operations::items(app(context), name_prefix, paging(context)?).await?,

    /// An item of the game's catalogue. Null if there is none.
    item(
        context,
        #[graphql(desc = "Global id of the item.")] id: ID,
    ) by signed_in: Option<Item> = operations::item(cx(context), &id).await?.map(Item::from),
}

mutations! {
    /// Mutation fields.
    pub struct GameMutation;

    /// Creates a character of the caller.
    create_character(CreateCharacterInput) -> CreateCharacterResult by player;

    /// Deletes a character of the caller. What it carries, and its gold, stays at its place. Repeatable: a repeat returns the
    /// same.
    delete_character(DeleteCharacterInput) -> DeleteCharacterResult by player;

    /// Creates a place. Its exits are set by `setExit`.
    create_place(CreatePlaceInput) -> CreatePlaceResult by master;

    /// Opens an exit of a place, or closes it. Repeatable.
    set_exit(SetExitInput) -> SetExitResult by master;

    /// Adds an item to the catalogue.
    create_item(CreateItemInput) -> CreateItemResult by master;

    /// Makes a thing of an item, for a character or at a place.
    mint_item(MintItemInput) -> MintItemResult by master;

    /// Changes attributes of a character by increments. They end within their bounds.
    change_attributes(ChangeAttributesInput) -> ChangeAttributesResult by master;

    /// Picks up a thing that lies where the character is, with all that it contains.
    pick_up(PickUpInput) -> PickUpResult by player;

    /// Drops a thing where the character is, with all that it contains.
    drop(DropInput) -> DropResult by player;

    /// Gives a thing to another character at the same place, with all that it contains.
    give_item(GiveItemInput) -> GiveItemResult by player;

    /// Gives gold to another character at the same place.
    give_gold(GiveGoldInput) -> GiveGoldResult by player;

    /// Wears a thing, or takes it in a hand. Repeatable.
    equip(EquipInput) -> EquipResult by player;

    /// Takes off a thing, or puts it from a hand into the inventory. Repeatable.
    unequip(UnequipInput) -> UnequipResult by player;

    /// Takes a thing out of a container: one that the character carries, or one that lies at its place.
    take_from_container(TakeFromContainerInput) -> TakeFromContainerResult by player;

    /// Puts a thing into a container; the character carries both. Repeatable.
    put_in_container(PutInContainerInput) -> PutInContainerResult by player;

    /// Goes through an exit.
    r#move(MoveInput) -> MoveResult by player;

    /// Buys a thing that is for sale where the character is.
    buy(BuyInput) -> BuyResult by player;

    /// Sells a thing to the shop where the character is. The shop pays `resalePrice` for each piece.
    sell(SellInput) -> SellResult by player;
}

subscriptions! {
    /// Subscription fields.
    pub struct GameSubscription;

    /// A place: as it is now, then after changes, at most five times a second. If there is no such place, the only
    /// response is the error `NOT_FOUND`.
    place_changed(
        context,
        #[graphql(desc = "Global id of the place.")] place_id: ID,
    ) by signed_in: Shared<Place> = {
        let is_personal = is_selected(context, &["picture"]);
        operations::place_changed(cx(context), &place_id, is_personal, Progress::of(context))
    },

    /// A character: as it is now, then each new state after a change of it or of its place. If changes come faster than the
    /// client reads, intermediate states are skipped. Visible to its player and to the game's masters; for
    /// others, and if there is no such character, the only response is the error `NOT_FOUND`.
    character_changed(
        context,
        #[graphql(desc = "Global id of the character.")] character_id: ID,
    ) by signed_in: Character =
        follow_node(context, NodeKind::CHARACTER, character_id, Character::face, |cx, id| {
            Box::pin(operations::character(cx, id))
        }),
}
