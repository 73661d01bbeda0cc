//! Deployment files checked against the library: the manifests, the configuration and the gold set
//! in them, and the examples in the configuration documentation.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::Command;

use marked_yaml::Node;
use rankgauge::config::{self, Config};
use rankgauge_core::gold::Options;
use serde_json::{Map, Value};

const BASE: &str = "deploy/kubernetes";

fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn read(relative: &str) -> String {
    let text = std::fs::read_to_string(path(relative));
    text.unwrap_or_else(|error| panic!("{relative} cannot be read: {error}"))
}

fn manifest(name: &str) -> Value {
    let name = format!("{BASE}/{name}");
    match marked_yaml::parse_yaml(0, read(&name)) {
        Ok(node) => to_json(&node),
        Err(error) => panic!("{name} is not YAML: {error}"),
    }
}

fn to_json(node: &Node) -> Value {
    match node {
        Node::Mapping(mapping) => {
            let entries = mapping
                .iter()
                .map(|(key, value)| (key.as_str().to_owned(), to_json(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Node::Sequence(sequence) => sequence.iter().map(to_json).collect(),
        Node::Scalar(scalar) if scalar.may_coerce() => {
            let text = scalar.as_str();
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
        }
        Node::Scalar(scalar) => Value::from(scalar.as_str()),
    }
}

/// List at `pointer`, or an empty list if absent.
fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer} of {value}"))
}

fn pod() -> Value {
    let deployment = manifest("deployment.yaml");
    deployment
        .pointer("/spec/template/spec")
        .expect("the deployment has a pod template")
        .clone()
}

/// All containers of the pod, including sidecars.
fn containers(pod: &Value) -> Vec<&Value> {
    list(pod, "/initContainers")
        .iter()
        .chain(list(pod, "/containers"))
        .collect()
}

fn sidecar(pod: &Value) -> &Value {
    let named = list(pod, "/initContainers")
        .iter()
        .find(|container| text(container, "/name") == "rankgauge");
    named.expect("rankgauge is an init container")
}

/// Repository file mounted at `mounted` in the sidecar, resolved through the volume mount, the
/// ConfigMap of the volume, and the generator of the ConfigMap.
fn behind_mount(pod: &Value, mounted: &str) -> PathBuf {
    let (folder, key) = mounted.rsplit_once('/').expect("the path is absolute");
    let mount = list(sidecar(pod), "/volumeMounts")
        .iter()
        .find(|mount| text(mount, "/mountPath") == folder);
    let volume_name = text(
        mount.unwrap_or_else(|| panic!("nothing is mounted at {folder}")),
        "/name",
    );
    let volume = list(pod, "/volumes")
        .iter()
        .find(|volume| text(volume, "/name") == volume_name);
    let map_name = text(
        volume.unwrap_or_else(|| panic!("no volume {volume_name}")),
        "/configMap/name",
    );
    let kustomization = manifest("kustomization.yaml");
    let generator = list(&kustomization, "/configMapGenerator")
        .iter()
        .find(|map| text(map, "/name") == map_name);
    let files = list(
        generator.unwrap_or_else(|| panic!("no generator of {map_name}")),
        "/files",
    );
    let file = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| Path::new(file).ends_with(key));
    path(BASE).join(file.unwrap_or_else(|| panic!("{map_name} has no file {key}")))
}

/// Configuration with which the sidecar starts.
fn configuration(pod: &Value) -> Config {
    let args: Vec<&str> = list(sidecar(pod), "/args")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(args.first(), Some(&"run"));
    let flags = args.windows(2).filter(|pair| pair[0] == "--config");
    let files: Vec<PathBuf> = flags.map(|pair| behind_mount(pod, pair[1])).collect();
    assert!(!files.is_empty(), "the sidecar is given no configuration");
    config::load(&files, std::iter::empty(), &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_file_of_the_kustomization_exists() {
    let kustomization = manifest("kustomization.yaml");
    let generators = list(&kustomization, "/configMapGenerator").iter();
    let files = generators.flat_map(|map| list(map, "/files"));
    let named: Vec<&str> = list(&kustomization, "/resources")
        .iter()
        .chain(files)
        .filter_map(Value::as_str)
        .collect();
    assert!(named.contains(&"deployment.yaml"));
    for name in named {
        assert!(
            path(BASE).join(name).is_file(),
            "kustomization.yaml names {name}, which is not there"
        );
    }
}

#[test]
fn rankgauge_runs_as_a_native_sidecar() {
    let pod = pod();
    assert_eq!(text(sidecar(&pod), "/restartPolicy"), "Always");
    let beside = list(&pod, "/containers");
    assert!(
        beside
            .iter()
            .any(|container| text(container, "/name") == "search")
    );
}

#[test]
fn every_image_has_an_immutable_tag() {
    let pod = pod();
    for container in containers(&pod) {
        let image = text(container, "/image");
        let tag = image
            .rsplit('/')
            .next()
            .and_then(|name| name.split_once(':'));
        assert!(
            tag.is_some_and(|(_, tag)| !tag.is_empty() && tag != "latest"),
            "{image} has no tag that stays"
        );
    }
    let ours = text(sidecar(&pod), "/image");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        ours.ends_with(&format!(":{version}")),
        "{ours} is not the version {version} of this repository"
    );
}

#[test]
fn probes_check_liveness_and_not_the_broker_connection() {
    let pod = pod();
    let sidecar = sidecar(&pod);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(
            text(sidecar, &format!("/{probe}/httpGet/path")),
            "/healthz",
            "{probe}"
        );
        assert_eq!(
            text(sidecar, &format!("/{probe}/httpGet/port")),
            "rankgauge",
            "{probe}"
        );
    }
}

#[test]
fn sidecar_listens_on_the_port_of_probes_and_pod_monitor() {
    let pod = pod();
    let config = configuration(&pod);
    let port = list(sidecar(&pod), "/ports")
        .iter()
        .find(|port| text(port, "/name") == "rankgauge");
    let number = port
        .and_then(|port| port.pointer("/containerPort"))
        .and_then(Value::as_u64);
    assert_eq!(number, Some(u64::from(config.metrics_listen.port())));
    assert!(
        config.metrics_listen.ip().is_unspecified(),
        "the kubelet asks from outside the pod"
    );

    let monitor = manifest("podmonitor.yaml");
    assert_eq!(
        text(&monitor, "/spec/podMetricsEndpoints/0/port"),
        "rankgauge"
    );
    assert_eq!(
        text(&monitor, "/spec/podMetricsEndpoints/0/path"),
        "/metrics"
    );
    let selected = monitor.pointer("/spec/selector/matchLabels");
    assert!(selected.is_some());
    assert_eq!(
        selected,
        manifest("deployment.yaml").pointer("/spec/template/metadata/labels")
    );
}

#[test]
fn every_container_meets_the_restricted_pod_security_standard() {
    let pod = pod();
    let flag = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_bool);
    assert_eq!(flag(&pod, "/securityContext/runAsNonRoot"), Some(true));
    assert_eq!(
        pod.pointer("/securityContext/runAsUser")
            .and_then(Value::as_u64),
        Some(65_532)
    );
    assert_eq!(
        text(&pod, "/securityContext/seccompProfile/type"),
        "RuntimeDefault"
    );
    assert_eq!(flag(&pod, "/automountServiceAccountToken"), Some(false));
    for container in containers(&pod) {
        let name = text(container, "/name");
        assert_eq!(
            flag(container, "/securityContext/allowPrivilegeEscalation"),
            Some(false),
            "{name}"
        );
        assert_eq!(
            flag(container, "/securityContext/readOnlyRootFilesystem"),
            Some(true),
            "{name}"
        );
        let dropped = list(container, "/securityContext/capabilities/drop");
        assert!(
            dropped.contains(&Value::from("ALL")),
            "{name} keeps capabilities"
        );
        assert!(
            container.pointer("/resources/requests/memory").is_some(),
            "{name} requests no memory"
        );
        assert!(
            container.pointer("/resources/limits/memory").is_some(),
            "{name} has no limit on memory"
        );
    }
}

