import { spawn } from 'node:child_process'
import { startTestPostgres } from '../../build/bootstrap/test-postgres.ts'

/** The engine tests in the network of their engine, which has a loopback of its own: so it has a PostgreSQL of its own. */
await using postgres = await startTestPostgres(process.getuid?.() === 0)
const vitest = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--project', 'engine', ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, ...(postgres ? { TEST_DATABASE_URL: postgres.url } : {}) } },
)
process.exitCode = await new Promise<number>(done => vitest.once('exit', code => done(code ?? 1)))
