export interface InboxItem {
  /** Size of the message it came from. */
  readonly bytes: number
  run(): Promise<void>
}

/** A queue of items that are handled one after the other, in the order of arrival. */
export interface Inbox<Item extends InboxItem> {
  push(item: Item): void
  /** Removes and returns an item that has not started; used when a newer item supersedes it. */
  take(isIt: (item: Item) => boolean): Item | undefined
  /** Whether more is queued or being handled than allowed: the sender then needs backpressure. */
  readonly isFull: boolean
  /** Resolves when nothing is queued or being handled. */
  idle(): Promise<void>
}

const MAX_WAITING = 500
const MAX_WAITING_BYTES = 4 * 1024 * 1024

export function createInbox<Item extends InboxItem>(): Inbox<Item> {
  const waiting: Item[] = []
  let bytes = 0
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      // The item counts until it is handled: otherwise the next one of its size could come in too early.
      await item.run()
      bytes -= item.bytes
    }
    working = undefined
  }

  return {
    push(item) {
      waiting.push(item)
      bytes += item.bytes
      // Start in a later turn, so that the caller of push continues first.
      working ??= Promise.resolve().then(work)
    },
    take(isIt) {
      const index = waiting.findIndex(isIt)
      const [item] = index < 0 ? [] : waiting.splice(index, 1)
      bytes -= item?.bytes ?? 0
      return item
    },
    get isFull() {
      return waiting.length > MAX_WAITING || bytes > MAX_WAITING_BYTES
    },
    idle: async () => {
      while (working) await working
    },
  }
}
