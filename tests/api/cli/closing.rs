//! How commands take leave of MongoDB: the driver's client is closed before the process ends.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use super::{Running, done, on};
use crate::support::{fresh_name, mongod_port, until};

/// A way to mongod that keeps what its clients say.
struct Tap {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn start(database: &str) -> Self {
        let (port, heard) = (mongod_port(database), Arc::new(Mutex::new(Vec::new())));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let kept = Arc::clone(&heard);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", port)).expect("mongod");
                let both = |stream: &TcpStream| stream.try_clone().expect("a stream");
                let (answers, asker) = (both(&server), both(&client));
                thread::spawn(move || io::copy(&mut &answers, &mut &asker));
                let kept = Arc::clone(&kept);
                thread::spawn(move || listen(client, server, &kept));
            }
        });
        Self { address, heard }
    }

    /// A command that reaches MongoDB by this way.
    fn on(&self, database: &str, arguments: &[&str]) -> Command {
        let mut command = on(database, arguments);
        let uri = format!("mongodb://{}/?directConnection=true", self.address);
        command.env("DOCGATE_MONGODB_URI", uri);
        command
    }

    /// Whether a client has ended its sessions.
    fn heard_the_end(&self) -> bool {
        let heard = self.heard.lock().expect("nobody panics");
        heard.windows(11).any(|bytes| bytes == b"endSessions")
    }
}

fn listen(mut client: TcpStream, mut server: TcpStream, heard: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4_096];
    while let Ok(1..) = client.read(&mut bytes).map(|count| {
        heard.lock().expect("nobody panics").extend_from_slice(&bytes[..count]);
        server.write_all(&bytes[..count]).map_or(0, |()| count)
    }) {}
    let _closed = server.shutdown(std::net::Shutdown::Both);
}

/// A command that is to end doesn't wait for the primary until its time is up. Afterwards it would say that there is none.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_wait_for_the_primary() {
    let folder = tempfile::tempdir().expect("a folder");
    let backup = folder.path().join("backup").display().to_string();
    for (arguments, code, told) in [
        (&["work", "--queue", "mail", "--exec", "true"][..], 0, ""),
        (&["export", &backup], 3, "docgate: interrupted\n"),
        (&["person", "export", "eve"], 3, "docgate: interrupted\n"),
    ] {
        // It takes connections, and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = silent.local_addr().expect("an address");
        let mut command = on(&fresh_name(), arguments);
        command.env("DOCGATE_MONGODB_URI", format!("mongodb://{address}/?directConnection=true"));
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().expect("the binary starts");
        // Signals are heard before the first connection is made.
        let server = silent.try_clone().expect("a listener");
        let met = tokio::task::spawn_blocking(move || server.accept());
        let _connection = met.await.expect("no panic").expect("a connection");
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        assert!(sent.success());
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8(ended.stderr).expect("UTF-8");
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.ends_with(told) && !said.contains("no primary"), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_closes_its_client() {
    let name = fresh_name();
    for arguments in [
        &["indexes", "apply"][..],
        &["indexes", "plan"],
        &["import", "categories", "-"],
        &["check"],
        &["migrate"],
    ] {
        let tap = Tap::start(&name);
        let (code, _, said) = done(tap.on(&name, arguments));
        assert_eq!((code, said.as_str()), (0, ""), "{arguments:?}");
        until(&format!("the end of {arguments:?}"), async || tap.heard_the_end()).await;
    }
    let tap = Tap::start(&name);
    let running = Running::start(tap.on(&name, &["serve"]));
    running.address("serving on http://");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
    until("the end of serve", async || tap.heard_the_end()).await;
}
