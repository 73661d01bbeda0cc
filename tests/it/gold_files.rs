//! Gold files are read after a change of their metadata, and parsed after a change of their content.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rankgauge::app::gold_files::GoldFiles;
use rankgauge::config;
use rankgauge_core::gold::Options;

use crate::harness::wait_until;

const QRELS: &str = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n";
const OTHER: &str = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n";

/// Gold files in use by a sidecar, whose metadata is old enough to be trusted.
struct InUse {
    files: GoldFiles,
    sha256: String,
}

impl InUse {
    fn of(path: &Path) -> Self {
        let mut files = GoldFiles::new(config::Gold {
            paths: vec![path.to_owned()],
            options: Options::default(),
            reload_interval: Duration::from_secs(10),
            load_timeout: Duration::from_secs(30),
        });
        let gold = files.load().expect("a gold set");
        let sha256 = gold.sha256().to_owned();
        let mut in_use = Self { files, sha256 };
        in_use.settle();
        in_use
    }

    /// Waits until the metadata of the files is old enough to be trusted.
    fn settle(&mut self) {
        let limit = Duration::from_secs(30);
        wait_until(limit, "an unchanged file is not read", || {
            self.files.check(&self.sha256).is_none().then_some(())
        });
    }

    /// Checks once. Returns true if the content changed, and the numbers of reads and parses.
    fn check(&mut self) -> (bool, u64, u64) {
        let before = (self.files.reads(), self.files.parses());
        let result = self.files.check(&self.sha256);
        let gold = result.and_then(|result| result.expect("a gold set"));
        if let Some(gold) = &gold {
            gold.sha256().clone_into(&mut self.sha256);
        }
        let [reads, parses] = [
            self.files.reads() - before.0,
            self.files.parses() - before.1,
        ];
        (gold.is_some(), reads, parses)
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gold.qrels");
    fs::write(&path, QRELS).expect("a file");
    (folder, path)
}

#[test]
fn unchanged_file_is_neither_read_nor_parsed() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    for _ in 0..100 {
        assert_eq!(gold.check(), (false, 0, 0));
    }
    assert_eq!(gold.files.parses(), 1);
}

#[test]
fn rewritten_file_with_equal_content_is_read_and_not_parsed() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    fs::write(&path, QRELS).expect("a file");
    assert_eq!(gold.check(), (false, 1, 0));
}

#[test]
fn change_of_equal_length_with_the_old_time_is_found() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    let time = fs::metadata(&path)
        .and_then(|file| file.modified())
        .expect("a time");
    fs::write(&path, OTHER).expect("a file");
    let file = fs::File::options()
        .append(true)
        .open(&path)
        .expect("a file");
    file.set_modified(time).expect("a time can be set");
    assert_eq!(gold.check(), (true, 1, 1));
}

#[test]
fn changes_in_quick_succession_are_all_found() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    for content in [OTHER, QRELS, OTHER, QRELS] {
        fs::write(&path, content).expect("a file");
        assert_eq!(gold.check(), (true, 1, 1));
    }
}

#[test]
fn switched_link_of_a_mounted_config_map_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    // Other tests change the folder of temporary folders all the time.
    let mounted = folder.path().join("mounted");
    fs::create_dir(&mounted).expect("a folder");
    let at = |name: &str| mounted.join(name);
    for (version, content) in [("..1", QRELS), ("..2", OTHER)] {
        fs::create_dir(at(version)).expect("a folder");
        fs::write(at(version).join("gold.qrels"), content).expect("a file");
    }
    symlink("..1", at("..data")).expect("a link");
    symlink("..data/gold.qrels", at("gold.qrels")).expect("a link");
    let mut gold = InUse::of(&mounted);
    symlink("..2", at("..new")).expect("a link");
    fs::rename(at("..new"), at("..data")).expect("the kubelet renames the link");
    assert_eq!(gold.check(), (true, 1, 1));
}

#[test]
fn added_and_removed_files_of_a_folder_are_found() {
    let (folder, _) = folder();
    let mut gold = InUse::of(folder.path());
    let added = folder.path().join("more.qrels");
    fs::write(&added, "q3 0 d1 1\n").expect("a file");
    assert_eq!(gold.check(), (true, 1, 1));
    fs::remove_file(&added).expect("a file");
    assert_eq!(gold.check(), (true, 1, 1));
}

#[test]
fn added_query_texts_are_found() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    fs::write(
        path.with_extension("tsv"),
        "q1\tfirst query\nq2\tsecond query\n",
    )
    .expect("a file");
    assert_eq!(gold.check(), (true, 1, 1));
}

#[test]
fn added_compressed_query_texts_are_found() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    let texts = zstd::stream::encode_all(&b"q1\tfirst query\n"[..], 1).expect("memory");
    fs::write(path.with_extension("tsv.zst"), texts).expect("a file");
    assert_eq!(gold.check(), (true, 1, 1));
}

#[test]
fn invalid_file_is_parsed_once_and_its_correction_is_found() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    fs::write(&path, "no judgement\n").expect("a file");
    let failed = gold.files.check(&gold.sha256);
    assert!(matches!(failed, Some(Err(_))), "{failed:?}");
    gold.settle();
    let parses = gold.files.parses();
    assert!(gold.files.check(&gold.sha256).is_none());
    assert_eq!(gold.files.parses(), parses);
    fs::write(&path, OTHER).expect("a file");
    assert_eq!(gold.check(), (true, 1, 1));
}

#[test]
fn removed_file_is_an_error() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    fs::remove_file(&path).expect("a file");
    let failed = gold.files.check(&gold.sha256);
    assert!(matches!(failed, Some(Err(_))), "{failed:?}");
}

#[test]
fn requested_reload_does_not_trust_metadata() {
    let (_folder, path) = folder();
    let mut gold = InUse::of(&path);
    let (reads, parses) = (gold.files.reads(), gold.files.parses());
    let reloaded = gold.files.reload(&gold.sha256).expect("a gold set");
    assert!(reloaded.is_none());
    assert_eq!(
        (gold.files.reads(), gold.files.parses()),
        (reads + 1, parses)
    );
}
