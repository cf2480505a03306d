import { mkdtemp, rm, stat } from 'node:fs/promises'
import { type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOCAL_PROOF_HEADER } from '#proxy/contract'
import { openThisComputer } from './this-computer.ts'

let dataDir: string
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
  const here = await openThisComputer({ dataDir, policy: 'required' })
  expect(here.isLocal(aRequest(), 'mine')).toBe(false)
  const proof = here.prove(aRequest(), here.createCode(), 'mine')
  expect(here.isLocal(aRequest(proven(proof)), 'mine')).toBe(true)
  expect(here.isLocal(aRequest(proven(proof)), 'of another')).toBe(false)
  const again = await openThisComputer({ dataDir, policy: 'required' })
  expect(again.isLocal(aRequest(proven(proof)), 'mine')).toBe(true)
  expect((await stat(join(dataDir, 'proxy', 'local-proof.key'))).mode & 0o777).toBe(0o600)
})

test('an invented, changed or ten minutes old code proves nothing, and is not accepted as a proof', async () => {
  let now = 1_000_000
  const here = await openThisComputer({ dataDir, policy: 'required', now: () => now })
  const code = here.createCode()
  const later = code.replace(/^\d+/, until => String(Number(until) + 1))
  for (const wrong of ['', '.', '9999999999999.x', later, `${code}x`])
    expect(here.prove(aRequest(), wrong, 'mine')).toBeUndefined()
  expect(here.isLocal(aRequest(proven(code)), 'mine')).toBe(false)
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
    openThisComputer({ dataDir, policy: 'required' }),
    openThisComputer({ dataDir, policy: 'off' }),
  ])
  const proof = strict.prove(aRequest(), strict.createCode(), 'mine')
  const request = aRequest({ ...headers, ...proven(proof) }, more)
  expect(strict.isLocal(request, 'mine')).toBe(false)
  expect(open.isLocal(request, 'mine')).toBe(false)
  expect(strict.prove(request, strict.createCode(), 'mine')).toBeUndefined()
  expect(open.isLocal(aRequest(), 'mine')).toBe(true)
})
