import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AppError, type SessionId, type SessionStatus, TUNNEL_CLOSE } from '#manager/contract'
import { createTerminalConnection, type ConnectionState } from './terminal-connection.ts'
import { type AttachTerminal, type TerminalListener, type TerminalSpec } from './terminal-link.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const SIZE = { cols: 80, rows: 24 }
const bytes = (text: string) => new TextEncoder().encode(text)

/** A connection whose attempts succeed unless `failing`, with all transferred data. */
function aTerminal(kernel?: string) {
  const it = {
    failing: false,
    refusal: new AppError('unavailable'),
    status: 'RUNNING' as SessionStatus | AppError,
    roles: ['main1', 'sub1'],
    specs: [] as TerminalSpec[],
    listeners: [] as TerminalListener[],
    sent: [] as string[],
    closed: 0,
    states: [] as ConnectionState['status'][],
    last: undefined as ConnectionState | undefined,
    shown: '',
  }
  const attach: AttachTerminal = (spec, listener) => {
    it.specs.push(spec)
    if (it.failing || it.refusal.code !== 'unavailable') return Promise.reject(it.refusal)
    it.listeners.push(listener)
    return Promise.resolve({
      write: data => it.sent.push(new TextDecoder().decode(data)),
      resize: ({ cols, rows }) => it.sent.push(`the size ${cols}x${rows}`),
      close: () => (it.closed += 1),
    })
  }
  const connection = createTerminalConnection({
    spec: { sessionId: 's' as SessionId, name: 'main', kernel },
    attach,
    readSession: () =>
      it.status instanceof AppError
        ? Promise.reject(it.status)
        : Promise.resolve({ status: it.status, kernels: it.roles.map(role => ({ role })) }),
    onData: data => (it.shown += new TextDecoder().decode(data)),
    onState(state) {
      it.states.push(state.status)
      it.last = state
    },
    random: () => 0.5,
  })
  return { it, connection }
}
const settle = () => vi.advanceTimersByTimeAsync(0)

describe('a terminal connection', () => {
  test('a lost connection is dialled again with the same name and the current size, and keys typed meanwhile are dropped', async () => {
    const { it, connection } = aTerminal()
    connection.start(SIZE)
    await settle()
    connection.write(bytes('a'))
    it.listeners[0]!.onClosed(1006)
    connection.write(bytes('rm -rf .\r'))
    connection.resize({ cols: 100, rows: 30 })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(it.states).toEqual(['connecting', 'open', 'waiting', 'open'])
    expect(it.specs.at(-1)).toEqual({ sessionId: 's', name: 'main', cols: 100, rows: 30 })
    expect(it.sent).toEqual(['a'])
  })

  test('a container that the session does not have is said, and not tried for again', async () => {
    const { it, connection } = aTerminal('sub9')
    it.failing = true
    connection.start(SIZE)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(it.specs).toHaveLength(1)
    expect(it.last).toMatchObject({ status: 'failed', error: { code: 'kernel_not_found' } })
    connection.retry()
    await settle()
    expect(it.specs).toHaveLength(2)
  })

  test('a container that its host does not have is said after a few attempts, which come at ever longer intervals', async () => {
    const { it, connection } = aTerminal('sub1')
    connection.start(SIZE)
    await settle()
    // An agent that has just started may find the container a moment later.
    it.listeners.at(-1)!.onClosed(TUNNEL_CLOSE.kernel_not_found)
    await vi.advanceTimersByTimeAsync(5_000)
    it.listeners.at(-1)!.onData(bytes('$ '))
    expect(it.states.at(-1)).toBe('open')
    for (let times = 0; times < 20; times++) {
      it.listeners.at(-1)!.onClosed(TUNNEL_CLOSE.kernel_not_found)
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(it.last).toMatchObject({ status: 'failed', error: { code: 'kernel_not_found' } })
    expect(it.specs.length).toBeLessThan(10)
  })

  test('a connection that breaks before it brings anything is tried at ever longer intervals', async () => {
    const { it, connection } = aTerminal()
    connection.start(SIZE)
    await settle()
    for (let second = 0; second < 120; second++) {
      it.listeners.at(-1)!.onClosed(TUNNEL_CLOSE.app_not_ready)
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(it.specs.length).toBeLessThan(40)
  })

  test('attempts continue while the manager is away', async () => {
    const { it, connection } = aTerminal()
    it.failing = true
    it.status = new AppError('unavailable')
    connection.start(SIZE)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(it.specs.length).toBeGreaterThan(5)
    it.failing = false
    await vi.advanceTimersByTimeAsync(20_000)
    expect(it.states.at(-1)).toBe('open')
  })

  test.each([
    ['a close that says so', 4001, 'RUNNING', 'session_ended'],
    ['the state of the session', 1006, 'TERMINATED', 'session_ended'],
    ['the end of the shell in a session that ends', 1000, 'TERMINATING', 'session_ended'],
    ['the end of the shell alone', 1000, 'RUNNING', 'exited'],
  ] as const)('%s decides the message, and nothing is dialled again', async (_what, code, status, state) => {
    const { it, connection } = aTerminal()
    connection.start(SIZE)
    await settle()
    it.status = status
    it.listeners[0]!.onClosed(code)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(it.states.at(-1)).toBe(state)
    expect(it.specs).toHaveLength(1)
  })

  test('a session of somebody else is a failure, not a wait', async () => {
    const { it, connection } = aTerminal()
    it.failing = true
    it.status = new AppError('session_not_found')
    connection.start(SIZE)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(it.states.at(-1)).toBe('failed')
    expect(it.specs).toHaveLength(1)
  })

  test.each(['forbidden', 'session_not_found'] as const)(
    'a handshake that the manager refuses permanently (%s) is reported and not repeated, although the session can be read',
    async code => {
      const { it, connection } = aTerminal()
      it.refusal = new AppError(code)
      connection.start(SIZE)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(it.states.at(-1)).toBe('failed')
      expect(it.specs).toHaveLength(1)
    },
  )

  test('messages of an older connection are ignored', async () => {
    const { it, connection } = aTerminal()
    connection.start(SIZE)
    await settle()
    connection.retry()
    await settle()
    it.listeners[0]!.onData(bytes('old'))
    it.listeners[0]!.onClosed(1006)
    it.listeners[1]!.onData(bytes('new'))
    await settle()
    expect(it.shown).toBe('new')
    expect(it.states.at(-1)).toBe('open')
    expect(it.closed).toBe(1)
  })

  test('a page that closes during the dial leaves no connection behind', async () => {
    const { it, connection } = aTerminal()
    connection.start(SIZE)
    connection.stop()
    await settle()
    expect(it.closed).toBe(1)
    expect(it.states).toEqual(['connecting'])
  })
})
