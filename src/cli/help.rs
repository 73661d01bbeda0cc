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
    pub(super) command: &'static str,
    /// Page of the documentation.
    page: &'static str,
    /// Examples: purpose and command line.
    pub(super) examples: &'static [(&'static str, &'static str)],
}

/// Help of every command.
pub(super) const HELP: &[Help] = &[
    Help {
        command: "",
        page: "README.md",
        examples: &[
            (
                "See everything run in one process, without Kafka",
                "rankgauge demo",
            ),
            (
                "Judge two runs against a gold set",
                "rankgauge evaluate --gold gold.json --run V1.jsonl --run V5.jsonl",
            ),
            (
                "Check a configuration, then run the sidecar with it",
                "rankgauge check --config my.yaml && rankgauge run --config my.yaml",
            ),
        ],
    },
    Help {
        command: "run",
        page: "docs/operations.md",
        examples: &[
            (
                "Run with a configuration file",
                "rankgauge run --config my.yaml",
            ),
            (
                "Override the file for one process",
                "rankgauge run --config my.yaml --set kafka.brokers=kafka:9092 --set log.format=json",
            ),
        ],
    },
    Help {
        command: "check",
        page: "docs/configuration.md",
        examples: &[
            (
                "Check a configuration and its gold set",
                "rankgauge check --config my.yaml",
            ),
            (
                "Predict the memory for 200 searches per second",
                "rankgauge check --config my.yaml --searches-per-second 200",
            ),
        ],
    },
    Help {
        command: "config",
        page: "docs/configuration.md",
        examples: &[(
            "Print the settings in effect",
            "rankgauge config show --config my.yaml",
        )],
    },
    Help {
        command: "config show",
        page: "docs/configuration.md",
        examples: &[
            (
                "Print the settings in effect with their sources",
                "rankgauge config show --config my.yaml",
            ),
            (
                "Print them for a program",
                "rankgauge config show --format json",
            ),
        ],
    },
    #[cfg(feature = "demo")]
    Help {
        command: "produce",
        page: "docs/events.md",
        examples: &[
            (
                "Write 10,000 searches with their feedback to Kafka",
                "rankgauge produce --set kafka.brokers=localhost:9092",
            ),
            (
                "Write them to files, with the gold set",
                "rankgauge produce --output traffic --gold gold.json",
            ),
        ],
    },
    Help {
        command: "init",
        page: "docs/configuration.md",
        examples: &[
            (
                "Write a starter configuration and gold set into a folder",
                "rankgauge init quality",
            ),
            (
                "Propose slices, measures and limits from recorded searches",
                "rankgauge init quality --from searches.jsonl",
            ),
        ],
    },
    Help {
        command: "probe",
        page: "docs/probe.md",
        examples: &[
            (
                "Send every gold query once, and judge the answers",
                "rankgauge probe --config my.yaml --output run.jsonl",
            ),
            (
                "Send events to the search topic every 15 minutes",
                "rankgauge probe --config my.yaml --every 15m",
            ),
        ],
    },
    Help {
        command: "tail",
        page: "docs/connect/README.md",
        examples: &[
            (
                "Print events from now on, with outcome, scores and reason",
                "rankgauge tail --config my.yaml",
            ),
            (
                "Print the rejected events that the topics hold",
                "rankgauge tail --config my.yaml --from earliest --until-end --reason any",
            ),
        ],
    },
    Help {
        command: "replay",
        page: "docs/operations.md",
        examples: &[(
            "Print the metrics of recorded events",
            "rankgauge replay --config my.yaml --search search-0.jsonl --feedback feedback-0.jsonl",
        )],
    },
    #[cfg(feature = "demo")]
    Help {
        command: "demo",
        page: "README.md",
        examples: &[
            ("Run until Ctrl-C", "rankgauge demo"),
            (
                "Run for two minutes and print a summary as JSON",
                "rankgauge demo --for 2m --format json",
            ),
        ],
    },
    Help {
        command: "backtest",
        page: "docs/detection.md",
        examples: &[
            (
                "Test recorded searches for a drop of nDCG@10",
                "rankgauge backtest --search search.jsonl --measure nDCG@10 --gold gold.json",
            ),
            (
                "Simulate the false alarms and the delay of the test",
                "rankgauge backtest --simulate --mean 0.8 --deviation 0.25",
            ),
        ],
    },
    Help {
        command: "checkpoint",
        page: "docs/operations.md",
        examples: &[(
            "Print the contents of a checkpoint folder",
            "rankgauge checkpoint show /var/lib/rankgauge",
        )],
    },
    Help {
        command: "checkpoint show",
        page: "docs/operations.md",
        examples: &[(
            "Print time, counts and positions",
            "rankgauge checkpoint show /var/lib/rankgauge",
        )],
    },
    Help {
        command: "compare",
        page: "docs/statistics.md",
        examples: &[
            (
                "Compare two runs",
                "rankgauge compare --gold gold.json --run V1.jsonl --run V5.jsonl --measures 'nDCG@10 RR'",
            ),
            (
                "Fail a build if the second run is significantly worse",
                "rankgauge compare --gold gold.json --run main.run --run new.run --fail-on worse",
            ),
            (
                "Write a report for readers",
                "rankgauge compare --gold gold.json --run A.run --run B.run --format html --output report.html",
            ),
        ],
    },
    Help {
        command: "gold",
        page: "docs/gold.md",
        examples: &[("Check a gold set", "rankgauge gold validate gold.json")],
    },
    Help {
        command: "gold validate",
        page: "docs/gold.md",
        examples: &[(
            "Fail on warnings too, as in a continuous integration job",
            "rankgauge gold validate --strict gold.json",
        )],
    },
    Help {
        command: "gold convert",
        page: "docs/gold.md",
        examples: &[(
            "Convert to TREC qrels",
            "rankgauge gold convert --to qrels --output gold.qrels gold.json",
        )],
    },
    Help {
        command: "gold stats",
        page: "docs/gold.md",
        examples: &[("Print statistics", "rankgauge gold stats gold.json")],
    },
    Help {
        command: "gold kappa",
        page: "docs/gold.md",
        examples: &[(
            "Print the agreement and the 20 largest disagreements",
            "rankgauge gold kappa --worst 20 gold.json",
        )],
    },
    Help {
        command: "gold expand",
        page: "docs/gold.md",
        examples: &[(
            "Add judgements along relations",
            "rankgauge gold expand --edges edges.jsonl --output expanded.json gold.json",
        )],
    },
    Help {
        command: "gold diff",
        page: "docs/gold.md",
        examples: &[(
            "Show the differences of two versions",
            "rankgauge gold diff old.json new.json",
        )],
    },
    Help {
        command: "gold sample",
        page: "docs/gold.md",
        examples: &[
            (
                "Draw a tenth of the judgements for a further annotator",
                "rankgauge gold sample gold.json --share 0.1 --by query_type --sheet sample.csv",
            ),
            (
                "Compute the error rate from the answers",
                "rankgauge gold sample gold.json --answers sample.csv --max-error 0.05",
            ),
        ],
    },
    Help {
        command: "gold propose",
        page: "docs/gold.md",
        examples: &[
            (
                "List unjudged documents that users clicked, and write a sheet for annotators",
                "rankgauge gold propose --gold gold.json --search search.jsonl --feedback feedback.jsonl --sheet sheet.csv",
            ),
            (
                "Write queries from templates and the edges of a document graph",
                "rankgauge gold propose --templates templates.txt --edges edges.csv --documents documents.csv --sheet sheet.csv",
            ),
        ],
    },
    Help {
        command: "gold adopt",
        page: "docs/gold.md",
        examples: &[(
            "Add the grades of a filled sheet",
            "rankgauge gold adopt --gold gold.json --sheet sheet.csv --output new.json",
        )],
    },
    Help {
        command: "evaluate",
        page: "docs/reports.md",
        examples: &[
            (
                "Judge a run with three measures",
                "rankgauge evaluate --gold gold.json --run V5.jsonl --measures 'P@5 R@10 nDCG@10'",
            ),
            (
                "Print the columns of trec_eval",
                "rankgauge evaluate --gold law.qrels --run V5.run --trec -q",
            ),
            (
                "Fail a build if a bound is missed",
                "rankgauge evaluate --gold gold.json --run V5.jsonl --require 'nDCG@10>=0.75' --require 'latency_ms_p95<=500'",
            ),
        ],
    },
    Help {
        command: "completions",
        page: "docs/install.md",
        examples: &[
            (
                "bash",
                "rankgauge completions bash > /usr/share/bash-completion/completions/rankgauge",
            ),
            (
                "zsh",
                "rankgauge completions zsh > /usr/share/zsh/vendor-completions/_rankgauge",
            ),
            (
                "fish",
                "rankgauge completions fish > ~/.config/fish/completions/rankgauge.fish",
            ),
        ],
    },
    Help {
        command: "man",
        page: "docs/install.md",
        examples: &[
            ("Read the page of the program", "rankgauge man | man -l -"),
            (
                "Write the pages of all commands",
                "rankgauge man /usr/local/share/man/man1",
            ),
        ],
    },
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
        let mut examples = String::new();
        for (purpose, line) in self.examples {
            for text in ["  # ", purpose, "\n  ", line, "\n"] {
                examples.push_str(text);
            }
        }
        format!(
            "Examples:\n{examples}\nDocumentation: {DOCUMENTATION}/{}",
            self.page
        )
    }
}

