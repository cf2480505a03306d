// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest'
import { effectScope, ref } from 'vue'
import { AppError, type SessionSpec, type WhatIf } from '#manager/contract'
import { withServices } from '../../testing/services.ts'
import { outlookOf } from './outlook.ts'
import { useOutlook } from './useOutlook.ts'

const REQUEST: SessionSpec = {
  image: 'a',
  resources: { cpu: '1', mem: '1g' },
  environ: {},
  count: 1,
  resourceGroup: 'default',
}
const NOW: WhatIf = { startsNow: true, reason: null, smaller: [], notices: [] }

function outlookOver(whatIf: () => Promise<WhatIf>) {
  const { app } = withServices({ whatIf })
  const count = ref(1)
  const scope = effectScope()
  const asked = app.runWithContext(() =>
    scope.run(() =>
      useOutlook(
        () => REQUEST,
        () => null,
        answer => outlookOf(answer, { count: count.value, pulled: false, gpu: undefined }),
      ),
    ),
  )!
  return { ...asked, count, [Symbol.dispose]: () => scope.stop() }
}

test('the text follows the number of sessions without another request', async () => {
  const whatIf = vi.fn(() => Promise.resolve(NOW))
  using it = outlookOver(whatIf)
  await expect.poll(() => it.outlook.value?.text).toBe('Starts now.')
  it.count.value = 3
  expect(it.outlook.value?.text).toBe('The first starts now, the others when there is room.')
  expect(whatIf).toHaveBeenCalledOnce()
})

test('a refusal of the request is shown, another failure is not', async () => {
  using refused = outlookOver(() => Promise.reject(new AppError('over_user_policy', { why: 'You may have 1 GPU.' })))
  await expect.poll(() => refused.outlook.value).toMatchObject({ kind: 'never' })
  using failed = outlookOver(() => Promise.reject(new AppError('unavailable')))
  await expect.poll(() => failed.pending.value).toBe(false)
  expect(failed.outlook.value).toBeNull()
})
