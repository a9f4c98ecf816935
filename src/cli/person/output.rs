//! The lines of `docgate person export`.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use mongodb::bson::{Document, RawDocumentBuf};

use super::guests::Guest;
use crate::{
    cli::{export::ext_json, failure::Failure, private_files},
    domains::{carts::CartDocument, orders::OrderDocument, persons},
    mongo::{Stored as _, expression::stored_fields},
};

/// The lines of an export.
pub(super) struct Output {
    name: String,
    to: BufWriter<Box<dyn Write>>,
    lines: u64,
    /// The file, as long as it isn't complete.
    incomplete: Option<PathBuf>,
}

impl Output {
    /// Opens a new file, or stdout without one.
    pub(super) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let name = path.as_ref().map_or_else(|| "stdout".into(), |path| path.display().to_string());
        let mut incomplete = None;
        let to: Box<dyn Write> = match path {
            Some(path) => {
                let file = Self::create(&path, &name)?;
                // Pipes and devices stay.
                let is_file = file.metadata().is_ok_and(|about| about.is_file());
                incomplete = Some(path).filter(|_| is_file);
                Box::new(file)
            }
            None => Box::new(io::stdout()),
        };
        Ok(Self { name, to: BufWriter::new(to), lines: 0, incomplete })
    }

    fn create(path: &Path, name: &str) -> Result<fs::File, Failure> {
        private_files::create_new(path).map_err(|fault| match fault.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::usage(format!("{name} exists")).with_hint("name a new file")
            }
            _ => Failure::unwritten(name, &fault),
        })
    }

    /// Writes a line.
    pub(super) fn write(
        &mut self,
        room: &str,
        collection: &str,
        field: &str,
        value: &Document,
    ) -> Result<(), Failure> {
        let unfit = |fault: &dyn std::fmt::Display| {
            Failure::trouble(format!("a document of {collection} can't be exported: {fault}"))
        };
        let raw = RawDocumentBuf::try_from(value).map_err(|fault| unfit(&fault))?;
        let mut json = Vec::new();
        ext_json::write(&raw, &mut json).map_err(|fault| unfit(&fault))?;
        let [room, collection, field] =
            [room, collection, field].map(|text| serde_json::Value::from(text).to_string());
        let head =
            format!("{{\"room\":{room},\"collection\":{collection},\"field\":{field},\"value\":");
        let parts = [head.as_bytes(), &json, b"}\n"];
        self.lines += 1;
        let mut parts = parts.into_iter();
        parts
            .try_for_each(|part| self.to.write_all(part))
            .map_err(|fault| Failure::unwritten(&self.name, &fault))
    }

    /// Writes what is held of a guest.
    pub(super) fn write_guest(&mut self, Guest { order, cart, .. }: &Guest) -> Result<(), Failure> {
        if !order.deleted {
            let mut told = stored_fields(order);
            persons::leave_out(OrderDocument::COLLECTION, &mut told);
            self.write("orders", OrderDocument::COLLECTION, "_id", &told)?;
        }
        cart.iter().try_for_each(|cart| {
            self.write("carts", CartDocument::COLLECTION, "_id", &stored_fields(cart))
        })
    }

    /// Writes what is still buffered. Returns the number of lines.
    pub(super) fn finish(&mut self) -> Result<u64, Failure> {
        self.to.flush().map_err(|fault| Failure::unwritten(&self.name, &fault))?;
        if self.lines > 0 {
            self.incomplete = None;
        }
        Ok(self.lines)
    }
}

impl Drop for Output {
    /// Removes a file that has nothing, or a part.
    fn drop(&mut self) {
        if let Some(path) = &self.incomplete {
            let _gone = fs::remove_file(path);
        }
    }
}
