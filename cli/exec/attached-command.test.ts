import { Duplex, PassThrough, Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { COMMAND_FRAME, commandFrameHeader, createCommandFrameReader } from '#manager/contract'
import { carryCommand } from './attached-command.ts'

const frame = (kind: number, content: string | Uint8Array) => {
  const bytes = Buffer.from(content)
  return Buffer.concat([commandFrameHeader(kind, bytes.length), bytes])
}
const exit = frame(COMMAND_FRAME.exit, '{"reason":"exited","exitCode":9}')

/** A wire whose other end sends these bytes, then ends. */
function wireOf(...bytes: Uint8Array[]) {
  const sent: { kind: number; text: string }[] = []
  const read = createCommandFrameReader((kind, part) => sent.push({ kind, text: Buffer.from(part).toString() }))
  const { readable, writable } = { readable: Readable.from(bytes), writable: new Writable({ write: taken }) }
  function taken(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    read(chunk)
    done()
  }
  return { wire: Duplex.from({ readable, writable }), sent }
}

test('both streams are kept apart, and the end comes after the last of their bytes', async () => {
  const { wire, sent } = wireOf(
    frame(COMMAND_FRAME.stdout, 'out'),
    frame(COMMAND_FRAME.stderr, 'err'),
    Buffer.concat([frame(COMMAND_FRAME.stdout, ' more'), exit]),
  )
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const command = carryCommand(wire, { stdin: Readable.from([Buffer.from('in')]), stdout, stderr })
  expect(await command.ended).toEqual({ reason: 'exited', exitCode: 9 })
  stdout.end()
  stderr.end()
  expect([await text(stdout), await text(stderr)]).toEqual(['out more', 'err'])
  expect(sent.filter(({ kind }) => kind === COMMAND_FRAME.stdin)).toEqual([{ kind: COMMAND_FRAME.stdin, text: 'in' }])
})

test('a connection that ends before the command is a failure, not an exit code', async () => {
  const { wire } = wireOf(frame(COMMAND_FRAME.stdout, 'out'))
  const streams = { stdin: undefined, stdout: new PassThrough(), stderr: new PassThrough() }
  await expect(carryCommand(wire, streams).ended).rejects.toMatchObject({ code: 'tunnel_failed' })
})

test('when the reader of the output has left, the wire is closed, which kills the command', async () => {
  const { wire } = wireOf(frame(COMMAND_FRAME.stdout, 'out'), exit)
  const gone = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
  gone.on('error', () => undefined)
  const streams = { stdin: undefined, stdout: gone, stderr: new PassThrough() }
  expect(await carryCommand(wire, streams).ended).toBe('reader_gone')
  expect(wire.destroyed).toBe(true)
})
