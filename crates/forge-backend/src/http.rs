//! The one place where HTTP clients are made: TLS provider, proxies and time limits for connecting.

use std::time::Duration;

use reqwest::Url;

/// How long a client waits for a TCP and TLS connection before it gives up.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);

/// An HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("failed to set up the HTTP client for {url}; is a set of root certificates installed on this system?")]
pub struct HttpClientError {
    /// The address the client was for.
    pub url: Url,
    /// What the HTTP library said.
    #[source]
    pub source: reqwest::Error,
}

/// A client for requests to `url`, ready to use: [`http_client_builder`] with nothing changed.
///
/// # Errors
/// The client can't be built, for example because an `https` address needs root certificates and the system has none.
pub fn http_client(url: &Url) -> Result<reqwest::Client, HttpClientError> {
    http_client_builder(url).build().map_err(|source| HttpClientError { url: url.clone(), source })
}

/// The start of a client for requests to `url`: rustls with the *ring* provider, [`CONNECT_TIMEOUT`], the system's proxies.
///
/// - A loopback address is never sent through a proxy: `HTTP_PROXY` is often set without a matching `NO_PROXY`, and a
///   proxy can't reach this machine's own loopback.
/// - A client for a plain `http` address loads no root certificates, so it is quick to make and works on systems that
///   have none. It can therefore not follow a redirect to `https`.
///
/// There is no limit for the whole request: generations and downloads take as long as they take. Callers set a read
/// timeout that fits.
pub fn http_client_builder(url: &Url) -> reqwest::ClientBuilder {
    // Someone else in this process may have installed a provider first; theirs is as good.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("forge/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT);
    let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
    if is_loopback(url) { builder.no_proxy() } else { builder }
}

/// Whether `url` points at this machine's loopback interface, by address or by the name `localhost`.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host.ends_with(".localhost")
            || address.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_recognised_by_address_and_name() {
        for (url, expected) in [
            ("http://127.0.0.1:8080/v1", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:8080/", true),
            ("http://localhost:11434/", true),
            ("http://api.localhost/", true),
            ("http://192.168.1.20:8080/", false),
            ("https://example.org/", false),
            ("http://localhost.example.org/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_client_can_be_made_without_a_provider_installed_by_the_caller() {
        assert!(http_client(&Url::parse("http://127.0.0.1:1/").unwrap()).is_ok());
    }

    #[test]
    fn making_a_second_client_is_no_error() {
        let url = Url::parse("http://127.0.0.1:1/").unwrap();
        http_client(&url).unwrap();
        assert!(http_client(&url).is_ok());
    }
}
