# Where the project lives, from Cargo.toml, for the scripts that source this file from the root of the
# repository: version, repository (URL), registry, features of the binary.
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
repository=$(sed -n '/^\[workspace.package\]/,/^\[/s/^repository = "\(.*\)"/\1/p' Cargo.toml)
registry=$(sed -n '/^\[workspace.metadata.release\]/,/^\[/s/^registry = "\(.*\)"/\1/p' Cargo.toml)
features=$(sed -n '/^\[workspace.metadata.release\]/,/^\[/s/^features = "\(.*\)"/\1/p' Cargo.toml)
