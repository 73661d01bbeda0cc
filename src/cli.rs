//! Command line: the commands, their dispatch and the failures that they report.
//!
//! Each command is a module with its arguments beside its code; its logic is in another module.

mod arguments;
mod backtest;
mod check;
mod checkpoint;
mod compare;
mod completions;
mod config;
mod ctl;
#[cfg(feature = "demo")]
mod demo;
mod evaluate;
mod failure;
mod gate;
mod gateway;
mod gold;
mod help;
mod init;
mod input;
mod label;
mod layout;
mod logging;
mod man;
mod output;
mod output_files;
mod probe;
#[cfg(feature = "demo")]
mod produce;
mod recorded;
mod replay;
mod run;
mod settings;
mod tail;
mod threads;
mod version;

pub use arguments::Arguments;
use arguments::Command;
pub use failure::Failure;
use threads::start_threads;

/// Runs the command that `arguments` name.
///
/// # Errors
/// A [`Failure`] with a message for the user.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Run(settings) => run::run(&settings),
        Command::Gateway(settings) => gateway::run(&settings),
        Command::Init(arguments) => init::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Config(command) => config::run(&command),
        #[cfg(feature = "demo")]
        Command::Produce(arguments) => produce::run(arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Tail(arguments) => tail::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Backtest(arguments) => backtest::run(&arguments),
        Command::Checkpoint(command) => checkpoint::run(&command),
        Command::Ctl(command) => ctl::run(&command),
        Command::Compare(arguments) => {
            start_threads();
            compare::run(arguments)
        }
        Command::Gold(command) => gold::run(&command),
        Command::Label(command) => label::run(&command),
        Command::Evaluate(arguments) => {
            start_threads();
            evaluate::run(arguments)
        }
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
