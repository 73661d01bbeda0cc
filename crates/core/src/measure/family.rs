//! Table of the measures of one family. An entry states everything about a measure: name, aliases,
//! parameters, range, direction, source, description and formula.

/// Defines a family of measures: its enum, the [descriptors](super::Descriptor), the canonical
/// spelling and the scores. An entry reads
///
/// ```text
/// /// Remark on the definition.
/// "Name" ["alias"] Variant { parameter: Type = FIELD, … } with [SHARED, …]
///     : RANGE, Direction, Source::…, "Description"
///     => formula;
/// ```
///
/// `with` lists parameters that another field reads, or that all measures of the family share.
/// `mean Geometric`, `mean Sum` or `mean Corpus` after it states how the scores of several queries are combined. A
/// cutoff is the last field: the spelling that an error about it proposes contains the parameters.
macro_rules! measures {
    (
        $(#[$about:meta])*
        pub enum $family:ident;
        subject: $subject:ident;
        argument: $argument:ident;
        build: |$arguments:ident, $measure:ident| $build:expr;
        $(#[$about_score:meta])*
        $visibility:vis fn $score:ident($input:ident: $Input:ty) -> $Score:ty;
        $(
            $(#[$remark:meta])*
            $name:literal [$($alias:literal),*] $variant:ident
            $({ $($field:ident: $Type:ty = $spec:ident),* $(,)? })?
            $(with [$($shared:ident),*])?
            $(mean $mean:ident)?
            : $range:ident, $direction:ident, $source:expr, $description:literal
            => $formula:expr;
        )*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the fields are explained once, above")]
        pub enum $family {
            $(
                #[doc = concat!("`", $name, "`: ", $description, ".")]
                $(#[$remark])*
                $variant $({ $($field: $Type),* })?,
            )*
        }

        impl $family {
            /// Descriptors, in the order of the documentation.
            pub(super) const TABLE: &'static [$crate::measure::descriptor::Descriptor] = &[$(
                $crate::measure::descriptor::Descriptor {
                    name: $name,
                    aliases: &[$($alias),*],
                    argument: $crate::measure::field::argument_of(&[
                        $crate::measure::descriptor::Argument::$argument,
                        $($($spec.argument),*)?
                    ]),
                    parameters: &[$($($spec.parameters,)*)? $($($shared.parameters),*)?],
                    cutoff: $crate::measure::field::cutoff_of(&[$($($spec.cutoff),*)?]),
                    range: $crate::measure::descriptor::Range::$range,
                    direction: $crate::measure::direction::Direction::$direction,
                    mean: $crate::measure::descriptor::mean_of(&[$(
                        $crate::measure::descriptor::Mean::$mean
                    )?]),
                    subject: $crate::measure::descriptor::Subject::$subject,
                    source: $source,
                    description: $description,
                    build: |$arguments| {
                        let _ = $arguments;
                        let $measure = $family::$variant $({
                            $($field: ($spec.read)($arguments, $spec.parameters)?),*
                        })?;
                        $build
                    },
                },
            )*];

            /// Returns the facts about the measure.
            pub(super) fn descriptor(&self) -> &'static $crate::measure::descriptor::Descriptor {
                match self {
                    $(Self::$variant { .. } => {
                        const { $crate::measure::catalogue::entry($name) }
                    })*
                }
            }

            /// Returns the canonical spelling, in parts.
            pub(super) fn canonical(&self) -> $crate::measure::grammar::Canonical {
                let mut canonical =
                    $crate::measure::grammar::Canonical::new(self.descriptor().name);
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        $($(($spec.write)($field, &mut canonical, $spec.parameters);)*)?
                    })*
                }
                canonical
            }

            $(#[$about_score])*
            $visibility fn $score(&self, $input: $Input) -> $Score {
                match self {
                    $(Self::$variant $({ $($field),* })? => $formula,)*
                }
            }
        }
    };
}

pub(super) use measures;
