import { describe, expect, test } from 'vitest'
import { AppError, type WhatIf } from '#manager/contract'
import { defaultForm, GIB } from './launch-form.ts'
import { outlookOf, outlookOfRefusal, withOffer } from './outlook.ts'

const answer = (change: Partial<WhatIf> = {}): WhatIf => ({
  startsNow: false,
  reason: { code: 'capacity', message: '2 GPUs are needed, 1 is free' },
  smaller: [],
  notices: [],
  ...change,
})
const one = { count: 1, pulled: false, gpu: 'cuda.device' } as const

describe('the answer of what-if', () => {
  test('the answer is one line: starts now, or why it would wait', () => {
    expect(outlookOf(answer({ startsNow: true }), one)).toEqual({ kind: 'now', text: 'Starts now.', offer: null })
    expect(outlookOf(answer({ startsNow: true }), { ...one, count: 3, pulled: true }).text).toBe(
      'The first starts now, the others when there is room. The image is pulled first.',
    )
    expect(outlookOf(answer(), one).text).toBe('Will be queued: 2 GPUs are needed, 1 is free.')
    expect(outlookOf(answer({ reason: null }), one).text).toBe('Will be queued.')
    const doomed = {
      code: 'dependency_failed',
      message: 'Will not start: depends on session "a", which is ERROR.',
    } as const
    expect(outlookOf(answer({ reason: doomed }), one)).toMatchObject({
      kind: 'never',
      text: 'Will not start: depends on session "a", which is ERROR.',
    })
  })

  test('the network that a launch gets by default is there with its reason', () => {
    const notices: WhatIf['notices'] = [{ code: 'network_by_default', message: 'The session has no network.' }]
    expect(outlookOf(answer({ startsNow: true, notices }), one)).toMatchObject({
      text: 'Starts now.',
      network: 'The session has no network.',
    })
  })

  test('the smallest change that the form can make is offered', () => {
    const smaller: WhatIf['smaller'] = [
      { slot: 'cuda.shares', amount: '0.5' },
      { slot: 'mem', amount: String(2 * GIB) },
      { slot: 'cpu', amount: '1' },
    ]
    const { offer } = outlookOf(answer({ smaller }), one)
    expect(offer).toEqual({ field: 'mem', amount: 2 * GIB, text: 'Use 2 GiB RAM' })
    expect(offer && withOffer(defaultForm(undefined, {}), offer)).toMatchObject({ mem: 2 * GIB, cpu: 2000 })
    expect(outlookOf(answer({ smaller }), { ...one, gpu: 'cuda.shares' }).offer).toMatchObject({
      field: 'gpu',
      amount: 50,
    })
  })

  test('only a refusal of the request itself counts as one', () => {
    expect(outlookOfRefusal(new AppError('over_user_policy', { why: 'At most 1 GPU.' }))).toMatchObject({
      kind: 'never',
      text: 'Cannot start: At most 1 GPU.',
    })
    expect(outlookOfRefusal(new AppError('rate_limited'))).toBeNull()
    expect(outlookOfRefusal(new Error('a bug'))).toBeNull()
  })
})
