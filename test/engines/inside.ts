import { spawn } from 'node:child_process'
import { startTestPostgres } from '../../build/bootstrap/test-postgres.ts'

/** The engine tests in the network of their engine, which has a loopback of its own: so it has a PostgreSQL of its own. */
await using postgres = await startTestPostgres(process.getuid?.() === 0)
const args = process.argv.slice(2)
const environment = { ...process.env, ...(postgres ? { TEST_DATABASE_URL: postgres.url } : {}) }
const tests = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'engine', ...args]
process.exitCode = await exitCodeOf(tests, environment)
// A run of some files is about these.
if (args.length === 0)
  process.exitCode = (await exitCodeOf(['test/gpu/main.ts', '--simulated'], environment)) || process.exitCode

function exitCodeOf(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, words, { stdio: 'inherit', env })
  return new Promise(done => child.once('exit', code => done(code ?? 1)))
}
