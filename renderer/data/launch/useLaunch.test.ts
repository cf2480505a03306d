// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { AppError, type SessionDetails } from '#manager/contract'
import { aSession } from '../../testing/a-session.ts'
import { withServices } from '../../testing/services.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useLaunch } from './useLaunch.ts'

let answers: Map<string, PromiseWithResolvers<SessionDetails>>
beforeEach(() => {
  answers = new Map()
  withServices({
    getSession({ params: { id } }) {
      const answer = Promise.withResolvers<SessionDetails>()
      answers.set(id, answer)
      return answer.promise
    },
  })
})
const ended = (index: number) => aSession(index, { status: 'TERMINATED', environ: { TOKEN: `of ${index}` } })
/** The session in the form of a list. */
const listed = (session: SessionDetails) => {
  const { environ: _, ...others } = session
  return others
}

test('a session is launched again with the values of its variables, which the list does not have', async () => {
  const launch = useLaunch()
  launch.open(listed(ended(1)))
  expect(launch.isOpen).toBe(false)
  answers.get(ended(1).id)?.resolve(ended(1))
  await vi.waitFor(() => expect(launch.isOpen).toBe(true))
  expect(launch.like?.environ).toEqual({ TOKEN: 'of 1' })
})

test('the dialog shows what was asked for last, whatever is answered first', async () => {
  const launch = useLaunch()
  launch.open(listed(ended(1)))
  launch.open(listed(ended(2)))
  answers.get(ended(2).id)?.resolve(ended(2))
  answers.get(ended(1).id)?.resolve(ended(1))
  await vi.waitFor(() => expect(launch.isOpen).toBe(true))
  expect(launch.like?.id).toBe(ended(2).id)
})

test('a session that cannot be read opens no dialog and is told', async () => {
  const launch = useLaunch()
  launch.open(listed(ended(1)))
  answers.get(ended(1).id)?.reject(new AppError('session_not_found'))
  await vi.waitFor(() => expect(useNotifications().items).toHaveLength(1))
  expect(launch.isOpen).toBe(false)
})