#[test]
fn volumes_are_mounted_as_directories_so_that_updates_propagate() {
    let pod = pod();
    for container in containers(&pod) {
        for mount in list(container, "/volumeMounts") {
            assert!(
                mount.pointer("/subPath").is_none(),
                "{mount} does not follow its ConfigMap"
            );
            assert!(
                mount.pointer("/subPathExpr").is_none(),
                "{mount} does not follow its ConfigMap"
            );
        }
    }
}

#[test]
fn new_gold_set_reaches_running_pods_and_new_configuration_restarts_them() {
    let kustomization = manifest("kustomization.yaml");
    for map in list(&kustomization, "/configMapGenerator") {
        let keeps_name = map
            .pointer("/options/disableNameSuffixHash")
            .and_then(Value::as_bool);
        let name = text(map, "/name");
        assert_eq!(
            keeps_name.unwrap_or(false),
            name == "rankgauge-gold",
            "{name}"
        );
    }
}

#[test]
fn termination_grace_period_exceeds_the_shutdown_timeout() {
    let pod = pod();
    let grace = pod
        .pointer("/terminationGracePeriodSeconds")
        .and_then(Value::as_u64);
    let needed = configuration(&pod).shutdown_timeout.as_secs();
    assert!(
        grace.is_some_and(|grace| grace > needed),
        "shutdown takes up to {needed} s, the pod has {grace:?}"
    );
}

