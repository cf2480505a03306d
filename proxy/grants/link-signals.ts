/** An AbortSignal that follows other signals until it is disposed. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
}

/**
 * Aborts when one of the sources does, or after the limit. Like `AbortSignal.any` with `AbortSignal.timeout`, but disposing frees
 * everything at once: those keep a timer for seconds, and a listener in every source, for each connection, though most open
 * within a millisecond.
 */
export function linkSignals(sources: readonly AbortSignal[], limitMs?: number): LinkedSignal {
  const controller = new AbortController()
  const links = sources.map(source => {
    const abort = () => controller.abort(source.reason)
    if (source.aborted) abort()
    else source.addEventListener('abort', abort, { once: true })
    return { source, abort }
  })
  const late = () => controller.abort(new DOMException('The operation timed out.', 'TimeoutError'))
  const timer = limitMs === undefined ? undefined : setTimeout(late, limitMs).unref()
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      for (const { source, abort } of links) source.removeEventListener('abort', abort)
    },
  }
}
