//! Reading what comes back over HTTP.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use tokio::time::timeout;

use super::errors::{Refusal, Subject};
use crate::BackendError;

/// The longest body of a refusal that is read, in bytes: it may quote a whole generation.
const MAX_REFUSAL: usize = 4 * 1024 * 1024;

/// The body, up to a limit in bytes; what is past it is left.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        body.extend(bytes.iter().take(limit.saturating_sub(body.len())));
        if body.len() >= limit {
            break;
        }
    }
    Ok(body)
}

/// What an answer with another status than success means. The status counts even if the body doesn't come in time.
pub(super) async fn refusal(response: Response, subject: &Subject, limit: Duration) -> BackendError {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = match timeout(limit, read(response, MAX_REFUSAL)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let body = String::from_utf8_lossy(&body);
    subject.error_of(Refusal { status, retry_after, location: location.as_deref(), body: &body })
}

/// When to come back, in seconds (`Retry-After`) or milliseconds (`retry-after-ms`). A date is not read: it would need a
/// clock that agrees with the server's.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let milliseconds = number("retry-after-ms").map(|milliseconds| milliseconds / 1000.0);
    let seconds = milliseconds.or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_come_back_is_read() {
        for (name, value, expected) in [
            ("retry-after", "2", Some(Duration::from_secs(2))),
            ("retry-after", " 0.5 ", Some(Duration::from_millis(500))),
            ("retry-after-ms", "40", Some(Duration::from_millis(40))),
            ("retry-after", "-1", None),
            ("retry-after", "NaN", None),
            ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", None),
            ("x-other", "2", None),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(retry_after(&headers), expected, "{name}: {value}");
        }
    }
}