#[test]
fn gold_set_of_the_config_map_loads_from_the_configured_paths() {
    let pod = pod();
    let config = configuration(&pod);
    assert!(!config.gold.paths.is_empty());
    let mounted = config
        .gold
        .paths
        .iter()
        .map(|path| path.to_str().expect("the path is UTF-8"));
    let files: Vec<PathBuf> = mounted.map(|path| behind_mount(&pod, path)).collect();
    if let Err(error) = rankgauge_core::gold::load(&files, &Options::default()) {
        panic!("{error}");
    }
}

#[test]
fn image_is_built_with_the_rust_version_of_this_crate_and_runs_as_non_root() {
    let dockerfile = read("deploy/Dockerfile");
    let rust = env!("CARGO_PKG_RUST_VERSION");
    assert!(
        dockerfile.contains(&format!("FROM rust:{rust}-bookworm AS build")),
        "the image is not built with Rust {rust}"
    );
    let (_, last_stage) = dockerfile
        .rsplit_once("\nFROM ")
        .expect("there are two stages");
    assert!(last_stage.starts_with("scratch\n"));
    assert!(last_stage.contains("\nUSER 65532:65532\n"));
    assert!(last_stage.contains("\nEXPOSE 9468\n"));
}

/// The image of deploy/image/build.sh and that of the Dockerfile have the same files and labels.
#[test]
fn dockerfile_and_build_script_make_the_same_image() {
    let dockerfile = read("deploy/Dockerfile");
    let script = read("deploy/image/build.sh") + &read("deploy/release/binary.sh");
    let features = format!(
        "--features {} ",
        crate::release::manifest("[workspace.metadata.release]", "features")
    );
    assert!(dockerfile.contains(&features), "{features}");
    assert!(script.contains("--features \"$features\" "));
    for both in [
        "target-feature=+crt-static -C force-unwind-tables=no",
        "-Os -ffunction-sections -fdata-sections",
        "--profile dist",
        "deploy/release/perl.sh",
        "define OPENSSL_THREADS",
        "--strip-all",
        "65532:65532",
        "/usr/local/bin/rankgauge",
        "/etc/ssl/certs/ca-certificates.crt",
        "hosts: files dns",
        "LICENSE",
        "org.opencontainers.image.title",
        "org.opencontainers.image.description",
        "org.opencontainers.image.url",
        "org.opencontainers.image.source",
        "org.opencontainers.image.documentation",
        "org.opencontainers.image.licenses",
        "org.opencontainers.image.version",
    ] {
        assert!(dockerfile.contains(both), "the Dockerfile lacks {both}");
        assert!(script.contains(both), "the scripts lack {both}");
    }
    let version = format!("image.version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(dockerfile.contains(&version), "{version}");
}

/// Cargo fails to build any target if the file of one target is missing.
#[test]
fn image_build_includes_every_target_of_the_manifest() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let targets = packages.iter().flat_map(|package| {
        let targets = package["targets"].as_array();
        targets.expect("targets")
    });
    let paths: Vec<&str> = targets
        .map(|target| target["src_path"].as_str().expect("a path"))
        .collect();
    assert!(paths.len() > 3, "{paths:?}");
    let dockerfile = read("deploy/Dockerfile");
    let copied: Vec<&str> = dockerfile
        .lines()
        .filter(|line| !line.contains("--from"))
        .filter_map(|line| line.strip_prefix("COPY ")?.rsplit_once(' '))
        .flat_map(|(from, _)| from.split(' '))
        .collect();
    let ignore = read("deploy/Dockerfile.dockerignore");
    let kept: Vec<&str> = ignore
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    for path in paths {
        let path = Path::new(path).strip_prefix(root).expect("it is ours");
        for (what, list) in [("copied", &copied), ("kept", &kept)] {
            let is_in_it = list.iter().any(|folder| path.starts_with(folder));
            assert!(is_in_it, "{} is not {what}", path.display());
        }
    }
}

