import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { silentLog } from '../log.ts'
import { createPeers } from './peers.ts'

test('a message that is added while the last one is being sent is sent too', async () => {
  for (let ticks = 0; ticks < 12; ticks++) {
    const sent: string[] = []
    const notify = (payload: string) => {
      sent.push(payload)
      return Promise.resolve()
    }
    const peers = createPeers({ processId: 'one', notify, log: silentLog })
    const topic = peers.topic<string>('hint')
    topic.tell('first')
    // Wait for this many microtasks: after one such count, the sender has found its queue empty but has not finished yet.
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    topic.tell('second')
    await turn()
    expect(sent.join(), `told after ${ticks} steps`).toContain('second')
    await peers.flushed()
  }
})
