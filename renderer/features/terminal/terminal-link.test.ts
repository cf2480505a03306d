import { expect, test } from 'vitest'
import { type HostApi, type HostEvents } from '#proxy/contract'
import { type SessionId } from '#manager/contract'
import { attachByHost } from './terminal-link.ts'

test('in the desktop app bytes that overtake the answer of `open` are not lost, and others’ bytes are not shown', async () => {
  const listeners = new Map<string, Set<(payload: never) => void>>()
  const emit = <E extends keyof HostEvents>(event: E, payload: HostEvents[E]) =>
    listeners.get(event)?.forEach(listener => listener(payload as never))
  const written: string[] = []
  const text = (data: Uint8Array) => new TextDecoder().decode(data)
  const bytes = (value: string) => new TextEncoder().encode(value)
  const terminal: HostApi['terminal'] = {
    open() {
      emit('terminal:data', { id: 't1', data: bytes('early ') })
      emit('terminal:data', { id: 't9', data: bytes('not mine') })
      return Promise.resolve('t1')
    },
    write: (_id, data) => Promise.resolve(void written.push(text(data))),
    resize: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  let shown = ''
  const closes: number[] = []
  const link = await attachByHost({
    terminal,
    on(event, listener) {
      const set = listeners.get(event) ?? new Set()
      listeners.set(event, set.add(listener))
      return () => set.delete(listener)
    },
  })(
    { sessionId: 's' as SessionId, name: 'main', cols: 80, rows: 24 },
    { onData: data => (shown += text(data)), onClosed: code => closes.push(code) },
  )
  emit('terminal:data', { id: 't1', data: bytes('late') })
  expect(shown).toBe('early late')
  link.write(bytes('ls'))
  expect(written).toEqual(['ls'])
  emit('terminal:closed', { id: 't1', code: 4001, reason: '' })
  expect(closes).toEqual([4001])
  expect([...listeners.values()].every(set => set.size === 0)).toBe(true)
})
