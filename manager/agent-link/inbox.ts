export interface InboxItem {
  /** Of the message that it came from. */
  readonly bytes: number
  run(): Promise<void>
}

/** What waits to be handled, one after the other, in the order of its arrival. */
export interface Inbox<Item extends InboxItem> {
  push(item: Item): void
  /** Takes one out that has not begun yet: something newer says the same. */
  take(isIt: (item: Item) => boolean): Item | undefined
  /** More waits, or is being handled, than may: whoever fills it has to be held up. */
  readonly isFull: boolean
  /** Resolves when nothing waits or runs. */
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
      // It counts until it is dealt with: before, the next one of its size must not come in.
      await item.run()
      bytes -= item.bytes
    }
    working = undefined
  }

  return {
    push(item) {
      waiting.push(item)
      bytes += item.bytes
      // In a turn of its own: whoever pushes goes on first.
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
