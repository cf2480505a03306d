import { expect, test, vi } from 'vitest'
import { AppError, because } from '#manager/contract'
import { type Isolation } from './firewall.ts'
import { type NameProxy } from './name-proxy.ts'
import { createSessionReach } from './session-reach.ts'

const FULL: Isolation = { isolation: 'full', reason: null }
const PARTIAL: Isolation = { isolation: 'partial', reason: because('agent_not_root') }
const network = { gateway: '10.213.0.1' }
const member = (kernelId: string, allowedNames?: readonly string[]) => ({ kernelId, sessionId: 's', allowedNames })

function aReach(states: readonly Isolation[] = [FULL]) {
  let looks = 0
  const open = vi.fn<NameProxy['open']>(() => Promise.resolve())
  const close = vi.fn<NameProxy['close']>(() => Promise.resolve())
  const warn = vi.fn()
  const firewall = {
    get state() {
      return states[Math.min(looks, states.length - 1)] ?? FULL
    },
    apply: () => Promise.resolve(void looks++),
  }
  const proxy = { port: 8489, connections: 0, open, close, [Symbol.asyncDispose]: () => Promise.resolve() }
  return { reach: createSessionReach({ firewall: () => firewall, proxy, log: { warn } }), open, close, warn }
}

test('a start is refused while a part of the rules is missing, whatever was reported before', async () => {
  const { reach, open } = aReach([FULL, PARTIAL])
  expect(reach.problem).toBeNull()
  await expect(reach.prepare(member('a', []), network)).rejects.toMatchObject({ code: 'network_not_enforceable' })
  await expect(reach.prepare(member('a', ['b.org']), network)).rejects.toMatchObject({
    code: 'network_not_enforceable',
  })
  expect(reach.problem).toMatchObject({ cause: 'agent_not_root' })
  // A session with a full network starts as before.
  expect(await reach.prepare(member('a'), network)).toBeUndefined()
  expect(open).not.toHaveBeenCalled()
})

test('kernels of one session share the proxy, which ends with the last of them', async () => {
  const { reach, open, close } = aReach()
  expect(await reach.prepare(member('a', ['b.org']), network)).toBe('http://10.213.0.1:8489')
  await reach.prepare(member('b', ['b.org']), network)
  expect(await reach.prepare(member('c', []), { gateway: '10.213.0.17' })).toBeUndefined()
  expect(open).toHaveBeenCalledWith('10.213.0.1', ['b.org'])
  await reach.leave({ kernelId: 'a' })
  await reach.leave({ kernelId: 'c' })
  expect(close).not.toHaveBeenCalled()
  await reach.leave({ kernelId: 'b' })
  expect(close).toHaveBeenCalledExactlyOnceWith('10.213.0.1')
})

test('sessions that an earlier process left are served again; a failure is tried again', async () => {
  const { reach, open, warn } = aReach()
  open.mockRejectedValueOnce(new AppError('unavailable', because('proxy_port_taken', { address: 'x' })))
  await reach.resume(member('a', ['b.org']), '10.213.0.34')
  expect(warn).toHaveBeenCalledOnce()
  await reach.resume(member('a', ['b.org']), '10.213.0.34')
  await reach.resume(member('a', ['b.org']), '10.213.0.34')
  await reach.resume(member('none', []), '10.213.0.50')
  await reach.resume(member('full'), '10.213.0.66')
  await reach.resume(member('gone', ['b.org']), null)
  expect(open.mock.calls).toEqual([
    ['10.213.0.33', ['b.org']],
    ['10.213.0.33', ['b.org']],
  ])
})
