//! Benchmark of the evaluation of a large run, compared with common evaluation tools.
//!
//! All tools read the same two files, each in a separate process and in turns with `rankgauge
//! evaluate`: the trec_eval program if it is installed, elinor, pytrec_eval and ranx. Times include reading.
//! The means of all tools must agree before any time is reported: a fast wrong answer fails.
//! `docs/performance.md` explains the numbers.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks and prints its results"
)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::Parser;
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use cargo::CargoArguments;
use goal::Goal;
use spread::Spread;

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/spread.rs"]
mod spread;

/// Measures that all tools compute.
const MEASURES: &str = "P@5 P@10 R@10 R@100 Success@10 RR AP nDCG@10 nDCG Bpref";
/// The same measures as trec_eval options, and the names that trec_eval prints.
const TREC_EVAL_FLAGS: [&str; 8] = [
    "P.5,10",
    "recall.10,100",
    "success.10",
    "recip_rank",
    "map",
    "ndcg_cut.10",
    "ndcg",
    "bpref",
];
const TREC_EVAL_NAMES: [(&str, &str); 10] = [
    ("P_5", "P@5"),
    ("P_10", "P@10"),
    ("recall_10", "R@10"),
    ("recall_100", "R@100"),
    ("success_10", "Success@10"),
    ("recip_rank", "RR"),
    ("map", "AP"),
    ("ndcg_cut_10", "nDCG@10"),
    ("ndcg", "nDCG"),
    ("bpref", "Bpref"),
];
/// Names of the judgements and of the run.
const NAMES: [&str; 2] = ["gold.qrels", "bench.run"];
const NAMES_OF_GZIP: [&str; 2] = ["gold.qrels.gz", "bench.run.gz"];
/// Python peers, in `benches/python`.
const PYTREC_EVAL: &str = "evaluate_pytrec_eval.py";
const RANX: &str = "evaluate_ranx.py";
/// Maximum difference of two means, due to the order of summation.
const TOLERANCE: f64 = 1e-9;
/// Maximum difference to a printed mean of trec_eval: slightly above half of its last digit.
const PRINTED_TOLERANCE: f64 = 5.001e-5;

/// Evaluation of one large run, compared with other tools.
#[derive(Parser)]
struct Arguments {
    /// Number of queries of the gold set and of the run.
    #[arg(long, default_value_t = 10_000)]
    queries: usize,
    /// Number of results per query.
    #[arg(long, default_value_t = 100)]
    results: usize,
    /// Number of judged documents per query.
    #[arg(long, default_value_t = 50)]
    judged: usize,
    /// Number of rounds of each tool, in turns with rankgauge.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Path of trec_eval; without it, trec_eval on the PATH or the one that
    /// `tests/setup.sh trec_eval` has fetched.
    #[arg(long)]
    trec_eval: Option<PathBuf>,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("evaluate") {
        return Ok(());
    }
    let tools = Tools::find(arguments.trec_eval.as_deref())?;
    let fixture = Fixture::prepare(&arguments)?;
    println!("{}", fixture.description);
    let seconds = timed(&mut script(&tools.python, RANX))?.0;
    println!("ranx, first run with its compilation: {seconds:.0} s, not part of the rounds");
    let rounds = arguments.rounds.max(1);
    let mut table = Table::default();
    let [mut report, mut on_one_core, mut of_gzip] = [Vec::new(), Vec::new(), Vec::new()];
    // Every tool takes turns with rankgauge alone: a process of ten seconds slows down the next one.
    if let Ok(program) = &tools.trec_eval {
        for _ in 0..rounds {
            let peer = fixture.trec_eval(program)?;
            let ratio = |ours: Round| -> anyhow::Result<f64> {
                agree(&ours.means, "trec_eval", &peer.means, PRINTED_TOLERANCE)?;
                Ok(peer.seconds / ours.seconds)
            };
            let same = fixture.same_output(rankgauge())?;
            table.add(same.seconds, &[("trec_eval", peer.seconds)]);
            ratio(same)?;
            on_one_core.push(ratio(fixture.same_output(rankgauge_on_one_core())?)?);
            report.push(ratio(fixture.report(NAMES)?)?);
            of_gzip.push(ratio(fixture.report(NAMES_OF_GZIP)?)?);
        }
    }
    for _ in 0..rounds {
        let ours = fixture.report(NAMES)?;
        let peer = fixture.peer("elinor", &mut Command::new(&tools.elinor))?;
        agree(&ours.means, "elinor", &peer.report.means, TOLERANCE)?;
        table.add(ours.seconds, &[("elinor", peer.seconds)]);
    }
    for _ in 0..rounds {
        let ours = fixture.report(NAMES)?;
        let peer = fixture.peer(PYTREC_EVAL, &mut script(&tools.python, PYTREC_EVAL))?;
        agree(&ours.means, "pytrec_eval", &peer.report.means, TOLERANCE)?;
        let work = peer.report.work();
        let rows = [
            ("pytrec_eval, the process", peer.seconds),
            ("pytrec_eval, reading and evaluating", work),
        ];
        table.add(ours.seconds, &rows);
    }
    for _ in 0..rounds {
        let ours = fixture.report(NAMES)?;
        let peer = fixture.peer(RANX, &mut script(&tools.python, RANX))?;
        agree(&ours.means, "ranx", &peer.report.means, TOLERANCE)?;
        let rows = [
            ("ranx, the process", peer.seconds),
            ("ranx, with loading its compiled code", peer.report.all()),
            ("ranx, reading and evaluating", peer.report.work()),
        ];
        table.add(ours.seconds, &rows);
    }
    table.print();
    println!("\nThe means agree: {MEASURES}.");
    match &tools.trec_eval {
        Ok(program) => {
            println!("{}: {}", program.display(), version(program)?);
            if let Some(row) = table.rows.iter().find(|row| row.name == "trec_eval") {
                let ratio = Spread::of(row.ratios.clone()).median;
                Goal::AtLeast(14.0).print("evaluate --trec against trec_eval", ratio, "×");
                let ratio = Spread::of(on_one_core).median;
                let name = "evaluate --trec on one core against trec_eval";
                Goal::AtLeast(7.0).print(name, ratio, "×");
                let ratio = Spread::of(report).median;
                let name = "evaluate with a whole report against trec_eval";
                Goal::AtLeast(10.0).print(name, ratio, "×");
                let ratio = Spread::of(of_gzip).median;
                let name = "evaluate of gzip files against trec_eval of plain ones";
                Goal::AtLeast(5.0).print(name, ratio, "×");
            }
        }
        Err(reason) => println!("NOT COMPARED WITH trec_eval: {reason}"),
    }
    Ok(())
}

