//! Requests as the server receives them.

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// Reads the next request of a connection; none at its end.
    pub(crate) async fn read(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<Self> {
        let path = line(reader).await?.split(' ').nth(1)?.to_owned();
        let mut headers = Vec::new();
        loop {
            let line = line(reader).await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { path, headers, body: Vec::new() };
        let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body).await.ok()?;
        Some(request)
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = String::new();
    (reader.read_line(&mut line).await.ok()? > 0).then(|| line.trim_end().to_owned())
}
