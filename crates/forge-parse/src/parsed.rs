use crate::{Event, Fault, ParsedCall, ParserOptions, ToolChoice};

/// Where a call came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSource {
    /// It was written in the text.
    Text,
    /// The backend delivered it; the index among the structured calls.
    Structured(usize),
}

/// Something that was meant as a call: a valid one, or why it can't be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Where it came from.
    pub source: CallSource,
    /// The call or the fault.
    pub result: Result<ParsedCall, Fault>,
}

/// A whole response, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The text for the reader. White space around calls is kept; text that is only white space is left out beside
    /// calls.
    pub text: String,
    /// The model's thinking.
    pub reasoning: String,
    /// Calls and faults in the order of the output.
    pub attempts: Vec<Attempt>,
}

/// What a response amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Calls, all of them valid.
    Calls,
    /// Text for the reader.
    Text,
    /// Something that the model has to be told in words: faults in text, nothing at all, text where a call was due.
    Nudge,
    /// Structured calls with unusable arguments, which the model has to be told as their result.
    ToolError,
}

impl Outcome {
    /// The outcome's stable identifier.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Text => "text",
            Self::Nudge => "nudge",
            Self::ToolError => "tool_error",
        }
    }
}

impl Parsed {
    /// Puts events together: adjacent pieces of text are joined, and what turned out to be thinking is moved there.
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Self {
        let mut parsed = Self::default();
        for event in events {
            parsed.add(event, CallSource::Text);
        }
        parsed.settle();
        parsed
    }

    pub(crate) fn add(&mut self, event: Event, source: CallSource) {
        match event {
            Event::Text(text) => self.text.push_str(&text),
            Event::Reasoning(text) => self.reasoning.push_str(&text),
            Event::Call(call) => self.attempts.push(Attempt { source, result: Ok(call) }),
            Event::Fault(fault) => self.attempts.push(Attempt { source, result: Err(fault) }),
            Event::WasReasoning => {
                self.reasoning.push_str(&std::mem::take(&mut self.text));
                self.attempts.retain(|attempt| attempt.source != CallSource::Text);
            }
        }
    }

    pub(crate) fn settle(&mut self) {
        self.drop_skeletons();
        if !self.attempts.is_empty() && self.text.trim().is_empty() {
            self.text.clear();
        }
    }

    /// Drops a call that lacks arguments where the same call with them follows at once: a model that began anew.
    fn drop_skeletons(&mut self) {
        let next = self.attempts.iter().skip(1);
        let begun: Vec<bool> =
            self.attempts.iter().zip(next).map(|(first, second)| is_skeleton_of(first, second)).collect();
        let mut begun = begun.into_iter();
        self.attempts.retain(|_| !begun.next().unwrap_or(false));
    }

    /// The valid calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ParsedCall> {
        self.attempts.iter().filter_map(|attempt| attempt.result.as_ref().ok())
    }

    /// The faults, in order.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.attempts.iter().filter_map(|attempt| attempt.result.as_ref().err())
    }

    /// What the response amounts to. One faulty call makes the whole batch one to be given back.
    pub fn outcome(&self, options: &ParserOptions) -> Outcome {
        let mut faulty = self.attempts.iter().filter(|attempt| attempt.result.is_err()).peekable();
        if faulty.peek().is_some() {
            let arguments_only = faulty.all(|attempt| {
                matches!(attempt.source, CallSource::Structured(_))
                    && matches!(attempt.result, Err(Fault::MalformedArguments { .. } | Fault::InvalidArguments { .. }))
            });
            return if arguments_only { Outcome::ToolError } else { Outcome::Nudge };
        }
        if !self.attempts.is_empty() {
            return Outcome::Calls;
        }
        match options.tool_choice {
            ToolChoice::Required => Outcome::Nudge,
            ToolChoice::Auto | ToolChoice::None if self.text.trim().is_empty() => Outcome::Nudge,
            ToolChoice::Auto | ToolChoice::None => Outcome::Text,
        }
    }
}

fn is_skeleton_of(first: &Attempt, second: &Attempt) -> bool {
    let (Err(Fault::InvalidArguments { tool, fields, raw }), Ok(call)) = (&first.result, &second.result) else {
        return false;
    };
    let missing = fields.iter().all(|field| field.problem == crate::FieldProblem::Missing);
    let Ok(begun) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(raw) else { return false };
    let whole = call.arguments.to_object();
    missing && *tool == call.name && begun.iter().all(|(key, value)| whole.get(key) == Some(value))
}