fn rankgauge() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
}

/// `rankgauge` with one core, as the other tools use it.
fn rankgauge_on_one_core() -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0", env!("CARGO_BIN_EXE_rankgauge")]);
    command
}

/// Means by the names of rankgauge that `trec_eval` and `evaluate --trec` print.
fn printed_means(output: &Output) -> BTreeMap<String, f64> {
    let printed = String::from_utf8_lossy(&output.stdout);
    let means = printed.lines().filter_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let name = columns.next()?;
        let (_, ours) = TREC_EVAL_NAMES.iter().find(|(theirs, _)| *theirs == name)?;
        Some(((*ours).to_owned(), columns.nth(1)?.parse().ok()?))
    });
    means.collect()
}

/// Checks that the means of a peer equal those of rankgauge.
fn agree(
    ours: &BTreeMap<String, f64>,
    name: &str,
    theirs: &BTreeMap<String, f64>,
    tolerance: f64,
) -> anyhow::Result<()> {
    for measure in MEASURES.split(' ') {
        let mean_of = |means: &BTreeMap<String, f64>, whose: &str| {
            let mean = means.get(measure).copied();
            mean.with_context(|| format!("{whose} has no mean of {measure}"))
        };
        let (ours, theirs) = (mean_of(ours, "rankgauge")?, mean_of(theirs, name)?);
        ensure!(
            (ours - theirs).abs() <= tolerance,
            "{measure} is {ours} in rankgauge and {theirs} in {name}"
        );
    }
    Ok(())
}

/// Programs of the other tools.
struct Tools {
    python: PathBuf,
    elinor: PathBuf,
    /// Path of trec_eval, or the reason why it is missing.
    trec_eval: Result<PathBuf, String>,
}

