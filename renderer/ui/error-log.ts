import { shallowRef } from 'vue'
import { parseJson } from '#base/parse-json'
import { isAppError } from '#manager/contract'

/** An error of this page. */
export interface LoggedError {
  readonly at: Date
  readonly text: string
}

/** Largest number of errors: enough for a report about a day of work. */
const MOST_KEPT = 2_000
const MOST_CHARACTERS = 1_000
const KEY = 'berth.errors'

/**
 * The last errors of this tab, newest first; a reload keeps them. They may name files and sessions, so they are deleted with the tab, and
 * when the person signs out.
 */
export const errorLog = shallowRef<readonly LoggedError[]>(readStored())

function readStored(): LoggedError[] {
  const stored = (globalThis as Partial<typeof globalThis>).sessionStorage?.getItem(KEY)
  const lines = parseJson(stored ?? '[]')
  if (!Array.isArray(lines)) return []
  return lines.flatMap((line: unknown) => {
    if (!Array.isArray(line) || typeof line[0] !== 'number' || typeof line[1] !== 'string') return []
    return [{ at: new Date(line[0]), text: line[1] }]
  })
}
function store(): void {
  try {
    const lines = errorLog.value.map(({ at, text }) => [at.getTime(), text])
    globalThis.sessionStorage.setItem(KEY, JSON.stringify(lines))
  } catch {
    // If storage is full or denied, the list stays in memory only.
  }
}

/** Deletes the errors for the next person at this tab. */
export function clearErrors(): void {
  errorLog.value = []
  store()
}

export function logError(error: unknown): void {
  const text = isAppError(error)
    ? `${error.code}: ${error.message}`
    : error instanceof Error
      ? `${error.name}: ${error.message}`
      : String(error)
  errorLog.value = [{ at: new Date(), text: text.slice(0, MOST_CHARACTERS) }, ...errorLog.value].slice(0, MOST_KEPT)
  store()
}

/** Records errors that no part of the page has caught. The browser still writes them to its console. */
export function logUncaught(target: Window): void {
  target.addEventListener('error', ({ error, message }: ErrorEvent) => {
    // With this message the browser only says that it measures again in the next frame.
    if (!message.startsWith('ResizeObserver loop')) logError(error ?? message)
  })
  target.addEventListener('unhandledrejection', ({ reason }: PromiseRejectionEvent) => logError(reason))
}
