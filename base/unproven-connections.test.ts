import { expect, test } from 'vitest'
import { createUnprovenConnections } from './unproven-connections.ts'

class Fake {
  destroyed = false
  #onClose: (() => void)[] = []
  write() {}
  end() {
    this.destroy()
  }
  destroy() {
    if (this.destroyed) return
    this.destroyed = true
    for (const act of this.#onClose) act()
  }
  resetAndDestroy() {
    this.destroy()
  }
  once(_event: 'close', act: () => void) {
    this.#onClose.push(act)
  }
}

function three(most: number) {
  const connections = createUnprovenConnections<Fake>(most)
  const open = () => {
    const socket = new Fake()
    connections.add(socket)
    return socket
  }
  return { connections, open }
}

test('the oldest connection that has proved nothing makes room for a new one', () => {
  const { open } = three(2)
  const [first, second, third] = [open(), open(), open()]
  expect([first, second, third].map(({ destroyed }) => destroyed)).toEqual([true, false, false])
  second.destroy()
  open()
  expect(third.destroyed).toBe(false)
})

test('a connection with a proven request stays, and counts as new when it is over', () => {
  const { connections, open } = three(2)
  const busy = open()
  const ends = [connections.prove(busy), connections.prove(busy)]
  const others = [open(), open(), open()]
  expect(busy.destroyed).toBe(false)
  ends[0]?.()
  open()
  expect(busy.destroyed).toBe(false)
  ends[1]?.()
  expect(others.map(({ destroyed }) => destroyed)).toEqual([true, true, true])
  open()
  open()
  expect(busy.destroyed).toBe(true)
})

test('a connection that is kept never makes room', () => {
  const { connections, open } = three(1)
  const console = open()
  connections.keep(console)
  connections.prove(console)()
  open()
  open()
  expect(console.destroyed).toBe(false)
})
