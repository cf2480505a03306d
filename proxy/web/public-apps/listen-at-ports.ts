import { type Log } from '../../log.ts'

export interface PortListeners extends AsyncDisposable {
  /** Ports at which listening has not succeeded yet. */
  closed(): readonly number[]
}

interface Listener {
  close(): Promise<void>
}

const RETRY_MS = 30_000

/**
 * Listens at every port of the range. A port that another program has is tried again, because that program may end; until then no app may
 * get it, which `onChange` reports.
 */
export async function listenAtPorts(options: {
  readonly ports: readonly number[]
  readonly listen: (port: number) => Promise<Listener>
  /** Listens at a port with a minimal server, because a TLS server would need every new certificate. */
  readonly probe: (port: number) => Promise<Listener>
  readonly onChange: () => void
  readonly log: Log
  /** Interval between two tries; only tests have a reason to set it. */
  readonly retryMs?: number | undefined
}): Promise<PortListeners> {
  const { ports, listen, probe, onChange, log, retryMs = RETRY_MS } = options
  const opened = new Map<number, Listener>()
  const closed = () => ports.filter(port => !opened.has(port))
  let isStopped = false
  let trying = Promise.resolve()

  async function open(port: number): Promise<string | undefined> {
    try {
      const listener = await listen(port)
      if (isStopped) await listener.close()
      else opened.set(port, listener)
      return undefined
    } catch (error) {
      return String(error)
    }
  }
  async function tryAgain(): Promise<void> {
    const before = closed()
    for (const port of before) {
      const free = await probe(port).catch(() => undefined)
      await free?.close()
      if (free && !isStopped) await open(port)
    }
    const found = before.filter(port => opened.has(port))
    if (found.length === 0) return
    log.info({ ports: found }, 'apps can use these ports now')
    onChange()
  }

  for (const port of ports) {
    const error = await open(port)
    if (error !== undefined) log.warn({ port, error }, 'a port for apps is taken: no app gets it until it is free')
  }
  const timer = setInterval(() => void (trying = trying.then(tryAgain)), retryMs).unref()
  return {
    closed,
    async [Symbol.asyncDispose]() {
      isStopped = true
      clearInterval(timer)
      await trying
      await Promise.all([...opened.values()].map(listener => listener.close()))
    },
  }
}
