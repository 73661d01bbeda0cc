//! Output of a result: its format, and its destination: the terminal, or a file that is either
//! complete or absent.

use std::fs;
use std::io::{StdoutLock, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;
use tempfile::NamedTempFile;

use super::failure::Failure;
use rankgauge_eval::report;
use rankgauge_eval::text_layout::escape_lines;

/// Mode of new files before the umask, as for other commands.
const MODE: u32 = 0o666;

/// Maximum number of symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Human-readable text.
    Text,
    /// JSON for programs.
    Json,
}

/// Output format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// Tables and sentences for a terminal.
    Text,
    /// JSON with all values, in full precision.
    Json,
    /// CSV with all values, in full precision, for spreadsheets and data frames.
    Csv,
    /// Markdown for a wiki or a pull request.
    Markdown,
    /// HTML report with charts, in one file.
    Html,
    /// JUnit XML with the checks of the gate.
    Junit,
    /// Annotations of GitHub Actions with the checks of the gate.
    Github,
}

impl ReportFormat {
    /// Returns true if programs read the format.
    pub(super) fn is_data(self) -> bool {
        !matches!(self, Self::Text | Self::Markdown)
    }
}

impl From<ReportFormat> for report::Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Text => Self::Text,
            ReportFormat::Json => Self::Json,
            ReportFormat::Csv => Self::Csv,
            ReportFormat::Markdown => Self::Markdown,
            ReportFormat::Html => Self::Html,
            ReportFormat::Junit => Self::Junit,
            ReportFormat::Github => Self::Github,
        }
    }
}

/// Argument for the output format of a result.
#[derive(Debug, Args)]
pub(super) struct OutputFormat {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

impl OutputFormat {
    /// Prints `text` or `json`, depending on the output format.
    pub(super) fn print(
        &self,
        text: impl FnOnce() -> String,
        json: &impl Serialize,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Text => print(&text()),
            Format::Json => {
                let json = serde_json::to_string_pretty(json);
                print_data(&(json.map_err(Failure::running)? + "\n"))
            }
        }
        .map_err(Failure::Running)
    }
}

/// Prints a text for users. Control characters, also those of file names and of what files contain, are
/// [escaped](escape_lines). A closed pipe (`| head`) is not an error.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    print_data(&escape_lines(text))
}

/// Prints data for programs unchanged. A closed pipe (`| head`) is not an error.
pub(super) fn print_data(text: &str) -> anyhow::Result<()> {
    let mut out = stdout();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Outcome of writing a result to standard output. A closed pipe (`| head`) is not an error.
pub(in crate::cli) fn printed(written: std::io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(problem) if problem.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("the result cannot be printed"),
    }
}

/// Standard output for a command that prints while it reads. Texts are escaped by the command.
pub(super) fn stdout() -> StdoutLock<'static> {
    std::io::stdout().lock()
}

/// Prints notes on a result to standard error, escaped as by [`print()`].
pub(super) fn note(text: &str) {
    // A note that cannot be printed is dropped.
    drop(std::io::stderr().write_all(escape_lines(text).as_bytes()));
}

/// Returns true for standard output: `-`, as for standard input, or its device. If that is redirected to a file, it must
/// be written as it is open: the file may have content before.
pub(super) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .map(Path::new)
        .contains(&path)
}

/// Rejects a path that cannot be written, before the command does any work.
pub(super) fn check_writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| !is_stdout(path)) else {
        return Ok(());
    };
    let problem = if path.is_dir() {
        "is a folder; name a file in it".to_owned()
    } else if !folder_of(path).is_dir() {
        "its folder does not exist; make it first".to_owned()
    } else if is_device(path) {
        // A pipe or a device fails on the write itself.
        return Ok(());
    } else {
        match temporary_beside(&target(path)) {
            Ok(_removed) => return Ok(()),
            Err(problem) => format!(
                "no file can be made in its folder ({}); choose another place",
                problem.kind()
            ),
        }
    };
    Err(Failure::Usage(anyhow::anyhow!(
        "{}: {problem}",
        path.display()
    )))
}

/// Prints a warning to standard error.
pub(super) fn warn(warning: &str) {
    note(&format!("rankgauge: warning: {warning}\n"));
}

/// Returns the file to write: the target of symbolic links, which need not exist, or the path itself.
pub(super) fn target(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&place) else {
            break;
        };
        place = folder_of(&place).join(next);
    }
    place
}

/// Returns true for a pipe or a device, which a rename would replace with a file, and for what the process has open: a
/// redirection to a file may have content before.
pub(super) fn is_device(path: &Path) -> bool {
    let is_open = path == Path::new("/dev/stderr")
        || ["/dev/fd", "/proc/self/fd"]
            .map(Path::new)
            .map(Some)
            .contains(&path.parent());
    is_open || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Writes the content to a temporary file beside its place, with the mode of the file that it replaces. It is removed
/// unless it is persisted.
pub(super) fn draft(place: &Path, content: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = temporary_beside(place)?;
    if let Ok(found) = fs::metadata(place) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Creates a temporary file in the folder of `path`. It is removed unless it is persisted.
fn temporary_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".rankgauge-")
        .permissions(fs::Permissions::from_mode(MODE))
        .tempfile_in(folder_of(path))
}

/// Prints `text`, or writes it to `file`, of which `-` is standard output. Only data for programs are printed unchanged.
pub(super) fn print_or_write(text: &str, is_data: bool, file: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = file.filter(|path| !is_stdout(path)) else {
        return if is_data {
            print_data(text)
        } else {
            print(text)
        };
    };
    replace(path, text.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))
}

/// Replaces a file. The content is written to a temporary file beside it, which is then renamed:
/// readers see the old or the new content, and a failure leaves no file behind.
pub(super) fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    if is_device(path) {
        let mut device = fs::OpenOptions::new().append(true).open(path)?;
        return Ok(device.write_all(content)?);
    }
    let place = target(path);
    draft(&place, content)?.persist(&place)?;
    Ok(())
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
