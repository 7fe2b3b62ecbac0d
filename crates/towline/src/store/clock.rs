//! Two clocks of a chain: the one on the wall, and the processor's.

use std::time::Instant;

/// What has gone by since the last look.
#[derive(Debug)]
pub(crate) struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

/// Seconds on both clocks; the processor's where the system tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Seconds {
    pub wall: f64,
    pub cpu: Option<f64>,
}

impl Clock {
    /// Begins now, on the thread whose processor time is meant.
    pub fn new() -> Self {
        Self {
            wall: Instant::now(),
            cpu: thread_seconds(),
        }
    }

    /// Adds to `so_far` what has gone by.
    pub fn since(&self, so_far: Seconds) -> Seconds {
        let used = self
            .cpu
            .zip(thread_seconds())
            .map(|(before, now)| now - before);
        Seconds {
            wall: so_far.wall + self.wall.elapsed().as_secs_f64(),
            cpu: so_far.cpu.zip(used).map(|(before, used)| before + used),
        }
    }
}

impl Seconds {
    /// Before anything has gone by.
    pub const NONE: Self = Self {
        wall: 0.0,
        cpu: Some(0.0),
    };
}

/// Seconds of the processor that this thread has used, where the system has a file that says so (Linux does).
fn thread_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(1e-9 * nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn sleeping_takes_time_but_no_processor() {
        let clock = Clock::new();
        std::thread::sleep(Duration::from_millis(60));
        let slept = clock.since(Seconds::NONE);
        assert!(slept.wall >= 0.06);
        assert!(
            slept.cpu.is_none_or(|cpu| cpu < 0.5 * slept.wall),
            "{slept:?}"
        );
        // What was not known before is not known after.
        assert_eq!(
            clock
                .since(Seconds {
                    wall: 1.0,
                    cpu: None
                })
                .cpu,
            None
        );
    }
}
