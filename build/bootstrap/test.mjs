// `npm test`: installs what the tests need, then runs typecheck, lint, unit, integration, engine, e2e, desktop and console tests.
import { launch } from './launch.mjs'

if (process.argv.slice(2).some(flag => flag === '--help' || flag === '-h')) {
  process.stdout
    .write(`npm test [-- flags]      what protects every change: typecheck, lint, unit, integration, engine, e2e, desktop and console tests
npm run test:all         everything; test/README.md says what more that is

  --only NAME          one of them: typecheck, lint, unit, integration, engine, e2e, desktop, console, fuzz (may be repeated)
  --since REF          what changes since a branch, tag or commit concern: types, lint of changed files, unit tests that import them,
                       changed tests, and of the others those that a map names (build/bootstrap/test-since.ts)
  --keep-going         do not stop at the first that fails
  --store-durations    write how long test files took to test/durations.json, what they computed to test/processor-seconds.json, and
                       the versions of what they ran with to test/versions.json
  --enforce-budget     fail if one part takes a tenth more processor time than test/processor-seconds.json allows; without
                       this flag, a run fails if all its parts together do
  --coverage           measure which statements unit and integration tests execute (takes longer)
  --help               this text

A test file that fails runs once more at the end, alone. Tests that pass there are named as unsteady; more than three fail the run.
`)
} else {
  await launch('test.ts')
}
