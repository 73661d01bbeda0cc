//! Build of the binary.

/// Version, source revision and compiler of the binary.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildInfo {
    /// Version of the package.
    pub version: &'static str,
    /// Revision of the sources.
    pub revision: &'static str,
    /// Version of the compiler.
    pub rustc: &'static str,
}
