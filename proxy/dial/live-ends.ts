import { TICK_MS, TunnelBeats, type TunnelEnd } from '#manager/tunnel-end'

/** All live tunnel ends of this process; one timer sends the pings of all. */
const beats = new TunnelBeats()
let timer: NodeJS.Timeout | undefined

export const liveEnds = {
  add(end: TunnelEnd): void {
    beats.add(end)
    timer ??= setInterval(tick, TICK_MS).unref()
  },
  delete(end: TunnelEnd): void {
    beats.delete(end)
  },
}

function tick(): void {
  beats.tick()
  if (beats.size > 0) return
  clearInterval(timer)
  timer = undefined
}
