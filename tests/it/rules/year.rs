//! A fortnight of the small shop of `make year`, which runs whole years (docs/operations.md).

use std::process::Command;

use crate::dashboards::folder;

/// An outage of a working day and a worse ranking are found; nights, weekends and a holiday raise no page.
#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored rules::year"]
fn a_fortnight_of_a_small_shop_has_pages_for_its_causes_only() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let output = Command::new("python3")
        .arg(folder("tests/year/year.py"))
        .arg(env!("CARGO_BIN_EXE_rankgauge"))
        .arg(scratch.path().join("year"))
        .args(["--shop", "small", "--days", "14", "--sample", "2m"])
        .args(["--cause", "outage:9:8:11", "--cause", "ranking:10:8:96"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 runs; install it with apt-get install python3 python3-yaml");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        text.contains("small: 14 days, 2 causes, 2 found; pages without a cause: 0"),
        "{text}"
    );
}
