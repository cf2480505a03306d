import { expect, test } from 'vitest'
import { createReachLog } from './reach-log.ts'

test('each cause is logged once, until the manager answers again', () => {
  const lines: string[] = []
  const log = createReachLog({
    warn: (detail, message) => lines.push(`${message}: ${String((detail as { why?: string }).why)}`),
  })
  const refused = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:8400') })
  log.answered()
  log.failed(refused)
  log.failed(refused)
  log.failed(new Error('certificate has expired'))
  log.answered()
  log.answered()
  log.failed(refused)
  expect(lines).toEqual([
    'the manager does not answer: connect ECONNREFUSED 127.0.0.1:8400',
    'the manager does not answer: certificate has expired',
    'the manager answers again: undefined',
    'the manager does not answer: connect ECONNREFUSED 127.0.0.1:8400',
  ])
})