/// Command ("*" for all), option ids ("*" for all), and their heading. The first match applies.
const HEADINGS: &[(&str, &[&str], &str)] = &[
    ("*", &["config", "set"], "Configuration"),
    ("produce", &["gold", "output", "partitions"], "Output"),
    ("produce", &["*"], "Traffic"),
    ("probe", &["every", "target"], "Round"),
    (
        "tail",
        &["query_id", "variant", "reason", "count"],
        "Filter",
    ),
    ("tail", &["from", "until_end"], "Input"),
    (
        "backtest",
        &[
            "test",
            "m",
            "epsilon",
            "alpha",
            "false_alarms",
            "series",
            "replicas",
            "clamp",
        ],
        "Test",
    ),
    (
        "backtest",
        &["search", "measure", "gold", "variant", "learn"],
        "Recorded events",
    ),
    ("backtest", &["format"], "Output"),
    ("backtest", &["*"], "Simulation"),
    (
        "compare",
        &["alpha", "seed", "resamples", "interaction"],
        "Statistics",
    ),
    (
        "check",
        &["searches_per_second", "results", "variants", "slice_values"],
        "Prediction",
    ),
    (
        "gold expand",
        &["grade", "both_ways", "from_grade"],
        "Rules",
    ),
    (
        "gold validate",
        &[
            "target",
            "tolerance",
            "threshold",
            "disagreement",
            "scale_max",
            "minimum",
            "relevant",
            "strict",
        ],
        "Rules",
    ),
    (
        "gold propose",
        &["min_clicks", "min_searches", "limit", "per_query"],
        "Limits",
    ),
    ("gold propose", &["sheet"], "Output"),
    ("*", &["fail_below", "require", "fail_on"], "Gate"),
    (
        "*",
        &[
            "gold",
            "run",
            "scores",
            "search",
            "feedback",
            "last",
            "from",
            "edges",
            "sheet",
            "templates",
            "documents",
            "baseline",
            "baseline_run",
            "answers",
        ],
        "Input",
    ),
    (
        "*",
        &[
            "measures",
            "complete",
            "has_relevant",
            "order",
            "sweep_threshold",
            "drain",
        ],
        "Judging",
    ),
    (
        "*",
        &[
            "format",
            "output",
            "trec",
            "per_query",
            "force",
            "by",
            "worst",
        ],
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
            matches(command, path) && ids.iter().any(|pattern| matches(pattern, id))
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
            for (_, line) in help.examples {
                for part in line.split("&&") {
                    let line = part.split(['>', '|']).next().unwrap_or_default();
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
