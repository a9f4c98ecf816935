//! Data of the shop that `docgate demo` shows: its products, people, texts and pictures, the same on every
//! machine. docgate itself creates them, through its schema and its imports.

pub mod covers;
pub mod people;
pub mod phrases;
pub mod pictures;
pub mod products;
pub mod random;
pub mod texts;
pub mod tree;
pub mod words;
