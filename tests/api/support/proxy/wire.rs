//! As much of the wire protocol as the proxy needs: where a message ends, what it answers, and
//! which command it carries.

use std::io;

use mongodb::bson::{RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;

/// Commands that the driver sends of its own accord, at times that no test can foresee.
const HOUSEKEEPING: [&str; 9] = [
    "hello",
    "isMaster",
    "ismaster",
    "ping",
    "explain",
    "endSessions",
    "killCursors",
    "saslStart",
    "saslContinue",
];
/// The op code of every message of today's protocol; the driver's first hello has an older one.
const OP_MSG: i32 = 2013;
/// Length, request id, id responded to, op code: four little-endian `i32`.
const HEADER_BYTES: usize = 16;
/// The server's limit for one message. A longer one means that we lost our place in the stream.
const MESSAGE_BYTES: usize = 48_000_000;

/// A command that counts, with what its retry has in common with it.
#[derive(PartialEq)]
pub(super) struct Command {
    pub(super) database: String,
    /// Empty for commands on a whole database.
    pub(super) collection: String,
    pub(super) name: String,
    pub(super) session: Option<RawDocumentBuf>,
    /// The number that tells the server that a repeated write is the same write.
    pub(super) transaction: Option<i64>,
    /// What it asks for, of commands that are sent again without such a number.
    pub(super) said: Option<Vec<u8>>,
}

/// Reads one whole message, header included.
pub(super) async fn read_message(stream: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let bytes = usize::try_from(i32::from_le_bytes(length)).unwrap_or(0);
    if !(HEADER_BYTES..=MESSAGE_BYTES).contains(&bytes) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; bytes];
    let (start, rest) = message.split_at_mut(length.len());
    start.copy_from_slice(&length);
    stream.read_exact(rest).await?;
    Ok(message)
}

/// The id by which the reply to this message will name it.
pub(super) fn request_id(message: &[u8]) -> io::Result<i32> {
    i32_at(message, 4).ok_or_else(closed)
}

/// The id of the message that this one answers.
pub(super) fn responds_to(message: &[u8]) -> io::Result<i32> {
    i32_at(message, 8).ok_or_else(closed)
}

/// The command in a message, or `None` if it is of a kind that doesn't count.
pub(super) fn counted_command(message: &[u8]) -> Option<Command> {
    if i32_at(message, 12)? != OP_MSG {
        return None;
    }
    let body = body(message)?;
    let (name, target) = body.iter().next()?.ok()?;
    let database = body.get_str("$db").ok()?;
    if HOUSEKEEPING.contains(&name.as_str()) || ["admin", "config", "local"].contains(&database) {
        return None;
    }
    let collection = match target {
        RawBsonRef::String(collection) => collection,
        // getMore has its cursor there, and commands on a whole database have a 1.
        _ => body.get_str("collection").unwrap_or_default(),
    };
    let said = ["updates", "query", "filter"].iter().find_map(|field| body.get(*field).ok()?);
    Some(Command {
        database: database.to_owned(),
        collection: collection.to_owned(),
        name: name.as_str().to_owned(),
        session: body.get_document("lsid").ok().map(RawDocument::to_owned),
        transaction: body.get_i64("txnNumber").ok(),
        said: match said {
            Some(RawBsonRef::Array(said)) => Some(said.as_bytes().to_vec()),
            Some(RawBsonRef::Document(said)) => Some(said.as_bytes().to_vec()),
            _ => None,
        },
    })
}

/// The body of an `OP_MSG`: after four bytes of flags its one section of kind 0, which may stand
/// before or after sequences of documents (kind 1). Both begin with their length.
fn body(message: &[u8]) -> Option<&RawDocument> {
    let mut at = HEADER_BYTES + 4;
    loop {
        let kind = *message.get(at)?;
        let length = usize::try_from(i32_at(message, at + 1)?).ok()?;
        let section = message.get(at + 1..at + 1 + length)?;
        match kind {
            0 => return RawDocument::from_bytes(section).ok(),
            1 => at += 1 + length,
            _ => return None,
        }
    }
}

/// The reply to the message `request` of a server that gave its command up as its time was over: an error that
/// the driver neither retries nor takes for an election.
pub(super) fn out_of_time(request: i32) -> Vec<u8> {
    let errmsg = "operation exceeded time limit";
    let (code, name) = (50, "MaxTimeMSExpired");
    reply(request, &rawdoc! { "ok": 0.0, "errmsg": errmsg, "code": code, "codeName": name })
}

/// The same reply of a server that can't say whether a majority has what it did.
pub(super) fn unsure(message: &[u8]) -> Option<Vec<u8>> {
    let mut body = body(message)?.to_owned();
    let errmsg = "waiting for replication timed out";
    let error = rawdoc! { "code": 64, "codeName": "WriteConcernFailed", "errmsg": errmsg };
    body.append(mongodb::bson::cstr!("writeConcernError"), error);
    Some(reply(responds_to(message).ok()?, &body))
}

/// An `OP_MSG` that answers the message `request`: header, flags, and one section of kind 0.
fn reply(request: i32, body: &RawDocument) -> Vec<u8> {
    let length = HEADER_BYTES + 4 + 1 + body.as_bytes().len();
    let length = i32::try_from(length).expect("a short message");
    let mut message = Vec::new();
    for number in [length, 0, request, OP_MSG, 0] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    message.push(0);
    message.extend_from_slice(body.as_bytes());
    message
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// What a connection that is to be closed ends with.
pub(super) fn closed() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}