#[test]
fn every_example_in_the_configuration_documentation_loads() {
    /// Bcrypt hash in place of the abbreviated one.
    const HASH: &str = "$2y$10$abcdefghijklmnopqrstuuPYp3bPhMJQKPbMYZ5Bc7zlwQHXlWjDi";
    let documentation = read("docs/configuration.md");
    let blocks = documentation
        .split("```yaml\n")
        .skip(1)
        .filter_map(|block| block.split_once("```"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut examples = 0;
    for (example, _) in blocks {
        let file = folder.path().join("example.yaml");
        let example = example.replace("$2y$10$…", HASH);
        std::fs::write(&file, &example).expect("the example can be written");
        let loaded = if example.starts_with("tls_server_config:") {
            config::web_config(&file).map(drop)
        } else {
            config::load(&[file], std::iter::empty(), &[])
                .map(drop)
                .map_err(Into::into)
        };
        if let Err(error) = loaded {
            panic!("{error}\n{example}");
        }
        examples += 1;
    }
    assert!(examples > 0, "docs/configuration.md has no example");
}

#[test]
fn configuration_documentation_shows_the_actual_error_messages() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("my.yaml");
    std::fs::write(&file, "engine:\n  feedback_windw: 5m\n").expect("the file can be written");
    let environment = ("RANKGAUGE__ENGINE__MEMORY".to_owned(), "many".to_owned());
    let error =
        config::load(&[file], std::iter::once(environment), &[]).expect_err("both are wrong");
    let shown = error
        .to_string()
        .replace(&format!("{}/", folder.path().display()), "");
    assert!(
        read("docs/configuration.md").contains(&shown),
        "docs/configuration.md does not show:\n{shown}"
    );
}

/// The rules as custom resources of the Prometheus operator, from `deploy/prometheus/rules`.
fn rules_as_custom_resources() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = "# Written by `UPDATE=1 cargo test --test it deploy::kustomize` from \
                    deploy/prometheus/rules. Do not edit.\n"
        .to_owned();
    for name in ["objectives", "pipeline", "quality", "recorded"] {
        let head = format!(
            "---\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: \
             rankgauge-{name}\n  labels:\n    app.kubernetes.io/name: rankgauge\n    \
             app.kubernetes.io/instance: rankgauge\n    app.kubernetes.io/version: {version}\nspec:\n"
        );
        text.push_str(&head);
        for line in read(&format!("deploy/prometheus/rules/{name}.rules.yaml")).lines() {
            text.push_str(if line.is_empty() { "" } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[test]
fn kustomize_has_the_alert_rules_of_prometheus() {
    let file = "deploy/kubernetes/standalone/overlays/monitoring/rules.yaml";
    let expected = rules_as_custom_resources();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path(file), &expected).expect("the file can be written");
    }
    assert!(
        read(file) == expected,
        "{file} differs from deploy/prometheus/rules; run UPDATE=1 cargo test --test it \
         deploy::kustomize"
    );
    let names = std::fs::read_dir(path("deploy/prometheus/rules")).expect("a folder");
    let files = names
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().ends_with(".rules.yaml"));
    assert_eq!(files.count(), 4, "{file} lacks a file of rules");
}

#[test]
fn kustomize_has_every_dashboard() {
    let kustomization = read("grafana/kustomization.yaml");
    let files = std::fs::read_dir(path("grafana/dashboards")).expect("a folder");
    for file in files {
        let name = file.expect("an entry").file_name();
        let line = format!("- dashboards/{}", name.to_string_lossy());
        assert!(
            kustomization.contains(&line),
            "grafana/kustomization.yaml has no line \"{line}\": add a configMapGenerator for it"
        );
    }
}

/// Files of a folder by name, without its folders.
fn files_of(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().expect("a type").is_file());
    let read = |entry: DirEntry| {
        (
            entry.file_name(),
            std::fs::read(entry.path()).expect("a file"),
        )
    };
    files.map(read).collect()
}

