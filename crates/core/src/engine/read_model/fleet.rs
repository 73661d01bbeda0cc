//! Evidence of the fleet, and that of this process to share with it.

use super::model::ReadModel;
use super::users::TeamPair;
use crate::engine::evidence::Test;
use crate::engine::fleet::{FleetEvidence, SharedEvidence, SharedTest, TestEvidence, test_name};
use crate::number::real;
use crate::time::WallTime;

impl ReadModel<'_> {
    /// Evidence of this process in all tests, in parts to share with `fleet`, which has that of the others.
    pub fn shared_evidence(&self, fleet: &FleetEvidence) -> Vec<SharedEvidence> {
        let mut tests = Vec::new();
        let mut add = |test, labels: &[&str], variant: Option<&str>, log| {
            let (gold, reset_at) = self.origin(test, labels, variant);
            tests.push(TestEvidence::new(
                test_name(test, gold, labels),
                reset_at,
                log,
            ));
        };
        for it in self.watched() {
            let names = self.measures.get(it.measure).zip(self.names(it.series));
            let Some((measure, names)) = names else {
                continue;
            };
            let labels = [measure.as_str(), names.variant, names.slice, names.value];
            for (test, log) in Test::ALL.into_iter().zip(it.log_evidence) {
                if let Some(log) = log {
                    add(shared(test), &labels, Some(names.variant), log);
                }
            }
        }
        for (objective, variant, log) in self.objective_evidence() {
            add(
                SharedTest::Objective,
                &[objective, variant],
                Some(variant),
                log,
            );
        }
        for experiment in &self.settings.experiments {
            if let Some(log) = self.split_evidence(experiment) {
                add(SharedTest::Split, &[&experiment.id], None, log);
            }
            for arm in self.arms(experiment) {
                for measure in &experiment.guardrails {
                    let found = self.difference(*measure, &arm, experiment);
                    let log = found.and_then(|it| it.log_evidence_worse);
                    if let Some((log, name)) = log.zip(self.measures.get(*measure)) {
                        let labels = [experiment.id.as_str(), name, arm.variant];
                        add(SharedTest::Difference, &labels, None, log);
                    }
                }
            }
        }
        for pair in self.team_pairs() {
            let [team, against] = pair.teams;
            let log = pair.preference.log_evidence();
            add(
                SharedTest::Preference,
                &[pair.experiment, team, against],
                None,
                log,
            );
        }
        SharedEvidence::parts(&tests, fleet)
    }

    /// Evidence (natural log e-value) that users prefer one of two teams: of the fleet if its replicas
    /// share it, else of this process.
    pub fn preference_evidence(&self, pair: &TeamPair<'_>) -> f64 {
        let own = pair.preference.log_evidence();
        let labels = [pair.experiment, pair.teams[0], pair.teams[1]];
        let found = self.of_fleet(SharedTest::Preference, &labels, None, Some(own));
        found.unwrap_or(own)
    }

    /// ln of the number by which a mean over replicas divides the evidence of this process alone. 0 if the
    /// evidence is that of the fleet.
    pub fn replicas_margin(&self) -> f64 {
        match self.snapshot.fleet {
            Some(_) => 0.0,
            None => real(self.settings.detection.replicas.max(1)).ln(),
        }
    }

    /// Evidence of the fleet in a test, if its replicas share it: `own` is that of this process.
    pub(super) fn of_fleet(
        &self,
        test: SharedTest,
        labels: &[&str],
        variant: Option<&str>,
        own: Option<f64>,
    ) -> Option<f64> {
        let Some(fleet) = &self.snapshot.fleet else {
            return own;
        };
        let (gold, reset_at) = self.origin(test, labels, variant);
        let known = fleet.log_evidence(&test_name(test, gold, labels), reset_at);
        // Until it is published, the evidence of this process is that of one replica.
        known.or_else(|| Some(fleet.of_sum(test, own?)))
    }

    /// Gold set that judges the searches of a test (empty without one), and last reset of its variant.
    fn origin(&self, test: SharedTest, labels: &[&str], variant: Option<&str>) -> (&str, WallTime) {
        let evidence = &self.snapshot.totals.evidence;
        let measure = labels.first().and_then(|name| self.measure(name));
        let watched = measure.and_then(|measure| self.watch_of(measure));
        let is_judged = matches!(test, SharedTest::Drop | SharedTest::Target)
            && watched.is_some_and(|(_, it)| !it.is_user_measure);
        let gold = if is_judged {
            evidence.exposed_gold()
        } else {
            ""
        };
        let reset_at = variant.map_or(WallTime(0), |variant| evidence.reset_of(variant));
        (gold, reset_at)
    }
}

/// Test whose evidence is shared.
pub(super) fn shared(test: Test) -> SharedTest {
    match test {
        Test::Target => SharedTest::Target,
        Test::Drop => SharedTest::Drop,
    }
}
