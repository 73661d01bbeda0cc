//! `label serve`: a page on the loopback for annotators.
//!
//! The page shows one document after the other, without ranks, variants and scores. Each label is written to
//! the sheet before it is confirmed. Two annotators have their own labels and do not see those of the other.

mod labels;
mod page;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, anyhow};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::{self, BUILD, signals::stop_signal};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use labels::Labels;
use page::Page;
use rankgauge_eval::text_layout::count_of;
use rankgauge_serve::process::BaseMetrics;
use rankgauge_serve::server::{Limits, serve};
use rankgauge_serve::web::Web;

#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArguments {
    /// Sample of `label draw`.
    #[arg(long, value_name = "FILE")]
    draw: PathBuf,
    /// Its sheet. Labels are written to it: those of the first annotator to the column `grade`, those of a
    /// second one to `grade_2`.
    #[arg(long, value_name = "FILE")]
    sheet: PathBuf,
    /// Address of the page, on the loopback. Port 0 is a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

pub(super) fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    if !arguments.listen.ip().is_loopback() {
        return Err(Failure::Usage(anyhow!(
            "--listen {}: the page has no authentication, so it listens on the loopback only; for annotators \
             on other machines, forward the port (ssh -L)",
            arguments.listen
        )));
    }
    let labels = Arc::new(Labels::load(&arguments.draw, &arguments.sheet)?);
    serve_labels(arguments.listen, &labels).map_err(Failure::Running)?;
    let [first, second] = labels.state().labelled;
    let second = if second > 0 {
        format!(", {second} of the second annotator")
    } else {
        String::new()
    };
    let sheet = arguments.sheet.display();
    print(&format!(
        "{} in {sheet}{second}; next: rankgauge label estimate --draw {} --sheet {sheet}\n",
        count_of(first, "label", "labels"),
        arguments.draw.display(),
    ))
    .map_err(Failure::Running)
}

fn serve_labels(address: SocketAddr, labels: &Arc<Labels>) -> anyhow::Result<()> {
    let runtime = app::runtime().context("the runtime cannot be started")?;
    let base = BaseMetrics::new(BUILD, Arc::new(AtomicU64::new(0)))?;
    runtime.block_on(async {
        let stop = stop_signal().context("cannot wait for signals")?;
        let listener = TcpListener::bind(address).await;
        let listener =
            listener.with_context(|| format!("cannot listen on {address} (--listen)"))?;
        let address = listener.local_addr()?;
        let page = Arc::new(Page {
            labels: Arc::clone(labels),
            address,
        });
        print(&format!(
            "label at http://{address}/ (second annotator: http://{address}/?annotator=2); Ctrl-C ends\n"
        ))?;
        let (stopping, is_stopping) = watch::channel(false);
        let metrics = base.listener("label");
        let served = serve(
            listener,
            page,
            Arc::new(Web::default()),
            Limits::default(),
            metrics,
            is_stopping,
        );
        let stopped = async {
            stop.await;
            stopping.send_replace(true);
        };
        tokio::join!(served, stopped);
        Ok(())
    })
}
