declare const setTimeout: (act: () => void, ms: number) => unknown
declare const clearTimeout: (timer: unknown) => void

/** An `AbortSignal`, structurally: this folder is compiled without the types of DOM and Node. */
export interface AbortSignalLike {
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(event: 'abort', act: () => void, options: { once: true }): void
  removeEventListener(event: 'abort', act: () => void): void
}

/**
 * Waits for the result of a work. A late result or failure is dropped; the work itself goes on.
 *
 * @param late makes the error that is thrown when the time is over
 */
export async function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(() => over.reject(late()), ms)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for a work until the signal aborts; the work itself goes on. @throws the signal's reason */
export async function untilAborted<T>(work: Promise<T>, signal?: AbortSignalLike): Promise<T> {
  if (!signal) return await work
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
