import { pack } from 'tar-stream'
import { expect, test } from 'vitest'
import { type EngineClient } from '../docker/engine-client.ts'
import { createAccountsOfImages, NO_ACCOUNTS } from './image-accounts.ts'

const IMAGE = { id: 'sha256:aa', volumes: [] }
type Entry =
  | string
  | { readonly type: 'symlink'; readonly linkname: string }
  | { readonly type: 'directory' | 'character-device' }
  | { readonly size: number }
const missing = () => Object.assign(new Error('no such file'), { statusCode: 404 })

/** An engine with one image of these files; `created` counts the containers that were created to read it. */
function anEngine(files: Readonly<Record<string, Entry>>) {
  const logged: unknown[] = []
  const engine = { created: 0, left: 0, isAway: false }
  const container = {
    getArchive({ path }: { path: string }) {
      const entry = files[path]
      if (entry === undefined) return Promise.reject(missing())
      const archive = pack()
      if (typeof entry === 'string') archive.entry({ name: path }, entry)
      else if ('size' in entry) archive.entry({ name: path }, Buffer.alloc(entry.size))
      else archive.entry({ name: path, ...entry })
      archive.finalize()
      return Promise.resolve(archive)
    },
    remove() {
      if (engine.left === 0) return Promise.reject(missing())
      engine.left--
      return Promise.resolve()
    },
  }
  const calls = {
    createContainer() {
      if (engine.isAway) return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
      engine.created++
      engine.left++
      return Promise.resolve(container)
    },
    getContainer: () => container,
  }
  const note = (fields: object, text: string) => void logged.push([text, fields])
  const log = { debug: note, info: note, warn: note, error: note }
  const accounts = createAccountsOfImages({ calls, streams: calls } as unknown as EngineClient, { reader: 'test', log })
  return Object.assign(engine, {
    accounts,
    logged,
    names: async () => (await accounts.of(IMAGE)).accounts.map(({ name }) => name),
  })
}

const ADA = 'ada:x:7:8:::\n'

test('an image is read once, and nothing that was made for it stays', async () => {
  const engine = anEngine({ '/etc/passwd': ADA, '/etc/group': 'g:x:8:ada\n' })
  await Promise.all([engine.names(), engine.names()])
  expect(await engine.accounts.of(IMAGE)).toMatchObject({ accounts: [{ uid: 7 }], groups: [{ members: ['ada'] }] })
  expect(engine).toMatchObject({ created: 1, left: 0, logged: [] })
})

test('links are followed inside of the image', async () => {
  const link = (linkname: string): Entry => ({ type: 'symlink', linkname })
  expect(await anEngine({ '/etc/passwd': link('../usr/lib/passwd'), '/usr/lib/passwd': ADA }).names()).toEqual(['ada'])
  expect(await anEngine({ '/etc/passwd': link('/../../srv/p'), '/srv/p': ADA }).names()).toEqual(['ada'])
  expect(await anEngine({ '/etc/passwd': link('/proc/1/root/etc/passwd') }).names()).toEqual([])
})

test.each<readonly [string, Entry]>([
  ['is a link to itself', { type: 'symlink', linkname: 'passwd' }],
  ['is a directory', { type: 'directory' }],
  ['is a device', { type: 'character-device' }],
  ['is huge', { size: 2 ** 20 }],
])('an image whose list of accounts %s gives none, and the log says so once', async (_what, entry) => {
  const engine = anEngine({ '/etc/passwd': entry, '/etc/group': 'g:x:8:\n' })
  expect(await engine.accounts.of(IMAGE)).toEqual(NO_ACCOUNTS)
  expect(await engine.accounts.of(IMAGE)).toEqual(NO_ACCOUNTS)
  expect(engine).toMatchObject({ created: 1, left: 0, logged: [[expect.stringContaining('cannot be read'), {}]] })
})

test('an image without these files has no accounts, and lines that are left out are logged', async () => {
  const bare = anEngine({})
  expect(await bare.accounts.of(IMAGE)).toEqual(NO_ACCOUNTS)
  expect(bare.logged).toEqual([])
  const odd = anEngine({ '/etc/passwd': `broken\n${ADA}` })
  expect(await odd.names()).toEqual(['ada'])
  expect(odd.logged).toMatchObject([[expect.stringContaining('left out'), { leftOut: { accounts: 1, groups: 0 } }]])
})

test('an engine that does not answer is asked again at the next start', async () => {
  const engine = anEngine({ '/etc/passwd': ADA })
  engine.isAway = true
  expect(await engine.names()).toEqual([])
  engine.isAway = false
  expect(await engine.names()).toEqual(['ada'])
})

test('settings of the SSH client come from the image, and their lack costs no account', async () => {
  const config = 'Host *\n  SendEnv LANG\n'
  const read = async (entry?: Entry) =>
    anEngine({ '/etc/passwd': ADA, ...(entry === undefined ? {} : { '/etc/ssh/ssh_config': entry }) }).accounts.of(
      IMAGE,
    )
  expect((await read(config)).sshConfig).toBe(config)
  for (const entry of [undefined, { size: 2 ** 20 }] as const)
    expect(await read(entry)).toMatchObject({ accounts: [{ name: 'ada' }], sshConfig: '' })
  // Nothing can be mounted over what is not a file.
  expect(await read({ type: 'directory' })).toMatchObject({ accounts: [{ name: 'ada' }], sshConfig: null })
})
