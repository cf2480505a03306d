import { shallowRef } from 'vue'

/**
 * Milliseconds by which the clock of the server is ahead of this browser's, which may be set wrongly or belong to a laptop that slept.
 * Derived from the `Date` of answers, which has whole seconds: a difference that rounding or network delay may explain counts as 0.
 */
export const serverAheadMs = shallowRef(0)
const EXACTNESS_MS = 1_000

export const serverNow = () => new Date(Date.now() + serverAheadMs.value)

/**
 * Fetches as `send` does, and learns the server's time from each answer of the manager, which is recognised by its request id. Consoles and
 * local proxies answer too, with the clock of another computer.
 */
export function fetchWithClock(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const sentAt = Date.now()
    const answer = await send(input, init)
    const told = Date.parse(answer.headers.get('date') ?? '')
    if (answer.headers.has('x-request-id') && !Number.isNaN(told)) learn(told, sentAt, Date.now())
    return answer
  }
}

/** @param told time of the server, rounded down to seconds, at some moment between sending and receiving */
function learn(told: number, sentAt: number, receivedAt: number): void {
  const least = told - receivedAt
  const most = told + EXACTNESS_MS - sentAt
  // A known difference stays while it explains the answer: times on the page must not jump with each one.
  if (serverAheadMs.value >= least && serverAheadMs.value <= most) return
  serverAheadMs.value = least <= 0 && most >= 0 ? 0 : Math.round((least + most) / 2)
}
