import { randomId } from '../../api/random-id.ts'

/** Time in milliseconds for other tabs to answer. Browsers delay timers of background tabs. */
const ANSWER_MS = 200

type FrontMessage = { readonly kind: 'ask'; readonly turn: string } | { readonly kind: 'here'; readonly turn: string }

export interface FrontWatch {
  /** Whether the person is looking at this tab or at another tab of the console in this browser. */
  isInFront(): Promise<boolean>
  close(): void
}

/**
 * Asks the other tabs whether one of them has the focus, because a tab knows that only of itself. Any page of this origin may answer: at
 * worst one notification too many, or none, is shown.
 */
export function watchFront(hasFocus = () => document.hasFocus(), name = 'berth-front'): FrontWatch {
  const channel = new BroadcastChannel(name)
  const waiting = new Map<string, () => void>()
  channel.onmessage = ({ data }: MessageEvent<FrontMessage>) => {
    if (data.kind === 'here') waiting.get(data.turn)?.()
    else if (hasFocus()) channel.postMessage({ kind: 'here', turn: data.turn } satisfies FrontMessage)
  }
  return {
    async isInFront() {
      if (hasFocus()) return true
      const turn = randomId()
      const { promise, resolve } = Promise.withResolvers<boolean>()
      waiting.set(turn, () => resolve(true))
      const timer = setTimeout(() => resolve(false), ANSWER_MS)
      channel.postMessage({ kind: 'ask', turn } satisfies FrontMessage)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        waiting.delete(turn)
      }
    },
    close: () => channel.close(),
  }
}
