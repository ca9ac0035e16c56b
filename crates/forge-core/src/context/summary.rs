use crate::{Message, UserOrigin};

/// Puts a summary into a conversation that was compacted, in the place of an earlier one. It stands behind the user's first
/// input: a message of the user right behind results breaks the templates of some models.
pub fn place_summary(messages: &mut Vec<Message>, summary: impl Into<String>) {
    let summary = Message::User { content: summary.into(), origin: UserOrigin::Summary };
    let is_summary = |message: &Message| matches!(message, Message::User { origin: UserOrigin::Summary, .. });
    if let Some(earlier) = messages.iter_mut().find(|message| is_summary(message)) {
        *earlier = summary;
        return;
    }
    let is_input = |message: &Message| matches!(message, Message::User { origin: UserOrigin::Input, .. });
    let is_instruction = |message: &&Message| matches!(message, Message::System { .. });
    let instructions = messages.iter().take_while(is_instruction).count();
    let place = messages.iter().position(is_input).map_or(instructions, |input| input + 1);
    messages.insert(place, summary);
}
