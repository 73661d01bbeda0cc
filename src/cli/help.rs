//! Help texts: examples, headings of options, and links to the documentation.
//!
//! They are in one place, so that a test can read every example. The arguments and their
//! descriptions are beside the code of each command.

use clap::{Arg, Command, CommandFactory as _};

use super::arguments::Arguments;

/// Address of the documentation.
const DOCUMENTATION: &str = "https://github.com/rankgauge/rankgauge/blob/main";

/// Additional help of one command.
pub(super) struct Help {
    /// Command with its parents, without the name of the program.
    command: &'static str,
    /// Page of the documentation.
    page: &'static str,
    /// Examples: a line with the purpose, and a command line.
    examples: &'static str,
}

const fn help(command: &'static str, page: &'static str, examples: &'static str) -> Help {
    Help {
        command,
        page,
        examples,
    }
}

/// Help of every command.
const HELP: &[Help] = &[
    help(
        "",
        "README.md",
        "\
# See everything run in one process, without Kafka
rankgauge demo
# Judge two runs against a gold set
rankgauge evaluate --gold gold.json --run V1.jsonl --run V5.jsonl
# Check a configuration, then run the sidecar with it
rankgauge check --config my.yaml && rankgauge run --config my.yaml",
    ),
    help(
        "run",
        "docs/operations.md",
        "\
# Run with a configuration file
rankgauge run --config my.yaml
# Override the file for one process
rankgauge run --config my.yaml --set kafka.brokers=kafka:9092 --set log.format=json",
    ),
    help(
        "gateway",
        "docs/connect/http.md",
        "\
# Take events on port 4318 of this machine
rankgauge gateway --config my.yaml
# Take them from other machines
rankgauge gateway --config my.yaml --set gateway.listen=0.0.0.0:4318",
    ),
    help(
        "check",
        "docs/configuration.md",
        "\
# Check a configuration and its gold set
rankgauge check --config my.yaml
# Predict the memory for 200 searches per second
rankgauge check --config my.yaml --searches-per-second 200",
    ),
    help(
        "config",
        "docs/configuration.md",
        "\
# Print the settings in effect
rankgauge config show --config my.yaml",
    ),
    help(
        "config show",
        "docs/configuration.md",
        "\
# Print the settings in effect with their sources
rankgauge config show --config my.yaml
# Print them for a program
rankgauge config show --format json",
    ),
    #[cfg(feature = "demo")]
    help(
        "produce",
        "docs/events.md",
        "\
# Write 10,000 searches with their feedback to Kafka
rankgauge produce --set kafka.brokers=localhost:9092
# Write them to files, with the gold set
rankgauge produce --output traffic --gold gold.json",
    ),
    help(
        "init",
        "docs/configuration.md",
        "\
# Write a starter configuration and gold set into a folder
rankgauge init quality
# Propose slices, measures and limits from recorded searches
rankgauge init quality --from searches.jsonl",
    ),
    help(
        "probe",
        "docs/probe.md",
        "\
# Send every gold query once, and judge the answers
rankgauge probe --config my.yaml --output run.jsonl
# Send events to the search topic every 15 minutes
rankgauge probe --config my.yaml --every 15m",
    ),
    help(
        "tail",
        "docs/connect/README.md",
        "\
# Print events from now on, with outcome, scores and reason
rankgauge tail --config my.yaml
# Print the rejected events that the topics hold
rankgauge tail --config my.yaml --from earliest --until-end --reason any",
    ),
    help(
        "replay",
        "docs/operations.md",
        "\
# Print the metrics of recorded events
rankgauge replay --config my.yaml --search search-0.jsonl --feedback feedback-0.jsonl",
    ),
    #[cfg(feature = "demo")]
    help(
        "demo",
        "README.md",
        "\
# Run until Ctrl-C: a web shop, a regression and its repair
rankgauge demo
# Answers that cite wrong documents, in the Korean law library
rankgauge demo --library law --scenario answers
# Run for two minutes and print a summary as JSON
rankgauge demo --for 2m --format json",
    ),
    help(
        "ctl",
        "docs/operations.md",
        "\
# Show the state of the sidecar in this pod
rankgauge ctl status
# Reload the gold set of a sidecar elsewhere
rankgauge ctl reload --url http://127.0.0.1:9469",
    ),
    help(
        "ctl status",
        "docs/operations.md",
        "\
# Show readiness, lag, gold set and outcomes
rankgauge ctl status --config my.yaml",
    ),
    help(
        "ctl incidents",
        "docs/page.md",
        "\
# Show the incidents
rankgauge ctl incidents",
    ),
    help(
        "ctl acknowledge",
        "docs/detection.md",
        "\
# State that you work on an incident
rankgauge ctl acknowledge 5e1f0b2c9a3d4e67 --by alice",
    ),
    help(
        "ctl note",
        "docs/detection.md",
        "\
# Add a note to an incident
rankgauge ctl note 5e1f0b2c9a3d4e67 'rolled back to 1.4.0' --by alice",
    ),
    help(
        "ctl deploy",
        "docs/detection.md",
        "\
# Report a deployment
rankgauge ctl deploy V5 1.4.0",
    ),
    help(
        "ctl baseline",
        "docs/detection.md",
        "\
# Reset the baselines of all variants
rankgauge ctl baseline",
    ),
    help(
        "ctl reload",
        "docs/gold.md",
        "\
# Reload the gold set
rankgauge ctl reload",
    ),
    help(
        "ctl log-level",
        "docs/operations.md",
        "\
# Show the log level
rankgauge ctl log-level
# Log each decision until the next restart
rankgauge ctl log-level debug",
    ),
    help(
        "backtest",
        "docs/detection.md",
        "\
# Test recorded searches for a drop of nDCG@10
rankgauge backtest --search search.jsonl --measure nDCG@10 --gold gold.json
# Simulate the false alarms and the delay of the test
rankgauge backtest --simulate --mean 0.8 --deviation 0.25",
    ),
    help(
        "checkpoint",
        "docs/operations.md",
        "\
# Print the contents of a checkpoint folder
rankgauge checkpoint show /var/lib/rankgauge",
    ),
    help(
        "checkpoint show",
        "docs/operations.md",
        "\
# Print time, counts, means, open incidents and positions
rankgauge checkpoint show /var/lib/rankgauge",
    ),
    help(
        "compare",
        "docs/statistics.md",
        "\
# Compare two runs
rankgauge compare --gold gold.json --run V1.jsonl --run V5.jsonl --measures 'nDCG@10 RR'
# Fail a build if the second run is significantly worse
rankgauge compare --gold gold.json --run main.run --run new.run --fail-on worse
# Write a report for readers
rankgauge compare --gold gold.json --run A.run --run B.run --format html --output report.html",
    ),
    help(
        "gold",
        "docs/gold.md",
        "\
# Check a gold set
rankgauge gold validate gold.json",
    ),
    help(
        "gold validate",
        "docs/gold.md",
        "\
# Fail on warnings too, as in a continuous integration job
rankgauge gold validate --strict gold.json",
    ),
    help(
        "gold convert",
        "docs/gold.md",
        "\
# Convert to TREC qrels
rankgauge gold convert --to qrels --output gold.qrels gold.json",
    ),
    help(
        "gold stats",
        "docs/gold.md",
        "\
# Print statistics
rankgauge gold stats gold.json",
    ),
    help(
        "gold kappa",
        "docs/gold.md",
        "\
# Print the agreement and the 20 largest disagreements
rankgauge gold kappa --worst 20 gold.json",
    ),
    help(
        "gold expand",
        "docs/gold.md",
        "\
# Add judgements along relations
rankgauge gold expand --edges edges.jsonl --output expanded.json gold.json",
    ),
    help(
        "gold diff",
        "docs/gold.md",
        "\
# Show the differences of two versions
rankgauge gold diff old.json new.json",
    ),
    help(
        "gold sample",
        "docs/gold.md",
        "\
# Draw a tenth of the judgements for a further annotator
rankgauge gold sample gold.json --share 0.1 --by query_type --sheet sample.csv
# Compute the error rate from the answers
rankgauge gold sample gold.json --answers sample.csv --max-error 0.05",
    ),
    help(
        "gold propose",
        "docs/gold.md",
        "\
# List unjudged documents that users clicked, and write a sheet for annotators
rankgauge gold propose --gold gold.json --search search.jsonl --feedback feedback.jsonl --sheet sheet.csv
# Write queries from templates and the edges of a document graph
rankgauge gold propose --templates templates.txt --edges edges.csv --documents documents.csv --sheet sheet.csv",
    ),
    help(
        "gold from-clicks",
        "docs/no-gold-set.md",
        "\
# Grade documents from recorded clicks, with the checks of the grades
rankgauge gold from-clicks --search search.jsonl --feedback feedback.jsonl --output clicks.json
# Grade from the topics of the configuration, checked against human judgements
rankgauge gold from-clicks --config rankgauge.yaml --last 90d --human gold.json --output clicks.json",
    ),
    help(
        "gold suggest-aliases",
        "docs/gold.md",
        "\
# List frequent queries that seem to be rewordings of gold queries
rankgauge gold suggest-aliases --gold gold.json --search search.jsonl --feedback feedback.jsonl",
    ),
    help(
        "gold adopt",
        "docs/gold.md",
        "\
# Add the grades of a filled sheet
rankgauge gold adopt --gold gold.json --sheet sheet.csv --output new.json",
    ),
    help(
        "label",
        "docs/no-gold-set.md",
        "\
# Draw 400 rows for annotators
rankgauge label draw --frame frame.tsv --output draw.json --sheet sheet.csv",
    ),
    help(
        "label draw",
        "docs/no-gold-set.md",
        "\
# Draw 400 rows for the difference of two variants
rankgauge label draw --search search.jsonl --variant A --variant B --focus difference --rows 400 --output draw.json --sheet sheet.csv
# Draw from a frame of a warehouse
rankgauge label draw --frame frame.tsv --measure P@5 --output draw.json --sheet sheet.csv",
    ),
    help(
        "label serve",
        "docs/no-gold-set.md",
        "\
# Label the rows of a sheet in the browser
rankgauge label serve --draw draw.json --sheet sheet.csv",
    ),
    help(
        "label estimate",
        "docs/no-gold-set.md",
        "\
# Estimate from the filled sheet, and fail unless B is at most 0.02 worse
rankgauge label estimate --draw draw.json --sheet sheet.csv --require 'difference(P@5)>-0.02'",
    ),
    help(
        "label simulate",
        "docs/no-gold-set.md",
        "\
# Bias, coverage and labels needed, on 30,000 synthetic queries
rankgauge label simulate",
    ),
    help(
        "evaluate",
        "docs/reports.md",
        "\
# Judge a run with three measures
rankgauge evaluate --gold gold.json --run V5.jsonl --measures 'P@5 R@10 nDCG@10'
# Print the columns of trec_eval
rankgauge evaluate --gold law.qrels --run V5.run --trec -q
# Judge a run by the preferences of users
rankgauge evaluate --preferences users.prefs --run V5.run --trec
# Fail a build if a bound is missed
rankgauge evaluate --gold gold.json --run V5.jsonl --require 'nDCG@10>=0.75' --require 'latency_ms_p95<=500'",
    ),
    help(
        "completions",
        "docs/install.md",
        "\
# bash
rankgauge completions bash > /usr/share/bash-completion/completions/rankgauge
# zsh
rankgauge completions zsh > /usr/share/zsh/vendor-completions/_rankgauge
# fish
rankgauge completions fish > ~/.config/fish/completions/rankgauge.fish",
    ),
    help(
        "man",
        "docs/install.md",
        "\
# Read the page of the program
rankgauge man | man -l -
# Write the pages of all commands
rankgauge man /usr/local/share/man/man1",
    ),
];