impl Tools {
    fn find(trec_eval: Option<&Path>) -> anyhow::Result<Self> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .context("cargo's temporary directory lies in the target directory")?;
        let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/requirements.txt");
        let installed = target.join("peers/requirements.txt");
        ensure!(
            std::fs::read(installed).unwrap_or_default() == std::fs::read(wanted)?,
            "the other tools are not installed: run tests/setup.sh peers"
        );
        let elinor = target.join("elinor/release/elinor-peer");
        ensure!(
            elinor.exists(),
            "elinor is not built: run tests/setup.sh bench"
        );
        let fetched = target.join("trec_eval/trec_eval");
        let candidates = match trec_eval {
            Some(path) => vec![path.to_owned()],
            None => vec![PathBuf::from("trec_eval"), fetched],
        };
        let found = candidates.iter().find(|path| version(path).is_ok());
        Ok(Self {
            python: target.join("peers/bin/python"),
            elinor,
            trec_eval: found.cloned().ok_or_else(|| {
                let tried: Vec<String> = candidates
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                format!(
                    "none of {} runs here; run tests/setup.sh trec_eval, or build it and pass \
                     --trec-eval PATH",
                    tried.join(", ")
                )
            }),
        })
    }
}

/// Version that trec_eval prints on standard error.
fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).arg("-v").output()?;
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(text.contains("trec_eval version"), "not trec_eval: {text}");
    Ok(text)
}

/// Input files of the benchmark.
struct Fixture {
    folder: tempfile::TempDir,
    description: String,
}

/// Means, and duration of the process in seconds.
struct Round {
    seconds: f64,
    means: BTreeMap<String, f64>,
}

/// Duration of the process of a peer in seconds, and its report.
struct PeerRound {
    seconds: f64,
    report: Report,
}

#[derive(Deserialize)]
struct Report {
    seconds: Steps,
    means: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Steps {
    prepare: f64,
    read: f64,
    evaluate: f64,
}

impl Report {
    fn work(&self) -> f64 {
        self.seconds.read + self.seconds.evaluate
    }

    fn all(&self) -> f64 {
        self.seconds.prepare + self.work()
    }
}

/// Output of `rankgauge evaluate`.
#[derive(Deserialize)]
struct Evaluated {
    runs: Vec<EvaluatedRun>,
}

#[derive(Deserialize)]
struct EvaluatedRun {
    means: BTreeMap<String, f64>,
}

impl Fixture {
    fn prepare(arguments: &Arguments) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let [qrels, run] = NAMES.map(|name| File::create(folder.path().join(name)));
        let (mut qrels, mut run) = (BufWriter::new(qrels?), BufWriter::new(run?));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // Three results in ten are judged.
        let found = (arguments.results * 3 / 10).min(arguments.judged);
        for query in 0..arguments.queries {
            let first: u32 = rng.random_range(0..1_000_000);
            let document = |number: usize| format!("민법::제{first}조::chunk{number}");
            for number in 0..arguments.judged {
                // The first two documents give every query a relevant and a non-relevant document:
                // without both kinds, Bpref of ranx is NaN.
                let grade = match number {
                    0 => 3,
                    1 => 0,
                    _ => rng.random_range(0..=3),
                };
                writeln!(qrels, "질의-{query:05} 0 {} {grade}", document(number))?;
            }
            let judged = 0..found;
            let others = arguments.judged..arguments.judged + arguments.results - found;
            let mut results: Vec<usize> = judged.chain(others).collect();
            results.shuffle(&mut rng);
            // No equal scores: ranx orders ties arbitrarily.
            let mut score = 100.0;
            for (rank, number) in results.into_iter().enumerate() {
                score -= 0.01 + rng.random::<f64>() / 10.0;
                let document = document(number);
                writeln!(
                    run,
                    "질의-{query:05} Q0 {document} {} {score:.6} bench",
                    rank + 1
                )?;
            }
        }
        let size = |mut file: BufWriter<File>| -> anyhow::Result<u64> {
            file.flush()?;
            Ok(file.get_ref().metadata()?.len() / 1_000_000)
        };
        let (qrels, run) = (size(qrels)?, size(run)?);
        for (name, compressed) in NAMES.into_iter().zip(NAMES_OF_GZIP) {
            let mut plain = File::open(folder.path().join(name))?;
            let file = File::create(folder.path().join(compressed))?;
            let mut compressed = GzEncoder::new(file, Compression::default());
            io::copy(&mut plain, &mut compressed)?;
            compressed.finish()?;
        }
        let description = format!(
            "{} queries, {} results and {} judgements of each, {} measures, files of {qrels} and {run} MB",
            arguments.queries,
            arguments.results,
            arguments.judged,
            TREC_EVAL_NAMES.len(),
        );
        Ok(Self {
            folder,
            description,
        })
    }

    /// Paths of files.
    fn files(&self, names: [&str; 2]) -> [PathBuf; 2] {
        names.map(|name| self.folder.path().join(name))
    }

