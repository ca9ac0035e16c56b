//! Who may ask: names, origins and keys.

use std::net::IpAddr;

use forge_backend::Secret;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, ORIGIN};
use subtle::ConstantTimeEq;

use super::ProxyError;
use crate::config::Access;
use crate::error::{ClientError, ErrorKind};

/// Lets requests through, or says why not.
pub(super) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    keys: Vec<Secret>,
}

impl Gate {
    pub(super) fn new(access: Access) -> Result<Self, ProxyError> {
        let Access { hosts, origins, keys } = access;
        for host in &hosts {
            if host.is_empty() || host.contains(['/', ' ', '@']) {
                return Err(ProxyError::Access { value: host.clone(), what: "a host name, such as forge.example.org" });
            }
        }
        for origin in &origins {
            let plain = origin.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains('/'));
            if !plain || HeaderValue::from_str(origin).is_err() {
                let what = "the origin of a web page, such as http://localhost:3000";
                return Err(ProxyError::Access { value: origin.clone(), what });
            }
        }
        let lower = |names: Vec<String>| names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        Ok(Self { hosts: lower(hosts), origins: lower(origins), keys })
    }

    /// Whether a request may come in at all.
    pub(super) fn check_source(&self, headers: &HeaderMap) -> Result<(), ClientError> {
        let host = text(headers.get(HOST));
        if !self.knows_host(&host) {
            let message = format!(
                "this server doesn't go by the name {host:?}; use 127.0.0.1 or localhost, or start it with --allow-host {host}"
            );
            return Err(ClientError::new(ErrorKind::Permission, 403, message));
        }
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        if self.allowed_origin(headers).is_none() {
            let origin = text(Some(origin));
            let message = format!(
                "web pages of {origin:?} may not use this server; start it with --allow-origin {origin} if they should"
            );
            return Err(ClientError::new(ErrorKind::Permission, 403, message));
        }
        Ok(())
    }

    /// The origin of a request, if web pages from there may use the server.
    pub(super) fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let text = text(Some(origin)).to_ascii_lowercase();
        self.origins.contains(&text).then(|| origin.clone())
    }

    fn knows_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        // A name in someone else's zone can be made to point here; an address in numbers can't.
        address.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.hosts.contains(&name)
    }

    /// Whether the caller has brought a key, where one is asked for.
    pub(super) fn check_key(&self, headers: &HeaderMap) -> Result<(), ClientError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let bearer = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).and_then(bearer_key);
        let brought = bearer.or_else(|| headers.get("x-api-key").map(HeaderValue::as_bytes));
        let refused = |message: &str| Err(ClientError::new(ErrorKind::Authentication, 401, message));
        let Some(brought) = brought else {
            return refused("a key is needed: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`");
        };
        // Every key is compared in full, so that time tells nothing about them.
        let known =
            self.keys.iter().fold(subtle::Choice::from(0), |known, key| known | key.expose().as_bytes().ct_eq(brought));
        if bool::from(known) { Ok(()) } else { refused("the key is not one of this server's") }
    }
}

fn bearer_key(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
}

fn text(value: Option<&HeaderValue>) -> String {
    value.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned()).unwrap_or_default()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(hosts: &[&str], origins: &[&str], keys: &[&str]) -> Gate {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let keys = keys.iter().map(|&key| Secret::new(key)).collect();
        Gate::new(Access { hosts: owned(hosts), origins: owned(origins), keys }).ok().unwrap()
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn hyper_name(name: &str) -> hyper::header::HeaderName {
        name.parse().unwrap()
    }

    #[test]
    fn only_names_that_can_not_be_rebound_are_known() {
        let gate = gate(&["Forge.lan"], &[], &[]);
        for (host, known) in [
            ("127.0.0.1:8081", true),
            ("[::1]:8081", true),
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("api.localhost:80", true),
            ("192.168.1.4:8081", true),
            ("forge.lan:8081", true),
            ("evil.example:8081", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            let mut map = HeaderMap::new();
            map.insert(hyper_name("host"), host.parse().unwrap());
            assert_eq!(gate.check_source(&map).is_ok(), known, "{host:?}");
        }
    }

    #[test]
    fn web_pages_need_to_be_named() {
        let gate = gate(&[], &["http://localhost:3000"], &[]);
        for (origin, allowed) in [
            ("http://localhost:3000", true),
            ("http://localhost:3001", false),
            ("null", false),
            ("https://evil.example", false),
        ] {
            let map = headers(&[("host", "localhost"), ("origin", origin)]);
            assert_eq!(gate.check_source(&map).is_ok(), allowed, "{origin}");
        }
    }

    #[test]
    fn a_key_is_asked_for_where_there_are_keys() {
        let with_keys = gate(&[], &[], &["one", "two"]);
        for (pairs, allowed) in [
            (&[][..], false),
            (&[("authorization", "Bearer two")], true),
            (&[("authorization", "bearer one")], true),
            (&[("x-api-key", "one")], true),
            (&[("x-api-key", "on")], false),
            (&[("authorization", "one")], false),
        ] {
            assert_eq!(with_keys.check_key(&headers(pairs)).is_ok(), allowed, "{pairs:?}");
        }
        assert!(gate(&[], &[], &[]).check_key(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn what_can_not_be_an_origin_is_refused() {
        let access = Access { origins: vec!["localhost:3000".into()], ..Access::default() };
        let error = Gate::new(access).err().unwrap().to_string();
        assert_eq!(error, "\"localhost:3000\" can't be the origin of a web page, such as http://localhost:3000");
    }
}