/// Definition of the command line, with examples, headings and links.
pub(super) fn command() -> Command {
    with_help(Arguments::command(), "")
}

/// Adds the help of the command at `path` and of the commands below it.
fn with_help(command: Command, path: &str) -> Command {
    let command = command.mut_args(|argument| match heading(path, &argument) {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    });
    let text = HELP
        .iter()
        .find(|help| help.command == path)
        .map(Help::text);
    let command = match (text, command.get_after_long_help().map(ToString::to_string)) {
        (Some(text), Some(long)) => command
            .after_help(text.clone())
            .after_long_help(format!("{text}\n\n{long}")),
        (Some(text), None) => command.after_help(text),
        (None, _) => command,
    };
    command.mut_subcommands(|child| {
        let path = format!("{path} {}", child.get_name());
        with_help(child, path.trim_start())
    })
}

impl Help {
    fn text(&self) -> String {
        let examples = self.examples.replace('\n', "\n  ");
        let page = self.page;
        format!("Examples:\n  {examples}\n\nDocumentation: {DOCUMENTATION}/{page}")
    }
}

/// Command ("*" for all), option ids ("*" for all), and their heading. The first match applies.
const HEADINGS: &[(&str, &str, &str)] = &[
    ("*", "config set", "Configuration"),
    ("produce", "gold output partitions", "Output"),
    ("produce", "*", "Traffic"),
    ("probe", "every target", "Round"),
    ("tail", "query_id variant reason count", "Filter"),
    ("tail", "from until_end", "Input"),
    (
        "backtest",
        "test m burst epsilon warm_up_tolerance seasonal no_local assignment shares alpha false_alarms series replicas clamp",
        "Test",
    ),
    (
        "backtest",
        "search measure gold variant learn",
        "Recorded events",
    ),
    ("backtest", "format", "Output"),
    ("backtest", "*", "Simulation"),
    ("compare", "alpha seed resamples interaction", "Statistics"),
    (
        "check",
        "searches_per_second results variants slice_values",
        "Prediction",
    ),
    ("gold expand", "grade both_ways from_grade", "Rules"),
    (
        "gold validate",
        "target tolerance threshold disagreement scale_max minimum relevant strict",
        "Rules",
    ),
    (
        "gold propose",
        "min_clicks min_searches limit per_query",
        "Limits",
    ),
    ("gold propose", "sheet", "Output"),
    ("*", "fail_below require fail_on", "Gate"),
    (
        "*",
        "gold gold_columns run columns preferences scores search feedback last from edges sheet templates documents baseline baseline_run answers",
        "Input",
    ),
    (
        "*",
        "measures complete has_relevant order sweep_threshold drain",
        "Judging",
    ),
    (
        "*",
        "format output trec zscores per_query force by worst",
        "Output",
    ),
];

