import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Place, runCommand } from './running-command.ts'

const opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened.splice(0)) close()
})

/** The engine's framing of an exec without a TTY. @see agent/docker/demux.ts */
function piece(stream: 1 | 2, text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([header, bytes])
}

/** An engine whose execs are connections: the first is the command, the second its lifeline. */
async function engine(): Promise<{
  place: Place
  command: Promise<Socket>
  lifeline: Promise<Socket>
  marker: () => string
}> {
  const ends = [Promise.withResolvers<Socket>(), Promise.withResolvers<Socket>()]
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => undefined)
    opened.push(() => socket.destroy())
    ends[accepted++]?.resolve(socket)
  }).listen(0, '127.0.0.1')
  let accepted = 0
  await once(server, 'listening')
  opened.push(() => server.close())
  const commands: string[][] = []
  const exec = ({ Cmd }: { Cmd: string[] }) => {
    commands.push(Cmd)
    return { start: () => Promise.resolve(connect((server.address() as AddressInfo).port, '127.0.0.1')) }
  }
  const place = { docker: { getContainer: () => ({ exec }) }, containerId: 'c', user: '1:1' } as unknown as Place
  return {
    place,
    command: ends[0]!.promise,
    lifeline: ends[1]!.promise,
    marker: () => commands[0]?.find(word => word.startsWith('\u001b')) ?? '',
  }
}

const INPUT = { command: ['x'], commandId: '01900000-0000-7000-8000-000000000001', environ: {}, workingDirectory: null }

test('the parent of a command is let go only when both streams were read to their end', async () => {
  const { place, command, lifeline, marker } = await engine()
  const output: string[] = []
  const running = await runCommand(place, INPUT, (stream, bytes) => output.push(`${stream}:${bytes.toString()}`))
  const socket = await command
  socket.write(Buffer.concat([piece(2, '4'), piece(2, '2\nerr'), piece(2, `${marker()}5\n`), piece(1, 'out')]))
  const line = (await lifeline).setEncoding('latin1')
  let said = ''
  line.on('data', (text: string) => (said += text))
  running.signal('INT')
  await expect.poll(() => said).toBe('INT\n')
  socket.write(piece(1, `put${marker()}5\n`))
  expect(await running.ended).toEqual({ reason: 'exited', exitCode: 5 })
  await expect.poll(() => said).toBe('INT\ndone\n')
  expect(output).toEqual(['stderr:err', 'stdout:out', 'stdout:put'])
})

test('a kill ends the input of the lifeline without a word, also before it is there', async () => {
  const { place, command, lifeline } = await engine()
  const running = await runCommand(place, INPUT, () => undefined)
  running.kill('time_limit')
  const socket = await command
  socket.write(piece(2, '42\n'))
  const line = await lifeline
  line.resume()
  await once(line, 'end')
  socket.end()
  expect(await running.ended).toEqual({ reason: 'time_limit', exitCode: null })
})

test('an exec that ends without the marker has no exit code', async () => {
  const { place, command } = await engine()
  const output: string[] = []
  const running = await runCommand(place, INPUT, (_stream, bytes) => output.push(bytes.toString()))
  const socket = await command
  socket.end(piece(2, 'OCI runtime exec failed: no such file\n'))
  expect(await running.ended).toEqual({ reason: 'lost', exitCode: null })
  expect(output.join('')).toContain('no such file')
})
