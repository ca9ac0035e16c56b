use crate::RunEvent;

/// Is told what happens in a run, as it happens, in order. The run waits while it listens: a slow observer should
/// hand the event on and return.
pub trait Observer: Send {
    /// Something happened.
    fn event(&mut self, event: &RunEvent);
}

impl<F: FnMut(&RunEvent) + Send> Observer for F {
    fn event(&mut self, event: &RunEvent) {
        self(event);
    }
}

/// Doesn't listen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _event: &RunEvent) {}
}
