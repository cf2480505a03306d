import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { cleanEnvironment } from '../../fixtures/environment.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../..')

/** Prints the URL of each module that the process loads. */
const PRINT_MODULES = `import { registerHooks } from 'node:module'
import { writeSync } from 'node:fs'
registerHooks({ load(url, context, next) { writeSync(2, url + '\\n'); return next(url, context) } })`

test('a command loads neither the proxy nor the clients of Docker and PostgreSQL before it needs them', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(PRINT_MODULES)}`
  const args = ['--import', hook, join(ROOT, 'cli/main.ts'), 'session', 'ls', '--help']
  const { stdout, stderr } = await run(process.execPath, args, { env: cleanEnvironment() })
  expect(stdout).toContain('Usage: berth session ls')
  const modules = stderr.trim().split('\n')
  expect(modules).toContainEqual(expect.stringContaining('/cli/commands/session.ts'))
  const heavy = /node_modules\/(dockerode|pg|ssh2|ws|@grpc)\/|\/proxy\/index\.ts|\/cli\/(doctor|up\/up)/
  expect(modules.filter(url => heavy.test(url))).toEqual([])
})
