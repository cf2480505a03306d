import { expect, test, vi } from 'vitest'
import { AppError, because } from '#manager/contract'
import { offerRemedy, remedyOf } from './error-remedy.ts'

test('an error of a cause has the button that the page offers for it; others have none', () => {
  const run = vi.fn()
  offerRemedy('browser_unproven', () => ({ label: 'This computer', run }))
  const error = new AppError('forbidden', because('browser_unproven'))
  remedyOf(error)?.run()
  expect(run).toHaveBeenCalledOnce()
  for (const other of [
    new AppError('forbidden', because('browser_elsewhere')),
    new AppError('forbidden'),
    new Error(),
  ]) {
    expect(remedyOf(other)).toBeUndefined()
  }
})
