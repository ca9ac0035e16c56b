use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::group::ProcessGroup;

/// How long a command may take to end after it was asked to.
const TERMINATION_GRACE: Duration = Duration::from_millis(500);

/// How long output is still read after the command ended, when something it started keeps the pipes open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// What became of a process.
#[derive(Debug)]
pub(super) struct Finished {
    /// How it ended.
    pub(super) ending: Ending,
    /// Its standard output, cut to the limit.
    pub(super) stdout: String,
    /// Its standard error, cut to the limit.
    pub(super) stderr: String,
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum Ending {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Runs a command to its end, or until the time limit or the cancellation ends it together with everything it
/// started.
///
/// `input` is written to its standard input, which is closed afterwards; at most `output_limit` bytes of each
/// output are kept.
///
/// # Errors
/// When the command can't be started, or can't be waited for.
pub(super) async fn run(
    mut command: Command,
    input: &[u8],
    timeout: Duration,
    output_limit: usize,
    cancellation: &CancellationToken,
) -> std::io::Result<Finished> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ProcessGroup::prepare(&mut command);
    let mut child = command.spawn()?;
    // Declared after the child, so that on a drop the group is killed before the child's id can be given away.
    let mut group = ProcessGroup::of(&child);

    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut captured = (Capture::new(output_limit), Capture::new(output_limit));
    let ending = {
        let mut pipes = Pipes::new(async {
            tokio::join!(write(stdin, input), read(stdout, &mut captured.0), read(stderr, &mut captured.1));
        });
        let ending = tokio::select! {
            biased;
            () = cancellation.cancelled() => Ending::Cancelled,
            status = pipes.beside(child.wait()) => Ending::Exited(status?),
            () = tokio::time::sleep(timeout) => Ending::TimedOut,
        };
        end_group(&ending, &mut child, &mut group, &mut pipes).await?;
        ending
    };
    let (stdout, stderr) = (captured.0.into_text(), captured.1.into_text());
    Ok(Finished { ending, stdout, stderr })
}

/// Ends what is left of the command and reads what it had still to say.
async fn end_group<F: Future<Output = ()>>(
    ending: &Ending,
    child: &mut Child,
    group: &mut ProcessGroup,
    pipes: &mut Pipes<F>,
) -> std::io::Result<()> {
    match ending {
        // A process that the command left in the background may write a last line; then it has to go.
        Ending::Exited(_) => pipes.finish(OUTPUT_GRACE).await,
        Ending::TimedOut | Ending::Cancelled => {
            group.terminate();
            let ended = tokio::time::timeout(TERMINATION_GRACE, pipes.beside(child.wait())).await;
            if ended.is_err() {
                child.start_kill()?;
            }
        }
    }
    group.kill();
    pipes.beside(child.wait()).await?;
    pipes.finish(OUTPUT_GRACE).await;
    Ok(())
}

/// The transfer of a command's input and outputs, which has to go on while something else is waited for.
struct Pipes<F> {
    transfer: Pin<Box<F>>,
    done: bool,
}

impl<F: Future<Output = ()>> Pipes<F> {
    fn new(transfer: F) -> Self {
        Self { transfer: Box::pin(transfer), done: false }
    }

    /// Waits for something while data flow.
    async fn beside<T>(&mut self, awaited: impl Future<Output = T>) -> T {
        tokio::pin!(awaited);
        loop {
            tokio::select! {
                biased;
                result = &mut awaited => return result,
                () = &mut self.transfer, if !self.done => self.done = true,
            }
        }
    }

    /// Waits until all pipes are closed, at most so long.
    async fn finish(&mut self, grace: Duration) {
        if !self.done {
            self.done = tokio::time::timeout(grace, &mut self.transfer).await.is_ok();
        }
    }
}

/// Writes the input and closes the pipe.
async fn write(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A command need not read its input: a closed pipe is no fault.
        if let Err(error) = stdin.write_all(input).await {
            tracing::debug!(%error, "a tool didn't read all of its input");
        }
    }
}

/// Reads to the end, keeping what the capture keeps.
async fn read(pipe: Option<impl AsyncRead + Unpin>, capture: &mut Capture) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match pipe.read(&mut buffer).await {
            Ok(0) => return,
            Ok(count) => capture.push(buffer.get(..count).unwrap_or_default()),
            Err(error) => {
                tracing::warn!(%error, "a tool's output broke off");
                return;
            }
        }
    }
}
