//! What the driver says when no server can be used, in plain words. The driver describes all servers in one text, see
//! `TopologyDescription` and `ServerInfo` of `mongodb`.

use super::NO_MEMBER;

/// A server as the driver describes it.
struct Server<'a> {
    address: &'a str,
    /// Its type, such as `RsSecondary`.
    kind: &'a str,
    /// Why it didn't answer.
    fault: Option<&'a str>,
}

impl<'a> Server<'a> {
    fn read(described: &'a str) -> Self {
        let kind = described.split_once(", Type: ").map_or("", |(_, rest)| rest);
        Self {
            address: described.split(',').next().unwrap_or(described),
            kind: kind.split([',', ' ']).next().unwrap_or(kind),
            fault: described.split_once(", Error: Kind: ").map(|(_, fault)| {
                fault.split(", labels: {").next().unwrap_or(fault).trim_end_matches([' ', '}'])
            }),
        }
    }

    /// What it is, or why it didn't answer.
    fn state(&self) -> &'a str {
        match (self.fault, self.kind) {
            (Some(fault), _) => fault,
            (None, "RsPrimary") => "primary",
            (None, "RsSecondary") => "secondary",
            (None, "RsArbiter") => "arbiter",
            (None, "RsOther") => "hidden, starting or recovering",
            (None, "RsGhost") => "in no replica set",
            (None, "Unknown" | "") => "no answer yet",
            (None, kind) => kind,
        }
    }

    fn has_answered(&self) -> bool {
        self.fault.is_none() && !matches!(self.kind, "Unknown" | "")
    }
}

/// Why no server was selected, as a sentence. `None` if `text` isn't such a message of the driver.
///
/// A member that doesn't answer explains nothing if others do. So each server is named with its own state.
pub(super) fn sentence(text: &str) -> Option<String> {
    let (_, topology) = text.split_once("Topology: {")?;
    let (head, list) = topology.split_once("Servers: [").unwrap_or((topology, ""));
    let mut servers: Vec<_> = list.split("{ Address: ").skip(1).map(Server::read).collect();
    if servers.is_empty() {
        // The driver forgets servers that aren't members of the set in the connection string.
        let set = head.split_once("Set Name: ").and_then(|(_, set)| set.split([',', ' ']).next());
        return Some(set.map_or_else(
            || "MongoDB has no server that can be used".to_owned(),
            |set| format!("no server is a member of the replica set `{set}`"),
        ));
    }
    if servers.iter().all(|server| server.kind == "RsGhost") {
        return Some(NO_MEMBER.to_owned());
    }
    servers.sort_by_key(|server| (!server.has_answered(), server.address));
    let mut states: Vec<(&str, Vec<&str>)> = Vec::new();
    for server in &servers {
        match states.iter_mut().find(|(state, _)| *state == server.state()) {
            Some((_, addresses)) => addresses.push(server.address),
            None => states.push((server.state(), vec![server.address])),
        }
    }
    let told = states.iter().map(|(state, of)| format!("{} ({state})", of.join(", ")));
    let what = if !servers.iter().any(Server::has_answered) {
        "MongoDB didn't answer"
    } else if servers.iter().any(|server| server.kind == "RsPrimary") {
        "MongoDB has no server for this read"
    } else {
        "MongoDB has no primary"
    };
    Some(format!("{what}: {}", told.collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(topology: &str) -> String {
        let text = format!(
            "Kind: Server selection timeout: No available servers. Topology: {{ {topology} }}, labels: {{}}"
        );
        sentence(&text).expect("a sentence")
    }

    const GHOST: &str = "{ Address: 127.0.0.1:1, Type: RsGhost, Average RTT: 16.8ms }";
    const SECONDARY: &str = "{ Address: 127.0.0.1:2, Type: RsSecondary, Average RTT: 1ms, Replica Set Name: rs0, \
                             Replica Set Version: 1 }";

    /// A server on this port that refuses connections.
    fn closed(port: u16) -> String {
        format!(
            "{{ Address: 127.0.0.1:{port}, Type: Unknown, Error: Kind: I/O error: Connection refused (os error 111), \
             labels: {{}}, source: None }}"
        )
    }

    #[test]
    fn each_server_is_named_with_its_state() {
        assert_eq!(of(&format!("Type: Unknown, Servers: [ {GHOST} ]")), NO_MEMBER);
        let nobody = format!("Type: Unknown, Servers: [ {}, {} ]", closed(2), closed(1));
        let told = "MongoDB didn't answer: 127.0.0.1:1, 127.0.0.1:2 (I/O error: Connection refused (os error 111))";
        assert_eq!(of(&nobody), told);
        let secondary =
            format!("Type: ReplicaSetNoPrimary, Set Name: rs0, Servers: [ {SECONDARY} ]");
        assert_eq!(of(&secondary), "MongoDB has no primary: 127.0.0.1:2 (secondary)");
        let unasked = "Type: Unknown, Servers: [ { Address: [::1]:1, Type: Unknown } ]";
        assert_eq!(of(unasked), "MongoDB didn't answer: [::1]:1 (no answer yet)");
    }

    #[test]
    fn a_member_that_never_answers_hides_nothing() {
        let set = "Type: ReplicaSetNoPrimary, Set Name: rs0";
        assert_eq!(
            of(&format!("{set}, Servers: [ {}, {SECONDARY} ]", closed(1))),
            "MongoDB has no primary: 127.0.0.1:2 (secondary); 127.0.0.1:1 (I/O error: Connection refused (os \
             error 111))"
        );
        assert_eq!(
            of(&format!("{set}, Servers: [ {GHOST}, {SECONDARY} ]")),
            "MongoDB has no primary: 127.0.0.1:1 (in no replica set); 127.0.0.1:2 (secondary)"
        );
        let primary = SECONDARY.replace("RsSecondary", "RsPrimary");
        assert_eq!(
            of(&format!("{set}, Servers: [ {}, {primary} ]", closed(1))),
            "MongoDB has no server for this read: 127.0.0.1:2 (primary); 127.0.0.1:1 (I/O error: Connection refused \
             (os error 111))"
        );
    }

    #[test]
    fn servers_of_another_set_are_told() {
        assert_eq!(
            of("Type: ReplicaSetNoPrimary, Set Name: rs1"),
            "no server is a member of the replica set `rs1`"
        );
        assert_eq!(of("Type: Sharded"), "MongoDB has no server that can be used");
        assert_eq!(sentence("Kind: I/O error: gone, labels: {}"), None);
    }
}
