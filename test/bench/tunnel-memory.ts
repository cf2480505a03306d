import { readFileSync } from 'node:fs'

/** Answers the parent's question about the memory of this process, after a garbage collection if --expose-gc allows it. */
export function serveMemory(): void {
  process.on('disconnect', () => process.exit(0))
  process.on('message', (message: unknown) => {
    if (message !== 'memory') return
    for (let i = 0; i < 4; i++) globalThis.gc?.()
    setTimeout(() => {
      globalThis.gc?.()
      process.send?.({ rss: residentBytes(), heap: process.memoryUsage().heapUsed })
    }, 200)
  })
}

/** Only anonymous memory: touched pages of the executable are not growth. */
function residentBytes(): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}
