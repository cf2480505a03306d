import { expect, test } from 'vitest'
import { hiddenSockets, inodesOf } from './hidden-sockets.ts'

test('the inode of each Unix socket is read; one that waits to be accepted, and a line that is cut, have none', () => {
  const text = `Num       RefCount Protocol Flags    Type St Inode Path
0000000048038e8c: 00000003 00000000 00000000 0001 03 5980243
0000000048038e8d: 00000002 00000000 00010000 0001 01 17 /run/a socket
0000000048038e8e: 00000002 00000000 00000000 0001 02     0
0000000048038e8f: 00000003 00000000 00000000 0001 03 5980`
  expect(inodesOf(text)).toEqual(['5980243', '17'])
})

test('a container that has ended hides nothing', async () => {
  expect(await hiddenSockets(2 ** 22 + 1, new Set())).toEqual(new Set())
})
