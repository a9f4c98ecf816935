//! MongoDB access of advertising. The guarded writes are values: the caller sends them.

pub(super) mod campaigns;
pub(super) mod events;
pub(super) mod profiles;
pub(super) mod zones;
