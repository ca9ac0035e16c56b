use reqwest::Url;

/// Why an address can't be the address of a model server. No variant holds the credential it complains about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// It can't be read as a URL.
    #[error("{url:?} is not a URL: {reason}; write it like http://127.0.0.1:8080")]
    Unreadable {
        /// The address as given.
        url: String,
        /// What the URL parser said.
        reason: String,
    },
    /// The scheme is neither http nor https.
    #[error("{url:?} has the scheme {scheme:?}; allowed are http and https, as in http://127.0.0.1:8080")]
    Scheme {
        /// The address as given.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// There is a user name or a password in it.
    #[error("the address of {host:?} holds a user name or password; remove it and give the key as the API key")]
    CredentialInUrl {
        /// The host of the address.
        host: String,
    },
    /// There is a query or a fragment, whose place is after the API's paths, not before.
    #[error("the address {url:?} has a query or a fragment; give only scheme, host, port and path")]
    QueryOrFragment {
        /// The address without them.
        url: String,
    },
}

/// The address of a model server whose API follows OpenAI's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// Where the server's own routes are, such as `/props`. Ends with a slash.
    root: Url,
    /// Where the versioned API is. Ends with a slash.
    api: Url,
}

/// Routes people paste together with the address.
const PASTED_ROUTES: [&str; 3] = ["/chat/completions", "/completions", "/models"];

impl BaseUrl {
    /// Reads an address with or without a version at the end of its path (`/v1`), with or without a slash after it.
    ///
    /// # Errors
    /// When it is no URL, not http or https, or holds credentials, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let text = text.trim();
        let mut url = Url::parse(text).map_err(|error| unreadable(text, &error.to_string()))?;
        // Before anything that quotes the address: `user:password@host` has to be reported without being shown.
        if text.contains('@') && (!url.username().is_empty() || url.password().is_some() || url.cannot_be_a_base()) {
            let host = text.rsplit('@').next().unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
            return Err(BaseUrlError::CredentialInUrl { host: host.to_owned() });
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlError::Scheme { url: text.to_owned(), scheme: url.scheme().to_owned() });
        }
        if url.query().is_some() || url.fragment().is_some() {
            url.set_query(None);
            url.set_fragment(None);
            return Err(BaseUrlError::QueryOrFragment { url: url.to_string() });
        }
        let path = url.path().trim_end_matches('/');
        let path = PASTED_ROUTES.iter().find_map(|route| path.strip_suffix(route)).unwrap_or(path).to_owned();
        let (parent, last) = path.rsplit_once('/').unwrap_or(("", ""));
        let (root_path, api_path) = if is_version(last) {
            (format!("{parent}/"), format!("{path}/"))
        } else {
            (format!("{path}/"), format!("{path}/v1/"))
        };
        let (mut root, mut api) = (url.clone(), url);
        root.set_path(&root_path);
        api.set_path(&api_path);
        Ok(Self { root, api })
    }

    /// The server's own address, without the API's version. Ends with a slash.
    pub fn root(&self) -> &Url {
        &self.root
    }

    /// A route beside the API, such as `props`.
    pub fn server_route(&self, route: &str) -> Url {
        extended(&self.root, route)
    }

    /// A route of the API, such as `chat/completions`.
    pub fn api_route(&self, route: &str) -> Url {
        extended(&self.api, route)
    }
}

fn extended(base: &Url, route: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{route}", base.path()));
    url
}

/// `v1`, `v2`, …
fn is_version(segment: &str) -> bool {
    segment
        .strip_prefix('v')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn unreadable(text: &str, reason: &str) -> BaseUrlError {
    // What can't be read can't be searched for credentials either, so what stands before an `@` is left out.
    let shown = text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, host)| format!("…@{host}"));
    BaseUrlError::Unreadable { url: shown, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_people_write_lead_to_the_same_routes() {
        for text in [
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "http://127.0.0.1:8080/v1",
            "http://127.0.0.1:8080/v1/",
            "http://127.0.0.1:8080/v1/chat/completions",
            " http://127.0.0.1:8080/v1/models ",
        ] {
            let base = BaseUrl::parse(text).unwrap();
            assert_eq!(
                base.api_route("chat/completions").as_str(),
                "http://127.0.0.1:8080/v1/chat/completions",
                "{text}"
            );
            assert_eq!(base.server_route("props").as_str(), "http://127.0.0.1:8080/props", "{text}");
        }
    }

    #[test]
    fn a_path_before_the_version_is_kept() {
        let base = BaseUrl::parse("https://example.org/openai/v1").unwrap();
        assert_eq!(base.api_route("models").as_str(), "https://example.org/openai/v1/models");
        assert_eq!(base.server_route("props").as_str(), "https://example.org/openai/props");
    }

    #[test]
    fn another_version_is_kept() {
        let base = BaseUrl::parse("https://example.org/api/v4/").unwrap();
        assert_eq!(base.api_route("models").as_str(), "https://example.org/api/v4/models");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, message) in [
            (
                "127.0.0.1:8080",
                r#""127.0.0.1:8080" is not a URL: relative URL without a base; write it like http://127.0.0.1:8080"#,
            ),
            ("", r#""" is not a URL: relative URL without a base; write it like http://127.0.0.1:8080"#),
            ("http://", r#""http://" is not a URL: empty host; write it like http://127.0.0.1:8080"#),
            (
                "localhost:8080",
                r#""localhost:8080" has the scheme "localhost"; allowed are http and https, as in http://127.0.0.1:8080"#,
            ),
            (
                "ftp://example.org",
                r#""ftp://example.org" has the scheme "ftp"; allowed are http and https, as in http://127.0.0.1:8080"#,
            ),
            (
                "http://example.org/v1?key=1",
                r#"the address "http://example.org/v1" has a query or a fragment; give only scheme, host, port and path"#,
            ),
        ] {
            assert_eq!(BaseUrl::parse(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_credential_in_the_address_is_refused_and_not_shown() {
        for text in [
            "http://me:hunter2@example.org/v1",
            "http://hunter2@example.org",
            "me:hunter2@example.org",
            "http://me:hunter2@exa mple.org",
        ] {
            let message = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
