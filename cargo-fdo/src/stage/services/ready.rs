//! Waits until a service can be used.

use super::error::Fault;
use super::{Place, Running, ServiceError, Value, ports};
use crate::config::{Ready, Service};
use crate::stage::family::Family;
use crate::stage::workload::WorkloadError;
use crate::tool::Invocation;
use regex::RegexBuilder;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often it is looked.
const STEP: Duration = Duration::from_millis(20);
/// How often a command is run that says it.
const COMMAND_STEP: Duration = Duration::from_millis(200);
/// How long such a command may take.
const COMMAND_ANSWER: Duration = Duration::from_secs(10);
/// How long a web server may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// What to look for, with all placeholders replaced.
#[derive(Debug)]
pub(super) enum Check {
    Nothing,
    Port(String, SocketAddr),
    Http(Url),
    Log(Box<regex::Regex>),
    File(PathBuf),
    Command(Box<Invocation>),
}

/// `http://HOST:PORT/PATH`
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url {
    host: String,
    path: String,
}

impl Check {
    pub(super) fn of(
        service: &Service,
        place: Place<'_>,
        value: Value<'_>,
    ) -> Result<Check, WorkloadError> {
        let bad = |words: String| {
            WorkloadError::from(ServiceError::new(service, None, Fault::BadCheck { words }))
        };
        let mut text = |template: &crate::config::Template| {
            let text = template.expand(value)?;
            Ok::<_, WorkloadError>(text.to_string_lossy().into_owned())
        };
        Ok(match &service.ready {
            None => Check::Nothing,
            Some(Ready::Port(port)) => {
                let text = text(port)?;
                match ports::address(&text) {
                    Some(address) => Check::Port(text, address),
                    None => return Err(bad(format!("`{text}` is no port and no HOST:PORT"))),
                }
            }
            Some(Ready::Http(url)) => {
                let text = text(url)?;
                Check::Http(Url::parse(&text).ok_or_else(|| {
                    bad(format!("`{text}` is no address like http://HOST:PORT/PATH"))
                })?)
            }
            Some(Ready::Log(pattern)) => {
                let regex = RegexBuilder::new(pattern).multi_line(true).build();
                Check::Log(Box::new(regex.map_err(|error| bad(error.to_string()))?))
            }
            Some(Ready::File(path)) => Check::File(place.root.join(text(path)?)),
            Some(Ready::Command(command)) => {
                let call = command.invocation(value)?;
                let call = call.env("LLVM_PROFILE_FILE", place.stray_file);
                Check::Command(Box::new(call.cwd(place.root)))
            }
        })
    }

    /// Where the service will listen, if that is how it is known to be ready.
    pub(super) fn address(&self) -> Option<String> {
        match self {
            Check::Port(_, address) => Some(address.to_string()),
            Check::Http(url) => Some(url.host.clone()),
            _ => None,
        }
    }

    fn is_ready(&self, running: &Running) -> bool {
        match self {
            Check::Nothing => true,
            Check::Port(_, address) => ports::answers(address),
            Check::Http(url) => url.answers(),
            Check::Log(regex) => std::fs::read(&running.log)
                .is_ok_and(|log| regex.is_match(&String::from_utf8_lossy(&log))),
            Check::File(path) => path.exists(),
            // One that hangs is asked again, until the service had its time.
            Check::Command(call) => super::bounded(call, COMMAND_ANSWER)
                .is_ok_and(|status| status.is_some_and(|status| status.success())),
        }
    }

    fn describe(&self) -> String {
        match self {
            Check::Nothing => String::new(),
            Check::Port(text, _) => format!("nobody accepts connections on port {text}"),
            Check::Http(url) => {
                format!("http://{}{} gives no answer below 400", url.host, url.path)
            }
            Check::Log(regex) => format!("no line of its log matches `{regex}`"),
            Check::File(path) => format!("there is no `{}`", path.display()),
            Check::Command(call) => format!("`{call}` does not succeed"),
        }
    }
}

/// Waits for it.
pub(super) fn wait(family: &Family, running: &Running, check: &Check) -> Result<(), WorkloadError> {
    let limit = running.service.ready_timeout * running.patience;
    let start = Instant::now();
    let step = match check {
        Check::Command(_) => COMMAND_STEP,
        _ => STEP,
    };
    loop {
        // A port may be open although the process behind it is another one: ours has to live.
        if let Some(error) = running.fallen() {
            return Err(error.into());
        }
        if check.is_ready(running) {
            return match running.fallen() {
                Some(error) => Err(error.into()),
                None => Ok(()),
            };
        }
        if start.elapsed() >= limit {
            let what = check.describe();
            return Err(running
                .fault(Fault::NeverReady { what, after: limit })
                .into());
        }
        family.pause(step).map_err(|_| WorkloadError::Interrupted)?;
    }
}

impl Url {
    fn parse(text: &str) -> Option<Url> {
        let rest = text.strip_prefix("http://")?;
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = match has_port {
            true => host.to_owned(),
            false => format!("{host}:80"),
        };
        let is_plain = |text: &str| !text.chars().any(|c| c.is_control() || c == ' ');
        (host.len() > 3 && is_plain(&host) && is_plain(path)).then(|| Url {
            host,
            path: path.to_owned(),
        })
    }

    /// Whether a GET has a status below 400 for an answer (RFC 9112).
    fn answers(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let address = ports::address(&self.host).ok_or(std::io::ErrorKind::NotFound)?;
            let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
            stream.set_read_timeout(Some(ANSWER))?;
            write!(
                stream,
                "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                self.path, self.host
            )?;
            // `HTTP/1.1 200`
            let mut start = [0; 12];
            stream.read_exact(&mut start)?;
            let start = String::from_utf8_lossy(&start);
            let status = start
                .split(' ')
                .nth(1)
                .and_then(|text| text.parse::<u16>().ok());
            Ok(start.starts_with("HTTP/")
                && status.is_some_and(|status| (100..400).contains(&status)))
        };
        ask().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn addresses_of_web_servers_are_read() {
        let url = Url::parse("http://127.0.0.1:80/a?b=c").unwrap();
        assert_eq!(
            (url.host.as_str(), url.path.as_str()),
            ("127.0.0.1:80", "/a?b=c")
        );
        assert_eq!(Url::parse("http://localhost").unwrap().host, "localhost:80");
        for text in ["https://x/", "127.0.0.1:80", "http://", "http://a b/"] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_good_answer_is_one() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url {
            host: socket.local_addr().unwrap().to_string(),
            path: "/".into(),
        };
        let server = std::thread::spawn(move || {
            for answer in [
                "HTTP/1.1 503 Not yet\r\n\r\n",
                "HTTP/1.1 204 Good\r\n\r\n",
                "hello, it's me",
            ] {
                let (mut stream, _) = socket.accept().unwrap();
                let mut request = [0; 16];
                stream.read_exact(&mut request).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        assert_eq!([(); 3].map(|()| url.answers()), [false, true, false]);
        server.join().unwrap();
        assert!(!url.answers());
    }
}
