//! Blocks of content, as the parts and messages of a chat.

use serde_json::{Value, json};

/// What a message of the user holds: results first, whatever their order was, then everything else.
#[derive(Debug, Default)]
pub(super) struct UserContent {
    /// Tool messages, in order.
    pub(super) results: Vec<Value>,
    /// Pictures that stood in results: a tool message holds text.
    result_pictures: Vec<Value>,
    parts: Vec<Value>,
}

impl UserContent {
    /// Reads the blocks of a message.
    pub(super) fn read(blocks: Vec<Value>) -> Self {
        let mut content = Self::default();
        for block in blocks {
            match block.get("type").and_then(Value::as_str) {
                Some("tool_result") => content.read_result(&block),
                _ => content.parts.extend(part(&block)),
            }
        }
        content
    }

    fn read_result(&mut self, block: &Value) {
        let mut texts = Vec::new();
        match block.get("content") {
            Some(Value::String(text)) => texts.push(text.clone()),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    match part(block) {
                        Some(part) if is_text(&part) => {
                            texts.extend(part.get("text").and_then(Value::as_str).map(str::to_owned));
                        }
                        Some(picture) => self.result_pictures.push(picture),
                        None => {}
                    }
                }
            }
            _ => {}
        }
        let text = texts.join("\n");
        let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
        let text = if failed && !text.to_lowercase().contains("error") { format!("Error: {text}") } else { text };
        let id = block.get("tool_use_id").cloned().unwrap_or_default();
        self.results.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }

    /// What the user says besides results: text where it is nothing else, parts otherwise.
    pub(super) fn into_content(self) -> Option<Value> {
        let parts: Vec<Value> = self.result_pictures.into_iter().chain(self.parts).collect();
        content_of(parts)
    }
}

/// Parts as the content of a message; none where there are none.
pub(crate) fn content_of(parts: Vec<Value>) -> Option<Value> {
    if parts.is_empty() {
        return None;
    }
    if parts.iter().all(is_text) {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        return Some(texts.join("\n").into());
    }
    Some(Value::Array(parts))
}

fn is_text(part: &Value) -> bool {
    part.get("type").and_then(Value::as_str) == Some("text")
}

/// A block as a part; none for what no chat holds.
fn part(block: &Value) -> Option<Value> {
    match block.get("type").and_then(Value::as_str)? {
        "text" => Some(json!({"type": "text", "text": block.get("text")?})),
        "image" => Some(json!({"type": "image_url", "image_url": {"url": picture_url(block.get("source")?)?}})),
        "document" => {
            let source = block.get("source")?;
            let text = source.get("data").filter(|_| source.get("type").and_then(Value::as_str) == Some("text"));
            Some(
                json!({"type": "text", "text": text.and_then(Value::as_str).unwrap_or("[a document that can't be shown]")}),
            )
        }
        "search_result" | "container_upload" => Some(json!({"type": "text", "text": block.to_string()})),
        _ => None,
    }
}

fn picture_url(source: &Value) -> Option<String> {
    if let Some(url) = source.get("url").and_then(Value::as_str) {
        return Some(url.to_owned());
    }
    let media = source.get("media_type").and_then(Value::as_str).unwrap_or("image/png");
    Some(format!("data:{media};base64,{}", source.get("data")?.as_str()?))
}
