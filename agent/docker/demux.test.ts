import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDemuxer } from './demux.ts'

test('however the stream is cut, standard output and error are separated and complete', () => {
  const pieces = fc.array(fc.record({ stream: fc.constantFrom(1, 2), bytes: fc.uint8Array({ maxLength: 50 }) }))
  fc.assert(
    fc.property(pieces, fc.array(fc.nat({ max: 2000 })), (list, cuts) => {
      const bytes = Buffer.concat(
        list.flatMap(piece => {
          const header = Buffer.from([piece.stream, 0, 0, 0, 0, 0, 0, 0])
          header.writeUInt32BE(piece.bytes.length, 4)
          return [header, Buffer.from(piece.bytes)]
        }),
      )
      const heard = { stdout: '', stderr: '' }
      const push = createDemuxer({
        stdout: chunk => (heard.stdout += chunk.toString('hex')),
        stderr: chunk => (heard.stderr += chunk.toString('hex')),
      })
      let from = 0
      for (const to of [...cuts.sort((a, b) => a - b), bytes.length]) {
        push(bytes.subarray(from, Math.max(from, to)))
        from = Math.max(from, to)
      }
      const said = (stream: number) =>
        list.flatMap(piece => (piece.stream === stream ? [Buffer.from(piece.bytes).toString('hex')] : [])).join('')
      expect(heard).toEqual({ stdout: said(1), stderr: said(2) })
    }),
  )
})
