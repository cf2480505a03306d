import { expect, test } from 'vitest'
import { type HostApi, type HostEvents } from '#proxy/contract'
import { type SessionId } from '#manager/contract'
import { attachByHost } from './terminal-link.ts'

type Emit = <E extends keyof HostEvents>(event: E, payload: HostEvents[E]) => void

/** A host whose `open` emits events before it answers with the id `t1`. */
function createHost(open: (emit: Emit) => void) {
  const listeners = new Map<string, Set<(payload: never) => void>>()
  const emit: Emit = (event, payload) => listeners.get(event)?.forEach(listener => listener(payload as never))
  const written: string[] = []
  const shown: string[] = []
  const closes: number[] = []
  const terminal: HostApi['terminal'] = {
    open() {
      open(emit)
      return Promise.resolve('t1')
    },
    write: (_id, data) => Promise.resolve(void written.push(text(data))),
    resize: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  const attach = attachByHost({
    terminal,
    on(event, listener) {
      const set = listeners.get(event) ?? new Set()
      listeners.set(event, set.add(listener))
      return () => set.delete(listener)
    },
  })
  return {
    emit,
    written,
    shown,
    closes,
    listening: () => [...listeners.values()].reduce((total, set) => total + set.size, 0),
    attach: () =>
      attach(
        { sessionId: 's' as SessionId, name: 'main', cols: 80, rows: 24 },
        { onData: data => shown.push(text(data)), onClosed: code => closes.push(code) },
      ),
  }
}

const text = (data: Uint8Array) => new TextDecoder().decode(data)
const bytes = (value: string) => new TextEncoder().encode(value)

test('in the desktop app, bytes that overtake the answer of `open` are not lost, and bytes of other terminals are not shown', async () => {
  const host = createHost(emit => {
    emit('terminal:data', { id: 't1', data: bytes('early ') })
    emit('terminal:data', { id: 't9', data: bytes('not mine') })
  })
  const link = await host.attach()
  host.emit('terminal:data', { id: 't1', data: bytes('late') })
  expect(host.shown.join('')).toBe('early late')
  link.write(bytes('ls'))
  expect(host.written).toEqual(['ls'])
  host.emit('terminal:closed', { id: 't1', code: 4001, reason: '' })
  expect(host.closes).toEqual([4001])
  expect(host.listening()).toBe(0)
})

test('a terminal that closes before the answer of `open` is closed, after its last bytes', async () => {
  const host = createHost(emit => {
    emit('terminal:closed', { id: 't9', code: 1006, reason: '' })
    emit('terminal:data', { id: 't1', data: bytes('bye') })
    emit('terminal:closed', { id: 't1', code: 4001, reason: '' })
  })
  await host.attach()
  expect(host.closes).toEqual([4001])
  expect(host.shown).toEqual(['bye'])
  expect(host.listening()).toBe(0)
})
