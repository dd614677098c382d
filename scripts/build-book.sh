#!/usr/bin/env bash
# Builds docs/ as a site into target/book (open target/book/index.html): MkDocs with the theme
# Material, both from PyPI. A link that leads nowhere and a page that is not in the list of mkdocs.yml
# are errors. The site needs no network when it is read.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=${SOMA_BOOK_TOOLS:-$PWD/target/book-tools}
if [ ! -x "$tools/bin/mkdocs" ]; then
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/python" -m pip --quiet --disable-pip-version-check install "mkdocs==1.6.*" "mkdocs-material==9.*"
fi
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --strict --quiet
if grep -rlE '(src="https?:|<link rel="(stylesheet|preconnect)" href="https?:)' target/book --include='*.html'; then
  echo "these pages load something from the network" >&2
  exit 1
fi
echo "the book: target/book/index.html"
