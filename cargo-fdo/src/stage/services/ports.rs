//! TCP ports: free ones for `{port:NAME}`, and who has one that a service wants.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// The ports of one run.
#[derive(Debug, Default)]
pub(in crate::stage) struct Ports(RefCell<BTreeMap<String, u16>>);

impl Ports {
    /// The port of a name, which was free when it was first asked for.
    pub(in crate::stage) fn of(&self, name: &str) -> u16 {
        *self
            .0
            .borrow_mut()
            .entry(name.to_owned())
            .or_insert_with(free)
    }
}

/// The first port that needs no rights, and one below all those that Linux gives to clients by
/// itself (`net.ipv4.ip_local_port_range`): a connection of the load could take any of those.
const FIRST: u16 = 10_240;
const LAST: u16 = 32_767;

/// How far apart they are: daemons that talk to each other by a second protocol often listen beside
/// the port that they were given too (NebulaGraph's `storaged` on the ones before and after it).
const APART: u16 = 8;

/// A port that nobody listens on, another one each time.
fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two cargo-fdo that run at the same time begin at different places.
    let span = u32::from(LAST - FIRST);
    let start = std::process::id().wrapping_mul(7919) % span;
    for _ in 0..span {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed)) * u32::from(APART);
        let port = FIRST + u16::try_from((start + step) % span).unwrap_or(0);
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return port;
        }
    }
    FIRST
}

/// `PORT` or `HOST:PORT` as an address.
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    match text.parse::<u16>() {
        Ok(port) => Some((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.to_socket_addrs().ok()?.next(),
    }
}

/// How long a port of this machine may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// Whether somebody accepts connections there.
pub(super) fn answers(address: &SocketAddr) -> bool {
    TcpStream::connect_timeout(address, ANSWER).is_ok()
}

/// Fails with the process that listens, as far as it may be known, if one does.
///
/// # Errors
///
/// Somebody does.
pub(super) fn check_is_free(text: &str) -> Result<(), Option<String>> {
    match address(text) {
        Some(address) if answers(&address) => Err(owner(address.port())),
        _ => Ok(()),
    }
}

/// The process that listens on a port: `PID (NAME)`.
fn owner(port: u16) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .find_map(|table| {
            let table = std::fs::read_to_string(table).ok()?;
            listener(&table, port).map(str::to_owned)
        })?;
    let socket = format!("socket:[{inode}]");
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        // `self` and `thread-self` are processes under another name.
        let name = process.file_name();
        if !name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let files = std::fs::read_dir(process.path().join("fd")).into_iter();
        let has_it = files
            .flatten()
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == Path::new(&socket)));
        if has_it {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let pid = process.file_name();
            return Some(format!("process {} ({})", pid.display(), name.trim()));
        }
    }
    None
}

/// The inode of the socket that listens on a port in a table of sockets (proc_net_tcp.rst).
fn listener(table: &str, port: u16) -> Option<&str> {
    const LISTEN: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local, 16).ok()? == port && *fields.get(3)? == LISTEN;
        is_it.then(|| fields.get(9).copied())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_port_and_another_has_another() {
        let ports = Ports::default();
        let (a, b) = (ports.of("a"), ports.of("b"));
        assert!(a.abs_diff(b) >= APART, "{a} and {b}");
        assert_eq!(ports.of("a"), a);
        assert!((FIRST..LAST).contains(&a));
    }

    #[test]
    fn who_listens_is_named() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let owner = check_is_free(&port.to_string()).unwrap_err();
        let own = format!("process {} (", std::process::id());
        assert!(
            owner
                .as_deref()
                .is_some_and(|owner| owner.starts_with(&own)),
            "{owner:?}"
        );
        drop(socket);
        assert_eq!(check_is_free(&format!("127.0.0.1:{port}")), Ok(()));
    }

    #[test]
    fn a_listener_is_told_from_connections() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000 0 0 7 1\n\
            1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 42 1\n";
        assert_eq!(listener(table, 8080), Some("42"));
        assert_eq!(listener(table, 8081), None);
    }
}
