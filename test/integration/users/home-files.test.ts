import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RequestInput } from '#agent/contract'
import { silentLog } from '../../../manager/log.ts'
import { addMasterKey, masterKeyPath } from '../../../manager/secrets/master-key-file.ts'
import { openSecretBox } from '../../../manager/secrets/open-secret-box.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

test("a session starts with its owner's current dotfiles and script, which nobody else sees", async () => {
  const agent = await cluster.join()
  const owner = await cluster.addUser('dots@example.org')
  await owner.putDotfile({ body: { path: '.bashrc', content: 'first' } })
  const made = await owner.putDotfile({ body: { path: '.bashrc', content: 'alias ll="ls -l"\n', mode: '600' } })
  expect(made).toMatchObject({ path: '.bashrc', mode: '600' })
  await owner.putDotfile({ body: { path: '.config/git/config', content: '[user]\r\n' } })
  const script = { script: 'echo ready\r\n' }
  expect(await owner.setBootstrapScript({ body: script })).toMatchObject({ script: 'echo ready\n' })

  const { id } = await cluster.launch({}, owner)
  await cluster.reach(id, 'RUNNING')
  const { input } = agent.log.find(({ name }) => name === 'create_kernel') ?? {}
  const { spec } = input as RequestInput<'create_kernel'>
  expect(spec.dotfiles).toEqual([
    { path: '.bashrc', content: 'alias ll="ls -l"\n', mode: '600' },
    { path: '.config/git/config', content: '[user]\n', mode: '644' },
  ])
  expect(spec.bootstrapScript).toBe('echo ready\n')

  expect(await cluster.api.listDotfiles()).toEqual({ items: [] })
  expect(await cluster.api.getBootstrapScript()).toEqual({ script: '', changedAt: null })
  await owner.deleteDotfile({ query: { path: '.bashrc' } })
  await expect(owner.deleteDotfile({ query: { path: '.bashrc' } })).rejects.toMatchObject({ code: 'dotfile_not_found' })
  expect(await owner.setBootstrapScript({ body: { script: ' \n' } })).toEqual({ script: '', changedAt: null })
  expect((await owner.listDotfiles()).items.map(({ path }) => path)).toEqual(['.config/git/config'])
})

test.each([
  'bashrc',
  '../.bashrc',
  '.ssh/../../x',
  '/etc/passwd',
  '.',
  '..',
  '.a//b',
  '.a/',
  '.a\nb',
  `.${'x'.repeat(255)}`,
])('the path %j is refused', async path => {
  const put = cluster.api.putDotfile({ body: { path, content: '' } })
  await expect(put).rejects.toMatchObject({ code: 'bad_request' })
})

test.each([{ mode: '0644' }, { mode: '244' }, { mode: '4755' }, { mode: '648' }, { content: 'a\0b' }])(
  'a dotfile with %o is refused',
  async wrong => {
    const put = cluster.api.putDotfile({ body: { path: '.x', content: '', ...wrong } })
    await expect(put).rejects.toMatchObject({ code: 'bad_request' })
  },
)

test('a user has at most 100 dotfiles of 64 KiB in total, also when several are saved at once', async () => {
  const owner = await cluster.addUser('many@example.org')
  const put = (path: string, content = '') => owner.putDotfile({ body: { path, content } })
  await put('.half', 'é'.repeat(16 * 1024))
  const both = await Promise.allSettled([put('.a', 'x'.repeat(20_000)), put('.b', 'x'.repeat(20_000))])
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  await expect(put('.c', 'x'.repeat(20_000))).rejects.toMatchObject({ code: 'over_dotfile_limit' })
  // A dotfile may be replaced by one of the same size.
  await put('.half', 'y'.repeat(32 * 1024))
  for (let index = 0; index < 98; index++) await put(`.file-${index}`)
  await expect(put('.one-more')).rejects.toMatchObject({ code: 'over_dotfile_limit' })
  await put('.file-1', 'changed')
})

test('the database holds neither dotfiles nor scripts in the clear, and a new master key seals them again', async () => {
  await using data = await temporaryDirectory()
  {
    await using first = await startTestManager({ dataDir: data.path })
    const { api } = await first.signIn()
    await api.putDotfile({ body: { path: '.netrc', content: 'password hunter2' } })
    await api.setBootstrapScript({ body: { script: 'login hunter2' } })
  }
  await addMasterKey(masterKeyPath(data.path))
  {
    await using store = await openStore({ dataDir: data.path, log: silentLog })
    const { rows } = await sql`select sealed from dotfiles union all select sealed from bootstrap_scripts`.execute(
      store.db,
    )
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toContain('hunter2')
    await openSecretBox({ store, dataDir: data.path, log: silentLog })
    const { rows: after } = await sql`select sealed from dotfiles`.execute(store.db)
    expect(after).not.toEqual(rows.slice(0, 1))
  }
  await using again = await startTestManager({ dataDir: data.path })
  const { api } = await again.signIn()
  expect((await api.listDotfiles()).items).toMatchObject([{ path: '.netrc', content: 'password hunter2' }])
  expect((await api.getBootstrapScript()).script).toBe('login hunter2')
})
