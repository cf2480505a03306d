import { watch } from 'vue'
import { isFinished, type SessionStatus } from '#manager/contract'

const WAIT_MS = 60_000

/** Waits until the session's row says that it has ended. @returns false if it has not within a minute */
export function untilEnded(status: () => SessionStatus | undefined): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), WAIT_MS)
  const stop = watch(status, now => now && isFinished(now) && resolve(true), { immediate: true })
  return promise.finally(() => {
    clearTimeout(timer)
    stop()
  })
}
