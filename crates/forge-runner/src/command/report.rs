use std::process::ExitStatus;
use std::time::Duration;

use forge_core::Outcome;

use super::NO_DATA_EXIT_CODE;
use super::process::{Ending, Finished};

/// What the model is told about a command that ended.
pub(super) fn outcome_of(finished: Finished, timeout: Duration) -> Outcome {
    let Finished { ending, stdout, stderr } = finished;
    match ending {
        Ending::Exited(status) if status.success() => Outcome::Success(stdout.trim_end().to_owned()),
        Ending::Exited(status) if status.code() == Some(NO_DATA_EXIT_CODE) => {
            let said = [&stdout, &stderr].map(|output| output.trim_end()).into_iter().find(|said| !said.is_empty());
            Outcome::NoData(said.unwrap_or("there is no such data").to_owned())
        }
        Ending::Exited(status) => {
            Outcome::Failure(with_output(format!("the command {}", describe(status)), &stdout, &stderr))
        }
        Ending::TimedOut => {
            let headline = format!("the command was stopped because it didn't end within {timeout:?}");
            Outcome::TimedOut(with_output(headline, &stdout, &stderr))
        }
        Ending::Cancelled => Outcome::Cancelled,
    }
}

/// A headline and what the command printed: the error output last, because the reason is at its end.
fn with_output(headline: String, stdout: &str, stderr: &str) -> String {
    match (stdout.trim_end(), stderr.trim_end()) {
        ("", "") => format!("{headline}; it printed nothing"),
        ("", stderr) => format!("{headline}:\n{stderr}"),
        (stdout, "") => format!("{headline}; its standard output:\n{stdout}"),
        (stdout, stderr) => format!("{headline}; its standard output:\n{stdout}\nits error output:\n{stderr}"),
    }
}

/// The status of a failure, in words that continue "the command".
fn describe(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("failed with exit code {code}");
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal_name(signal) {
            Some(name) => format!("was killed by signal {signal} ({name})"),
            None => format!("was killed by signal {signal}"),
        };
    }
    format!("failed ({status})")
}

/// The customary name of the signals that end programs.
#[cfg(unix)]
fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    names.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| *name)
}
