import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ssh2 from 'ssh2'
import { afterEach, expect, test } from 'vitest'
import { parseOpensshKey } from './openssh-key.ts'
import { toPpk } from './ppk.ts'

const run = promisify(execFile)
const hasPuttygen = await run('puttygen', ['--version']).then(
  () => true,
  () => false,
)

let directory: string | undefined
afterEach(async () => {
  if (directory) await rm(directory, { recursive: true })
  directory = undefined
})

/** ssh2 drops a leading zero byte of the public key, so one pair in some hundred cannot be read. */
function anEd25519Pair(): ReturnType<typeof ssh2.utils.generateKeyPairSync> {
  const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'id_container of my-session' })
  return ssh2.utils.parseKey(pair.private) instanceof Error ? anEd25519Pair() : pair
}

const keys = {
  ed25519: anEd25519Pair,
  rsa: () => ssh2.utils.generateKeyPairSync('rsa', { bits: 2048 }),
}

test.skipIf(!hasPuttygen).each(Object.entries(keys))(
  'puttygen reads an %s key and finds the same key in it',
  async (_, make) => {
    const pair = make()
    directory = await mkdtemp(join(tmpdir(), 'berth-test-ppk-'))
    const path = join(directory, 'id_container.ppk')
    await writeFile(path, toPpk(parseOpensshKey(pair.private)), { mode: 0o600 })
    const { stdout: publicKey } = await run('puttygen', [path, '-O', 'public-openssh'])
    expect(publicKey.split(' ').slice(0, 2)).toEqual(pair.public.trim().split(' ').slice(0, 2))
    // Converted back to OpenSSH: the private half survived too.
    const exported = join(directory, 'id_container')
    await run('puttygen', [path, '-O', 'private-openssh-new', '-o', exported])
    const privateKey = await readFile(exported, 'utf8')
    expect(parseOpensshKey(privateKey).putty).toEqual(parseOpensshKey(pair.private).putty)
  },
)

test('the written file is PPK version 3 without a passphrase', () => {
  const ppk = toPpk(parseOpensshKey(keys.ed25519().private))
  expect(ppk.split('\r\n').slice(0, 4)).toEqual([
    'PuTTY-User-Key-File-3: ssh-ed25519',
    'Encryption: none',
    'Comment: id_container of my-session',
    'Public-Lines: 2',
  ])
})

test.each([
  ['nothing', ''],
  ['a PEM key of another format', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'],
  ['a key that is cut short', keys.ed25519().private.replace(/\n[^\n]+\n-----END/, '\n-----END')],
  [
    'a key with a passphrase',
    ssh2.utils.generateKeyPairSync('ed25519', { passphrase: 'x', cipher: 'aes256-ctr', rounds: 1 }).private,
  ],
])('%s is refused with a code', (_, text) => {
  expect(() => parseOpensshKey(text)).toThrow(expect.objectContaining({ code: 'bad_request' }))
})
