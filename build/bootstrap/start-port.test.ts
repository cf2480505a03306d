import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { parseStartFlags } from './start-flags.ts'
import { checkPort } from './start-port.ts'

test('a taken port ends the start before anything is made, and the hint says how to go on', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const port = String((other.address() as AddressInfo).port)
  for (const args of [['--port', port], [`--port=${port}`]]) {
    await expect(checkPort('/nowhere', parseStartFlags(args))).rejects.toMatchObject({
      hint: expect.stringMatching(new RegExp(`^Port ${port} is taken.*"npm start -- --port 0"`)) as string,
    })
  }
  other.close()
  await once(other, 'close')
  await checkPort('/nowhere', parseStartFlags(['--port', port]))
})

test.each(['0', 'x', '70000'])('the port %s is left to berth up', async port => {
  await checkPort('/nowhere', parseStartFlags(['--port', port]))
})
