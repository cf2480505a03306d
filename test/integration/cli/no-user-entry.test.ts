import { execFile } from 'node:child_process'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { root } from '../../fixtures/berth.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'

const run = promisify(execFile)
/** A user id without an entry in the list of users, as containers have. */
const UID = 54_321
const AS_NOBODY = ['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', '--no-new-privs', '--']

/** Ends `berth up` as soon as it has printed its address. */
async function up(environment: Readonly<Record<string, string>>, ...flags: string[]) {
  const { BERTH_DATA: _data, HOME: _home, ...others } = process.env
  const [command = '', ...args] = AS_NOBODY
  const started = run(
    command,
    [
      ...args,
      process.execPath,
      join(root, 'bin/berth'),
      'up',
      '--no-open',
      '--no-engine',
      '--json',
      '--port',
      '0',
      ...flags,
    ],
    {
      env: { ...others, ...environment },
    },
  )
  started.child.stdout?.once('data', () => started.child.kill('SIGTERM'))
  const told = await started.catch((error: unknown) => error as { code: number; stdout: string; stderr: string })
  return { code: 0, ...told, last: told.stderr.trim().split('\n').at(-1) ?? '' }
}

/** Belongs to that user id. */
async function aHome() {
  const folder = await temporaryDirectory()
  await chmod(folder.path, 0o711)
  const home = join(folder.path, 'home')
  await mkdir(home)
  await run('chown', [`${UID}:${UID}`, home])
  return { home, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

describe.skipIf(process.getuid?.() !== 0)('berth up under a user id without an entry in the list of users', () => {
  test('says what its own PostgreSQL lacks, and what to do', async () => {
    await using folder = await aHome()
    const { code, last } = await up({ HOME: folder.home })
    expect(code).toBe(2)
    expect(JSON.parse(last)).toMatchObject({
      error: { code: 'config_invalid', detail: { cause: 'no_user_entry', values: { uid: UID } } },
    })
  })

  // A test's embedded database accepts only the user that started it.
  test.runIf(process.env['TEST_DATABASE_URL'])('works with a PostgreSQL elsewhere', async () => {
    await using folder = await aHome()
    await using database = await startDatabase()
    const { code, stdout } = await up({ HOME: folder.home, DATABASE_URL: database.url })
    expect(JSON.parse(stdout)).toMatchObject({ url: expect.stringMatching(/^http/) as string })
    expect(code).toBe(0)
  })

  test('without a home directory either, it asks for one, or for the directories', async () => {
    const { code, last } = await up({})
    expect(code).toBe(2)
    expect(JSON.parse(last)).toMatchObject({
      error: { code: 'config_invalid', detail: { cause: 'no_home_directory' } },
    })
    await using folder = await aHome()
    const named = await up({}, '--data', join(folder.home, 'data'))
    expect(JSON.parse(named.last)).toMatchObject({ error: { detail: { cause: 'no_user_entry' } } })
  })
})
