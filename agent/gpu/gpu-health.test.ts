import { expect, test } from 'vitest'
import { createHealthWatch, type HealthText, parseGpuHealth } from './gpu-health.ts'
import { type RunSmi } from './run-smi.ts'

const H100 = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const T4 = 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'
const { signal } = new AbortController()

/** Answers of a healthy H100 and a T4 of driver 580, with the forms that each prints for what it does not have. */
const HEALTHY: HealthText = {
  rows: `${H100}, 0, 0\n${T4}, [N/A], [N/A]\n`,
  pages: `${H100}, [N/A]\n${T4}, No\n`,
  recovery: `${H100}, None\n${T4}, N/A\n`,
  slowdowns: `${H100}, Not Active, Not Active, Not Active, Not Active\n${T4}, [Not Supported], [N/A], [Unknown Error], Not Active\n`,
}
const findings = (text: Partial<HealthText>, uuid = H100) => {
  const { problem, advice, slowdown } = parseGpuHealth({ ...HEALTHY, ...text }).get(uuid) ?? {}
  return [problem?.cause, advice?.cause, slowdown?.cause]
}

test('what a GPU does not have, or does not answer, is no problem', () => {
  expect(findings({})).toEqual([undefined, undefined, undefined])
  expect(findings({}, T4)).toEqual([undefined, undefined, undefined])
  expect(parseGpuHealth({ rows: '', pages: '', recovery: '', slowdowns: '' }).size).toBe(0)
  const error = 'Field "gpu_recovery_action" is not a valid field to query.\n'
  expect(findings({ recovery: error })).toEqual([undefined, undefined, undefined])
})

test.each<[Partial<HealthText>, string]>([
  [{ rows: `${H100}, 0, 1\n` }, 'gpu_rows_failed'],
  [{ rows: `${H100}, Yes, Yes\n` }, 'gpu_rows_failed'],
  [{ pages: `${H100}, Yes\n` }, 'gpu_pages_pending'],
  [{ recovery: `${H100}, Reset\n` }, 'gpu_needs_recovery'],
  [{ recovery: `${H100}, Reboot\n` }, 'gpu_needs_recovery'],
  [{ recovery: `${H100}, Drain and Reset\n` }, 'gpu_needs_recovery'],
])(
  'memory that cannot be replaced any more, and an action that the driver asks for, are problems: %o',
  (text, cause) => {
    expect(findings(text)[0]).toBe(cause)
    expect(findings(text, T4)[0]).toBeUndefined()
  },
)

test('a row that is replaced at the next reset is advice: the driver does not use it any more', () => {
  expect(findings({ rows: `${H100}, 1, 0\n` })).toEqual([undefined, 'gpu_rows_pending', undefined])
})

test.each([
  ['Active, Not Active, Not Active, Active', 'gpu_slow_hot'],
  ['Not Active, Active, Not Active, Not Active', 'gpu_slow_hot'],
  ['Not Active, Not Active, Active, Active', 'gpu_slow_power'],
  ['Not Active, Not Active, Not Active, Active', 'gpu_slow'],
])('a slow-down by the hardware is told with its cause: %s', (cells, cause) => {
  expect(findings({ slowdowns: `${H100}, ${cells}\n` })[2]).toBe(cause)
})

/** A stand-in for nvidia-smi; a query that it does not know fails. */
function watch(answers: { current: Partial<HealthText> }) {
  let now = 0
  const asked: string[] = []
  const ask: RunSmi = (_signal, query = '') => {
    asked.push(query)
    const { rows, pages, recovery, slowdowns } = answers.current
    const text = query.includes('remapped')
      ? rows
      : query.includes('retired')
        ? pages
        : query.includes('recovery')
          ? recovery
          : query.includes('throttle')
            ? slowdowns
            : undefined
    return Promise.resolve({
      text: text ?? 'not a valid field to query',
      failure: null,
      isMissing: false,
      isSilent: false,
    })
  }
  const health = createHealthWatch(ask, () => now)
  return {
    asked,
    of: health.of,
    async look(afterMs = 30_000) {
      now += afterMs
      await health.look(signal)
    },
  }
}

test('a slow-down is a warning once two looks in a row have found it, also with the names of older drivers', async () => {
  const answers = { current: { slowdowns: `${H100}, Active, Not Active, Not Active, Active\n` } }
  const health = watch(answers)
  await health.look()
  expect(health.of(H100)).toEqual({ problem: null, warning: null })
  await health.look()
  expect(health.of(H100).warning?.cause).toBe('gpu_slow_hot')
  answers.current = { slowdowns: `${H100}, Not Active, Not Active, Not Active, Not Active\n` }
  await health.look()
  expect(health.of(H100).warning).toBeNull()
})

test('a problem stays while the driver is silent, and ends with a healthy answer', async () => {
  const answers: { current: Partial<HealthText> } = { current: { recovery: `${H100}, Reset\n` } }
  const health = watch(answers)
  await health.look()
  expect(health.of(H100).problem?.why).toContain('Reset')
  answers.current = {}
  await health.look()
  expect(health.of(H100).problem).not.toBeNull()
  answers.current = HEALTHY
  await health.look()
  expect(health.of(H100).problem).toBeNull()
})

test('a look is taken at most each half minute', async () => {
  const health = watch({ current: HEALTHY })
  await health.look()
  const count = health.asked.length
  await health.look(10_000)
  expect(health.asked).toHaveLength(count)
})
