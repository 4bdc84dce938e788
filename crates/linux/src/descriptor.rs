//! Which descriptors of a process are closed first when it dies.
//!
//! When a process dies, Linux closes its descriptors from the highest to the lowest: it queues them in their order, and works the queue off
//! from its end (`task_work_run`, without a guarantee; observed with 6.18). So a descriptor with a high number is closed before all
//! others. Processes that end by themselves close what they want in the order that they want.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};

/// The largest number of the first high descriptor. The kernel's table of descriptors has 8 bytes for each number up to the highest in
/// use.
const FIRST_HIGH_MAX: u64 = 1 << 15;

/// The first high descriptor: half of what this process may have when it first asks.
fn first_high() -> i32 {
    static FIRST: OnceLock<i32> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        (most / 2).min(FIRST_HIGH_MAX) as i32
    })
}

/// Gives a file a descriptor that is closed before low ones, and before high ones that were given out earlier. The file keeps its
/// descriptor if no high one is left.
pub fn close_early(fd: OwnedFd) -> OwnedFd {
    rustix::io::fcntl_dupfd_cloexec(&fd, first_high()).unwrap_or(fd)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn later_ones_have_higher_numbers() {
        let open = || close_early(std::fs::File::open("/dev/null").expect("it is there").into());
        let (first, second) = (open(), open());
        assert!(first.as_raw_fd() >= first_high() && second.as_raw_fd() > first.as_raw_fd());
    }
}
