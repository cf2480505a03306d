import { mkdtemp, rm, stat } from 'node:fs/promises'
import { type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOCAL_PROOF_HEADER } from '#proxy/contract'
import { createLocalCodes } from './local-codes.ts'
import { openThisComputer } from './this-computer.ts'

let dataDir: string
const codes = createLocalCodes()
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-test-local-'))
})
afterAll(() => rm(dataDir, { recursive: true }))

const aRequest = (headers: Record<string, string> = {}, more: { from?: string; httpVersion?: string } = {}) =>
  ({
    headers: { host: 'localhost:8400', ...headers },
    socket: { remoteAddress: more.from ?? '127.0.0.1' },
    httpVersion: more.httpVersion ?? '1.1',
  }) as unknown as IncomingMessage

const proven = (proof: string | undefined) => ({ [LOCAL_PROOF_HEADER]: proof ?? '' })

test('a code of this computer proves a sign-in, also after a restart, and no other sign-in', async () => {
  const here = await openThisComputer({ dataDir, codes, policy: 'required' })
  expect(here.levelOf(aRequest(), 'mine')).toBeUndefined()
  const proof = here.prove(aRequest(), here.createCode(), 'mine')
  expect(here.levelOf(aRequest(proven(proof)), 'mine')).toBe('account')
  expect(here.levelOf(aRequest(proven(proof)), 'of another')).toBeUndefined()
  const again = await openThisComputer({ dataDir, codes, policy: 'required' })
  expect(again.levelOf(aRequest(proven(proof)), 'mine')).toBe('account')
  expect((await stat(join(dataDir, 'proxy', 'local-proof.key'))).mode & 0o777).toBe(0o600)
})

test('an invented, changed or ten minutes old code proves nothing, and is not accepted as a proof', async () => {
  let now = 1_000_000
  const here = await openThisComputer({ dataDir, codes, policy: 'required', now: () => now })
  const code = here.createCode()
  const later = code.replace(/^\d+/, until => String(Number(until) + 1))
  for (const wrong of ['', '.', '9999999999999.x', later, `${code}x`])
    expect(here.prove(aRequest(), wrong, 'mine')).toBeUndefined()
  expect(here.levelOf(aRequest(proven(code)), 'mine')).toBeUndefined()
  now += 10 * 60_000
  expect(here.prove(aRequest(), code, 'mine')).toBeUndefined()
})

test.each([
  ['another computer', {}, { from: '192.0.2.1' }],
  ['another name', { host: 'berth.example.org' }, {}],
  ['a name that only begins like ours', { host: 'localhost.evil.example:8400' }, {}],
  ['a proxy that names its client', { 'x-forwarded-for': '192.0.2.1' }, {}],
  ['a proxy that names itself', { via: '1.1 proxy' }, {}],
  ['a proxy that speaks HTTP/1.0, as nginx does by default', {}, { httpVersion: '1.0' }],
] as const)('%s is not local, whatever proof and request it sends', async (_name, headers, more) => {
  const [strict, open] = await Promise.all([
    openThisComputer({ dataDir, codes, policy: 'required' }),
    openThisComputer({ dataDir, codes, policy: 'off' }),
  ])
  const proof = strict.prove(aRequest(), strict.createCode(), 'mine')
  const request = aRequest({ ...headers, ...proven(proof) }, more)
  expect(strict.levelOf(request, 'mine')).toBeUndefined()
  expect(open.levelOf(request, 'mine')).toBeUndefined()
  expect(strict.prove(request, strict.createCode(), 'mine')).toBeUndefined()
  expect(open.levelOf(aRequest(), 'mine')).toBe('account')
})

test('a code that a user of the computer confirmed proves less than one of our own account, and each proof is only what it is', async () => {
  const here = await openThisComputer({ dataDir, codes, policy: 'required' })
  const about = { email: '', browser: '', uid: null }
  const proofOf = (level: 'account' | 'computer') => {
    const code = here.ask(aRequest(), 'mine', about) ?? ''
    expect(here.prove(aRequest(), code, 'mine')).toBeUndefined()
    codes.confirm(code, level)
    expect(here.prove(aRequest({ via: '1.1 proxy' }), code, 'mine')).toBeUndefined()
    expect(here.prove(aRequest(), code, 'of another')).toBeUndefined()
    return here.prove(aRequest(), code, 'mine')
  }
  const [account, computer] = [proofOf('account'), proofOf('computer')]
  expect(account).not.toBe(computer)
  expect(here.levelOf(aRequest(proven(account)), 'mine')).toBe('account')
  expect(here.levelOf(aRequest(proven(computer)), 'mine')).toBe('computer')
  expect(here.levelOf(aRequest(proven(computer)), 'of another')).toBeUndefined()
  expect(here.ask(aRequest({ via: '1.1 proxy' }), 'mine', about)).toBeUndefined()
})
