#!/bin/sh
# Builds docs/ as a site in target/site/html: pages in the order of docs/site/SUMMARY.md, a search, and llms.txt.
# Links to files outside docs/ lead to the repository. Fails at a link that leads nowhere.
#   docs/site/build.sh
set -eu
cd "$(dirname "$0")/../.."
. deploy/release/project.sh
target=${CARGO_TARGET_DIR:-$PWD/target}
site=$target/site
rm -rf "$site"
mkdir -p "$site"
cp -r docs "$site/source"
rm -r "$site/source/site"
cp docs/site/SUMMARY.md "$site/source/SUMMARY.md"
sed "s,REPOSITORY,$repository," docs/site/book.toml >"$site/book.toml"
# The first page is the README.
python3 docs/site/links.py "$site/source" "$repository/blob/main" README.md
"$target/tools/mdbook/bin/mdbook" build "$site"
python3 docs/site/links.py --list "$site/source" "$repository/blob/main/docs" >"$site/html/llms.txt"
python3 docs/site/links.py --check "$site/html"
echo "$site/html/index.html"