/// Heading of an option. Options without one are listed first.
fn heading(path: &str, argument: &Arg) -> Option<&'static str> {
    if argument.is_positional() || argument.get_help_heading().is_some() {
        return None;
    }
    let id = argument.get_id().as_str();
    let matches = |pattern: &str, text: &str| pattern == "*" || pattern == text;
    HEADINGS
        .iter()
        .find(|(command, ids, _)| {
            matches(command, path) && ids.split(' ').any(|pattern| matches(pattern, id))
        })
        .map(|(_, _, heading)| *heading)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    /// Commands that take arguments or group others, with the program as "".
    fn commands(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        for child in command.get_subcommands() {
            let path = format!("{path} {}", child.get_name());
            commands(child, path.trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_examples_and_every_help_has_a_command() {
        let mut all = Vec::new();
        commands(&Arguments::command(), "", &mut all);
        let mut documented: Vec<&str> = HELP.iter().map(|help| help.command).collect();
        all.sort();
        documented.sort_unstable();
        assert_eq!(
            all, documented,
            "src/cli/help.rs lists the examples of each command"
        );
        assert!(HELP.iter().all(|help| !help.examples.is_empty()));
    }

    #[test]
    fn every_example_is_a_valid_command_line() {
        for help in HELP {
            let lines = help.examples.lines().filter(|line| !line.starts_with('#'));
            for line in lines {
                for part in line.split("&&") {
                    let mut is_quoted = false;
                    let end = part.find(|character| {
                        is_quoted ^= character == '\'';
                        !is_quoted && matches!(character, '>' | '|')
                    });
                    let line = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
                    // An argument in quotes is one word.
                    let words = line.split('\'').enumerate().flat_map(|(place, text)| {
                        let is_quoted = place % 2 == 1;
                        let words: Vec<&str> = if is_quoted {
                            vec![text]
                        } else {
                            text.split_whitespace().collect()
                        };
                        words
                    });
                    let words: Vec<&str> = words.collect();
                    assert!(words[..].join(" ").starts_with("rankgauge"), "{line}");
                    assert!(
                        words[1..].join(" ").starts_with(help.command),
                        "{line} is no example of {}",
                        help.command
                    );
                    let parsed = command().try_get_matches_from(words);
                    if let Err(error) = parsed {
                        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{line}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_page_that_help_links_to_exists() {
        for help in HELP {
            let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(help.page);
            assert!(page.is_file(), "{} of {}", help.page, help.command);
        }
    }

    #[test]
    fn a_command_with_many_options_groups_them() {
        let mut definition = command();
        let compare = definition
            .find_subcommand_mut("compare")
            .expect("the command exists");
        let help = compare.render_long_help().to_string();
        for heading in [
            "Configuration:",
            "Input:",
            "Judging:",
            "Statistics:",
            "Output:",
            "Examples:",
            "Documentation:",
        ] {
            assert!(help.contains(heading), "no {heading} in\n{help}");
        }
    }
}
