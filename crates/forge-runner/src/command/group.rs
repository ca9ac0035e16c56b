use tokio::process::{Child, Command};

/// The process group of a running command: the command and what it started, unless that left the group
/// (`setsid`). Dropping it kills the group.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Option<Leader>,
}

#[cfg(unix)]
type Leader = rustix::process::Pid;
#[cfg(not(unix))]
type Leader = std::convert::Infallible;

impl ProcessGroup {
    /// Makes the command lead a group of its own, so that a terminal's Ctrl-C reaches only Forge, which then ends
    /// the group itself.
    pub(super) fn prepare(command: &mut Command) {
        #[cfg(unix)]
        command.process_group(0);
        // Also covers platforms without groups: there only the command itself is killed.
        command.kill_on_drop(true);
    }

    /// The group of a command that was prepared.
    pub(super) fn of(child: &Child) -> Self {
        #[cfg(unix)]
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Leader::from_raw);
        #[cfg(not(unix))]
        let leader = None;
        Self { leader }
    }

    /// Asks all processes of the group to end.
    pub(super) fn terminate(&self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            signal(leader, rustix::process::Signal::TERM);
        }
    }

    /// Ends all processes of the group that are left. Nothing is signalled afterwards, for the id may be given
    /// to another group.
    pub(super) fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            #[cfg(unix)]
            signal(leader, rustix::process::Signal::KILL);
            #[cfg(not(unix))]
            match leader {}
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
fn signal(leader: Leader, signal: rustix::process::Signal) {
    // The only expected error is that no process of the group is left.
    if let Err(error) = rustix::process::kill_process_group(leader, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::warn!(group = leader.as_raw_nonzero().get(), ?signal, %error, "could not signal a tool's processes");
    }
}