/// A chart cannot refer to files outside of it, and Helm warns of links.
#[test]
fn kustomize_and_chart_contain_the_same_rules_and_dashboards() {
    for (copies, folder) in [
        ("rules", "deploy/prometheus/rules"),
        ("dashboards", "grafana/dashboards"),
    ] {
        let copies = path("deploy/helm/rankgauge/files").join(copies);
        let expected = files_of(&path(folder));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::remove_dir_all(&copies).expect("a folder");
            std::fs::create_dir_all(&copies).expect("a folder");
            for (name, content) in &expected {
                std::fs::write(copies.join(name), content).expect("the file can be written");
            }
        }
        assert!(
            files_of(&copies) == expected,
            "{} differs from {folder}; run UPDATE=1 cargo test --test it deploy::kustomize",
            copies.display()
        );
    }
}

#[test]
fn chart_has_the_version_of_this_crate() {
    let version = env!("CARGO_PKG_VERSION");
    let chart = read("deploy/helm/rankgauge/Chart.yaml");
    assert!(
        chart.contains(&format!("\nappVersion: {version}\n")),
        "{chart}"
    );
    assert!(
        chart.contains(&format!("\nversion: {version}\n")),
        "{chart}"
    );
}

/// Documents of a YAML file of the Strimzi example.
fn strimzi(name: &str) -> Vec<Value> {
    let text = read(&format!("deploy/strimzi/{name}"));
    let documents = text
        .split("\n---\n")
        .map(|document| to_json(&marked_yaml::parse_yaml(0, document).expect("YAML")));
    documents.collect()
}

/// Group of the forwarders of a release `rankgauge` in the namespace `search`.
const FORWARDERS: &str = "search.rankgauge-repartition";

