import { expect, test } from 'vitest'
import { countBits, signalsByProcess, signalsOfUser } from './pending-signal-rules.ts'

const STATUS = (own: string, shared: string) =>
  `Name:\tpython3\nSigQ:\t96364/96364\nSigPnd:\t${own}\nShdPnd:\t${shared}\nSigBlk:\t0000008000000000\n`

test('pending signals of a thread are counted, and a queue of real-time signals is found', () => {
  expect(countBits(STATUS('0000000000000000', '0000000000000000'))).toEqual({ certain: 0, hasQueue: false })
  expect(countBits(STATUS('0000000040004002', '0000000000010000'))).toEqual({ certain: 3, hasQueue: false })
  expect(countBits(STATUS('0000000000000000', '0000008000000000'))).toEqual({ certain: 0, hasQueue: true })
  expect(countBits('')).toEqual({ certain: 0, hasQueue: false })
})

test('the kernel tells the sum of the user', () => {
  expect(signalsOfUser(STATUS('0', '0'))).toBe(96_364)
  expect(signalsOfUser('')).toBe(0)
})

test('signals that nobody can count belong to the processes with real-time signals', () => {
  const held = new Map([
    [1, { certain: 5, hasQueue: false }],
    [2, { certain: 100, hasQueue: true }],
    [3, { certain: 0, hasQueue: true }],
  ])
  expect([...signalsByProcess(held, 1105)]).toEqual([
    [1, 5],
    [2, 600],
    [3, 500],
  ])
  expect([...signalsByProcess(held, 50).values()]).toEqual([5, 100, 0])
})
