import { shallowRef } from 'vue'
import { isAppError } from '#manager/contract'

/** One error of this page. */
export interface LoggedError {
  readonly at: Date
  readonly text: string
}

const MOST_KEPT = 100
/** The last errors of this page, newest first. In memory only: they may name files and sessions. */
export const errorLog = shallowRef<readonly LoggedError[]>([])

export function logError(error: unknown): void {
  const text = isAppError(error)
    ? `${error.code}: ${error.message}`
    : error instanceof Error
      ? `${error.name}: ${error.message}`
      : String(error)
  errorLog.value = [{ at: new Date(), text }, ...errorLog.value].slice(0, MOST_KEPT)
}

/** Notes what no part of the page has caught. The browser still writes it to its console. */
export function logUncaught(target: Window): void {
  target.addEventListener('error', ({ error, message }: ErrorEvent) => {
    // The browser's word for measuring again in the next frame: nothing is wrong.
    if (!message.startsWith('ResizeObserver loop')) logError(error ?? message)
  })
  target.addEventListener('unhandledrejection', ({ reason }: PromiseRejectionEvent) => logError(reason))
}
