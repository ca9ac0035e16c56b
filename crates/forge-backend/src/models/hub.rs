//! Downloading a file from the model hub.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode, Url, redirect};

use super::fetch::{SourceError, Work, blocking, cause};
use super::observer::{Reporter, Stage};
use super::part_file::PartFile;
use crate::http::{HttpClientError, http_client_builder};

/// A server that sends nothing for this long is given up.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that are collected before they are written.
const WRITE_BYTES: usize = 1024 * 1024;
const MAX_REDIRECTS: usize = 10;
/// Tries in a row that may bring nothing, once something has arrived.
const MAX_FRUITLESS_TRIES: u32 = 4;

/// A repository of the model hub.
pub(super) struct Hub<'a> {
    pub(super) base: &'a Url,
    pub(super) repository: &'a str,
    pub(super) revision: &'a str,
    pub(super) retry_after: Duration,
}

impl Hub<'_> {
    /// Downloads the model's file, going on from what the partial file holds. The result is complete but not yet verified.
    pub(super) async fn download(&self, work: &Work<'_>, reporter: &mut Reporter<'_>) -> Result<PartFile, SourceError> {
        let download = Download {
            url: self.url(&work.model.file),
            total: work.model.bytes,
            expected: work.model.sha256.to_string(),
        };
        let total = download.total;
        let part = work.open_part(move |there| if there > total { 0 } else { there }, reporter).await?;
        let mut fruitless = 0;
        let mut arrived = false;
        while part.len() < total {
            let before = part.len();
            let Err(error) = download.attempt(&part, reporter).await else { continue };
            if part.len() > before {
                (fruitless, arrived) = (0, true);
            }
            fruitless += 1;
            // A source that never gave a byte is left for the next one at once.
            if !arrived || !error.is_passing() || fruitless >= MAX_FRUITLESS_TRIES {
                return Err(error);
            }
            tokio::time::sleep(self.retry_after * 2_u32.pow(fruitless - 1)).await;
        }
        Ok(part)
    }

    fn url(&self, file: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(self.repository.split('/')).extend(["resolve", self.revision, file]);
        }
        url
    }
}

struct Download {
    url: Url,
    total: u64,
    expected: String,
}

impl Download {
    /// One request for what is missing, written to the partial file as far as it arrives.
    async fn attempt(&self, part: &PartFile, reporter: &mut Reporter<'_>) -> Result<(), SourceError> {
        let response = self.request(part.len()).await?;
        let whole = response.status() == StatusCode::OK;
        if whole && part.len() > 0 {
            part.clear()?;
        }
        self.check_size(&response, part.len())?;
        let mut stream = response.bytes_stream();
        let mut buffer = Vec::with_capacity(WRITE_BYTES);
        let mut done = part.len();
        let ended = loop {
            match stream.next().await {
                None => break Ok(()),
                Some(Err(error)) => break Err(cause(&error)),
                Some(Ok(bytes)) => {
                    done += bytes.len() as u64;
                    if done > self.total {
                        return Err(self.other("size", format!("more than {}", self.total), self.total.to_string()));
                    }
                    buffer.extend_from_slice(&bytes);
                }
            }
            if buffer.len() >= WRITE_BYTES {
                write(part, &mut buffer).await?;
                reporter.report(Stage::Downloading, done);
            }
        };
        write(part, &mut buffer).await?;
        reporter.report(Stage::Downloading, done);
        let interrupted = |cause| SourceError::Interrupted { done, total: self.total, cause };
        ended.map_err(interrupted)?;
        if done < self.total { Err(interrupted("the connection was closed".to_owned())) } else { Ok(()) }
    }

    /// Asks for the bytes from `offset` on, following redirects by hand: what the hub says of the file, it says on the
    /// answer that redirects.
    async fn request(&self, offset: u64) -> Result<Response, SourceError> {
        let mut url = self.url.clone();
        for _ in 0..MAX_REDIRECTS {
            let mut request = client(&url)?.get(url.clone()).header(ACCEPT_ENCODING, "identity");
            if offset > 0 {
                request = request.header(RANGE, format!("bytes={offset}-"));
            }
            let response = request
                .send()
                .await
                .map_err(|source| SourceError::Unreachable { url: url.origin().ascii_serialization(), source })?;
            self.check_announced(response.headers())?;
            let status = response.status();
            if status.is_redirection() {
                url = response
                    .headers()
                    .get(LOCATION)
                    .and_then(|location| url.join(location.to_str().ok()?).ok())
                    .ok_or_else(|| SourceError::Redirect { url: url.to_string() })?;
            } else if status.is_success() {
                return Ok(response);
            } else if status == StatusCode::RANGE_NOT_SATISFIABLE {
                return Err(self.other("size", format!("less than {offset}"), self.total.to_string()));
            } else {
                return Err(SourceError::Status { url: url.to_string(), status: status.as_u16() });
            }
        }
        Err(SourceError::Redirect { url: url.to_string() })
    }

    /// Compares what the hub announces of a file it keeps elsewhere.
    fn check_announced(&self, headers: &HeaderMap) -> Result<(), SourceError> {
        if let Some(size) = text(headers, "x-linked-size").filter(|size| *size != self.total.to_string()) {
            return Err(self.other("size", size.to_owned(), self.total.to_string()));
        }
        let checksum = text(headers, "x-linked-etag").map(|etag| etag.trim_start_matches("W/").trim_matches('"'));
        match checksum {
            // Files that are not in large file storage carry a git hash, which is shorter.
            Some(found) if found.len() == self.expected.len() && !found.eq_ignore_ascii_case(&self.expected) => {
                Err(self.other("SHA-256", found.to_owned(), self.expected.clone()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Compares the size of the body that is about to come.
    fn check_size(&self, response: &Response, offset: u64) -> Result<(), SourceError> {
        let other = |found: String, expected: String| {
            let kind = text(response.headers(), CONTENT_TYPE.as_str()).unwrap_or("unknown");
            Err(self.other("size", format!("{found} bytes (content type {kind})"), format!("{expected} bytes")))
        };
        if response.status() == StatusCode::PARTIAL_CONTENT {
            let expected = format!("bytes {offset}-{}/{}", self.total.saturating_sub(1), self.total);
            return match text(response.headers(), CONTENT_RANGE.as_str()) {
                Some(range) if range != expected => other(range.to_owned(), expected),
                Some(_) | None => Ok(()),
            };
        }
        match response.content_length() {
            Some(length) if length != self.total => other(length.to_string(), self.total.to_string()),
            Some(_) | None => Ok(()),
        }
    }

    fn other(&self, property: &'static str, found: String, expected: String) -> SourceError {
        SourceError::OtherFile { url: self.url.to_string(), property, found, expected }
    }
}

impl SourceError {
    /// Whether trying again may help.
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Interrupted { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Disk(_)
            | Self::Client(_)
            | Self::Redirect { .. }
            | Self::OtherFile { .. }
            | Self::Checksum { .. }
            | Self::Python(_)
            | Self::Wheel { .. } => false,
        }
    }
}

async fn write(part: &PartFile, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
    let bytes = std::mem::replace(buffer, Vec::with_capacity(WRITE_BYTES));
    let part = part.clone();
    Ok(blocking(move || part.append(&bytes)).await?)
}

fn client(url: &Url) -> Result<Client, HttpClientError> {
    http_client_builder(url)
        .redirect(redirect::Policy::none())
        .read_timeout(READ_TIMEOUT)
        .build()
        .map_err(|source| HttpClientError { url: url.clone(), source })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