#[test]
fn users_of_strimzi_have_the_permissions_that_the_configuration_needs() {
    let topics = strimzi("topics.yaml");
    for file in ["topics.yaml", "user-mtls.yaml", "user-scram.yaml"] {
        for resource in strimzi(file) {
            // Strimzi 1.0 reads no other version.
            assert_eq!(resource["apiVersion"], "kafka.strimzi.io/v1", "{file}");
        }
    }
    let partitions = |name: &str| {
        let mut found = topics.iter().filter(|it| it["metadata"]["name"] == name);
        found.next().map(|it| it["spec"]["partitions"].clone())
    };
    for (user, values) in [
        ("user-mtls.yaml", "values-mtls.yaml"),
        ("user-scram.yaml", "values-scram.yaml"),
    ] {
        let (user, values) = (&strimzi(user)[0], &strimzi(values)[0]);
        let kafka = &values["config"]["kafka"];
        let topic = |key: &str| kafka[key].as_str().expect("a topic").to_owned();
        let [searches, feedback] = ["search_topic", "feedback_topic"].map(topic);
        assert!(partitions(&searches).is_some(), "{searches}");
        assert_eq!(partitions(&searches), partitions(&feedback));
        let rejected = topic("dead_letter_topic");
        assert!(partitions(&rejected).is_some(), "{rejected}");
        let acls = user["spec"]["authorization"]["acls"].as_array();
        let allowed = |kind: &str, name: &str| {
            let mut found = acls.into_iter().flatten().filter(|acl| {
                let resource = &acl["resource"];
                let of = resource["name"].as_str().expect("a name");
                let fits = match resource["patternType"].as_str() {
                    Some("prefix") => name.starts_with(of),
                    _ => name == of,
                };
                resource["type"] == kind && fits
            });
            let acl = found
                .next()
                .unwrap_or_else(|| panic!("no ACL of {kind} {name}"));
            let operations = acl["operations"].as_array().expect("operations");
            let names = operations.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        // docs/configuration.md lists them.
        for topic in [&searches, &feedback] {
            assert_eq!(
                allowed("topic", topic),
                ["Describe", "DescribeConfigs", "Read"]
            );
        }
        assert_eq!(allowed("topic", &rejected), ["Describe", "Write"]);
        // The group of a release `rankgauge` in the namespace `search`, as the chart names it.
        for group in ["search.rankgauge", "search.rankgauge-owner", FORWARDERS] {
            assert_eq!(allowed("group", group), ["Describe", "Read"]);
        }
        let internal = format!("{FORWARDERS}-search");
        assert_eq!(
            allowed("topic", &internal),
            ["Create", "Describe", "Read", "Write"]
        );
        let transaction = format!("{FORWARDERS}-0123456789abcdef-0");
        assert_eq!(
            allowed("transactionalId", &transaction),
            ["Describe", "Write"]
        );
        // The values are a valid configuration with the secrets of the environment.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rankgauge.yaml");
        let mut kafka = kafka.clone();
        for variable in values["env"].as_array().expect("variables") {
            let name = variable["name"].as_str().expect("a name");
            let property = name
                .strip_prefix("RANKGAUGE__KAFKA__PROPERTIES__")
                .expect("a property");
            let property = property.to_lowercase().replace('_', ".");
            kafka["properties"][property] = "secret".into();
            assert!(variable["valueFrom"]["secretKeyRef"]["key"].is_string());
        }
        let config = serde_json::json!({"kafka": kafka, "gold": {"paths": ["gold.json"]}});
        std::fs::write(&file, config.to_string()).expect("a file");
        let loaded = config::load(&[file], std::iter::empty(), &[]);
        loaded.expect("a valid configuration");
    }
}

#[test]
fn examples_of_pipelines_report_a_deployment_once() {
    let examples = [
        ("github.yaml", "rankgauge ctl deploy --keep-baselines V5 "),
        ("argo-cd.yaml", "/-/deployment"),
        ("flux.yaml", "[ctl, deploy, --keep-baselines, V5, "),
    ];
    for (name, report) in examples {
        let text = read(&format!("examples/deployments/{name}"));
        for document in text.split("\n---\n") {
            let parsed = marked_yaml::parse_yaml(0, document);
            assert!(parsed.is_ok(), "{name}: {parsed:?}");
        }
        assert_eq!(text.matches(report).count(), 1, "{name}");
    }
    let notification = read("examples/deployments/argo-cd.yaml");
    let mut lines = notification.lines().map(str::trim);
    let body = lines.find(|it| it.starts_with('{')).expect("a body");
    let body: Map<String, Value> = serde_json::from_str(body).expect("JSON");
    let members: Vec<&String> = body.keys().collect();
    assert_eq!(members, ["keeps_baselines", "variant", "version"]);
}
