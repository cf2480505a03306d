import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { requestText } from './queue.ts'

test('a cluster shows how many containers it asks for, as its reason counts them together', () => {
  const waits = (clusterSize: number) => ({ requested: { cpu: '0.5' }, clusterSize }) as unknown as Session
  expect(requestText(waits(1))).toBe('0.5 CPU')
  expect(requestText(waits(2))).toBe('2 × (0.5 CPU)')
})
