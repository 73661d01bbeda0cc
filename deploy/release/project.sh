# Where the project lives, from Cargo.toml, for the scripts that source this file from the root of the
# repository: version, repository (URL), owner, name, registry.
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
repository=$(sed -n '/^\[workspace.package\]/,/^\[/s/^repository = "\(.*\)"/\1/p' Cargo.toml)
registry=$(sed -n '/^\[workspace.metadata.release\]/,/^\[/s/^registry = "\(.*\)"/\1/p' Cargo.toml)
