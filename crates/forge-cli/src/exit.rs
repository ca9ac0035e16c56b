//! Exit codes by meaning, one for each way a command can end.

use std::process::ExitCode;

/// How a command ended, as its exit code says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done = 0,
    /// It failed for a reason none of the others names.
    Failed = 1,
    /// The command line is wrong. The number is clap's own.
    Usage = 2,
    /// The workflow file or its templates can't be used.
    BadWorkflow = 3,
    /// The model server can't be reached or gave no usable answer.
    Backend = 4,
    /// A guardrail's budget ran out before the work was done.
    Interrupted = 5,
    /// A model or a runtime could not be fetched or started.
    Provision = 6,
    /// Ctrl-C; the number is the shells' own (128 + SIGINT).
    Cancelled = 130,
}

impl Exit {
    /// The table as `forge --help` shows it.
    pub(crate) const HELP: &'static str = "\
Exit codes:
    0  done
    1  failed for another reason, said on the standard error
    2  wrong command line
    3  the workflow file or its templates can't be used
    4  the model server can't be reached or gave no usable answer
    5  a guardrail's budget ran out (the account is printed)
    6  a model or runtime could not be fetched or started
  130  cancelled with Ctrl-C";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn help_lists_every_code() {
        for exit in [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::BadWorkflow,
            Exit::Backend,
            Exit::Interrupted,
            Exit::Provision,
            Exit::Cancelled,
        ] {
            let number = format!("{:>5}  ", exit as u8);
            assert!(Exit::HELP.lines().any(|line| line.starts_with(&number)), "no line for {exit:?}");
        }
    }
}
