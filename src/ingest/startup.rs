//! Start of a process: creates the values that its threads have in common, and the engines of its
//! workers, from the checkpoints of an earlier process.

use std::sync::Arc;

use tracing::{error, info, warn};

use super::context::WorkerContext;
use super::recovery::Recovery;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::folder::Folder;
use crate::config::Config;
use crate::fleet::{self, Links};
use crate::registry::Fetcher;
use rankgauge_core::engine::{Engine, Registry};
use rankgauge_kafka::Settings;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::live::{Control, Enabled, Published};

/// Age from which a restored checkpoint is logged as old, in milliseconds. A process writes one about every second.
const OLD_CHECKPOINT: i64 = 60_000;

/// Parts of a process before its workers run.
#[derive(Debug)]
pub struct Startup {
    /// Registry of label values and series.
    pub registry: Arc<Registry>,
    /// Values that the workers publish.
    pub published: Arc<Published>,
    /// Control of the workers.
    pub control: Arc<Control>,
    /// Links of the workers to the thread of the fleet; `None` without a state topic.
    pub links: Option<Arc<Links>>,
    /// Context and engine of each worker.
    pub workers: Vec<(WorkerContext, Engine)>,
}

/// Creates the parts of a process, with an empty gold set. The counters and positions are those of
/// the checkpoints in `folder`.
pub fn start_up(config: &Arc<Config>, folder: Option<Folder>) -> Startup {
    let kafka = Arc::new(config.kafka.of_worker());
    let checkpoints = match &folder {
        Some(folder) => load_checkpoints(folder, &kafka),
        None => Vec::new(),
    };
    let has_checkpoints = folder.is_some();
    let registry = Arc::new(Engine::registry(&config.engine));
    let folder_of_deployments = config.checkpoints.as_deref();
    let is_shared = config.state.is_some();
    let control = Control::new(config.workers, folder_of_deployments, is_shared);
    let control = Arc::new(control);
    let links = is_shared.then(|| Arc::new(Links::new(config.workers)));
    let published = Arc::new(Published::new(
        config.workers,
        &config.engine,
        Enabled {
            api: config.admin_listen.is_some(),
            dead_letters: config.kafka.dead_letter_topic.is_some(),
            checkpoints: has_checkpoints,
            registry: config.registry.is_some(),
            fleet: is_shared,
        },
    ));
    let schemas = fetcher(config, &published);
    let recovery = Arc::new(Recovery::new(
        config.workers,
        kafka.join,
        folder,
        &checkpoints,
    ));
    let context = |number| WorkerContext {
        number,
        config: Arc::clone(config),
        kafka: Arc::clone(&kafka),
        registry: Arc::clone(&registry),
        published: Arc::clone(&published),
        control: Arc::clone(&control),
        recovery: Arc::clone(&recovery),
        links: links.clone(),
        schemas: schemas.clone(),
    };
    let contexts = (0..config.workers).map(context);
    let mut workers: Vec<(WorkerContext, Engine)> = contexts
        .map(|context| {
            let engine = context.new_engine();
            (context, engine)
        })
        .collect();
    for checkpoint in &checkpoints {
        let (context, engine) = &mut workers[checkpoint.worker % config.workers];
        engine.restore(&checkpoint.state);
        context.view().checkpoint_found(checkpoint.written);
    }
    if is_shared {
        for (_, engine) in &mut workers {
            engine.identify(fleet::new_id());
        }
    }
    if has_checkpoints {
        // The first scrape must not show less than the last scrape of the earlier process.
        for (context, engine) in &workers {
            context.view().publish(Arc::new(engine.snapshot()));
        }
    }
    Startup {
        registry,
        published,
        control,
        links,
        workers,
    }
}

/// Starts the receiver of schemas, if a topic needs one.
fn fetcher(config: &Config, published: &Published) -> Option<Arc<Fetcher>> {
    let cache = Arc::clone(config.formats.cache()?);
    let (settings, view) = config.registry.clone().zip(published.registry.clone())?;
    match Fetcher::start(settings, cache, Arc::clone(&view)) {
        Ok(fetcher) => Some(Arc::new(fetcher)),
        Err(problem) => {
            error!(error = %problem, "the thread for schemas cannot be started; no record is read");
            view.set_problem(Some(format!(
                "the thread for schemas cannot be started: {problem}"
            )));
            None
        }
    }
}

/// Loads and logs the checkpoints of an earlier process. Drops positions of other topics or groups.
fn load_checkpoints(folder: &Folder, kafka: &Settings) -> Vec<Checkpoint> {
    let mut contents = folder.load();
    if let Some(problem) = &contents.list_error {
        error!(
            path = %folder.path().display(),
            error = %problem,
            "checkpoint folder cannot be listed; counters start at 0"
        );
    }
    for rejected in &contents.rejected {
        let path = rejected.path.display();
        match &rejected.aside {
            Ok(aside) => error!(
                path = %path,
                error = %rejected.error,
                moved_to = %aside.display(),
                "checkpoint rejected; its counters start at 0"
            ),
            Err(problem) => error!(
                path = %path,
                error = %rejected.error,
                rename_error = %problem,
                "checkpoint rejected and cannot be moved; its counters start at 0"
            ),
        }
    }
    for checkpoint in &mut contents.checkpoints {
        let source = &checkpoint.source;
        let age = wall_now().since(checkpoint.written).0;
        if age > OLD_CHECKPOINT {
            // The time of the last scrape is not known: the process may have stopped after this checkpoint.
            warn!(
                worker = checkpoint.worker,
                path = %folder.path().display(),
                age_seconds = age / 1_000,
                "restored checkpoint is old; if the earlier process counted records after it, counters are lower \
                 than what was exposed before"
            );
        }
        let is_ours = source.group == kafka.group_id
            && source.topics == [&*kafka.search_topic, &*kafka.feedback_topic];
        if is_ours {
            info!(
                worker = checkpoint.worker,
                path = %folder.path().display(),
                "checkpoint restored"
            );
        } else {
            warn!(
                worker = checkpoint.worker,
                path = %folder.path().display(),
                group = source.group,
                search_topic = source.topics[0],
                feedback_topic = source.topics[1],
                "checkpoint of another group or topic; counters restored, positions ignored"
            );
            checkpoint.points.clear();
        }
    }
    contents.checkpoints
}
