import { expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { afterFailure, failureOn, ignoreUnreachable } from './failure.ts'

test.each([
  ['image_not_found', 1, 'PENDING', 'retried'],
  ['image_not_found', 3, 'ERROR', 'create_failed'],
  ['engine_busy', 3, 'PENDING', 'host_unfit'],
  ['files_gone', 1, 'ERROR', 'create_failed'],
] as const)('after %s at attempt %i of 3 the session is %s with the reason %s', (code, counted, to, reason) => {
  const failure = failureOn('gpu-1', new AppError(code, { why: 'It is so' }))
  const change = afterFailure(failure, { counted, maxAttempts: 3 })
  expect(change).toMatchObject({ to, reason: { code: reason } })
  expect(change.reason.message).toMatch(/^Starting on host gpu-1 failed: It is so\.( Trying again\.)?$/)
})

test('a full disk of the host costs no attempt once its agent has found it full, and one where only the engine says so', () => {
  const after = (cause: 'host_disk_short' | 'docker_disk_full') =>
    afterFailure(failureOn('gpu-1', new AppError('disk_full', because(cause))), { counted: 3, maxAttempts: 3 })
  expect(after('host_disk_short')).toMatchObject({ to: 'PENDING', reason: { code: 'host_unfit' } })
  expect(after('docker_disk_full')).toMatchObject({ to: 'ERROR', reason: { code: 'create_failed' } })
})

test.each([
  'host_without_toolbox',
  'engine_without_gpus',
  'agent_stopping',
  'host_starts_nothing',
  'host_unhealthy',
  'host_gpu_failed',
  'docker_refused_networks',
] as const)('%s costs no attempt', cause => {
  const failure = failureOn('gpu-1', new AppError('kernel_create_failed', because(cause)))
  expect(afterFailure(failure, { counted: 3, maxAttempts: 3 })).toMatchObject({ to: 'PENDING' })
})

test('a limit of a GPU that could not be set costs no attempt', () => {
  const error = new AppError('kernel_create_failed', because('gpu_limit_not_set', { gpu: 'GPU-0', text: 'no' }))
  expect(afterFailure(failureOn('gpu-1', error), { counted: 3, maxAttempts: 3 })).toMatchObject({ to: 'PENDING' })
})

test('the text of an unexpected error is not shown', () => {
  const { cause } = failureOn('gpu-1', new TypeError('secret of the inside'))
  expect(cause.code).toBe('create_failed')
  expect(cause.message).not.toContain('secret')
})

test('only an unreachable agent is ignored', () => {
  expect(ignoreUnreachable(new AppError('agent_unreachable'))).toBe(false)
  expect(() => ignoreUnreachable(new AppError('kernel_not_found'))).toThrow()
})
