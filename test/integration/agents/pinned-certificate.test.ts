import { once } from 'node:events'
import { createServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ManagerId } from '#manager/contract'
import { startControl } from '../../../agent/control/control.ts'
import { type Handlers } from '../../../agent/control/dispatcher.ts'
import { openIdentity } from '../../../agent/control/identity.ts'
import { type Log } from '../../../agent/log.ts'
import { openOwnCertificate } from '../../../proxy/web/tls/own-certificate.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

test('an agent that meets another certificate than the one it pinned says so at each attempt, and what to do', async () => {
  await using directory = await temporaryDirectory()
  const { cert, key } = await openOwnCertificate(join(directory.path), ['localhost', '127.0.0.1'], new Date())
  const server = createServer({ cert, key }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const identity = await openIdentity(join(directory.path, 'agent'), {})
  await identity.remember({
    managerId: 'a manager' as ManagerId,
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fingerprint: '0'.repeat(64),
  })
  const said: string[] = []
  const note = (fields: object) => void said.push(String((fields as { why?: unknown }).why))
  const log = { info: note, warn: note, error: note } as unknown as Log
  const control = startControl({
    ...{ identity, name: 'host', managerUrl: undefined, invitation: undefined, log, handlers: {} as Handlers },
    report: () => {
      throw new Error('nothing is reported')
    },
    onHeard: () => undefined,
    claim: () => Promise.resolve(),
    onWelcome: () => Promise.reject(new Error('nobody is welcome')),
  })
  try {
    await expect.poll(() => said.length).toBeGreaterThan(2)
    for (const why of said) expect(why).toMatch(/another key than when this agent joined.*join again.*BERTH_JOIN/)
  } finally {
    await control[Symbol.asyncDispose]()
    server.close()
  }
})
