import { type Socket } from 'node:net'
import { broken, TunnelDuplex } from '#manager/tunnel-end'
import { liveEnds } from '../dial/live-ends.ts'
import { applyMask, maskingFor } from '../dial/masks.ts'
import { refusalOf } from './refusal.ts'

/** A dialled tunnel as a plain byte stream, for HTTP: Node's client can write requests into it. A failure becomes its coded error. */
export class TunnelStream extends TunnelDuplex {
  constructor(wire: Socket) {
    super({
      wire,
      newMask: maskingFor(wire),
      applyMask,
      onEnd: end => liveEnds.delete(end),
      errorOf: ({ reason }) => refusalOf(reason) ?? broken(),
    })
    liveEnds.add(this.tunnel)
  }
}
