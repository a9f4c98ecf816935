//! The way of docgate's processes to the tests' mongods. What they send passes unchanged. A command that a router of a
//! sharded cluster would refuse fails the test that has started the process.
//!
//! What a router would send to all shards is fine here: an export reads whole collections.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
};

use mongodb::bson::{Bson, Document};

use super::{mongod_port, routes::refusals};

/// The op code of every message of today's protocol; the driver's first hello has an older one.
const OP_MSG: i32 = 2013;
/// Length, request id, id responded to, op code: four little-endian `i32`.
const HEADER_BYTES: usize = 16;
/// The server's limit for one message.
const MESSAGE_BYTES: usize = 48_000_000;

/// What was wrong with commands, by database.
static REFUSED: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// The port from which commands pass to the mongod of this database.
pub fn recorded_port(database: &str) -> u16 {
    static PORTS: Mutex<BTreeMap<u16, u16>> = Mutex::new(BTreeMap::new());
    let mongod = mongod_port(database);
    let mut ports = PORTS.lock().unwrap_or_else(PoisonError::into_inner);
    *ports.entry(mongod).or_insert_with(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                thread::spawn(move || pass(&client, mongod));
            }
        });
        port
    })
}

/// The database that a command of docgate is told to use.
pub fn database_of(command: &Command) -> Option<String> {
    let mut told = command.get_envs();
    let (_, database) = told.find(|(key, _)| *key == "DOCGATE_DATABASE")?;
    database?.to_str().map(str::to_owned)
}

/// Fails if processes have sent a command on this database that a router would refuse.
pub fn assert_routed(database: Option<&str>) {
    let Some(database) = database else { return };
    let refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner).remove(database);
    assert!(refused.is_none(), "a router of a sharded cluster would refuse: {refused:#?}");
}

/// Carries the bytes of a connection both ways, until one side closes it.
fn pass(client: &TcpStream, mongod: u16) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, mongod))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut replies, mut back) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ended = io::copy(&mut replies, &mut back);
        let _closed = back.shutdown(Shutdown::Both);
    });
    let ended = forward(client, &server);
    let _closed = server.shutdown(Shutdown::Both);
    let _closed = client.shutdown(Shutdown::Both);
    ended
}

/// Looks at each message of the client, and sends it on.
fn forward(mut client: &TcpStream, mut server: &TcpStream) -> io::Result<()> {
    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let bytes = usize::try_from(i32::from_le_bytes(length)).unwrap_or(0);
        if !(HEADER_BYTES..=MESSAGE_BYTES).contains(&bytes) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut message = vec![0; bytes];
        let (start, rest) = message.split_at_mut(length.len());
        start.copy_from_slice(&length);
        client.read_exact(rest)?;
        if let Some(command) = command(&message) {
            look_at(&command);
        }
        server.write_all(&message)?;
    }
}

fn look_at(command: &Document) {
    let Ok(database) = command.get_str("$db") else { return };
    let found = refusals(command);
    if database != "admin" && !found.is_empty() {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        refused.entry(database.to_owned()).or_default().extend(found);
    }
}

/// The command in a message, with its sequences of documents as arrays.
fn command(message: &[u8]) -> Option<Document> {
    if number(message, 12)? != OP_MSG {
        return None;
    }
    let (mut command, mut sequences) = (Document::new(), Document::new());
    // Behind the header and the flags are sections: their kind, and what begins with its length.
    let mut at = HEADER_BYTES + 4;
    while let Some(kind) = message.get(at) {
        let length = usize::try_from(number(message, at + 1)?).ok()?;
        let section = message.get(at + 1..at + 1 + length)?;
        at += 1 + length;
        match kind {
            0 => command = Document::from_reader(section).ok()?,
            1 => {
                let content = section.get(4..)?;
                let end = content.iter().position(|byte| *byte == 0)?;
                let name = std::str::from_utf8(content.get(..end)?).ok()?;
                sequences.insert(name, documents(content.get(end + 1..)?)?);
            }
            _ => return None,
        }
    }
    command.extend(sequences);
    Some(command)
}

/// Documents one behind the other.
fn documents(mut bytes: &[u8]) -> Option<Vec<Bson>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = usize::try_from(number(bytes, 0)?).ok()?;
        let (document, rest) = bytes.split_at_checked(length)?;
        found.push(Document::from_reader(document).ok()?.into());
        bytes = rest;
    }
    Some(found)
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[test]
fn a_command_is_read_from_a_message_with_a_sequence() {
    use mongodb::bson::doc;
    let bytes = |document: &Document| document.to_vec().expect("BSON");
    let body = doc! { "update": "carts", "$db": "a" };
    let updates = [doc! { "q": { "owner": "a" }, "u": {} }, doc! { "q": { "_id": "a" }, "u": {} }];
    let mut sequence = b"updates\0".to_vec();
    for update in &updates {
        sequence.extend(bytes(update));
    }
    let length = |bytes: usize| i32::try_from(bytes).expect("a short message").to_le_bytes();
    let mut message = vec![0];
    message.extend(bytes(&body));
    message.push(1);
    message.extend(length(sequence.len() + 4));
    message.extend(sequence);
    let header = [length(message.len() + 20), [0; 4], [0; 4], OP_MSG.to_le_bytes(), [0; 4]];
    let message = [header.concat(), message].concat();

    let found = command(&message).expect("a command");
    let expected = doc! { "update": "carts", "$db": "a", "updates": updates.to_vec() };
    assert_eq!(found, expected);
    assert_eq!(refusals(&found).len(), 1, "the first has neither the key nor an _id");
    assert!(refusals(&doc! { "find": "carts", "filter": {} }).is_empty());
}
