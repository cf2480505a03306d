/** `process` of a server that `berth up` has started, structurally: this file is compiled without the types of Node. */
export interface ChildProcessLike {
  /** Missing in a process without a channel to its parent. */
  send?(message: unknown, done: (error: Error | null) => void): boolean
  /** False once the channel is closed; missing in a process that never had one. */
  readonly connected?: boolean
  once?(event: 'disconnect', listener: () => void): unknown
}

/**
 * Calls a function once, when the parent has gone: at once if the parent went while this process still loaded its files, before anything
 * listened for the event. Does nothing in a process without a channel to its parent.
 */
export function onParentGone(child: ChildProcessLike, then: () => void): void {
  if (child.connected === false) then()
  else if (child.connected) child.once?.('disconnect', then)
}

/** A connection that the parent hands over, structurally. */
interface Connection {
  destroy(): unknown
}

/**
 * Takes a connection from the parent, which keeps its own copy until it hears so: the message leaves before this process reads anything of
 * the connection. So the parent can give a connection to the next process where this one ends before it has taken it, and never one of
 * which a part was read.
 *
 * @param message that came with the connection: `{ type: 'connection', connection }`
 */
export function takeFromParent<C extends Connection>(
  child: ChildProcessLike,
  { message, connection, take }: { message: unknown; connection: C; take: (connection: C) => void },
): void {
  const { connection: taken } = (message ?? {}) as { connection?: unknown }
  child.send?.({ taken }, error => {
    if (error) connection.destroy()
  })
  take(connection)
}

/**
 * Answer to a request of the parent process.
 *
 *     { id, type, about? }  →  { id, ok, value | error }
 */
export type ParentAnswer = Readonly<
  { id: unknown } & ({ ok: true; value: unknown } | { ok: false; error: { readonly message: string } })
>

/**
 * Codes of a send after the parent has gone. Node reports the first once it has noticed; a send before that fails in the
 * system call.
 */
const PARENT_GONE = new Set(['ERR_IPC_CHANNEL_CLOSED', 'EPIPE'])

/**
 * Answers the parent process. If the parent has gone, the answer is dropped: this process stops in order on its `disconnect` event, whereas
 * an unhandled error of the channel would end it at once.
 *
 * @throws in a later turn of the event loop, so that the process ends: any other error of the channel
 */
export function answerParent(child: ChildProcessLike, answer: ParentAnswer): void {
  child.send?.(answer, error => {
    if (error && !('code' in error && PARENT_GONE.has(String(error.code)))) throw error
  })
}