    /// Time and means of the whole report: with intervals, curves and the range over unjudged results.
    fn report(&self, names: [&str; 2]) -> anyhow::Result<Round> {
        let mut command = self.evaluate(rankgauge(), names);
        command.args(["--worst", "0", "--format", "json"]);
        let (seconds, output) = timed(&mut command)?;
        let evaluated: Evaluated = serde_json::from_slice(&output.stdout)
            .context("the report of rankgauge evaluate cannot be read")?;
        let run = evaluated.runs.into_iter().next();
        let means = run.context("a report without runs")?.means;
        Ok(Round { seconds, means })
    }

    /// Time and means of the output that trec_eval has.
    fn same_output(&self, program: Command) -> anyhow::Result<Round> {
        let (seconds, output) = timed(self.evaluate(program, NAMES).arg("--trec"))?;
        let means = printed_means(&output);
        Ok(Round { seconds, means })
    }

    fn evaluate(&self, mut program: Command, names: [&str; 2]) -> Command {
        let [qrels, run] = self.files(names);
        program.arg("evaluate").arg("--gold").arg(qrels);
        program.arg("--run").arg(run).args(["--measures", MEASURES]);
        program
    }

    /// Runs a program that reports means and seconds.
    fn peer(&self, name: &str, program: &mut Command) -> anyhow::Result<PeerRound> {
        let (seconds, output) = timed(program.args(self.files(NAMES)))?;
        let report = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the report of {name} cannot be read"))?;
        Ok(PeerRound { seconds, report })
    }

    fn trec_eval(&self, program: &Path) -> anyhow::Result<Round> {
        let mut command = Command::new(program);
        for measure in TREC_EVAL_FLAGS {
            command.args(["-m", measure]);
        }
        command.args(self.files(NAMES));
        let (seconds, output) = timed(&mut command)?;
        let means = printed_means(&output);
        Ok(Round { seconds, means })
    }
}

/// Command of a Python peer, with the compilation cache of ranx from earlier processes.
fn script(python: &Path, name: &str) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/python");
    let mut command = Command::new(python);
    command.arg(folder.join(name));
    if let Some(environment) = python.parent().and_then(Path::parent) {
        command.env("NUMBA_CACHE_DIR", environment.join("numba"));
    }
    command
}

/// Runs a program to its end. Returns the seconds and the output.
fn timed(command: &mut Command) -> anyhow::Result<(f64, Output)> {
    let name = command.get_program().display().to_string();
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let start = Instant::now();
    let output = command
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let seconds = start.elapsed().as_secs_f64();
    ensure!(output.status.success(), "{name} failed: {}", output.status);
    Ok((seconds, output))
}

/// Times of rankgauge and of the other tools.
#[derive(Default)]
struct Table {
    ours: Vec<f64>,
    rows: Vec<Row>,
}

/// Times of a tool.
struct Row {
    name: &'static str,
    seconds: Vec<f64>,
    /// Ratios to the time of rankgauge in the same round.
    ratios: Vec<f64>,
}

impl Table {
    /// Adds a round of rankgauge and of the rows of one tool.
    fn add(&mut self, ours: f64, theirs: &[(&'static str, f64)]) {
        self.ours.push(ours);
        for &(name, seconds) in theirs {
            let at = self.rows.iter().position(|row| row.name == name);
            let at = at.unwrap_or_else(|| {
                let (seconds, ratios) = (Vec::new(), Vec::new());
                self.rows.push(Row {
                    name,
                    seconds,
                    ratios,
                });
                self.rows.len() - 1
            });
            self.rows[at].seconds.push(seconds);
            self.rows[at].ratios.push(seconds / ours);
        }
    }

    /// Prints a Markdown table.
    fn print(&self) {
        println!("\n| | median s | min … max s | noise | ratio to rankgauge | min … max |");
        println!("|---|---:|---:|---:|---:|---:|");
        let print = |name: &str, seconds: &[f64], ratio: &str| {
            let time = Spread::of(seconds.to_vec());
            println!(
                "| {name} | {:.3} | {:.3} … {:.3} | {:.0} % | {ratio} |",
                time.median,
                time.min,
                time.max,
                time.noise()
            );
        };
        print("rankgauge evaluate", &self.ours, "1.0 |");
        for row in &self.rows {
            let ratio = Spread::of(row.ratios.clone());
            let ratio = format!("{:.1} | {:.1} … {:.1}", ratio.median, ratio.min, ratio.max);
            print(row.name, &row.seconds, &ratio);
        }
    }
}
