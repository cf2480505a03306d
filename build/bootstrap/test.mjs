// `npm test`: installs what the tests need, then runs typecheck, lint, unit, integration, engine, e2e, desktop and console tests, and the fuzzer.
import { launch } from './launch.mjs'

if (process.argv.slice(2).some(flag => flag === '--help' || flag === '-h')) {
  process.stdout
    .write(`npm test [-- flags]    all that CI runs: typecheck, lint, unit, integration, engine, e2e, desktop and console tests, and half a minute of the fuzzer

  --only NAME          one of them: typecheck, lint, unit, integration, engine, e2e, desktop, console, fuzz (may be repeated)
  --keep-going         do not stop at the first that fails
  --store-durations    write how long each test file took to test/durations.json, and versions of what it ran with to test/versions.json
  --coverage           measure which statements unit and integration tests execute (takes longer)
  --help               this text

A test file that fails runs once more at the end, alone. Tests that pass there are named as unsteady; more than three fail the run.
`)
} else {
  await launch('test.ts')
}
