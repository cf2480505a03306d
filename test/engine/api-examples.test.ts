import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Berth, type BerthUser, root, startBerth } from '../fixtures/berth.ts'
import { blocksOf } from '../fixtures/page-blocks.ts'

const run = promisify(execFile)

/** The programs of `docs/api.md`, as they stand on the page. */
const stack = new AsyncDisposableStack()
let berth: Berth
let owner: BerthUser
beforeAll(async () => {
  berth = stack.use(await startBerth())
  owner = await berth.user('owner@example.org')
})
afterAll(() => stack.disposeAsync())

async function programOf(language: string): Promise<string> {
  const page = await readFile(join(root, 'docs/api.md'), 'utf8')
  const [, job = ''] = page.split('## The main job')
  const [program] = blocksOf(job, language)
  if (program === undefined) throw new Error(`docs/api.md has no program in ${language}`)
  return program
}

test.each([
  ['python', 'python3', 'job.py'],
  ['typescript', process.execPath, 'job.ts'],
])('the main job in %s', async (language, program, name) => {
  const directory = await mkdtemp(join(berth.data, 'job-'))
  await writeFile(join(directory, name), await programOf(language))
  const env = { ...process.env, BERTH: berth.url, EMAIL: owner.email, PASSWORD: owner.password, NODE_OPTIONS: '' }

  const { stdout, stderr } = await run(program, [name], { cwd: directory, env, timeout: 60_000 })
  expect({ stdout, stderr }).toEqual({ stdout: '42\n', stderr: '' })
  expect(await readFile(join(directory, 'answer'), 'utf8')).toBe('42\n')
  const { items } = await owner.api.listSessions({ query: { status: 'live' } })
  expect(items.filter(({ status }) => status !== 'TERMINATING')).toEqual([])

  const wrong = run(program, [name], { cwd: directory, env: { ...env, PASSWORD: 'another' }, timeout: 60_000 })
  await expect(wrong).rejects.toMatchObject({ stderr: expect.stringContaining('login_failed') as string })
})
