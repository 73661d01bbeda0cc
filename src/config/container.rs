//! Memory of the container or machine that the process runs in.

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

/// Memory that the machine can give without swapping, in bytes; `None` if it is not known.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// Memory that may be taken for a moment beside what the process holds, in bytes: half of the limit of the
/// container, or half of what the machine has left. `None` if neither is known.
pub fn momentary_memory() -> Option<u64> {
    memory_limit()
        .into_iter()
        .chain(available_memory())
        .min()
        .map(|bytes| bytes / 2)
}
