//! Limits of the container that the process runs in.

/// Memory limit of this process's control group, in bytes; `None` without one.
pub fn memory_limit() -> Option<u64> {
    // Version 2 of control groups, then version 1. A container sees its own group at the root.
    [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
    // Without a limit, version 1 states a number near 2^63.
    .find(|limit| *limit < 1 << 60)
}
